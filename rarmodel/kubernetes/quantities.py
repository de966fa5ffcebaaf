"""Quantities as Kubernetes writes them: `8`, `500m`, `1.5Gi`, `1e3`; read exactly."""

from __future__ import annotations

import re
from fractions import Fraction

_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d+)|([numkMGTPE]|[KMGTPE]i))?")
_SUFFIXES = {
    **{letter: Fraction(1000) ** n for n, letter in enumerate(["n", "u", "m", ""], -3)},
    **{letter: Fraction(1000) ** n for n, letter in enumerate("kMGTPE", 1)},
    **{f"{letter}i": Fraction(1024) ** n for n, letter in enumerate("KMGTPE", 1)},
}
_MOST_DIGITS = 30
"""A number of more digits or a greater exponent is none that a cluster has."""


def quantity(value: str | float) -> Fraction:
    """The number that a quantity is.

    Raises
    ------
    ValueError
        If it is none.
    """
    text = str(value).strip()
    found = _QUANTITY.fullmatch(text)
    exponent = int(found[2] or 0) if found and len(found[2] or "") <= 3 else _MOST_DIGITS + 1
    if found is None or len(found[1]) > _MOST_DIGITS or abs(exponent) > _MOST_DIGITS:
        raise ValueError(f"{text[:_MOST_DIGITS]!r} is no quantity, such as 8, 500m or 1.5Gi")
    return Fraction(found[1]) * Fraction(10) ** exponent * _SUFFIXES[found[3] or ""]


def whole(value: str | float) -> int:
    """A quantity of something that comes in pieces, such as GPUs.

    Raises
    ------
    ValueError
        If it is no quantity, or no whole number of at least 0.
    """
    number = quantity(value)
    if number.denominator != 1 or number < 0:
        raise ValueError(f"{value!r} is no whole number of at least 0")
    return number.numerator
