"""New numbers of a change: `100`, or a factor such as `x2`."""

from __future__ import annotations

from contextlib import suppress
from math import inf, isfinite
from typing import NamedTuple

from rarmodel.argument_checks import shown
from rarmodel.errors import UsageError

SIGNS = ("x", "×")
"""What a factor begins with."""


class Amount(NamedTuple):
    """A number, or a factor by which the number that there is becomes larger or smaller."""

    number: float
    is_factor: bool

    def of(self, before: float) -> float:
        """The number in place of another."""
        return before * self.number if self.is_factor else self.number


def amount_of(text: str, *, least: float = 0.0, zero: bool = False) -> Amount:
    """Read a number or a factor.

    Parameters
    ----------
    text
        The text.
    least
        Least number that is no factor.
    zero
        Whether the number may be 0; a factor may not.

    Raises
    ------
    UsageError
        If the text is neither.
    """
    is_factor = text.startswith(SIGNS)
    number = _number(text[1:] if is_factor else text)
    fits = number > 0 or (zero and not is_factor and number == 0)
    if fits and (is_factor or number >= least):
        return Amount(number, is_factor)
    above = f"of at least {least:g}" if least or zero else "above 0"
    raise UsageError(f"{shown(text)}; a number {above} or a factor such as x2 is expected")


def factor_of(text: str) -> float:
    """Read a factor such as `x1.5`.

    Raises
    ------
    UsageError
        If the text is none.
    """
    number = _number(text[1:]) if text.startswith(SIGNS) else -inf
    if number <= 0:
        raise UsageError(f"{shown(text)}; a factor such as x1.5 is expected")
    return number


def whole_of(text: str, least: int = 1) -> int:
    """Read a whole number.

    Raises
    ------
    UsageError
        If the text is none, or too small.
    """
    if len(text) < 16 and text.isascii() and text.isdecimal() and int(text) >= least:
        return int(text)
    raise UsageError(f"{shown(text)}; a whole number of at least {least} is expected")


def _number(text: str) -> float:
    with suppress(ValueError):
        number = float(text)
        if isfinite(number):
            return number
    return -inf
