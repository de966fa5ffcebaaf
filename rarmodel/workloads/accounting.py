"""Slurm's accounting: what `sacct` prints, a table or JSON, and MIT SuperCloud's job table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rarmodel.schema.problems import show

from .gres import gpus_of_gres, gpus_of_tres, has_parts
from .licences import licences_in, licences_of_tres
from .table_cells import CellError, Cells, Moment, duration, elapsed, epoch, text
from .trace_format import PART, Format, Part, TraceJob

_UNFINISHED = {
    "PENDING": "it never started",
    "RUNNING": "it was still running",
    "SUSPENDED": "it was still running",
}
_STEP = "a step of a job, which has a row of its own"
_CURE = "run sacct --parsable2 with --format JobID,State,Account,Partition,Submit,Start,ElapsedRaw"
_WHOLE = "cut short by sacct; --parsable2 writes it whole"
_NAMED = ("JobID", "JobIDRaw", "Partition", "Account", "User", "Licenses")
_STATES = {"0": "PENDING", "1": "RUNNING", "2": "SUSPENDED"}
"""States of Slurm's data base by number, as far as they matter."""
_GPU_IDS = ("1001", "1002")
"""Trackable resources of MIT SuperCloud that are GPUs: of any type, and of one type."""


def _start(cells: Cells, column: str) -> Moment | None:
    """When a job started; None also if the cell cannot be read, as few need it."""
    try:
        return epoch(cells, column)
    except CellError:
        return None


def _sacct(cells: Cells) -> TraceJob:
    job = text(cells, "JobID") or text(cells, "JobIDRaw")
    submit, start = epoch(cells, "Submit"), _start(cells, "Start")
    group = text(cells, "Partition") or text(cells, "Account")
    if "." in job:
        return TraceJob(job, None, submit, None, group=group, unusable=_STEP)
    notes = []
    if cut := [name for name in _NAMED if text(cells, name).endswith("+")]:
        notes.append(f"{', '.join(cut)}: {_WHOLE}")
    whole, plus, offset = job.partition("+")
    held, shared = _held(cells, "AllocTRES", "AllocGRES")
    asked, _ = _held(cells, "ReqTRES", "ReqGRES")
    unusable = _UNFINISHED.get(text(cells, "State").split(" ")[0], "")
    if not {"AllocTRES", "AllocGRES"} & cells.keys():
        held, shared = _held(cells, "ReqTRES", "ReqTRES")
        notes.append("no GPUs allocated in the file; those of ReqTRES are used")
    seconds, more = _ran(cells, start)
    part = _shards(cells) if shared and not held and not plus else None
    return TraceJob(
        job,
        sum(held.values()),
        submit,
        seconds,
        group=group,
        unusable=unusable or (PART if shared and part is None else ""),
        start=start,
        part=part,
        tenant=text(cells, "Account") or text(cells, "User"),
        # A job that asked for no type may run on any, whatever it got.
        gpu_types=tuple(kind for kind in asked or held if kind),
        partition=text(cells, "Partition"),
        notes=(*notes, *more),
        licences=_licences(cells),
        whole=whole if plus and whole.isdecimal() and offset.isdecimal() else "",
    )


def _licences(cells: Cells) -> tuple[tuple[str, int], ...]:
    """What a job asked for, or else the licences among its trackable resources."""
    asked = text(cells, "Licenses")
    found = {} if asked.endswith("+") else licences_in(asked)
    found = found or licences_of_tres(text(cells, "AllocTRES") or text(cells, "ReqTRES"))
    return tuple(sorted((name, number) for name, number in found.items() if number))


def _held(cells: Cells, tres: str, gres: str) -> tuple[dict[str, int], bool]:
    """GPUs by type, and whether some are parts of GPUs."""
    found, shared = dict[str, int](), False
    for column, read in ((tres, gpus_of_tres), (gres, gpus_of_gres)):
        value = text(cells, column)
        if value.endswith("+"):
            raise CellError(column, f"{show(value)}; {_WHOLE}, and so does {column}%200")
        shared = shared or has_parts(value)
        found = found or read(value, column)
    return found, shared


