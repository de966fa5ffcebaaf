"""Runs on an existing Dask cluster; a worker starts a process for each run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rarmodel.dask_cluster import connected

from .pool import Pool
from .supervise import run_on_worker

AHEAD = 2
"""Runs handed over per thread of the workers: one to do, and one in reserve."""


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
