"""Limits of a solve: time, gap, threads, and functions that receive its progress."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter

from .errors import UsageError

INTERRUPTED = "interrupted"
TIME_LIMIT = "time limit"
PROVEN = "the value meets the lower bound"
"""Why a solve stopped, for the reasons that the code itself compares."""


def processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def is_whole(value: object) -> bool:
    """Whether a value is a whole number; True and False are not."""
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True)
class Limits:
    """Limits of a solve, and functions that receive its log and progress.

    Raises
    ------
    UsageError
        If a number is out of its range.

    Attributes
    ----------
    time_limit
        Seconds; None for no limit.
    gap
        Relative gap at which to stop; see `rarmodel.bounds.relative_gap`.
    threads
        Threads of the solver; None leaves it to the solver.
    seed
        Seed of all random numbers.
    log
        Receives the solver's log, line by line; None for no log.
    progress
        Receives makespan of the incumbent and lower bound (None where unknown) as they change.
    iterations
        Iterations after which to stop, for methods that count them; None for no limit.
    patience
        Iterations without a better schedule or bound after which to stop, for the same methods;
        None for no such limit.
    second_aim
        Whether `search`, and what goes on with it, turns to total completion once the objectives
        are proven or their share of the time is over. It gives up nothing of them.
    scheduler
        Address of a Dask scheduler on whose workers `search` runs; None for this machine.
    """

    time_limit: float | None = None
    gap: float = 0.0
    threads: int | None = None
    seed: int = 0
    log: Callable[[str], None] | None = None
    progress: Callable[[float | None, float | None], None] | None = None
    iterations: int | None = None
    patience: int | None = None
    second_aim: bool = True
    scheduler: str | None = None

    def __post_init__(self) -> None:
        wrong = []
        if self.time_limit is not None and not self.time_limit >= 0:
            wrong.append(f"time limit {self.time_limit}: it must be at least 0 seconds")
        if not 0 <= self.gap < 1:
            wrong.append(f"gap {self.gap}: it must be at least 0 and below 1")
        if self.threads is not None and not (is_whole(self.threads) and self.threads >= 1):
            wrong.append(f"threads {self.threads}: it must be a whole number of at least 1")
        for name, count in (("iterations", self.iterations), ("patience", self.patience)):
            if count is not None and not (is_whole(count) and count >= 1):
                wrong.append(f"{name} {count}: it must be a whole number of at least 1")
        if not (is_whole(self.seed) and 0 <= self.seed < 2**31):
            wrong.append(f"seed {self.seed}: it must be a whole number from 0 to {2**31 - 1}")
        if wrong:
            raise UsageError("; ".join(wrong))

    def since(self, begun: float) -> Limits:
        """The same limits, with the time that is left.

        Parameters
        ----------
        begun
            When the time began, as a reading of `perf_counter`.
        """
        if self.time_limit is None:
            return self
        return replace(self, time_limit=max(0.0, self.time_limit - (perf_counter() - begun)))
