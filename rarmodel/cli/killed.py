"""SIGTERM: remove temporary files and end child processes before the command ends."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class KilledError(BaseException):
    """SIGTERM arrived. This is no `Exception`, so `except Exception` does not catch it."""


@contextmanager
def killable() -> Iterator[None]:
    """Let SIGTERM unwind the stack, then end the process as the signal would.

    A second SIGTERM ends the process at once. A handler that the caller has set stays in place.
    """
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _raise)
    try:
        yield
    except KilledError:
        os.kill(os.getpid(), signal.SIGTERM)
        raise
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _raise(number: int, _: FrameType | None) -> None:
    signal.signal(number, signal.SIG_DFL)
    raise KilledError
