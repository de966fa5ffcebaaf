"""A trace format: its columns, and the job that it reads from a row."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from rarmodel.errors import Problem

from .table_cells import Cells, Moment

PART = "a part of a GPU"
"""Why a job that shares GPUs is left out."""


class Part(NamedTuple):
    """What the workers of a job hold that shares GPUs.

    Attributes
    ----------
    workers
        Workers, each on a GPU of its own.
    of_gpu
        The part of its GPU that each of them holds, between 0 and 1; None if `shards` says it.
    shards
        Shards of its GPU that each of them holds, of as many as its server's GPUs have; 0 if
        `of_gpu` says it.
    """

    workers: int
    of_gpu: Fraction | None
    shards: int = 0


class Rung(NamedTuple):
    """Where a row is in a sweep of hyper-parameters.

    Attributes
    ----------
    sweep
        Name of the sweep; empty if the trace has one.
    number
        Number of the rung, from 0.
    trial
        Name of the trial.
    """

    sweep: str
    number: int
    trial: str


class TraceJob(NamedTuple):
    """The content of a row.

    Attributes
    ----------
    name
        Name of the job in the trace; empty if the format has none.
    gpus
        GPUs that the job held, parts of GPUs as such; None if unknown.
    submit
        Time of submission; None if unknown.
    seconds
        Duration on its GPUs; None if unknown.
    iterations
        Training iterations; None if unknown.
    model, group
        Model, and virtual cluster or similar; empty if unknown.
    batch_size
        Samples in the mini-batch of each GPU; None if unknown.
    unusable
        Why the row is not a job that ran on whole GPUs; empty if it is.
    start
        When it started; None if unknown.
    tenant
        Whose job it is; empty if unknown.
    gpu_types
        Types of GPU to which it is bound, any of them; empty if to none.
    partition
        Slurm partition, or several separated by commas; empty if unknown.
    licences
        Names of licences, and how many the job held of each.
    notes
        Assumptions about the row, such as which of two cells that contradict each other is used.
    whole
        Name of the job of which the row is one component; empty if it is a job of its own.
    rung
        Where it is in a sweep; None if it is in none.
    part
        What its workers hold of their GPUs; None if these are whole ones.
    """

    name: str
    gpus: float | None
    submit: Moment | None
    seconds: float | None
    iterations: int | None = None
    model: str = ""
    batch_size: int | None = None
    group: str = ""
    unusable: str = ""
    start: Moment | None = None
    tenant: str = ""
    gpu_types: tuple[str, ...] = ()
    partition: str = ""
    notes: tuple[str, ...] = ()
    licences: tuple[tuple[str, int], ...] = ()
    whole: str = ""
    rung: Rung | None = None
    part: Part | None = None

    @property
    def gpu_hours(self) -> float:
        """GPUs times duration in hours; 0 if one of both is unknown."""
        return (self.gpus or 0) * (self.seconds or 0) / 3600


@dataclass(frozen=True)
class Format:
    """A trace format.

    Attributes
    ----------
    name
        Name for `--format`.
    columns
        Columns that every file of this format with names of columns has.
    read
        Function that reads a job from a row.
    either
        Groups of columns; a file has at least one column of each group. `Start and End` are two
        columns that it has together.
    headers
        Column names of files that do not begin with them, one for each layout that was published;
        empty if every file has them.
    looks
        Whether a row of as many cells looks like one of this format, for files without names.
    places
        For a file in no known format: the column that the user names for each field, and the
        seconds in its unit.
    beside
        Columns of the format that do not say how many GPUs a job has, each with the reason.
    cure
        What the user can do about a missing column.
    listing
        For files in JSON: the field with the list of jobs; empty if the file is the list. None
        for tables.
    flatten
        For files in JSON: function that makes a row from an entry of that list.
    fields
        For files in JSON: the place in an entry of columns that have another name.
    summed_iterations
        Whether iterations are summed over the GPUs, as Gavel's steps are.
    check
        What is wrong with rows beside each other; None if nothing can be.
    credit
        Authors and licence to name with anything derived from such a trace.
    """

    name: str
    columns: frozenset[str]
    read: Callable[[Cells], TraceJob]
    either: tuple[tuple[str, ...], ...] = ()
    headers: tuple[tuple[str, ...], ...] = ()
    looks: Callable[[Cells], bool] | None = None
    places: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    beside: Mapping[str, str] = field(default_factory=dict)
    cure: str = ""
    listing: str | None = None
    flatten: Callable[[Mapping[str, Any]], dict[str, str]] | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    summed_iterations: bool = False
    credit: str = ""
    check: Callable[[Sequence[tuple[int, TraceJob]]], list[Problem]] | None = None

    @property
    def is_table(self) -> bool:
        """Whether files are tables, not JSON."""
        return self.flatten is None

    def lacking(self, columns: Collection[str]) -> list[str]:
        """Columns that a file with these ones lacks, in words."""
        groups = (
            " or ".join(map(repr, group))
            for group in self.either
            if not any(set(one.split(" and ")) <= set(columns) for one in group)
        )
        return [*map(repr, sorted(self.columns - set(columns))), *groups]

    def share(self, columns: Collection[str]) -> float:
        """How much of what every file has a file with these columns has, from 0 to 1."""
        wanted = len(self.columns) + len(self.either)
        return 1 - len(self.lacking(columns)) / wanted if wanted else 0.0

    def layout(self, cells: int) -> tuple[str, ...]:
        """Column names of a file without them whose rows have so many cells; empty if none has."""
        return next((header for header in self.headers if len(header) == cells), ())

    def names(self, first: Sequence[str]) -> tuple[str, ...]:
        """Names of the columns of a file with this first row."""
        begins = not self.headers or (self.columns and self.columns <= set(first))
        return tuple(first) if begins else self.layout(len(first)) or self.headers[0]
