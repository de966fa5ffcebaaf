"""Runs on this machine: as many processes at the same time as it has cores."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from .pool import KEPT, Pool, PoolLostError
from .supervise import run_in_process
from .task import Outcome, Work


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
