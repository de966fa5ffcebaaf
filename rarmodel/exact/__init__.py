"""Solving formulations: heuristics first, then models, then the verifier."""

from .entries_read import entries_read
from .formulated import FormulatedModel
from .known import Start
from .models import MAX_TERMS
from .numbered_schedules import schedule_of
from .prepare import prepare
from .relaxation import Relaxation, relaxation_of
from .solve import solve_formulation
from .start import start_of_values

__all__ = [
    "MAX_TERMS",
    "FormulatedModel",
    "Relaxation",
    "Start",
    "entries_read",
    "prepare",
    "relaxation_of",
    "schedule_of",
    "solve_formulation",
    "start_of_values",
]
