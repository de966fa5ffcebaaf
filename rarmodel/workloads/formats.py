"""The trace formats: their columns, and how to read a job from a row."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from rarmodel import registry
from rarmodel.errors import UsageError
from rarmodel.schema.cluster import MAX_GPUS
from rarmodel.schema.problems import show

from .cells import LONGEST, UNITS, CellError, Cells, Moment, duration, moment, number, text, whole


class TraceJob(NamedTuple):
    """The content of a row.

    Attributes
    ----------
    name
        Name of the job in the trace; empty if the format has none.
    gpus
        GPUs that the job held; None if unknown.
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
        Why the row is not a job that ran; empty if it is.
    start
        When it started; None if unknown.
    tenant
        Whose job it is; empty if unknown.
    gpu_types
        Types of GPU to which it is bound, any of them; empty if to none.
    partition
        Slurm partition, or several separated by commas; empty if unknown.
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


@dataclass(frozen=True)
class Format:
    """A trace format.

    Attributes
    ----------
    name
        Name for `--format`.
    columns
        Columns that every file of this format has.
    read
        Function that reads a job from a row.
    either
        Groups of columns; a file has at least one column of each group.
    header
        Column names of a file without a header; empty if the first row has them.
    summed_iterations
        Whether iterations are summed over the GPUs, as Gavel's steps are.
    credit
        Authors and licence to name with anything derived from such a trace.
    """

    name: str
    columns: frozenset[str]
    read: Callable[[Cells], TraceJob]
    either: tuple[tuple[str, ...], ...] = ()
    header: tuple[str, ...] = ()
    summed_iterations: bool = False
    credit: str = ""


def _gpus(cells: Cells, column: str) -> float | None:
    return number(cells, column, MAX_GPUS)


def _start(cells: Cells, column: str, unit: float = 1.0) -> Moment | None:
    """When a job started; None also if the cell cannot be read, as few need it."""
    try:
        return moment(cells, column, unit)
    except CellError:
        return None


def _types(cells: Cells, column: str) -> tuple[str, ...]:
    """Types of GPU that a cell names, such as `V100M16|V100M32`."""
    return tuple(filter(None, (part.strip() for part in text(cells, column).split("|"))))


def _schema(cells: Cells) -> TraceJob:
    return TraceJob(
        text(cells, "job_id"),
        _gpus(cells, "num_gpus"),
        moment(cells, "submit_s"),
        duration(cells, "duration_s"),
        whole(cells, "iterations"),
        text(cells, "model"),
        whole(cells, "batch_size"),
        text(cells, "group"),
        tenant=text(cells, "group"),
        gpu_types=_types(cells, "gpu_type"),
    )


def _philly(cells: Cells) -> TraceJob:
    return TraceJob(
        "",
        _gpus(cells, "num_gpus"),
        moment(cells, "timestamp"),
        duration(cells, "duration"),
        group=text(cells, "cluster"),
        tenant=text(cells, "cluster"),
    )


def _tiresias(cells: Cells, unit: float) -> TraceJob:
    return TraceJob(
        text(cells, "job_id"),
        _gpus(cells, "num_gpu"),
        moment(cells, "submit_time", unit),
        duration(cells, "duration", unit),
        whole(cells, "iterations"),
        text(cells, "model_name"),
        whole(cells, "batch_size"),
    )


def _helios(cells: Cells) -> TraceJob:
    return TraceJob(
        text(cells, "job_id"),
        _gpus(cells, "gpu_num"),
        moment(cells, "submit_time"),
        duration(cells, "duration"),
        group=text(cells, "vc") or text(cells, "type"),
        start=_start(cells, "start_time"),
        tenant=text(cells, "vc") or text(cells, "user"),
    )


def _alibaba(cells: Cells) -> TraceJob:
    each, workers = number(cells, "gpu_request", MAX_GPUS), whole(cells, "worker_num", MAX_GPUS)
    return TraceJob(
        text(cells, "job_name"),
        None if each is None or workers is None else each * workers,
        moment(cells, "submit_time"),
        duration(cells, "duration"),
        group=text(cells, "organization"),
        tenant=text(cells, "organization"),
        gpu_types=_types(cells, "gpu_model"),
    )


