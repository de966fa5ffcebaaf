"""The independent verifier: check a schedule against the model and simulate it."""

from rarmodel.model.features import ALL

from .answered import Answered
from .flow_times import FlowTimes, Lateness
from .report import Period, Report, Ring, Violation
from .segments import run_of
from .simulate import simulate
from .simulation_result import Run, SimulationResult
from .verify import require_feasible, verify

HANDLES = ALL
"""The features of instances by which the verifier checks schedules."""

__all__ = [
    "HANDLES",
    "Answered",
    "FlowTimes",
    "Lateness",
    "Period",
    "Report",
    "Ring",
    "Run",
    "SimulationResult",
    "Violation",
    "require_feasible",
    "run_of",
    "simulate",
    "verify",
]
