"""Pools that do several runs at once, here or by Dask, and the driver's loop over them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from rarmodel.dask_cluster import connected
from rarmodel.errors import RarmodelError

from .supervise import run_in_process, run_on_worker
from .task import Outcome, Work, failed

AHEAD = 2
"""Runs handed over per thread of the workers: one to do, and one in reserve."""


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


@contextmanager
def local_pool(workers: int, folder: Path) -> Iterator[Pool]:
    """A pool of processes; each leaves its outcome in a folder below `folder`.

    On exit, the pool ends unfinished runs.
    """
    over = threading.Event()

    def run(work: Work, stop: Callable[[], bool]) -> Outcome | None:
        if stop():
            return None
        try:
            return run_in_process(work, folder / work.run, stop)
        except OSError as error:  # of this machine: every other run would fail the same way
            raise PoolLostError(f"a process cannot be started: {error}; {KEPT}") from error

    with ThreadPoolExecutor(workers) as threads:
        try:
            # A thread only watches a process. One more is queued, so that none has to wait.
            yield Pool(threads, partial(run, stop=over.is_set), lambda: workers + 1)
        finally:
            over.set()
            threads.shutdown(cancel_futures=True)


@contextmanager
def dask_pool(scheduler: str) -> Iterator[Pool]:
    """The workers of a Dask scheduler; each does as many runs at once as it has threads.

    If a worker dies, Dask gives its runs to other workers. On exit, runs that no worker has begun
    are withdrawn; the others continue to their end.

    Raises
    ------
    UsageError
        If there is no such scheduler; see `connected`.
    """
    with connected(scheduler) as client:
        executor = client.get_executor(pure=False)

        def width() -> int:
            threads: int = sum(client.nthreads().values())
            return max(1, AHEAD * threads)

        try:
            yield Pool(executor, run_on_worker, width)
        finally:
            executor.shutdown(wait=False)
