"""What a lower bound is."""

from __future__ import annotations

from typing import NamedTuple


class LowerBound(NamedTuple):
    """A lower bound on the makespan of every schedule.

    Attributes
    ----------
    slots
        The bound in slots.
    name
        What gave it.
    """

    slots: int
    name: str
