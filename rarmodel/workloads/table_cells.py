"""Convert the cells of a row to numbers, times and counts; errors name the column."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from typing import NamedTuple

from rarmodel.schema.problems import show


class Cells(dict[str, str]):
    """One row: text by column name. A column that the file lacks is empty.

    Attributes
    ----------
    zone
        Zone of dates that have none; None if the user states none.
    """

    zone: tzinfo | None = None


NONE = {"", "na", "n/a", "nan", "none", "null", "unknown", "-"}
"""Texts that mean no value."""

UNITS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
"""Seconds in a unit of time."""

LONGEST = 1e10
"""Longest time in seconds: beyond three hundred years a number is a mistake."""


STATE_ZONE = "--time-zone, such as --time-zone +08:00, gives a zone to dates without one"
"""Advice to the user about dates without a zone."""


class CellError(Exception):
    """An invalid cell: its column, the problem, and what would be right."""

    def __init__(self, column: str, message: str) -> None:
        self.column = column
        self.message = message
        super().__init__(column, message)


class Moment(NamedTuple):
    """A point in time.

    Attributes
    ----------
    seconds
        From the epoch for a date, otherwise from the trace's own start. A date without a zone is
        taken as it stands, as if it were in UTC.
    is_date
        Whether it is a date.
    offset
        Seconds by which the date's zone is ahead of UTC; None if it has no zone.
    stated
        Whether the user stated the zone, as the date has none of its own.
    """

    seconds: float
    is_date: bool
    offset: float | None = None
    stated: bool = False

    @property
    def zoned(self) -> bool:
        """Whether it is a date with a zone."""
        return self.offset is not None


def text(cells: Mapping[str, str], column: str) -> str:
    """A cell as text; empty if it means no value."""
    value = cells.get(column, "")
    return "" if value.lower() in NONE else value


def number(cells: Mapping[str, str], column: str, most: float) -> float | None:
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


def whole(cells: Mapping[str, str], column: str, most: float = 2**53 - 1) -> int | None:
    """A cell as a whole number of at least 0; None if it is empty."""
    parsed = number(cells, column, most)
    if parsed is not None and parsed != int(parsed):
        raise CellError(column, f"{parsed:g}; a whole number is expected")
    return None if parsed is None else int(parsed)


def duration(cells: Mapping[str, str], column: str, unit: float = 1.0) -> float | None:
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
    if (parsed := _seconds(value, column)) is not None:
        return Moment(parsed * unit, is_date=False)
    return _date(value, column, cells.zone)


def epoch(cells: Cells, column: str) -> Moment | None:
    """A cell as a date, a number being Unix time; None if it is empty or 0, as Slurm writes it."""
    if not (value := text(cells, column)):
        return None
    if (parsed := _seconds(value, column)) is not None:
        return Moment(parsed, is_date=True, offset=0.0) if parsed else None
    return _date(value, column, cells.zone)


def elapsed(cells: Cells, column: str, start: Moment | None, end: Moment | None) -> float | None:
    """Seconds between two points in time; None if one is unknown.

    Parameters
    ----------
    cells, column
        The row, and the column of the end.
    start, end
        The points in time.

    Raises
    ------
    CellError
        If they cannot be compared, are not in order, or are too far apart.
    """
    if start is None or end is None:
        return None
    value = show(cells.get(column, ""))
    if start.is_date != end.is_date:
        message = f"{value}; start and end must both be dates, or both numbers"
        raise CellError(column, message)
    if start.zoned != end.zoned:
        message = f"{value}; only one of start and end has a time zone; {STATE_ZONE}"
        raise CellError(column, message)
    seconds = end.seconds - start.seconds
    if seconds < 0:
        raise CellError(column, f"{value}; it must not be before the start")
    if seconds > LONGEST:
        raise CellError(column, f"{value}; more than {LONGEST:g} s of duration")
    return seconds


def ran(
    cells: Cells, recorded: tuple[str, float], start: tuple[str, float], end: tuple[str, float]
) -> tuple[float | None, tuple[str, ...]]:
    """How long a job ran, and a note if its cells contradict each other: then end − start counts.

    Parameters
    ----------
    cells
        The row.
    recorded, start, end
        Columns of the recorded duration, the start and the end, each with its unit.

    Raises
    ------
    CellError
        If the recorded duration is invalid, or there is none and start and end give none.
    """
    seconds = duration(cells, *recorded)
    try:
        spent = elapsed(cells, end[0], moment(cells, *start), moment(cells, *end))
    except CellError:
        if seconds is None:
            raise
        return seconds, (f"{start[0]} and {end[0]} give no duration; {recorded[0]} is used",)
    if seconds is None or spent is None:
        return (spent if seconds is None else seconds), ()
    if abs(spent - seconds) <= 1:
        return seconds, ()
    return spent, (f"{recorded[0]} is not {end[0]} − {start[0]}; {end[0]} − {start[0]} is used",)


def started(cells: Cells, column: str, unit: float = 1.0) -> Moment | None:
    """When a job started; None also if the cell cannot be read, as few need it."""
    try:
        return moment(cells, column, unit)
    except CellError:
        return None


def names(cells: Cells, column: str) -> tuple[str, ...]:
    """Names in a cell that bars separate, such as the types of GPU `V100M16|V100M32`."""
    return tuple(filter(None, (part.strip() for part in text(cells, column).split("|"))))


def _seconds(value: str, column: str) -> float | None:
    """A point in time that is a number; None if the text is no number."""
    try:
        seconds = float(value)
    except ValueError:
        return None
    if not abs(seconds) <= LONGEST * 1e3:
        raise CellError(column, f"{seconds}; a point in time is expected")
    return seconds


def _date(value: str, column: str, zone: tzinfo | None) -> Moment:
    try:
        date = datetime.fromisoformat(value)
    except ValueError:
        message = f"{show(value)}; a date such as 2017-10-09 07:01:55 or seconds are expected"
        raise CellError(column, message) from None
    stated = date.tzinfo is None and zone is not None
    if stated:
        date = date.replace(tzinfo=zone)
    offset = date.utcoffset()
    if offset is None:
        return Moment(date.replace(tzinfo=UTC).timestamp(), is_date=True)
    return Moment(date.timestamp(), is_date=True, offset=offset.total_seconds(), stated=stated)
