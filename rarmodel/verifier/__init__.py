"""The independent verifier: check a schedule against the model and simulate it."""

from .course import Course, Run
from .report import Period, Report, Ring, Violation
from .simulate import simulate
from .verify import require_feasible, verify

__all__ = [
    "Course",
    "Period",
    "Report",
    "Ring",
    "Run",
    "Violation",
    "require_feasible",
    "simulate",
    "verify",
]
