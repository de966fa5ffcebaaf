"""Tables of measurements: CSV with a column for each field of a measurement."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from rarmodel.defaults import MAX_MB
from rarmodel.errors import InputError, Problem, listed
from rarmodel.schema.problems import problems_of
from rarmodel.workloads.table_cells import NONE
from rarmodel.workloads.trace_table import Row, Table, open_table

from .measurement import Measurement
from .published_tables import layout_of

COLUMNS = tuple(Measurement.model_fields)
"""All possible columns of a table."""

NEEDED = tuple(name for name, field in Measurement.model_fields.items() if field.is_required())
"""Required columns."""

TIMES = ("iteration_ms", "completion_s", "relative_time")
"""Columns of which exactly one is required."""

_TEXTS = {"job", "run", "links", "part"}
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(inf|nan)")


@dataclass(frozen=True)
class Measurements:
    """A table of measurements.

    Attributes
    ----------
    source
        Name of the file; `measurements` if they were made in Python.
    rows
        The measurements.
    lines
        Line of each measurement in the file; its place, from 1, if they were made in Python.
    ignored
        Unknown columns.
    """

    source: str
    rows: tuple[Measurement, ...]
    lines: tuple[int, ...]
    ignored: tuple[str, ...] = ()


def read_measurements(source: str, max_mb: float = MAX_MB) -> Measurements:
    """Read a table of at most this many MB from a file, or from standard input for `-`.

    Raises
    ------
    InputError
        With every problem of the file, each with line and column.
    """
    with open_table(source, "a table with a row for each measurement", max_mb) as table:
        header = table.first
        if layout := layout_of(header):
            message = f"{layout.name}, in a published layout; calibrate reads these from a file"
            raise InputError([Problem(f"line {table.line}", message)], table.source)
        if problems := _problems_of_header(header, f"line {table.line}"):
            raise InputError(problems, table.source)
        rows, problems = _rows(table)
    if not rows and not problems:
        problems = [Problem("", "no rows below the names of columns; measurements are expected")]
    if problems:
        raise InputError(problems, table.source)
    ignored = tuple(name for name in header if name and name not in COLUMNS)
    measurements, lines = tuple(row for row, _ in rows), tuple(line for _, line in rows)
    return Measurements(table.source, measurements, lines, ignored)


def made_measurements(rows: Iterable[Measurement | Mapping[str, Any]]) -> Measurements:
    """A table of measurements made in Python.

    Raises
    ------
    InputError
        With every problem of the rows, each with row and field.
    """
    measurements: list[Measurement] = []
    problems: list[Problem] = []
    for i, row in enumerate(rows):
        try:
            measurements.append(Measurement.model_validate(row))
        except ValidationError as error:
            problems += [Problem(f"[{i}].{place}", what) for place, what in problems_of(error)]
    source = "measurements"
    if not measurements and not problems:
        problems = [Problem("", "none; at least one is expected")]
    if problems:
        raise InputError(problems, source)
    return Measurements(source, tuple(measurements), tuple(range(1, len(measurements) + 1)))


def _problems_of_header(header: Row, place: str) -> list[Problem]:
    there = Counter(filter(None, header))
    absent = [name for name in COLUMNS if name not in there]
    problems = []
    for name, times in there.items():
        if times > 1:
            message = f"column {name!r} is there {times} times; once is expected"
            problems.append(Problem(place, message))
        # A misspelt column would otherwise be taken for one of no meaning, and not be missed.
        elif name not in COLUMNS and (close := difflib.get_close_matches(name, absent, 1, 0.75)):
            message = f"column {name!r} has no meaning; {close[0]!r} is not there, was it meant?"
            problems.append(Problem(place, message))
            absent.remove(close[0])
    problems += [
        Problem(place, f"column {name!r} is missing; a table has {', '.join(NEEDED)}")
        for name in NEEDED
        if name in absent
    ]
    if all(name in absent for name in TIMES):
        problems.append(Problem(place, f"no column of {listed(TIMES)}; one is expected"))
    return problems


def _rows(table: Table) -> tuple[list[tuple[Measurement, int]], list[Problem]]:
    rows: list[tuple[Measurement, int]] = []
    problems: list[Problem] = []
    header = table.first
    for line, cells in table.rows:
        if len(cells) != len(header):
            message = f"{len(cells)} cells; {len(header)} are expected, as in the first line"
            problems.append(Problem(f"line {line}", message))
            continue
        found = dict(zip(header, cells, strict=True))
        try:
            rows.append((Measurement.model_validate(_values(found)), line))
        except ValidationError as error:
            problems += [
                Problem(f"line {line}, column {place!r}", message)
                for place, message in problems_of(error)
            ]
    return rows, problems


def _values(cells: Mapping[str, str]) -> dict[str, Any]:
    """The values of a row's cells; empty cells are left out."""
    return {
        name: text if name in _TEXTS else _value(text)
        for name, text in cells.items()
        if name in COLUMNS and text.lower() not in NONE - {"nan"}
    }


def _value(text: str) -> float | int | str:
    """A cell as a number; other text stays text, which the schema refuses by name."""
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text.lower()) else text
