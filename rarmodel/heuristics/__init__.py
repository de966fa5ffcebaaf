"""SJF-BCO and the baselines: placement rules, the clock they share, and the bisection."""

from .bisection import Found, Policy, input_order, run_policy
from .execution_estimates import Estimate, estimate
from .idle_gpus import IdleGpus, Ranks, available, rule
from .policies import (
    first_fit,
    installed_policies,
    list_scheduling,
    make_sjf_bco,
    random_placement,
    sjf_bco,
    sjf_bco_occupied_first,
    smallest_first,
)
from .ranking import least_loaded_servers
from .rules import least_busy

__all__ = [
    "Estimate",
    "Found",
    "IdleGpus",
    "Policy",
    "Ranks",
    "available",
    "estimate",
    "first_fit",
    "input_order",
    "installed_policies",
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
