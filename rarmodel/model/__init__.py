"""The model as small pure functions: topology, contention (6)–(7), iteration time (8), speed."""

from .contention import contention_level, linear_degradation
from .digest import instance_digest
from .extremes import (
    Extremes,
    LeastSlots,
    best_placements,
    job_extremes,
    least_slots_by_placement,
    slowest_alone,
)
from .features import handled, unhandled, used
from .horizon import horizon_of
from .impossible import never_complete, too_short
from .instance_check import check_instance
from .link_shares import bandwidths, best_share, worst_share
from .lone import lone_options
from .ring_rates import Pace, pace, paces, paces_of, plain_pace
from .sharing_rule import RULES, RingOnLinks, SharingRule, sharing_rule
from .timing import (
    compute_seconds,
    exchange_bits,
    iteration_seconds,
    overhead_seconds,
    reduction_seconds,
    slots_needed,
    speed,
)
from .topology import Topology, topology
from .windows import Window, windows

__all__ = [
    "RULES",
    "Extremes",
    "LeastSlots",
    "Pace",
    "RingOnLinks",
    "SharingRule",
    "Topology",
    "Window",
    "bandwidths",
    "best_placements",
    "best_share",
    "check_instance",
    "compute_seconds",
    "contention_level",
    "exchange_bits",
    "handled",
    "horizon_of",
    "instance_digest",
    "iteration_seconds",
    "job_extremes",
    "least_slots_by_placement",
    "linear_degradation",
    "lone_options",
    "never_complete",
    "overhead_seconds",
    "pace",
    "paces",
    "paces_of",
    "plain_pace",
    "reduction_seconds",
    "sharing_rule",
    "slots_needed",
    "slowest_alone",
    "speed",
    "too_short",
    "topology",
    "unhandled",
    "used",
    "windows",
    "worst_share",
]
