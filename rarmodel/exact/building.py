"""Build a model within a time limit.

Pyomo builds a model by many calls of Python functions, some of them the user's, so nobody else can
end it in time.
"""

from __future__ import annotations

import ctypes
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TypeVar

_T = TypeVar("_T")

AGAIN = 0.2
"""Seconds after which the exception is raised anew, if the code at hand has lost it."""


class OutOfTime(BaseException):
    """The time was over while a model was being built.

    It is no `Exception`, so that no rule of a user takes it for one of its own.
    """


def built_until(deadline: float | None, build: Callable[[], _T]) -> _T:
    """Build something, and give up at a reading of `perf_counter`; None for no limit.

    Raises
    ------
    OutOfTime
        At the deadline.
    """
    with _quiet_when_cut_short(), _until(deadline):
        return build()


@contextmanager
def _until(deadline: float | None) -> Iterator[None]:
    """Raise `OutOfTime` in this thread at the deadline: between two steps of Python's own."""
    if deadline is None:
        yield
        return
    over, thread = threading.Event(), ctypes.c_ulong(threading.get_ident())
    raising = threading.Lock()

    def watch() -> None:
        seconds = deadline - perf_counter()
        while not over.wait(max(0.0, seconds)):
            with raising:
                if not over.is_set():
                    _raise_in(thread, OutOfTime)
            seconds = AGAIN

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        with raising:
            over.set()
            _raise_in(thread, None)  # One that is not raised yet would come later, anywhere.


def _raise_in(thread: ctypes.c_ulong, exception: type[BaseException] | None) -> None:
    """Let a thread raise an exception at its next step; None takes that back."""
    raised = None if exception is None else ctypes.py_object(exception)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, raised)


@contextmanager
def _quiet_when_cut_short() -> Iterator[None]:
    """Let Pyomo not log that a component failed where a deadline or Ctrl-C ended its building."""

    def wanted(_: logging.LogRecord) -> bool:
        return not isinstance(sys.exc_info()[1], KeyboardInterrupt | OutOfTime)

    loggers = [logging.getLogger(name) for name in ("pyomo.core", "pyomo.common")]
    for logger in loggers:
        logger.addFilter(wanted)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(wanted)
