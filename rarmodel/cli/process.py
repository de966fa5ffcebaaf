"""The process of a command: how it begins, and how it ends with an exit code."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EBADF, EIO, ENOSPC
from types import FrameType
from typing import NoReturn

import rich_click as click

from rarmodel.errors import InputError, RarmodelError, UsageError
from rarmodel.interrupts import INTERRUPTED, by_interrupt, interruptible

from .commands import BAD_INPUT, UNSOLVED, rarmodel
from .terminal import (
    finish,
    lost,
    occupy_closed_streams,
    say,
    say_first,
    say_what_is_logged,
)

COMPLETING = "_RARMODEL_COMPLETE"
"""The variable by which a shell asks for completions; Click answers, and exits."""


GARBAGE_AFTER = 100_000
"""New objects after which Python looks for cycles: modules, compilation and large instances make
many that last, and looking for cycles among them is futile."""


def main() -> NoReturn:
    """Run the command line and exit.

    0 is success, 1 infeasible or unsolved, 2 bad input or usage, 130 interrupted.
    """
    gc.set_threshold(GARBAGE_AFTER)
    occupy_closed_streams()
    say_what_is_logged()
    with killable():
        sys.exit(_code())


def _code() -> int:
    """Run the command line and report errors; return the exit code."""
    try:
        with interruptible():
            return _answered()
    except KeyboardInterrupt:
        return _interrupted()
    except Exception as error:
        if not by_interrupt(error):
            raise
        return _interrupted()


def _interrupted() -> int:
    say("interrupted")
    return INTERRUPTED


def _answered() -> int:
    try:
        code: int = rarmodel(standalone_mode=False)
        finish()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        return _interrupted()
    except InputError as error:
        say_first(error.lines(), "problems")
        return BAD_INPUT
    except SystemExit as error:
        if COMPLETING in os.environ:  # Click has answered the shell, and exits.
            raise
        # Click exits if nobody reads its help; and whoever else does has answered nothing.
        why = error.__context__
        said = lost(why) if isinstance(why, BrokenPipeError) else f"exit({error.code}) was called"
        say(str(said))
        return BAD_INPUT
    except UsageError as error:
        say(str(error))
        return BAD_INPUT
    except OSError as error:
        say(_told(error))
        return BAD_INPUT
    except RarmodelError as error:
        say(str(error))
        return UNSOLVED
    except MemoryError:
        say("out of memory; use a smaller instance or file, or a simpler method")
        return UNSOLVED
    return code


def _told(error: OSError) -> str:
    """An error of the system; if it is about stdout, it does not say so itself."""
    if error.filename is None and error.errno in {EBADF, EIO, ENOSPC}:
        return str(lost(error))
    return str(error)


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
