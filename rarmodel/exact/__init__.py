"""Solving formulations: heuristics first, then models, then the verifier."""

from .plans import one_by_one, schedule_of
from .solve import MAX_TERMS, solve_formulation

__all__ = ["MAX_TERMS", "one_by_one", "schedule_of", "solve_formulation"]
