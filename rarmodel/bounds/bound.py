"""The type of lower bounds, and the gap between a value and a bound."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

ENUMERATION = "enumeration"
"""Name of the bound after all shorter schedules were tried and none exists."""


class LowerBound(NamedTuple):
    """A lower bound on the makespan of every schedule.

    Attributes
    ----------
    slots
        The bound in slots.
    name
        Name of the bound.
    """

    slots: int
    name: str


def relative_gap(value: float | Fraction, bound: float | Fraction) -> float:
    """The largest part of a value that a better schedule could save: `(value − bound) / |value|`.

    The gap is 0 if value and bound are equal, also at 0, or if the bound exceeds the value by float
    noise.
    """
    if value <= bound:
        return 0.0
    return float(value - bound) / max(abs(float(value)), 1e-9)
