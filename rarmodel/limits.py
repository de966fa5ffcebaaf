"""How long to look for an answer, how good it must be, and whom to tell on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

INTERRUPTED = "interrupted"
TIME_LIMIT = "time limit"
"""Why a solve stopped, where something must be known of it and not only be read."""


@dataclass(frozen=True)
class Limits:
    """What bounds a solve, and what it reports to.

    Attributes
    ----------
    time_limit
        Seconds; None for no limit.
    gap
        Relative gap at which to stop, `(incumbent − bound) / incumbent`.
    threads
        Threads of the solver; None leaves it to the solver.
    seed
        Seed of everything that draws at random.
    log
        Receives the solver's log, line by line; None for no log.
    progress
        Receives makespan of the incumbent and lower bound (None where unknown) as they change.
    """

    time_limit: float | None = None
    gap: float = 0.0
    threads: int | None = None
    seed: int = 0
    log: Callable[[str], None] | None = None
    progress: Callable[[float | None, float | None], None] | None = None
