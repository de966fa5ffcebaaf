"""List schedules of wider instances: dispatching rules, and a search over what they decide."""

from .rules import (
    earliest_due_first,
    first_come_first_served,
    shortest_first,
    weighted_shortest_first,
)

__all__ = [
    "earliest_due_first",
    "first_come_first_served",
    "shortest_first",
    "weighted_shortest_first",
]
