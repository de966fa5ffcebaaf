"""Runs on this machine: as many processes at once as it has cores."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from .pool import Pool
from .supervise import run_in_process
from .task import Outcome, Work


def processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def local_pool(workers: int, folder: Path) -> Iterator[Pool]:
    """A pool of so many processes at once; each leaves its outcome in a folder below `folder`.

    On leaving, runs that are not finished are ended.
    """
    over = threading.Event()

    def run(work: Work, stop: Callable[[], bool]) -> Outcome | None:
        return None if stop() else run_in_process(work, folder / work.run, stop)

    with ThreadPoolExecutor(workers) as threads:
        try:
            # A thread only watches a process. One more is queued, so that none has to wait.
            yield Pool(threads, partial(run, stop=over.is_set), lambda: workers + 1)
        finally:
            over.set()
            threads.shutdown(cancel_futures=True)
