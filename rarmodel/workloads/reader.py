"""Read a trace file: recognise its format, and read its rows; invalid rows are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain

from rarmodel import registry
from rarmodel.defaults import MAX_MB
from rarmodel.errors import InputError, Problem, UsageError, listed

from .cells import CellError, number
from .formats import FORMATS, Format, TraceJob, mapped
from .table import Row, Table, open_table

_MOST_PROBLEMS = 20
"""Most invalid rows that are reported one by one."""


@dataclass(frozen=True)
class Trace:
    """The content of a trace.

    Attributes
    ----------
    source
        Name of the file.
    format
        Its format.
    jobs
        Line and content of each row.
    invalid
        Lines of invalid rows that were left out, by reason.
    copies
        Lines of rows that equal an earlier row in every cell.
    """

    source: str
    format: Format
    jobs: tuple[tuple[int, TraceJob], ...]
    invalid: Mapping[str, list[int]]
    copies: frozenset[int]


def read_trace(
    source: str,
    *,
    form: str | None,
    columns: Mapping[str, str],
    skip_invalid: bool,
    max_mb: float = MAX_MB,
) -> Trace:
    """Read a trace.

    Parameters
    ----------
    source
        A file, or `-`.
    form
        Name of the format; None to recognise it by its columns.
    columns
        Columns of a file in no known format, for `mapped`.
    skip_invalid
        Whether to leave out invalid rows.
    max_mb
        Greatest size in MB, unzipped.

    Raises
    ------
    InputError
        If the file or any row is unusable; with the first twenty such rows, one line each.
    UsageError
        If there is no such format, or you give both a format and columns.
    """
    if form is not None and columns:
        raise UsageError("a format and columns exclude each other")
    if form is not None and form not in FORMATS:
        hint = registry.meant(form, FORMATS)
        raise UsageError(f"no format {form!r}; choose one of {', '.join(FORMATS)}{hint}")
    named = mapped(columns) if columns else FORMATS[form] if form else None
    with open_table(source, max_mb=max_mb) as table:
        found = named or _recognised(table)
        if problems := [*_missing(found, table)]:
            raise InputError(problems, table.source)
        return _read(table, found, skip_invalid=skip_invalid)


def _read(table: Table, form: Format, *, skip_invalid: bool) -> Trace:
    header = form.header or tuple(table.first)
    rows = chain([(table.line, table.first)], table.rows) if form.header else table.rows
    jobs: list[tuple[int, TraceJob]] = []
    problems: list[Problem] = []
    invalid: dict[str, list[int]] = {}
    seen: set[bytes] = set()
    copies: set[int] = set()
    dates: bool | None = None
    for line, row in rows:
        try:
            job = form.read(_cells(header, row))
            dates = _kind_of_time(job, dates)
        except CellError as error:
            column = f", column {error.column!r}" if error.column else ""
            problems.append(Problem(f"line {line}{column}", error.message))
            reason = f"an invalid cell in column {error.column!r}" if column else "an invalid row"
            invalid.setdefault(reason, []).append(line)
            continue
        jobs.append((line, job))
        digest = blake2b("\0".join(row).encode(), digest_size=16).digest()
        if digest in seen:
            copies.add(line)
        seen.add(digest)
    if problems and not skip_invalid:
        more = len(problems) - _MOST_PROBLEMS
        shown = problems[:_MOST_PROBLEMS]
        if more > 0:
            shown.append(Problem("", f"and {more} more such rows; --skip-invalid leaves them out"))
        raise InputError(shown, table.source)
    return Trace(table.source, form, tuple(jobs), invalid, frozenset(copies))


def _cells(header: tuple[str, ...], row: Row) -> dict[str, str]:
    if len(row) != len(header):
        raise CellError("", f"{len(row)} cells; {len(header)} are expected, as the format has")
    return dict(zip(header, row, strict=True))


def _kind_of_time(job: TraceJob, dates: bool | None) -> bool | None:  # noqa: FBT001
    """Whether the trace has dates; all rows must agree, or seconds would mix with dates."""
    if job.submit is None or dates == job.submit.is_date:
        return dates
    if dates is None:
        return job.submit.is_date
    kind = "a date" if dates else "a number"
    raise CellError("", f"the time of submission is not {kind}, as in earlier lines")


def _recognised(table: Table) -> Format:
    """The format whose columns the file has; of several, the one with the most columns."""
    if _looks_like_gavel(table.first):
        return FORMATS["gavel"]
    known = [form for form in FORMATS.values() if not form.header]
    fitting = [form for form in known if not [*_missing(form, table)]]
    if fitting:
        return max(fitting, key=lambda form: len(form.columns))
    nearest = max(known, key=lambda form: _share(form, table.first))
    if _share(nearest, table.first) >= 0.5:
        raise InputError(_missing(nearest, table), table.source)
    message = (
        f"columns {listed(table.first)}: none of the formats {', '.join(FORMATS)}; "
        "name the columns, such as --column gpus=NUM_GPUS --column duration=SECONDS"
    )
    raise InputError([Problem(f"line {table.line}", message)], table.source)


def _share(form: Format, columns: Row) -> float:
    """How well a file's columns fit a format."""
    groups = [{column} for column in form.columns] + [set(group) for group in form.either]
    return sum(bool(group & set(columns)) for group in groups) / len(groups)


def _missing(form: Format, table: Table) -> Iterator[Problem]:
    """Why a file is not of a format: columns that are missing or occur twice."""
    if form.header:
        return
    place = f"line {table.line}"
    there = Counter(column for column in table.first if column)
    wanted = ", ".join([*sorted(form.columns), *(" or ".join(group) for group in form.either)])
    for column in sorted(form.columns):
        if column not in there:
            message = f"column {column!r} is missing; format {form.name} has {wanted}"
            yield Problem(place, message)
    for group in form.either:
        if not set(group) & set(there):
            names = " or ".join(map(repr, group))
            yield Problem(place, f"column {names} is missing; format {form.name} has {wanted}")
    for column, times in there.items():
        if times > 1 and (column in form.columns or form.name != "sacct"):
            yield Problem(place, f"column {column!r} is there {times} times; once is expected")


def _looks_like_gavel(first: Row) -> bool:
    """Whether a line is a row without header: ten cells, with numbers for steps, GPUs, arrival."""
    header = FORMATS["gavel"].header
    if len(first) != len(header):
        return False
    cells = dict(zip(header, first, strict=True))
    try:
        return all(number(cells, name, 1e15) is not None for name in ("total steps", "GPUs"))
    except CellError:
        return False
