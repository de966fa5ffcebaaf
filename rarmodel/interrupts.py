"""Ctrl-C in a command, whenever it comes: one line and exit code 130, and never a traceback."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Timer
from types import FrameType
from typing import Any, NoReturn

SOON = 0.01
"""Seconds after which a forgotten interrupt is raised again."""
INTERRUPTED = 130
"""Exit code of a command that was interrupted and has no answer, as shells count signals."""


def end_at_once(_number: int, _frame: FrameType | None) -> NoReturn:
    """End the process: while it starts and while it ends there is nothing to tidy up.

    An exception would be caught by whoever is importing: NumPy makes an ImportError of it.
    """
    with suppress(OSError):
        os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


def interrupt_early() -> None:
    """Let Ctrl-C end this process at once, unless somebody else handles it, or it is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, end_at_once)
        # Python takes handlers away when it ends; the signal would then kill a process that has
        # its answer and its exit code. This runs after all else that Python does at exit.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt, also where Python would print and forget it.

    Python does so in callbacks and in `__del__`, such as those of compilers. There the interrupt is
    raised again as soon as the callback is over.
    """
    before, hook = signal.getsignal(signal.SIGINT), sys.unraisablehook
    if before not in {signal.default_int_handler, end_at_once}:
        yield
        return

    def again(unraisable: Any) -> None:
        if unraisable.exc_type is KeyboardInterrupt:
            # Within this hook the exception would be forgotten once more.
            later = Timer(SOON, signal.raise_signal, [signal.SIGINT])
            later.daemon = True
            later.start()
        else:
            hook(unraisable)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.unraisablehook = again
    try:
        yield
    finally:
        sys.unraisablehook = hook
        signal.signal(signal.SIGINT, before)


def by_interrupt(error: BaseException) -> bool:
    """Whether an exception is what somebody made of a KeyboardInterrupt."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        if isinstance(one, KeyboardInterrupt):
            return True
        seen.add(id(one))
        one = one.__cause__ or one.__context__
    return False
