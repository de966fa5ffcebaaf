"""Limits of a solve: time, gap, threads, and functions that receive its progress."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from time import perf_counter
from typing import Any

from .argument_checks import Check, function, number, optional, require, scalar, text, whole

INTERRUPTED = "interrupted"
TIME_LIMIT = "time limit"
PROVEN = "the value meets the lower bound"
"""Why a solve stopped, for the reasons that the code itself compares."""


def processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


MAX_THREADS = 64
"""Most threads that one may ask for where the machine has fewer processors."""


def most_threads() -> int:
    """Most threads that one may ask for: starting and joining more takes longer than the search."""
    return max(MAX_THREADS, processors())


_COUNT = optional(whole(1))


def _criteria(value: object) -> str | None:
    some = value if isinstance(value, list | tuple) else [value]
    fits = all(callable(one) and not isinstance(one, type) for one in some)
    return None if fits else "a function of the progress is expected, or a list of such functions"


def _threads(value: object) -> str | None:
    most = most_threads()
    return whole(1, most, most_words=", or as many as the machine has processors")(value)


def _options(value: object) -> str | None:
    if not isinstance(value, Mapping):
        return "a dict is expected, of the solver's own names and values"
    kinds = (str, int, float, bool)
    fits = all(isinstance(name, str) and isinstance(one, kinds) for name, one in value.items())
    return None if fits else "names with texts or numbers as values are expected"


CHECKS: dict[str, Check] = {
    "time_limit": optional(number("it must be at least 0 seconds", lambda value: value >= 0)),
    "gap": number("it must be at least 0 and below 1", lambda value: 0 <= value < 1),
    "threads": optional(_threads),
    "seed": whole(0, 2**31 - 1),
    "log": optional(function),
    "progress": optional(function),
    "iterations": _COUNT,
    "patience": _COUNT,
    "stop": _criteria,
    "scheduler": optional(text),
    "solver_options": _options,
}
"""What each limit must be."""


@dataclass(frozen=True)
class Limits:
    """Limits of a solve, and functions that receive its log and progress.

    Raises
    ------
    UsageError
        With all that is of a wrong type or out of its range.

    Attributes
    ----------
    time_limit
        Seconds; None for no limit.
    gap
        Relative gap at which to stop; see `rarmodel.bounds.relative_gap`.
    threads
        Threads of `search` and of the solver, at most 64, or as many as the machine has
        processors; None leaves it to them.
    seed
        Seed of all random numbers.
    log
        Receives the solver's log, line by line; None for no log.
    progress
        Receives the incumbent's value of the first objective and its lower bound (None where
        unknown) as they change. A solver's adapter tells those of its model instead.
    iterations
        Iterations after which to stop, for methods that count them; None for no limit.
    patience
        Iterations without a better schedule or bound after which to stop, for the same methods;
        None for no such limit.
    scheduler
        Address of a Dask scheduler on whose workers `search` runs; None for this machine.
    stop
        Stopping criteria for the same methods; see `rarmodel.methods.stopping`.
    solver_options
        Options of the solver by its own names, which rarmodel hands over.
    start
        A feasible schedule, a `rarmodel.Schedule`, from which methods that improve one may start;
        None for none. Whatever a method makes of it, the better one of the two is the answer.
    """

    time_limit: float | None = None
    gap: float = 0.0
    threads: int | None = None
    seed: int = 0
    log: Callable[[str], None] | None = None
    progress: Callable[[float | None, float | None], None] | None = None
    iterations: int | None = None
    patience: int | None = None
    scheduler: str | None = None
    stop: tuple[Callable[[Any], str | bool | None], ...] = ()
    solver_options: Mapping[str, Any] = field(default_factory=dict)
    start: Any = None

    def __post_init__(self) -> None:
        given = {one.name: scalar(getattr(self, one.name)) for one in fields(self)}
        require(given, CHECKS)
        stop = given["stop"]
        given["stop"] = (stop,) if callable(stop) else tuple(stop)
        for name, value in given.items():  # numbers of Python's in place of NumPy's
            object.__setattr__(self, name, value)

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
