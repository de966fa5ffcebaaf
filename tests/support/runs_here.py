"""Runs of campaigns in this process, where no test asks about their processes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from typing import Any
from unittest import mock

from rarmodel.campaigns import driver
from rarmodel.campaigns.run_pools import Pool
from rarmodel.campaigns.run_process import outcome_of


class AtOnce(Executor):
    """An executor that calls a function when it is handed over."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """The result, as there is no waiting for it."""
        future = Future[Any]()
        future.set_result(fn(*args, **kwargs))
        return future


@contextlib.contextmanager
def runs_in_this_process() -> Iterator[None]:
    """Do runs of campaigns one after another here, which saves the start of a process for each."""

    @contextlib.contextmanager
    def pool(*_: object) -> Iterator[Pool]:
        yield Pool(AtOnce(), outcome_of, lambda: 1)

    with mock.patch.object(driver, "local_pool", pool):
        yield
