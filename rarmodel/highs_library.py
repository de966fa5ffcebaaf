"""HiGHS as a library, which is loaded when a bound or a solver first needs it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .errors import UsageError
from .solver_faults import settings


def highspy() -> Any:
    """The module `highspy`.

    Raises
    ------
    UsageError
        If it cannot be loaded: most often it is older than 1.16 and OR-Tools is in the process.
    """
    try:
        return import_module("highspy")
    except ImportError as error:
        raise UsageError(
            f"rarmodel cannot load HiGHS ({error}); if your program imports OR-Tools, install "
            "highspy 1.16 or later: before, both contain a library of the same name"
        ) from error


def silent_highs() -> Any:
    """A new instance of HiGHS that prints nothing, from its first call on.

    Its option `output_flag` is off; with `log_to_console` off as well, it may be turned on. It
    has the settings that avoid the faults of the installed version; see `rarmodel.solver_faults`.

    Raises
    ------
    UsageError
        As `highspy` raises it.
    """

    class Silent(highspy().Highs):  # type: ignore[misc]
        # HiGHS 1.16 prints its name with its first callback, which the constructor sets.
        def enableCallbacks(self) -> None:  # noqa: N802
            self.silent()
            super().enableCallbacks()

    highs = Silent()
    for option, value in settings("highspy").items():
        highs.setOptionValue(option, value)
    return highs
