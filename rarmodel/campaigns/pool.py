"""The interface of pools that do several runs at once, and the driver's loop over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from itertools import islice
from typing import NamedTuple

from rarmodel.errors import RarmodelError

from .task import Outcome, Work, failed

KEPT = "what is finished is kept, and the same command goes on"
LOST = f"what runs the campaign is gone; {KEPT}"


class PoolLostError(RarmodelError):
    """The pool is gone, and with it all unfinished work."""


class Pool(NamedTuple):
    """A place where runs are done.

    Attributes
    ----------
    executor
        Executor that calls functions, several at once.
    run
        Function that does a run in its own process; it returns None if the run was stopped.
    width
        Number of runs to hand over at once: a little more than are done at once.
    """

    executor: Executor
    run: Callable[[Work], Outcome | None]
    width: Callable[[], int]


def outcomes(pool: Pool, works: Iterable[Work]) -> Iterator[tuple[str, Outcome]]:
    """Yield the name and outcome of each run as it finishes.

    Work is fetched only when it is handed over, so that it need not all be in memory at once.

    Raises
    ------
    PoolLostError
        If the pool has gone away.
    """
    waiting = iter(works)
    running: dict[Future[Outcome | None], str] = {}
    while True:
        try:
            for work in islice(waiting, max(0, pool.width() - len(running))):
                running[pool.executor.submit(pool.run, work)] = work.run
        except (OSError, RuntimeError) as error:
            raise PoolLostError(LOST) from error
        if not running:
            return
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            run = running.pop(future)
            if future.cancelled():
                raise PoolLostError(LOST)
            raised = future.exception()
            if isinstance(raised, PoolLostError):
                raise raised
            if raised:
                # Not the run but what was to start it has failed, again and again.
                yield run, failed("worker", f"{type(raised).__name__}: {raised}")
            elif outcome := future.result():
                yield run, outcome
