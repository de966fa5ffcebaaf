"""A testbed: real rings over real TCP on one machine, to hold the models of contention against."""

from .network import check_possible, down, existing, up, up_star
from .plan import Plan, Ring, Together, read_plan, standard_plan
from .timing import Timing, measure, table_of

__all__ = [
    "Plan",
    "Ring",
    "Timing",
    "Together",
    "check_possible",
    "down",
    "existing",
    "measure",
    "read_plan",
    "standard_plan",
    "table_of",
    "up",
    "up_star",
]
