"""The published traces: how to read a job from a row of each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from rarmodel.schema.base import exactly
from rarmodel.schema.cluster import MAX_GPUS
from rarmodel.schema.problems import show

from .table_cells import (
    CellError,
    Cells,
    Moment,
    duration,
    elapsed,
    moment,
    names,
    number,
    ran,
    started,
    text,
    whole,
)
from .trace_format import PART, Format, Part, TraceJob


def _gpus(cells: Cells, column: str) -> float | None:
    return number(cells, column, MAX_GPUS)


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
        gpu_types=names(cells, "gpu_type"),
    )


def _philly(cells: Cells) -> TraceJob:
    gpus, seconds = _gpus(cells, "num_gpus"), duration(cells, "duration")
    return TraceJob(
        "",
        gpus,
        moment(cells, "timestamp"),
        seconds,
        group=text(cells, "cluster"),
        tenant=text(cells, "cluster"),
        notes=_gpu_time(cells, "num_gpus", "duration", gpus, seconds),
    )


def _gpu_time(
    cells: Cells, of_gpus: str, of_time: str, gpus: float | None, seconds: float | None
) -> tuple[str, ...]:
    """A note if the row's GPU time is not its GPUs times its duration."""
    try:
        recorded = number(cells, "gpu_time", 1e18)
    except CellError:
        return ()
    if recorded is None or gpus is None or seconds is None:
        return ()
    # Seconds are rounded, of each GPU.
    if abs(recorded - gpus * seconds) <= max(1.0, gpus):
        return ()
    return (f"gpu_time is not {of_gpus} × {of_time}; {of_gpus} and {of_time} are used",)


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
    gpus = _gpus(cells, "gpu_num")
    seconds, notes = ran(cells, ("duration", 1.0), ("start_time", 1.0), ("end_time", 1.0))
    recorded = duration(cells, "duration")
    return TraceJob(
        text(cells, "job_id"),
        gpus,
        moment(cells, "submit_time"),
        seconds,
        group=text(cells, "vc") or text(cells, "type"),
        start=started(cells, "start_time"),
        tenant=text(cells, "vc") or text(cells, "user"),
        notes=(*notes, *_gpu_time(cells, "gpu_num", "duration", gpus, recorded)),
    )


def _alibaba(cells: Cells) -> TraceJob:
    each, workers = number(cells, "gpu_request", MAX_GPUS), whole(cells, "worker_num", MAX_GPUS)
    return TraceJob(
        text(cells, "job_name"),
        _product(each, workers),
        moment(cells, "submit_time"),
        duration(cells, "duration"),
        group=text(cells, "organization"),
        unusable=_uneven(each),
        tenant=text(cells, "organization"),
        gpu_types=names(cells, "gpu_model"),
        part=_part(each, workers),
    )


def _product(each: float | None, workers: int | None) -> float | None:
    return None if each is None or workers is None else each * workers


def _uneven(each: float | None) -> str:
    """Why a worker with so many GPUs is left out: nobody says of which GPU the rest is a part."""
    return "" if each is None or each < 1 or each == int(each) else PART


def _part(each: float | None, workers: int | None) -> Part | None:
    """What workers with so many GPUs each hold of theirs; None if these are whole ones."""
    if each is None or not workers or not 0 < each < 1:
        return None
    return Part(workers, exactly(each))


_PAI = (
    "job_name",
    "task_name",
    "inst_num",
    "status",
    "start_time",
    "end_time",
    "plan_cpu",
    "plan_mem",
    "plan_gpu",
    "gpu_type",
)
_PAI_STATES = {
    "Waiting": "it never started",
    "Running": "it was still running",
    "Terminated": "",
    "Failed": "",
}


def _pai(cells: Cells) -> TraceJob:
    percent = number(cells, "plan_gpu", 100 * MAX_GPUS)
    each = None if percent is None else percent / 100
    workers = whole(cells, "inst_num", MAX_GPUS)
    start, end = moment(cells, "start_time"), moment(cells, "end_time")
    return TraceJob(
        text(cells, "job_name"),
        # A task that plans no GPU has an empty cell.
        0 if each is None else _product(each, workers),
        start,
        elapsed(cells, "end_time", start, end),
        group=text(cells, "task_name"),
        unusable=_PAI_STATES.get(text(cells, "status"), "") or _uneven(each),
        start=start,
        tenant=text(cells, "user"),
        gpu_types=names(cells, "gpu_type"),
        notes=("submitted when it started: the format has no times of submission",),
        part=_part(each, workers),
    )


def _looks_like_pai(cells: Cells) -> bool:
    return cells["status"] in _PAI_STATES and _are_numbers(
        cells, ("inst_num", "start_time", "end_time", "plan_cpu", "plan_mem", "plan_gpu")
    )


def _are_numbers(cells: Cells, columns: tuple[str, ...]) -> bool:
    """Whether these cells are empty or numbers."""
    try:
        for column in columns:
            number(cells, column, 1e15)
    except CellError:
        return False
    return True


_LATENCY_SENSITIVE = "a pod of qos LS (sensitive to latency), taken for a job like the others"


