"""Numbers in a range as values of options.

Click's own types show their range in the help, as `[0<=x<=2147483647]`. These tell it only to those
who are outside of it.
"""

from __future__ import annotations

import math
from typing import Any

import rich_click as click


class _InRange(click.ParamType):  # type: ignore[type-arg] # generic in newer versions only
    """Values between a least and a greatest one, which may be excluded."""

    def __init__(
        self,
        least: float | None = None,
        most: float | None = None,
        *,
        min_open: bool = False,
        max_open: bool = False,
    ) -> None:
        self.least, self.most = least, most
        self.min_open, self.max_open = min_open, max_open

    def _checked(self, number: Any, param: Any, ctx: Any) -> Any:
        """The number, if it is in the range."""
        low, high = self.least, self.most
        under = low is not None and (number <= low if self.min_open else number < low)
        over = high is not None and (number >= high if self.max_open else number > high)
        if under or over:
            self.fail(f"{number} is not in the range {self._range()}.", param, ctx)
        return number

    def _range(self) -> str:
        if self.most is None:
            return f"x{'>' if self.min_open else '>='}{self.least}"
        below = f"x{'<' if self.max_open else '<='}{self.most}"
        return (
            below if self.least is None else f"{self.least}{'<' if self.min_open else '<='}{below}"
        )


class Whole(_InRange):
    """A whole number in a range."""

    name = "integer"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Convert text to a whole number."""
        try:
            number = int(value)
        except ValueError:
            self.fail(f"{value!r} is not a valid integer.", param, ctx)
        return self._checked(number, param, ctx)


class Number(_InRange):
    """A number in a range; NaN is in no range."""

    name = "float"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Convert text to a number."""
        try:
            number = float(value)
        except ValueError:
            self.fail(f"{value!r} is not a valid float.", param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return self._checked(number, param, ctx)
