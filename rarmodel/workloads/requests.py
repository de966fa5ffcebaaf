"""Demand of services from counts of requests: a table with a row for each minute."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from math import ceil, floor

from rarmodel.errors import InputError, Problem, listed
from rarmodel.files import read_bytes
from rarmodel.schema import Demand
from rarmodel.schema.base import exactly

TIME, COUNT, GROUP = "minute", "requests", "service"
"""Columns: when the minute begins (ISO 8601), requests in it, and optionally whose they are."""
SECONDS = 60


@dataclass(frozen=True)
class Requests:
    """Requests by minute, of one or several groups.

    Attributes
    ----------
    begin
        When the first minute begins, of all groups.
    counts
        By group, the requests in each minute, counted from `begin`. The group is empty text where
        the table does not say.
    """

    begin: datetime
    counts: Mapping[str, Mapping[int, int]]

    def demand(self, slot_seconds: float, group: str = "", scale: float = 1.0) -> list[Demand]:
        """Entries of demand: in each slot the greatest rate of the minutes that it meets.

        So no minute is answered worse for being put into slots. Minutes without a row have no
        requests. Neighbouring slots of one rate are one entry.

        Parameters
        ----------
        slot_seconds
            Length of a slot.
        group
            Whose requests.
        scale
            Factor for all rates.
        """
        slot, rates = exactly(slot_seconds), dict[int, int]()
        for minute, count in self.counts[group].items():
            first = floor(minute * SECONDS / slot)
            for at in range(first, ceil((minute + 1) * SECONDS / slot)):
                rates[at] = max(rates.get(at, 0), count)
        entries: list[tuple[int, int, int]] = []
        for at, count in sorted(rates.items()):
            if entries and entries[-1][1] == at and entries[-1][2] == count:
                entries[-1] = (entries[-1][0], at + 1, count)
            else:
                entries.append((at, at + 1, count))
        return [
            Demand.model_validate(
                {"from": start, "to": end, "requests_per_second": _rate(count, scale)}
            )
            for start, end, count in entries
        ]


def _rate(count: int, scale: float) -> float:
    """Requests per second, to four decimals and not below what was counted."""
    return ceil(Fraction(count, SECONDS) * exactly(scale) * 10_000) / 10_000


def read_requests(source: str | os.PathLike[str]) -> Requests:
    """Read requests by minute from a CSV file with the columns `minute` and `requests`.

    Raises
    ------
    InputError
        With every row that is no minute, or that has no number of requests.
    """
    name, content = read_bytes(source)
    try:
        rows = csv.DictReader(io.StringIO(content.decode("utf-8-sig")), strict=True)
        header = rows.fieldnames or ()
        return _read(name, header, rows)
    except UnicodeDecodeError as error:
        raise InputError([Problem("", "it is no text in UTF-8")], name) from error
    except csv.Error as error:
        raise InputError([Problem("", f"it is no CSV: {error}")], name) from error


def _read(name: str, header: Iterable[str], rows: csv.DictReader[str]) -> Requests:
    if lacking := [column for column in (TIME, COUNT) if column not in header]:
        message = f"no column {listed(lacking)}; {TIME!r} and {COUNT!r} are expected"
        raise InputError([Problem("line 1", message)], name)
    problems: list[Problem] = []
    read: list[tuple[str, datetime, int]] = []
    seen: dict[tuple[str, datetime], int] = {}
    for row in rows:
        line = f"line {rows.line_num}"
        begin = _minute(row[TIME])
        count = row[COUNT]
        if begin is None:
            message = f"{row[TIME]!r}; the begin of a minute, such as 2023-11-16 18:15, is expected"
            problems.append(Problem(f"{line}: {TIME}", message))
        if count is None or not (count.isascii() and count.isdecimal()) or len(count) > 12:
            message = f"{count!r}; a whole number of at least 0 is expected"
            problems.append(Problem(f"{line}: {COUNT}", message))
        elif begin is not None:
            group = row.get(GROUP) or ""
            if (group, begin) in seen:
                message = f"line {seen[group, begin]} has this minute already"
                problems.append(Problem(f"{line}: {TIME}", message))
            seen.setdefault((group, begin), rows.line_num)
            read.append((group, begin, int(count)))
    zones = {one.tzinfo is None for _, one, _ in read}
    if len(zones) > 1:
        problems.append(Problem(TIME, "some times have a zone and others have none"))
    if not read and not problems:
        problems.append(Problem("", "no row"))
    if problems:
        raise InputError(problems, name)
    first = min(begin for _, begin, _ in read)
    counts: dict[str, dict[int, int]] = {}
    for group, begin, number in read:
        minute = (begin - first) // timedelta(seconds=SECONDS)
        counts.setdefault(group, {})[minute] = number
    return Requests(first, counts)


def _minute(text: str | None) -> datetime | None:
    try:
        found = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return found if found.second == found.microsecond == 0 else None