def _openb(cells: Cells) -> TraceJob:
    count, milli = whole(cells, "num_gpu", MAX_GPUS), number(cells, "gpu_milli", 1000)
    each = None if milli is None else milli / 1000
    start, qos = moment(cells, "scheduled_time"), text(cells, "qos")
    return TraceJob(
        text(cells, "name"),
        0 if count == 0 else _product(each, count),
        moment(cells, "creation_time"),
        elapsed(cells, "deletion_time", start, moment(cells, "deletion_time")),
        group=qos,
        # A pod that was deleted while it ran has phase Running.
        unusable="it never started" if start is None else "",
        start=start,
        gpu_types=names(cells, "gpu_spec"),
        notes=(_LATENCY_SENSITIVE,) if qos == "LS" else (),
        part=_part(each, count),
    )


_TOLD = ("job type", "command")
_STEPS = ("steps argument", "needs data", "total steps")
_ORDER = ("GPUs", "priority", "SLO", "arrival")
_GAVEL = (
    (*_TOLD, "directory", *_STEPS, *_ORDER),
    (*_TOLD, *_STEPS, *_ORDER),
    (*_TOLD, *_STEPS, "arrival", "GPUs"),
    (*_TOLD, "steps argument", "total steps", "arrival", "GPUs"),
)
"""Layouts of Gavel's traces, the newest first: the repository has files of each."""


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


def _looks_like_gavel(cells: Cells) -> bool:
    numbers = ("total steps", "GPUs", "arrival")
    if not cells["steps argument"].startswith("-"):
        return False
    return all(text(cells, name) for name in numbers) and _are_numbers(cells, numbers)


def _philly_row(entry: Mapping[str, Any]) -> dict[str, str]:
    """A row of a job of Philly's JSON: each attempt has columns of its own."""
    row = {name: str(entry.get(name)) for name in ("jobid", "vc", "submitted_time")}
    attempts = entry.get("attempts")
    if not isinstance(attempts, list):
        raise CellError("attempts", f"{show(str(attempts))}; a list is expected")
    for i, attempt in enumerate(attempts):
        place = f"attempts[{i}]"
        detail = attempt.get("detail") if isinstance(attempt, dict) else None
        servers = detail if isinstance(detail, list) else [None]
        lists = [server.get("gpus") if isinstance(server, dict) else None for server in servers]
        gpus = [names for names in lists if isinstance(names, list)]
        if len(gpus) < len(lists):
            message = f"{show(str(attempt))}; servers with their lists of GPUs are expected"
            raise CellError(f"{place}.detail", message)
        row[f"{place}.gpus"] = str(sum(map(len, gpus)))
        row |= {f"{place}.{name}": str(attempt.get(name)) for name in ("start_time", "end_time")}
    return row


def _philly_json(cells: Cells) -> TraceJob:
    """A job of Philly's JSON: its attempts, one after another, are one run on its GPUs."""
    notes, spent, begun = list[str](), 0.0, list[Moment]()
    sizes = list[float]()
    running = False
    i = 0
    while f"attempts[{i}].gpus" in cells:
        place = f"attempts[{i}]"
        size = _gpus(cells, f"{place}.gpus") or 0
        start, end = (moment(cells, f"{place}.{name}_time") for name in ("start", "end"))
        seconds = elapsed(cells, f"{place}.end_time", start, end)
        begun += [start] if start else []
        running = end is None
        i += 1
        if seconds is None:
            notes.append("an attempt without start or end; its time is not counted")
        elif size:
            sizes.append(size)
            spent += size * seconds
    gpus = sizes[-1] if sizes else 0
    if len(set(sizes)) > 1:
        notes.append("attempts on different numbers of GPUs; those of the last, with all GPU hours")
    unusable = "it was still running" if running else ""
    return TraceJob(
        text(cells, "jobid"),
        gpus,
        moment(cells, "submitted_time"),
        spent / gpus if gpus else None,
        group=text(cells, "vc"),
        unusable=unusable if i else "it never started",
        start=min(begun, default=None),
        tenant=text(cells, "vc"),
        notes=tuple(dict.fromkeys(notes)),
    )


_PHILLY = (
    "Derived from Microsoft's Philly traces: M. Jeon et al., USENIX ATC 2019, CC-BY-4.0; changed."
)

PUBLISHED = (
    Format("rarmodel", frozenset({"job_id", "num_gpus", "submit_s", "duration_s"}), _schema),
    Format("philly", frozenset({"timestamp", "duration", "num_gpus"}), _philly, credit=_PHILLY),
    Format(
        "philly-json",
        frozenset({"jobid", "submitted_time", "attempts"}),
        _philly_json,
        listing="",
        flatten=_philly_row,
        credit=_PHILLY,
    ),
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
        beside={"gpu_request": "it is for each of worker_num workers"},
    ),
    Format(
        "pai",
        frozenset({"job_name", "inst_num", "start_time", "end_time", "plan_gpu"}),
        _pai,
        headers=(_PAI,),
        looks=_looks_like_pai,
        beside={"plan_gpu": "it is in percent of a GPU, for each of inst_num instances"},
    ),
    Format(
        "openb",
        frozenset(
            {"name", "num_gpu", "gpu_milli", "creation_time", "deletion_time", "scheduled_time"}
        ),
        _openb,
        beside={
            "num_gpu": "gpu_milli says which part of each GPU it is",
            "gpu_milli": "it is in thousandths, for each of num_gpu GPUs",
        },
    ),
    Format(
        "gavel",
        frozenset(),
        _gavel,
        headers=_GAVEL,
        looks=_looks_like_gavel,
        summed_iterations=True,
    ),
)
"""Formats of published traces, and rarmodel's own."""
