"""What happens at SIGTERM: files and processes that a command keeps for a while go first."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class KilledError(BaseException):
    """SIGTERM has come. No `except Exception` holds it up, as it is none."""


@contextmanager
def killable() -> Iterator[None]:
    """Let SIGTERM unwind what is under way, then end the process as that signal does.

    A second one ends it at once. Whoever has set another handler, or ignores the signal, keeps
    that.
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
