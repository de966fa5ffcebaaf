"""Tables of measured GPUs in published layouts: steps by placement, all-reduces, pairs of jobs.

Pairs share the network, or the GPUs themselves.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from pydantic import ValidationError, ValidationInfo, field_validator

from rarmodel.defaults import MAX_MB
from rarmodel.errors import InputError, Problem, UsageError, listed
from rarmodel.files import STANDARD_INPUT
from rarmodel.json_text import parse_json
from rarmodel.schema.base import Count, Name, Positive, Record
from rarmodel.schema.problems import problems_of
from rarmodel.workloads.trace_table import Row, Table, Text, open_text, table_of

from .colocated_pairs import (
    GavelPair,
    LucidPair,
    SpeedBeside,
    has_throughputs,
    throughputs_of,
)

_PLACEMENT = re.compile(r"[1-9][0-9]{0,5}( [1-9][0-9]{0,5})*")
_WHOLE = re.compile(r"[+-]?[0-9]{1,15}")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(inf|nan)")


def _placement(value: object) -> object:
    if isinstance(value, str):
        if not _PLACEMENT.fullmatch(value):
            message = f"{value!r}; GPUs on each server are expected, such as 4 4"
            raise InputError([Problem("", message)])
        return tuple(map(int, value.split()))
    return value


class Step(Record):
    """A measured training step of a job that is alone; its fields are columns of a table."""

    texts: ClassVar = frozenset({"cluster", "model", "gpus_by_server"})

    cluster: Name
    """Name of the cluster."""

    model: Name
    """Name of the model that is trained."""

    gpus_by_server: tuple[Count, ...]
    """GPUs on each server, `4 4` for two servers with four each."""

    _read_placement = field_validator("gpus_by_server", mode="before")(_placement)

    batch_per_gpu: Count
    """Samples in the mini-batch of each GPU, M_j."""

    step_seconds: Positive
    """Time of a step in seconds."""

    @property
    def measured(self) -> float:
        """The measured time in seconds."""
        return self.step_seconds

    @property
    def group(self) -> str:
        """What errors are told apart by."""
        return f"{self.cluster} {self.model}"


class AllReduce(Record):
    """A measured all-reduce; its fields are columns of a table."""

    texts: ClassVar = frozenset({"cluster", "gpus_by_server"})

    cluster: Name
    """Name of the cluster."""

    gpus: Count
    """GPUs in the ring, w."""

    gpus_by_server: tuple[Count, ...]
    """GPUs on each server, `4 4` for two servers with four each."""

    _read_placement = field_validator("gpus_by_server", mode="before")(_placement)

    bytes: Count
    """Size of the message."""

    median_ms: Positive
    """Time in milliseconds."""

    @field_validator("gpus_by_server")
    @classmethod
    def _gpus_add_up(cls, placed: tuple[int, ...], info: ValidationInfo) -> tuple[int, ...]:
        gpus = info.data.get("gpus", sum(placed))
        if sum(placed) != gpus:
            message = f"{' '.join(map(str, placed))} are {sum(placed)} GPUs; {gpus} are expected"
            raise InputError([Problem("", message)])
        if gpus == 1:
            raise InputError([Problem("", "one GPU; a ring has two or more")])
        return placed

    @property
    def measured(self) -> float:
        """The measured time in seconds."""
        return self.median_ms * 1e-3

    @property
    def group(self) -> str:
        """What errors are told apart by."""
        return f"{self.cluster} {' '.join(map(str, self.gpus_by_server))}"


class Pair(Record):
    """A measured job beside another one; its fields are columns of a table."""

    texts: ClassVar = frozenset({"job", "beside"})

    job: Name
    """Name of the job, with its shape: `DLRM,8,2` is DLRM with 8 GPUs on 2 servers."""

    beside: Name
    """Name of the other job, likewise."""

    throughput_ratio: Positive
    """Throughput of the job, divided by its throughput alone."""

    @property
    def measured(self) -> float:
        """The measured ratio."""
        return self.throughput_ratio

    @property
    def group(self) -> str:
        """What errors are told apart by: the job without its shape."""
        return self.job.partition(",")[0]


Measured = Step | AllReduce | Pair | SpeedBeside
"""A measurement."""

_Read = Step | AllReduce | Pair | GavelPair | LucidPair
"""A row of a table."""


@dataclass(frozen=True)
class Layout:
    """A published layout.

    Attributes
    ----------
    name
        What a table of this layout has, in words.
    record
        The schema of its rows.
    others
        Columns that such tables also have; nothing is fitted to them.
    renamed
        Fields by the names of their columns, where these differ.
    """

    name: str
    record: type[Step] | type[AllReduce] | type[Pair] | type[GavelPair] | type[LucidPair]
    others: frozenset[str]
    renamed: Mapping[str, str]

    @property
    def columns(self) -> dict[str, str]:
        """Fields by the names of their columns."""
        names = {field: column for column, field in self.renamed.items()}
        return {names.get(field, field): field for field in self.record.model_fields}

    @property
    def needed(self) -> frozenset[str]:
        """Columns that no table of the layout lacks."""
        fields = self.record.model_fields
        return frozenset(
            column for column, field in self.columns.items() if fields[field].is_required()
        )


STEPS = Layout("step times by placement", Step, frozenset({"exchange_seconds"}), {})
ALL_REDUCES = Layout("all-reduces by placement", AllReduce, frozenset({"min_ms"}), {})
PAIRS = Layout(
    "pairs of jobs",
    Pair,
    frozenset({"samples_per_second_alone"}),
    {"job (model,gpus,servers)": "job"},
)
COLOCATED = "pairs of jobs on the same GPUs"
LUCID = Layout(COLOCATED, LucidPair, frozenset({"gpu_utilisation"}), {})
LUCID_AS_PUBLISHED = Layout(
    COLOCATED,
    LucidPair,
    frozenset({"gpu_num1", "gpu_num2", "gpu_util", "gmem_util"}),
    {
        "model1": "job",
        "dataset1": "dataset",
        "batchsize1": "batch",
        "amp1": "amp",
        "speed1": "ratio",
        "model2": "beside",
        "dataset2": "dataset_beside",
        "batchsize2": "batch_beside",
        "amp2": "amp_beside",
        "speed2": "ratio_beside",
        "gmem": "memory_used_mb",
    },
)
GAVEL = Layout(COLOCATED, GavelPair, frozenset({"iterations_per_second_alone", "beside_alone"}), {})
LAYOUTS = (STEPS, ALL_REDUCES, PAIRS, LUCID, LUCID_AS_PUBLISHED, GAVEL)
"""All layouts; the first that a table has is its own."""


@dataclass(frozen=True)
class PublishedTable:
    """A table in a published layout.

    Attributes
    ----------
    source
        Name of the file.
    layout
        Its layout.
    rows
        The measurements.
    lines
        Line of each measurement in the file; in JSON the number of its pair.
    ignored
        Unknown columns.
    notes
        What was left out, one line each.
    """

    source: str
    layout: Layout
    rows: tuple[Measured, ...]
    lines: tuple[int, ...]
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def layout_of(header: Row) -> Layout | None:
    """The published layout that a header is of; None if a column of each is missing."""
    return next((one for one in LAYOUTS if one.needed <= set(header)), None)


def is_published(source: str, max_mb: float = MAX_MB) -> bool:
    """Whether a file is a table in a published layout; standard input is taken for another one.

    Raises
    ------
    InputError
        If the file is unusable.
    """
    if source == STANDARD_INPUT:
        return False
    with open_text(source, max_mb) as text:
        if text.is_json:
            return _throughputs(text) is not None
        return layout_of(table_of(text, _EXPECTED).first) is not None


_EXPECTED = "a table of measurements"


def _throughputs(text: Text) -> dict[str, Any] | None:
    """The object in JSON, if it has throughputs of pairs."""
    try:
        data, problems = parse_json(text.stream.read(), text.source)
    except InputError:
        return None
    return data if not problems and isinstance(data, dict) and has_throughputs(data) else None


def read_published(source: str, max_mb: float = MAX_MB) -> PublishedTable:
    """Read a table in a published layout from a file, or from standard input for `-`.

    Of a file of Gavel's throughputs, JSON, the pairs are read.

    Raises
    ------
    InputError
        With every problem of the file, each with line and column.
    """
    with open_text(source, max_mb) as text:
        if text.is_json and (data := _throughputs(text)) is not None:
            return _of_throughputs(data, text.source)
        text.stream.seek(0)
        table = table_of(text, _EXPECTED)
        layout = layout_of(table.first)
        if layout is None:
            nearest = max(LAYOUTS, key=lambda one: len(one.needed & set(table.first)))
            missing = [
                name
                for name in nearest.columns
                if name in nearest.needed and name not in table.first
            ]
            message = f"no {listed(missing)}; {nearest.name} have these columns"
            raise InputError([Problem(f"line {table.line}", message)], table.source)
        return _published(table, layout)


def of_gpu_type(table: PublishedTable, gpu_type: str) -> PublishedTable:
    """The pairs of a table that were measured on one type of GPU.

    Raises
    ------
    UsageError
        If the table has no pairs on the same GPUs, or none on this type.
    """
    pairs = [row for row in table.rows if isinstance(row, SpeedBeside)]
    types = dict.fromkeys(row.gpu_type for row in pairs if row.gpu_type)
    if gpu_type not in types:
        has = listed([*types]) if types else "no types of GPU"
        raise UsageError(f"{gpu_type!r}: {table.source} has {has}")
    kept = [i for i, row in enumerate(pairs) if row.gpu_type == gpu_type]
    return replace(
        table,
        rows=tuple(pairs[i] for i in kept),
        lines=tuple(table.lines[i] for i in kept),
    )


def _of_throughputs(data: Mapping[str, Any], source: str) -> PublishedTable:
    """The pairs of a file of throughputs."""
    found = throughputs_of(data)
    problems = [*found.problems]
    if not found.rows and not problems:
        problems = [Problem("", "no pairs of jobs that run; measurements are expected")]
    if problems:
        raise InputError(problems, source)
    rows, lines = _measurements(found.rows, range(1, len(found.rows) + 1))
    left = f"{found.stopped} pairs have a job with 0 iterations per second, and are left out"
    return PublishedTable(source, GAVEL, rows, lines, notes=(left,) if found.stopped else ())


def _measurements(
    read: Sequence[_Read], lines: Sequence[int]
) -> tuple[tuple[Measured, ...], tuple[int, ...]]:
    """The measurements of rows, and the line of each.

    A row of two jobs on the same GPUs has two. The same pair in the other order says the same
    again, and counts once.
    """
    found: dict[Measured, int] = {}
    rows: list[Measured] = []
    numbers: list[int] = []
    for row, line in zip(read, lines, strict=True):
        if isinstance(row, GavelPair | LucidPair):
            for one in row.measurements():
                found.setdefault(one, line)
        else:
            rows.append(row)
            numbers.append(line)
    return (*rows, *found), (*numbers, *found.values())


def _published(table: Table, layout: Layout) -> PublishedTable:
    """The measurements of an open table of a layout."""
    header = table.first
    problems = [
        Problem(f"line {table.line}", f"column {name!r} is there {times} times; once is expected")
        for name, times in Counter(filter(None, header)).items()
        if times > 1
    ]
    if problems:
        raise InputError(problems, table.source)
    rows: list[_Read] = []
    lines: list[int] = []
    for line, found in _rows(table, layout):
        if isinstance(found, list):
            problems += found
        else:
            rows.append(found)
            lines.append(line)
    if not rows and not problems:
        problems = [Problem("", "no rows below the names of columns; measurements are expected")]
    if problems:
        raise InputError(problems, table.source)
    known = layout.columns.keys() | layout.others
    ignored = tuple(name for name in header if name and name not in known)
    measured, places = _measurements(rows, lines)
    return PublishedTable(table.source, layout, measured, places, ignored)


def _rows(table: Table, layout: Layout) -> Iterator[tuple[int, _Read | list[Problem]]]:
    header, columns = table.first, layout.columns
    named = {field: column for column, field in columns.items()}
    for line, cells in table.rows:
        if len(cells) != len(header):
            message = f"{len(cells)} cells; {len(header)} are expected, as in the first line"
            yield line, [Problem(f"line {line}", message)]
            continue
        values = {
            columns[name]: cell if columns[name] in layout.record.texts else _value(cell)
            for name, cell in zip(header, cells, strict=True)
            if name in columns and cell
        }
        try:
            yield line, layout.record.model_validate(values)
        except ValidationError as error:
            yield (
                line,
                [
                    Problem(f"line {line}, column {_column(place, named)!r}", message)
                    for place, message in problems_of(error)
                ],
            )


def _column(place: str, named: Mapping[str, str]) -> str:
    return named.get(place, place)


def _value(text: str) -> Any:
    """A cell as a number; other text stays text, which the schema refuses by name."""
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text.lower()) else text
