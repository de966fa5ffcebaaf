"""Solving formulations: heuristics first, then models, then the verifier."""

from .models import MAX_TERMS
from .plans import schedule_of
from .prepare import prepare
from .reading import entries_read
from .solve import solve_formulation

__all__ = [
    "MAX_TERMS",
    "entries_read",
    "prepare",
    "schedule_of",
    "solve_formulation",
]