_GAVEL = (
    "job type",
    "command",
    "directory",
    "steps argument",
    "needs data",
    "total steps",
    "GPUs",
    "priority",
    "SLO",
    "arrival",
)


def _gavel(cells: Cells) -> TraceJob:
    found = re.fullmatch(r"(.*?)(?: \(batch size ([0-9]{1,15})\))?", cells["job type"])
    model, batch_size = found.groups() if found else ("", None)
    return TraceJob(
        "",
        _gpus(cells, "GPUs"),
        moment(cells, "arrival"),
        None,
        whole(cells, "total steps"),
        model,
        int(batch_size) if batch_size else None,
    )


_UNFINISHED = {
    "PENDING": "it never started",
    "RUNNING": "it was still running",
    "SUSPENDED": "it was still running",
}


def _sacct(cells: Cells) -> TraceJob:
    job = text(cells, "JobID")
    state = text(cells, "State").split(" ")[0]
    unusable = _UNFINISHED.get(state, "")
    if "." in job:
        unusable = "a step of a job, which has a row of its own"
    held = (
        _tres_gpus(cells, "AllocTRES")
        if "AllocTRES" in cells
        else gpus_of_gres(text(cells, "AllocGRES"), "AllocGRES")
    )
    # A job that asked for no type may run on any, whatever it got.
    asked = _tres_gpus(cells, "ReqTRES") or gpus_of_gres(text(cells, "ReqGRES"), "ReqGRES")
    return TraceJob(
        job,
        sum(held.values()),
        moment(cells, "Submit"),
        duration(cells, "ElapsedRaw" if "ElapsedRaw" in cells else "Elapsed"),
        group=text(cells, "Partition") or text(cells, "Account"),
        unusable=unusable,
        start=_start(cells, "Start"),
        tenant=text(cells, "Account") or text(cells, "User"),
        gpu_types=tuple(kind for kind in asked or held if kind),
        partition=text(cells, "Partition"),
    )


def _tres_gpus(cells: Cells, column: str) -> dict[str, int]:
    """GPUs by type in `billing=8,cpu=8,gres/gpu=2,gres/gpu:a100=2`; those of no type under ``.

    Slurm lists the total beside the types.
    """
    counts = {}
    for part in text(cells, column).split(","):
        name, _, count = part.partition("=")
        if name.split(":")[0] == "gres/gpu":
            counts[name.partition(":")[2]] = _count(count, column, part)
    typed = sum(count for kind, count in counts.items() if kind)
    rest = counts.get("", typed) - typed
    return {kind: count for kind, count in counts.items() if kind} | ({"": rest} if rest else {})


def gpus_of_gres(gres: str, column: str) -> dict[str, int]:
    """GPUs by type in a list of generic resources as Slurm writes it; those of no type under ``.

    Such lists are `gpu:2` and `gpu:v100:2(S:0-1),nvme:1`.

    Raises
    ------
    CellError
        If a number of GPUs is invalid.
    """
    counts = Counter[str]()
    for part in re.sub(r"\([^()]*\)", "", gres).split(","):
        words = part.strip().removeprefix("gres:").split(":")
        if words[0] == "gpu":
            numbered = len(words) > 1 and words[-1][:1].isdigit()
            kind = "" if len(words) == 1 or (numbered and len(words) == 2) else words[1]
            counts[kind] += _count(words[-1] if numbered else "1", column, part)
    return counts


def _count(count: str, column: str, part: str) -> int:
    if not re.fullmatch(r"[0-9]{1,8}", count):
        raise CellError(column, f"{show(part)}; a number of GPUs is expected")
    return int(count)


_PHILLY = (
    "Derived from Microsoft's Philly traces: M. Jeon et al., USENIX ATC 2019, CC-BY-4.0; changed."
)