def _shards(cells: Cells) -> Part | None:
    """The shards that a job held of one GPU of each of its nodes; None if it held other parts."""
    tres = text(cells, "AllocTRES") or text(cells, "ReqTRES")
    counts: dict[str, int] = {}
    for part in tres.split(","):
        name, _, count = part.partition("=")
        if name in {"node", "gres/shard"} and re.fullmatch("[0-9]{1,8}", count):
            counts[name] = int(count)
        elif name.startswith("gres/") and not name.startswith("gres/shard:") and count != "0":
            return None
    nodes, shards = counts.get("node", 0), counts.get("gres/shard", 0)
    if not nodes or not shards or shards % nodes:
        return None
    return Part(nodes, None, shards // nodes)


def _ran(cells: Cells, start: Moment | None) -> tuple[float | None, tuple[str, ...]]:
    """How long a job ran, and a note if its cells contradict each other.

    Slurm's elapsed time is right where it differs: it leaves out times of suspension, and is not
    wrong by an hour where the clock was changed.
    """
    column = "ElapsedRaw" if "ElapsedRaw" in cells else "Elapsed"
    recorded = duration(cells, column)
    if recorded is None:
        return elapsed(cells, "End", epoch(cells, "Start"), epoch(cells, "End")), ()
    try:
        spent = elapsed(cells, "End", start, _start(cells, "End"))
    except CellError:
        spent = None
    if spent is None or abs(spent - recorded) <= 1:
        return recorded, ()
    return recorded, (f"{column} is not End − Start; {column} is used",)


def _supercloud(cells: Cells) -> TraceJob:
    state = text(cells, "state")
    start, end = epoch(cells, "time_start"), epoch(cells, "time_end")
    unusable = _UNFINISHED.get(_STATES.get(state, state), "")
    if not unusable and (start is None or end is None):
        unusable = "it never started" if start is None else "it was still running"
    by_type = gpus_of_gres(text(cells, "gres_used"), "gres_used")
    used = sum(by_type.values())
    counted = _numbered(cells, "tres_alloc")
    notes = []
    if counted and used not in {*counted, sum(counted)}:
        notes.append("gres_used is not the GPUs of tres_alloc; those of tres_alloc are used")
        used = max(counted)
    return TraceJob(
        text(cells, "id_job"),
        used,
        epoch(cells, "time_submit"),
        elapsed(cells, "time_end", start, end),
        group=text(cells, "partition"),
        unusable=unusable or (PART if has_parts(text(cells, "gres_used")) else ""),
        start=start,
        tenant=text(cells, "id_user"),
        gpu_types=tuple(filter(None, by_type)),
        partition=text(cells, "partition"),
        notes=tuple(notes),
    )


def _numbered(cells: Cells, column: str) -> list[int]:
    """The numbers of GPUs in resources by number, such as `1=80,2=170000,1001=4,1002=4`."""
    pairs = (part.partition("=") for part in text(cells, column).split(","))
    return [int(n) for key, _, n in pairs if key in _GPU_IDS and re.fullmatch("[0-9]{1,8}", n)]


_FIELDS = {
    "JobID": "job_id",
    "State": "state.current",
    "Account": "association.account",
    "User": "association.user",
    "Partition": "partition",
    "Submit": "time.submission",
    "Start": "time.start",
    "End": "time.end",
    "ElapsedRaw": "time.elapsed",
    "AllocTRES": "tres.allocated",
    "ReqTRES": "tres.requested",
    "Licenses": "licenses",
}


def _row(entry: Mapping[str, Any]) -> dict[str, str]:
    """The row of a table that `sacct` would print for a job of its JSON."""
    row = {column: _text(_at(entry, path)) for column, path in _FIELDS.items()}
    row["Account"] = row["Account"] or _text(entry.get("account"))
    row["User"] = row["User"] or _text(entry.get("user"))
    for column in ("AllocTRES", "ReqTRES"):
        row[column] = _resources(_at(entry, _FIELDS[column]), column)
    array, het = entry.get("array"), entry.get("het")
    if isinstance(array, dict) and _text(array.get("job_id")) not in {"", "0"}:
        row["JobID"] = f"{_text(array['job_id'])}_{_text(array.get('task_id')) or row['JobID']}"
    elif isinstance(het, dict) and _text(het.get("job_id")) not in {"", "0"}:
        row["JobID"] = f"{_text(het['job_id'])}+{_text(het.get('job_offset')) or '0'}"
    return row


def _at(entry: Mapping[str, Any], path: str) -> object:
    value: object = entry
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _text(value: object) -> str:
    """A value as a cell: newer versions write a number as an object, and a state as a list."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set", True) else None
    if isinstance(value, list):
        value = value[0] if value else None
    return "" if value is None or isinstance(value, dict | list) else str(value)


def _resources(listed: object, column: str) -> str:
    """Resources as text, such as `gres/gpu=4`, from `{"type": "gres", "name": "gpu", "count": 4}`.

    Raises
    ------
    CellError
        If it is no list of resources.
    """
    parts = []
    for one in listed if isinstance(listed, list) else [] if listed is None else [None]:
        if not isinstance(one, dict) or not isinstance(one.get("type"), str):
            raise CellError(column, f"{show(str(listed))}; a list of resources is expected")
        name = f"/{one['name']}" if one.get("name") else ""
        parts.append(f"{one['type']}{name}={_text(one.get('count'))}")
    return ",".join(parts)


SACCT = Format(
    "sacct",
    frozenset(),
    _sacct,
    either=(
        ("JobID", "JobIDRaw"),
        ("AllocTRES", "AllocGRES", "ReqTRES"),
        ("ElapsedRaw", "Elapsed", "Start and End"),
    ),
    cure=f"{_CURE},ReqTRES,AllocTRES",
)
SACCT_JSON = Format(
    "sacct-json",
    frozenset({"job_id", "time", "tres"}),
    _sacct,
    listing="jobs",
    flatten=_row,
    fields=_FIELDS,
)
SUPERCLOUD = Format(
    "supercloud",
    frozenset({"id_job", "gres_used", "state", "time_submit", "time_start", "time_end"}),
    _supercloud,
    credit="Derived from the MIT Supercloud Dataset: S. Samsi et al., IEEE HPEC 2021; changed.",
)
