"""Read a trace file: recognise its format, and read its rows; invalid rows are refused."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from functools import partial
from hashlib import blake2b
from itertools import chain
from typing import NamedTuple

from rarmodel import registry
from rarmodel.defaults import MAX_MB
from rarmodel.errors import InputError, Problem, UsageError, listed

from .components import joined
from .formats import FORMATS
from .json_traces import Entry, entries_of
from .named_columns import mapped
from .table_cells import STATE_ZONE, CellError, Cells, Moment
from .trace_format import Format, TraceJob
from .trace_table import Row, Table, open_text, table_of
from .zones import zone_of

_TRES = re.compile(r"gres/gpu|(?:^|,)(?:billing|cpu|mem|node)=[0-9]")
"""Slurm's trackable resources, in a cell."""
_PAI_STATES = {"Terminated", "Waiting"}
"""States of jobs, tasks and instances in Alibaba's PAI trace."""
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
    noun
        Word for the place of a row: `line`, or `entry` of a list in JSON, counted from 1.
    stated
        The zone that the user states for dates without one.
    """

    source: str
    format: Format
    jobs: tuple[tuple[int, TraceJob], ...]
    invalid: Mapping[str, list[int]]
    copies: frozenset[int]
    noun: str = "line"
    stated: tzinfo | None = None

    @property
    def submissions(self) -> list[Moment]:
        """The times of submission that there are."""
        return [job.submit for _, job in self.jobs if job.submit]

    @property
    def zone(self) -> tzinfo | None:
        """The zone of its dates; None if they have none or several."""
        return zone_of(self.submissions, self.stated)


def read_trace(
    source: str,
    *,
    form: str | None,
    columns: Mapping[str, str],
    skip_invalid: bool,
    max_mb: float = MAX_MB,
    zone: tzinfo | None = None,
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
    zone
        Zone of dates that have none; None if it is not known.

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
    with open_text(source, max_mb) as text:
        if text.is_json:
            found, entries = entries_of(text, named)
            return _read(text.source, found, entries, skip_invalid=skip_invalid, zone=zone)
        table = table_of(text, "a trace with a line for each job")
        found = named or _recognised(table)
        if problems := [*_missing(found, table)]:
            raise InputError(problems, table.source)
        if columns:
            _refuse_beside(found, table)
        rows = _rows_of(found, table)
        return _read(table.source, found, rows, skip_invalid=skip_invalid, zone=zone)


def _rows_of(form: Format, table: Table) -> Iterator[Entry]:
    header = form.names(table.first)
    rows = table.rows
    if header != tuple(table.first):
        rows = chain([(table.line, table.first)], table.rows)
    for line, row in rows:
        yield line, "\0".join(row), partial(_cells, header, row, table.remarks)


def _read(
    source: str,
    form: Format,
    rows: Iterable[Entry],
    *,
    skip_invalid: bool,
    zone: tzinfo | None,
) -> Trace:
    noun = "line" if form.is_table else "entry"
    jobs: list[tuple[int, TraceJob]] = []
    problems: list[Problem] = []
    invalid: dict[str, list[int]] = {}
    seen: set[bytes] = set()
    copies: set[int] = set()
    kind: _Kind | None = None
    for number, content, cells_of in rows:
        try:
            cells = Cells(cells_of())
            cells.zone = zone
            job = form.read(cells)
            kind = _kind_of_time(job, kind)
        except CellError as error:
            named = form.fields.get(error.column, error.column)
            word = "column" if form.is_table else "field"
            column = f", {word} {named!r}" if named else ""
            problems.append(Problem(f"{noun} {number}{column}", error.message))
            reason = f"an invalid cell in {word} {named!r}" if column else "an invalid row"
            invalid.setdefault(reason, []).append(number)
            continue
        jobs.append((number, job))
        digest = blake2b(content.encode(errors="surrogatepass"), digest_size=16).digest()
        if digest in seen:
            copies.add(number)
        seen.add(digest)
    # Nobody can say which of rows that contradict each other to leave out.
    beside = form.check(jobs) if form.check else []
    if beside or (problems and not skip_invalid):
        problems += beside
        more = len(problems) - _MOST_PROBLEMS
        shown = problems[:_MOST_PROBLEMS]
        if more > 0:
            shown.append(Problem("", f"and {more} more such rows; --skip-invalid leaves them out"))
        raise InputError(shown, source)
    return Trace(source, form, joined(jobs, copies), invalid, frozenset(copies), noun, zone)


def _cells(header: tuple[str, ...], row: Row, remarks: Mapping[str, str]) -> dict[str, str]:
    if len(row) != len(header):
        raise CellError("", f"{len(row)} cells; {len(header)} are expected, as the format has")
    # A column without a name is no field's; formats name a field that they lack by "".
    cells = {name: cell for name, cell in zip(header, row, strict=True) if name}
    return {**remarks, **cells} if remarks else cells


class _Kind(NamedTuple):
    """Which times a trace has: dates or numbers, and dates with a zone or without."""

    is_date: bool
    zoned: bool


def _kind_of_time(job: TraceJob, kind: _Kind | None) -> _Kind | None:
    """Which times the trace has; all rows must agree, or times that differ would mix."""
    if job.submit is None:
        return kind
    own = _Kind(job.submit.is_date, job.submit.zoned)
    if kind is not None and own.is_date != kind.is_date:
        expected = "a date" if kind.is_date else "a number"
        raise CellError("", f"the time of submission is not {expected}, as in earlier rows")
    if kind is not None and own != kind:
        has, had = ("no", "have one") if kind.zoned else ("a", "have none")
        message = f"the time of submission has {has} time zone, and earlier rows {had}"
        raise CellError("", f"{message}; {STATE_ZONE}")
    if job.start and job.start.is_date and own.is_date and job.start.zoned != own.zoned:
        message = "only one of the times of submission and of start has a time zone"
        raise CellError("", f"{message}; {STATE_ZONE}")
    return own


def _refuse_beside(form: Format, table: Table) -> None:
    """Refuse a mapping that takes a column of a known format for what it is not.

    Raises
    ------
    InputError
        If the column that the user names for GPUs does not say how many GPUs a job has.
    """
    for known in FORMATS.values():
        if known.is_table and known.columns and not known.lacking(table.first):
            for column in known.beside.keys() & {form.places["gpus"][0]}:
                message = (
                    f"column {column!r} does not give the GPUs of a job: {known.beside[column]}; "
                    f"the file is of format {known.name}, so leave out --column"
                )
                raise InputError([Problem(f"line {table.line}", message)], table.source)


def _recognised(table: Table) -> Format:
    """The format whose columns the file has; of several, the one with the most columns."""
    known = [form for form in FORMATS.values() if form.is_table]
    for form in known:
        if (
            form.looks is not None
            and (header := form.layout(len(table.first)))
            and form.looks(Cells(zip(header, table.first, strict=True)))
        ):
            return form
    named = [form for form in known if form.columns or form.either]
    fitting = [form for form in named if not form.lacking(table.first)]
    if fitting:
        return max(fitting, key=lambda form: len(form.columns) + len(form.either))
    nearest = max(named, key=lambda form: form.share(table.first))
    if nearest.share(table.first) >= 0.5:
        raise InputError(_missing(nearest, table), table.source)
    if {"JobID", "JobIDRaw"} & set(table.first) and {"State", "Submit"} & set(table.first):
        raise InputError(_missing(FORMATS["sacct"], table), table.source)
    if _PAI_STATES & set(table.first):
        message = "a row of a PAI trace without names of columns, and without numbers of GPUs"
        message += "; pai_task_table.csv has these"
        raise InputError([Problem(f"line {table.line}", message)], table.source)
    if any(_TRES.search(cell) for cell in table.first):
        message = "a row of sacct without names of columns; run sacct again without --noheader"
        raise InputError([Problem(f"line {table.line}", message)], table.source)
    message = (
        f"columns {listed(table.first)}: none of the formats {', '.join(FORMATS)}; "
        "name the columns, such as --column gpus=NUM_GPUS --column duration=SECONDS"
    )
    raise InputError([Problem(f"line {table.line}", message)], table.source)


def _missing(form: Format, table: Table) -> Iterator[Problem]:
    """Why a file is not of a format: columns that are missing or occur twice."""
    if not form.is_table:
        yield Problem("", f"a table; format {form.name} is JSON")
        return
    if form.names(table.first) != tuple(table.first):
        return
    place = f"line {table.line}"
    there = Counter(column for column in table.first if column)
    wanted = ", ".join([*sorted(form.columns), *(" or ".join(group) for group in form.either)])
    cure = form.cure or f"format {form.name} has {wanted}"
    lacking = form.lacking(there)
    if form.cure and len(lacking) > 1:
        yield Problem(place, f"columns {', and '.join(lacking)} are missing; {cure}")
        lacking = []
    for column in lacking:
        yield Problem(place, f"column {column} is missing; {cure}")
    used = {*form.columns, *(name for group in form.either for name in group)}
    for column, times in there.items():
        if times > 1 and (column in used or form.name != "sacct"):
            yield Problem(place, f"column {column!r} is there {times} times; once is expected")
