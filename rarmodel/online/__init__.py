"""Policies on arriving jobs, without knowing the future: simulated, verified, and compared."""

from .group_metrics import GroupMetrics
from .metrics import Metrics
from .placement import Asked, Placement, Site
from .play import Progress
from .policy import Decision, Policy, listed_first, ranked
from .service_figures import ServiceFigures
from .simulation import Proven, Simulation
from .state import State
from .verified_play import simulate, unsuitable

__all__ = [
    "Asked",
    "Decision",
    "GroupMetrics",
    "Metrics",
    "Placement",
    "Policy",
    "Progress",
    "Proven",
    "ServiceFigures",
    "Simulation",
    "Site",
    "State",
    "listed_first",
    "ranked",
    "simulate",
    "unsuitable",
]
