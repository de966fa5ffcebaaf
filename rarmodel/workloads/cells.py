"""Convert the cells of a row to numbers, times and counts; errors name the column."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from rarmodel.schema.problems import show

Cells = Mapping[str, str]
"""One row: text by column name. A column that the file lacks is empty."""

NONE = {"", "na", "n/a", "nan", "none", "null", "unknown", "-"}
"""Texts that mean no value."""

UNITS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
"""Seconds in a unit of time."""

LONGEST = 1e10
"""Longest time in seconds: beyond three hundred years a number is a mistake."""


class CellError(Exception):
    """An invalid cell: its column, the problem, and what would be right."""

    def __init__(self, column: str, message: str) -> None:
        self.column = column
        self.message = message
        super().__init__(column, message)


class Moment(NamedTuple):
    """A point in time: seconds from the epoch for a date, otherwise from the trace's own start."""

    seconds: float
    is_date: bool
    zoned: bool = False
    """Whether it is a date with an offset from UTC."""


def text(cells: Cells, column: str) -> str:
    """A cell as text; empty if it means no value."""
    value = cells.get(column, "")
    return "" if value.lower() in NONE else value


def number(cells: Cells, column: str, most: float) -> float | None:
    """A cell as a number from 0 to `most`; None if it is empty."""
    if not (value := text(cells, column)):
        return None
    try:
        parsed = float(value.replace("_", "?"))  # Python takes "1_000" for a number.
    except ValueError:
        raise CellError(column, f"{show(value)}; a number is expected") from None
    if not math.isfinite(parsed):
        raise CellError(column, f"{parsed}; a finite number is expected")
    if parsed < 0:
        raise CellError(column, f"{parsed:g}; it must not be negative")
    if parsed > most:
        raise CellError(column, f"{show(value)}; at most {most:g} is expected")
    return parsed


def whole(cells: Cells, column: str, most: float = 2**53 - 1) -> int | None:
    """A cell as a whole number of at least 0; None if it is empty."""
    parsed = number(cells, column, most)
    if parsed is not None and parsed != int(parsed):
        raise CellError(column, f"{parsed:g}; a whole number is expected")
    return None if parsed is None else int(parsed)


def duration(cells: Cells, column: str, unit: float = 1.0) -> float | None:
    """A cell as seconds, from a number in a unit or from `[days-]hours:minutes:seconds`."""
    value = text(cells, column)
    if ":" not in value:
        parsed = number(cells, column, LONGEST / unit)
        return None if parsed is None else parsed * unit
    found = re.fullmatch(r"(?:(?:(\d+)-)?(\d+):)?(\d+):(\d+(?:\.\d+)?)", value)
    if not found:
        raise CellError(column, f"{show(value)}; seconds or [days-]hours:minutes:seconds expected")
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
    total = days * 86400 + hours * 3600 + minutes * 60 + seconds
    if total > LONGEST:
        raise CellError(column, f"{show(value)}; at most {LONGEST:g} s are expected")
    return total


def moment(cells: Cells, column: str, unit: float = 1.0) -> Moment | None:
    """A cell as a point in time, from a date or from a number; None if it is empty."""
    if not (value := text(cells, column)):
        return None
    try:
        return Moment(float(value) * unit, is_date=False) if _sane(float(value), column) else None
    except ValueError:
        pass
    return _epoch(value, column)


def _sane(value: float, column: str) -> bool:
    if not abs(value) <= LONGEST * 1e3:
        raise CellError(column, f"{value}; a point in time is expected")
    return True


def _epoch(value: str, column: str) -> Moment:
    try:
        date = datetime.fromisoformat(value)
    except ValueError:
        message = f"{show(value)}; a date such as 2017-10-09 07:01:55 or seconds are expected"
        raise CellError(column, message) from None
    # A date without a zone is taken as it stands: only differences count.
    zoned = date.tzinfo is not None
    seconds = (date if zoned else date.replace(tzinfo=UTC)).timestamp()
    return Moment(seconds, is_date=True, zoned=zoned)
