"""The process of a command: how it begins, and how it ends with an exit code."""

from __future__ import annotations

import gc
import sys
from typing import NoReturn

import rich_click as click

from rarmodel.errors import InputError, RarmodelError, UsageError

from .commands import BAD_INPUT, UNSOLVED, rarmodel
from .killed import killable
from .terminal import say, say_first, say_what_is_logged


def main() -> NoReturn:
    """Run the command line and exit: 0 success, 1 infeasible or unsolved, 2 bad input or usage."""
    # Modules and compilation make many objects that last: looking for cycles among them is futile.
    gc.set_threshold(100_000)
    say_what_is_logged()
    with killable():
        sys.exit(_code())


def _code() -> int:
    """Run the command line and report errors; return the exit code."""
    try:
        code: int = rarmodel(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        say("interrupted")
        return UNSOLVED
    except InputError as error:
        say_first(error.lines(), "problems")
        return BAD_INPUT
    except (UsageError, OSError) as error:
        say(str(error))
        return BAD_INPUT
    except RarmodelError as error:
        say(str(error))
        return UNSOLVED
    except MemoryError:
        say("out of memory; use a smaller instance or file, or a simpler method")
        return UNSOLVED
    return code
