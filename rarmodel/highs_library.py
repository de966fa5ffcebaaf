"""HiGHS as a library, which is loaded when a bound or a solver first needs it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .errors import UsageError

WRONG_RULES = 1 << 16
"""Bits of presolve rules that HiGHS must not use.

Enumeration: HiGHS 1.16 sometimes loses all solutions by it, and says that there are none. A small
program of `tests/search/test_lanes.py` is one such case.
"""


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

    Its option `output_flag` is off; with `log_to_console` off as well, it may be turned on. Its
    option `presolve_rule_off` is `WRONG_RULES`.

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
    highs.setOptionValue("presolve_rule_off", WRONG_RULES)
    return highs
