"""Solving formulations: heuristics first, then models, then the verifier."""

from .entries_read import entries_read
from .models import MAX_TERMS
from .numbered_schedules import schedule_of
from .prepare import prepare
from .solve import solve_formulation

__all__ = [
    "MAX_TERMS",
    "entries_read",
    "prepare",
    "schedule_of",
    "solve_formulation",
]
