"""Policies on arriving jobs, without knowing the future: simulated, verified, and compared."""

from .placement import Asked, Placement, Site
from .policy import Decision, Policy, listed_first, ranked
from .simulate import simulate
from .simulation import Simulation
from .state import State

__all__ = [
    "Asked",
    "Decision",
    "Placement",
    "Policy",
    "Simulation",
    "Site",
    "State",
    "listed_first",
    "ranked",
    "simulate",
]
