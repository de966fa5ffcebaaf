"""HiGHS as a library, which is loaded when a bound or a solver first needs it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .errors import UsageError


def highspy() -> Any:
    """The module `highspy`.

    Raises
    ------
    UsageError
        If it cannot be loaded: most often OR-Tools is in the same process.
    """
    try:
        return import_module("highspy")
    except ImportError as error:
        raise UsageError(
            f"rarmodel cannot load HiGHS ({error}); if your program imports OR-Tools, call "
            "rarmodel in a process that does not: both contain a library of the same name"
        ) from error
