"""Services beside jobs: which replicas run, where, and what they cost (model, section 16)."""

from .first import Decided, decide_replicas, solve_beside, taken_from
from .frontier import Frontier, Point, frontier
from .mix import Chosen, Wanted, cheapest_mix
from .placing import Unit, broken_servers, place
from .simulated import Beside, replicas_of_play, simulate_beside
from .together import solve_together

__all__ = [
    "Beside",
    "Chosen",
    "Decided",
    "Frontier",
    "Point",
    "Unit",
    "Wanted",
    "broken_servers",
    "cheapest_mix",
    "decide_replicas",
    "frontier",
    "place",
    "replicas_of_play",
    "simulate_beside",
    "solve_beside",
    "solve_together",
    "taken_from",
]
