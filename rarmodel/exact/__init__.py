"""Solving formulations: heuristics first, then models, then the verifier."""

from .entries_read import entries_read
from .formulated import FormulatedModel
from .models import MAX_TERMS
from .numbered_schedules import schedule_of
from .prepare import prepare
from .solve import solve_formulation
from .start import Start, start_of_values

__all__ = [
    "MAX_TERMS",
    "FormulatedModel",
    "Start",
    "entries_read",
    "prepare",
    "schedule_of",
    "solve_formulation",
    "start_of_values",
]
