"""Formats of numbers and names in sentences, labels and legends."""

from __future__ import annotations

import math
from collections.abc import Sequence


def joined(names: Sequence[str]) -> str:
    """Names in a list: `a`, `a and b`, `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def percent(part: float, *, up: bool = False) -> str:
    """A share in percent with two significant digits; rounded up if it is a limit."""
    value = 100 * part
    if value <= 0:
        return "0%"
    digits = max(0, 1 - math.floor(math.log10(value)))
    if up:
        value = math.ceil(value * 10**digits - 1e-9) / 10**digits
    text = f"{value:.{digits}f}"
    return (text.rstrip("0").rstrip(".") if digits else text) + "%"


def shortened(name: str, letters: int) -> str:
    """A name of at most this many letters."""
    return name if len(name) <= letters else name[: letters - 1] + "…"
