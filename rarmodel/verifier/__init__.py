"""The independent verifier: checks a schedule against the model and simulates its course."""

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
