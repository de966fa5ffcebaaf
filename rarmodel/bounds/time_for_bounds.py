"""How long bounds may take: a deadline for what is proven within a block of code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from math import inf
from time import perf_counter

from rarmodel.limits import Limits

SHARE = 0.5
"""Share of the time limit that bounds may take before a solve begins."""

_DEADLINE: ContextVar[float] = ContextVar("deadline of bounds", default=inf)


@contextmanager
def until(deadline: float) -> Iterator[None]:
    """Let bounds that look at the clock end by a reading of `perf_counter`, with what they have.

    What they have by then is remembered for the instance.
    """
    before = _DEADLINE.set(min(deadline, _DEADLINE.get()))
    try:
        yield
    finally:
        _DEADLINE.reset(before)


def within(limits: Limits, begun: float) -> AbstractContextManager[None]:
    """Let bounds have their share of a time limit that began at a reading of `perf_counter`."""
    limit = limits.time_limit
    return until(inf if limit is None else begun + SHARE * limit)


def seconds_left() -> float:
    """Seconds that bounds may still take; infinite without a deadline."""
    return max(0.0, _DEADLINE.get() - perf_counter())
