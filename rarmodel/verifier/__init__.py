"""The independent verifier: check a schedule against the model and simulate it."""

from .flow_times import FlowTimes, Lateness
from .report import Period, Report, Ring, Violation
from .simulate import simulate
from .simulation_result import Run, SimulationResult
from .verify import require_feasible, verify

__all__ = [
    "FlowTimes",
    "Lateness",
    "Period",
    "Report",
    "Ring",
    "Run",
    "SimulationResult",
    "Violation",
    "require_feasible",
    "simulate",
    "verify",
]
