"""Durations in words: `2 h 5 min`."""

from __future__ import annotations

from itertools import pairwise

UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def duration(seconds: float) -> str:
    """A duration in its two greatest units: `3 d 4 h`, `12 min 30 s`, `0.25 s`.

    Parameters
    ----------
    seconds
        The duration in seconds; it may be negative.
    """
    if seconds < 0:
        return f"−{duration(-seconds)}"
    if seconds < 10:
        return f"{seconds:.3g} s"
    whole = round(seconds)
    for (unit, size), (smaller, part) in pairwise(UNITS):
        if whole >= size:
            # A day and a minute is a day: what is left is told in the next unit only.
            rest = round((whole % size) / part)
            if rest * part == size:
                return duration(whole - whole % size + size)
            return f"{whole // size:,} {unit}" + (f" {rest} {smaller}" if rest else "")
    return f"{whole} s"
