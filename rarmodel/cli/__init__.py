"""The command line: read options, call the Python API and print. It has no logic of its own."""

from .calibration_command import calibrate
from .campaign_commands import campaign
from .commands import rarmodel
from .compare_command import compare
from .completion import complete
from .describe_command import describe
from .instance_commands import instances
from .listing_commands import (
    bounds,
    formulations,
    methods,
    neighbourhoods,
    objectives,
    placements,
    policies,
    solvers,
)
from .overwriting import protect
from .process import main
from .report_commands import plot, report
from .simulate_command import simulate
from .slurm_commands import slurm
from .testbed_commands import testbed
from .workload_commands import generate, import_trace

rarmodel.add_command(bounds)
rarmodel.add_command(calibrate)
rarmodel.add_command(campaign)
rarmodel.add_command(compare)
rarmodel.add_command(describe)
rarmodel.add_command(formulations)
rarmodel.add_command(generate)
rarmodel.add_command(import_trace)
rarmodel.add_command(instances)
rarmodel.add_command(methods)
rarmodel.add_command(neighbourhoods)
rarmodel.add_command(objectives)
rarmodel.add_command(placements)
rarmodel.add_command(plot)
rarmodel.add_command(policies)
rarmodel.add_command(report)
rarmodel.add_command(simulate)
rarmodel.add_command(slurm)
rarmodel.add_command(solvers)
rarmodel.add_command(testbed)
complete(rarmodel)
protect(rarmodel)

__all__ = ["main"]
