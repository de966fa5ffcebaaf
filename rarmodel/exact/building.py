"""Build a model within a time limit.

Pyomo builds a model by many calls of Python functions, some of them the user's, and knows no limit.
So a thread of its own builds it, which is told to give up: by an exception that CPython raises
there between two steps.
"""

from __future__ import annotations

import ctypes
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Generic, TypeVar

_T = TypeVar("_T")

TOLD_EVERY, LEFT_AFTER = 0.05, 1.0
"""Seconds between two calls to give up, and after which a thread that does not is left to itself:
code in C hears nothing."""


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
    with _quiet_when_cut_short():
        if deadline is None:
            return build()
        builder = _Builder(build)
        try:
            builder.ended.wait(max(0.0, deadline - perf_counter()))
        finally:  # At Ctrl-C as well.
            builder.give_up()
        return builder.built()


class _Builder(Generic[_T]):
    """A thread that builds something."""

    def __init__(self, build: Callable[[], _T]) -> None:
        self.ended = threading.Event()
        self._made: list[_T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(build,), daemon=True)
        self._thread.start()

    def _run(self, build: Callable[[], _T]) -> None:
        try:
            self._made.append(build())
        except BaseException as error:  # noqa: BLE001 - whoever waits has it
            self._error = error
        finally:
            self.ended.set()

    def built(self) -> _T:
        """The result of the thread; or its error is raised."""
        if self._error is not None:
            raise self._error
        if not self._made:
            raise OutOfTime
        return self._made[0]

    def give_up(self) -> None:
        """Tell the thread to end unless it has: again and again, as code may not listen."""
        until = perf_counter() + LEFT_AFTER
        while not self.ended.is_set() and perf_counter() < until:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(self._thread.ident or 0), ctypes.py_object(OutOfTime)
            )
            self._thread.join(TOLD_EVERY)


@contextmanager
def _quiet_when_cut_short() -> Iterator[None]:
    """Let nobody report what failed only because a deadline or Ctrl-C ended the building.

    Pyomo logs that a component failed. Python prints what a callback of its own loses, such as of
    a weak reference; the exception is then raised anew.
    """
    hook = sys.unraisablehook

    def forgotten(unraisable: Any) -> None:
        if unraisable.exc_type is not OutOfTime:
            hook(unraisable)

    def wanted(_: logging.LogRecord) -> bool:
        return not isinstance(sys.exc_info()[1], KeyboardInterrupt | OutOfTime)

    loggers = [logging.getLogger(name) for name in ("pyomo.core", "pyomo.common")]
    for logger in loggers:
        logger.addFilter(wanted)
    sys.unraisablehook = forgotten
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for logger in loggers:
            logger.removeFilter(wanted)
