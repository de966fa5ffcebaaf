"""The command line: read options, call the Python API and print. It has no logic of its own."""

from .calibration_command import calibrate
from .campaign_commands import campaign
from .commands import rarmodel
from .compare_command import compare
from .completion import complete
from .frontier_command import frontier
from .help_panels import group_help
from .instance_commands import instances
from .kubernetes_commands import kubernetes
from .overwriting import protect
from .process import main
from .report_commands import plot, report
from .requests_command import import_requests
from .simulate_command import simulate
from .slurm_commands import slurm
from .solve_command import solve
from .testbed_commands import testbed
from .what_if_command import what_if
from .workload_commands import generate, import_trace

rarmodel.add_command(calibrate)
rarmodel.add_command(campaign)
rarmodel.add_command(compare)
rarmodel.add_command(frontier)
rarmodel.add_command(generate)
rarmodel.add_command(import_trace)
rarmodel.add_command(import_requests)
rarmodel.add_command(instances)
rarmodel.add_command(kubernetes)
rarmodel.add_command(plot)
rarmodel.add_command(report)
rarmodel.add_command(simulate)
rarmodel.add_command(slurm)
rarmodel.add_command(solve)
rarmodel.add_command(testbed)
rarmodel.add_command(what_if)
complete(rarmodel)
protect(rarmodel)
group_help(rarmodel)

__all__ = ["main"]
