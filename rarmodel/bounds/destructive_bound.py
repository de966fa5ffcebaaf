"""A destructive bound: lengths are refuted one after another, in steps that double and halve."""

from __future__ import annotations

from collections.abc import Callable


def destructive_bound(
    known: int, upper: int | None, refuted: Callable[[int], bool], stop: Callable[[], bool]
) -> int | None:
    """The greatest bound on the makespan found; None if it is not above the known one.

    Parameters
    ----------
    known
        A lower bound to start from, in slots.
    upper
        A known makespan: lengths from there on are not tried.
    refuted
        Whether no schedule has at most a length, as far as that can be proven.
    stop
        Asked before each length; if it returns True, no more are tried.
    """
    proven, step = known, 1
    while step > 0 and not stop():
        length = proven + step - 1
        if (upper is None or length < upper) and refuted(length):
            proven += step
            step *= 2
        else:
            step //= 2
    return proven if proven > known else None
