"""The independent verifier: checks a schedule against the model and simulates its course."""

from .report import Period, Report, Ring, Violation
from .simulate import Course, Run, simulate
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
