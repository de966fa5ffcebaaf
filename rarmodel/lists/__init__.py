"""List schedules: dispatching rules, and a search over what list schedules decide."""

from .dispatching_rules import (
    earliest_due_first,
    first_come_first_served,
    shortest_first,
    weighted_shortest_first,
)
from .order_search import LIST_SCHEDULES

__all__ = [
    "LIST_SCHEDULES",
    "earliest_due_first",
    "first_come_first_served",
    "shortest_first",
    "weighted_shortest_first",
]
