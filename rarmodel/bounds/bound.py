"""What a lower bound is, and how far from it a value may be."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

ENUMERATION = "enumeration"
"""Name of a bound that says: all shorter schedules were tried, and there is none."""


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


def relative_gap(value: float | Fraction, bound: float | Fraction) -> float:
    """Part of a value that a perfect schedule could save at most: `(value − bound) / |value|`.

    0 where value and bound meet, also at 0, and where a bound exceeds the value by float noise.
    """
    if value <= bound:
        return 0.0
    return float(value - bound) / max(abs(float(value)), 1e-9)
