"""Runs on a Dask cluster that exists already: each in a process that a worker starts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rarmodel.errors import UsageError

from .pool import Pool
from .supervise import run_on_worker

AHEAD = 2
"""Runs handed over for each thread of the workers: one to do, and one to go on with."""
CONNECT_SECONDS = 30


@contextmanager
def dask_pool(scheduler: str) -> Iterator[Pool]:
    """The workers of a scheduler, each with as many runs at once as it has threads.

    If a worker dies, Dask gives its runs to others. On leaving, runs that no worker has begun are
    withdrawn; the others end by themselves.

    Raises
    ------
    UsageError
        If Dask is not installed, or there is no scheduler at that address.
    """
    try:
        from distributed import Client  # noqa: PLC0415 - optional
    except ImportError as error:
        message = "Dask is not installed; `pip install 'rarmodel[dask]'` installs it"
        raise UsageError(message) from error
    try:
        client: Any = Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        reason = str(error) or type(error).__name__
        raise UsageError(f"no Dask scheduler at {scheduler!r}: {reason}") from error
    executor = client.get_executor(pure=False)

    def width() -> int:
        threads: int = sum(client.nthreads().values())
        return max(1, AHEAD * threads)

    try:
        yield Pool(executor, run_on_worker, width)
    finally:
        executor.shutdown(wait=False)
        client.close()
