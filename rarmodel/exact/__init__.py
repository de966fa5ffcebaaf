"""Solving formulations: heuristics first, then models, then the verifier."""

from .plans import one_by_one, schedule_of
from .solve import solve_formulation

__all__ = ["one_by_one", "schedule_of", "solve_formulation"]
