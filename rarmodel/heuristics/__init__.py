"""SJF-BCO and the baselines: placement rules, the clock they share, and the bisection."""

from .bisection import Attempt, Found, Policy, input_order, run_policy
from .estimate import Estimate, estimate
from .policies import (
    first_fit,
    list_scheduling,
    make_sjf_bco,
    random_placement,
    sjf_bco,
    sjf_bco_occupied_first,
    smallest_first,
)
from .ranking import least_loaded_servers
from .room import Room, available, rule
from .rules import least_busy

__all__ = [
    "Attempt",
    "Estimate",
    "Found",
    "Policy",
    "Room",
    "available",
    "estimate",
    "first_fit",
    "input_order",
    "least_busy",
    "least_loaded_servers",
    "list_scheduling",
    "make_sjf_bco",
    "random_placement",
    "rule",
    "run_policy",
    "sjf_bco",
    "sjf_bco_occupied_first",
    "smallest_first",
]
