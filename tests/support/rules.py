"""The dispatching rules, for tests that try each of them."""

from __future__ import annotations

from rarmodel.lists import (
    earliest_due_first,
    first_come_first_served,
    shortest_first,
    weighted_shortest_first,
)

RULES = (first_come_first_served, shortest_first, weighted_shortest_first, earliest_due_first)
