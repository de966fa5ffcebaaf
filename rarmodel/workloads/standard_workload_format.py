"""The Standard Workload Format (SWF) of the Parallel Workloads Archive, version 2.2."""

from __future__ import annotations

import re

from rarmodel.schema.cluster import MAX_GPUS

from .table_cells import Cells, Moment, duration, moment, number, text
from .trace_format import Format, TraceJob

_FIELDS = (
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "average CPU time",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding job",
    "think time",
)
_UNKNOWN = "-1"
_PARTIAL = {"2", "3", "4"}
"""States of a row that is one of several partial executions of a job."""
_CANCELLED = "5"
_START = "UnixStartTime"
"""The remark that says when second 0 is."""


def _job(cells: Cells) -> TraceJob:
    known = Cells({name: "" if cell == _UNKNOWN else cell for name, cell in cells.items()})
    name, queue = text(known, "job number"), text(known, "queue")
    submit, seconds = _submitted(known), duration(known, "run time")
    status = text(known, "status")
    if status in _PARTIAL:
        message = "a partial execution of a job, which has a row of its own"
        return TraceJob(name, None, submit, None, group=queue, unusable=message)
    notes = ["a processor counts as a GPU: the format has no GPUs"]
    gpus = number(known, "allocated processors", MAX_GPUS)
    if gpus is None:
        gpus = number(known, "requested processors", MAX_GPUS)
        notes.append("no processors allocated in the file; those requested are used")
    wait = duration(known, "wait time")
    start = None
    if submit is not None and wait is not None:
        start = submit._replace(seconds=submit.seconds + wait)
    return TraceJob(
        name,
        gpus,
        submit,
        seconds,
        group=queue,
        unusable="it never started" if status == _CANCELLED and not seconds else "",
        start=start,
        tenant=text(known, "user"),
        notes=tuple(notes),
    )


def _submitted(cells: Cells) -> Moment | None:
    """When a job was submitted: a date if the remarks say when second 0 is."""
    submit, zero = moment(cells, "submit time"), moment(cells, _START)
    if submit is None or zero is None or zero.is_date or not zero.seconds:
        return submit
    return Moment(zero.seconds + submit.seconds, is_date=True, offset=0.0)


def _looks(cells: Cells) -> bool:
    return all(re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", cell) for cell in cells.values())


SWF = Format("swf", frozenset(), _job, headers=(_FIELDS,), looks=_looks)