FORMATS: Mapping[str, Format] = {
    known.name: known
    for known in (
        Format("rarmodel", frozenset({"job_id", "num_gpus", "submit_s", "duration_s"}), _schema),
        Format("philly", frozenset({"timestamp", "duration", "num_gpus"}), _philly, credit=_PHILLY),
        Format(
            "muri",
            frozenset({"job_id", "num_gpu", "submit_time", "duration", "iteration_time"}),
            partial(_tiresias, unit=1e-3),
            credit=_PHILLY,
        ),
        Format(
            "tiresias",
            frozenset({"job_id", "num_gpu", "submit_time", "duration"}),
            partial(_tiresias, unit=1.0),
        ),
        Format("helios", frozenset({"job_id", "gpu_num", "submit_time", "duration"}), _helios),
        Format(
            "acme",
            frozenset({"job_id", "gpu_num", "submit_time", "duration", "type", "gpu_time"}),
            _helios,
        ),
        Format(
            "alibaba-spot",
            frozenset({"job_name", "gpu_request", "worker_num", "submit_time", "duration"}),
            _alibaba,
        ),
        Format("gavel", frozenset(), _gavel, header=_GAVEL, summed_iterations=True),
        Format(
            "sacct",
            frozenset({"JobID"}),
            _sacct,
            either=(("AllocTRES", "AllocGRES"), ("ElapsedRaw", "Elapsed")),
        ),
    )
}
"""All known formats by name."""

MAPPABLE = (
    "name",
    "gpus",
    "submit",
    "duration",
    "start",
    "end",
    "iterations",
    "model",
    "batch-size",
    "group",
    "tenant",
    "gpu-type",
    "partition",
)
"""Fields to which a column of any other file can be mapped."""


def mapped(columns: Mapping[str, str]) -> Format:
    """The format of a file whose columns the user names.

    Parameters
    ----------
    columns
        Column for each of `MAPPABLE` that the file has; a time may end in `:ms`, `:s`, `:min`,
        `:h` or `:d`, its unit.

    Raises
    ------
    UsageError
        If a field is unknown, or the field for GPUs is missing.
    """
    if unknown := sorted(columns.keys() - set(MAPPABLE)):
        raise UsageError(registry.unknown("field", unknown, MAPPABLE))
    if "gpus" not in columns:
        raise UsageError("a column for gpus is needed, such as gpus=NUM_GPUS")
    if ("start" in columns) != ("end" in columns):
        raise UsageError("give both start and end: their difference is the duration")
    places = {name: _with_unit(name, column) for name, column in columns.items()}
    needed = frozenset(column for column, _ in places.values())
    return Format("columns", needed, partial(_mapped, places))


def _with_unit(name: str, column: str) -> tuple[str, float]:
    stem, colon, unit = column.rpartition(":")
    if colon and unit in UNITS and name in {"submit", "duration", "start", "end"}:
        return stem, UNITS[unit]
    return column, 1.0


def _mapped(places: Mapping[str, tuple[str, float]], cells: Cells) -> TraceJob:
    def place(name: str) -> tuple[str, float]:
        return places.get(name, ("", 1.0))

    seconds = duration(cells, *place("duration"))
    group = text(cells, place("group")[0])
    if "start" in places and seconds is None:
        start, end = moment(cells, *place("start")), moment(cells, *place("end"))
        if start and end:
            seconds = end.seconds - start.seconds
            column = place("end")[0]
            if seconds < 0:
                raise CellError(column, f"{cells[column]!r}; it must not be before the start")
            if seconds > LONGEST:
                raise CellError(column, f"{cells[column]!r}; more than {LONGEST:g} s of duration")
    return TraceJob(
        text(cells, place("name")[0]),
        _gpus(cells, place("gpus")[0]),
        moment(cells, *place("submit")),
        seconds,
        whole(cells, place("iterations")[0]),
        text(cells, place("model")[0]),
        whole(cells, place("batch-size")[0]),
        group,
        start=_start(cells, *place("start")),
        tenant=text(cells, place("tenant")[0]) or group,
        gpu_types=_types(cells, place("gpu-type")[0]),
        partition=text(cells, place("partition")[0]),
    )
