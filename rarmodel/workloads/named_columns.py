"""A file in no known format: the user names its columns."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from rarmodel import registry
from rarmodel.errors import UsageError
from rarmodel.schema.cluster import MAX_GPUS

from .table_cells import UNITS, Cells, moment, names, number, ran, started, text, whole
from .trace_format import Format, TraceJob

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
TIMES = ("submit", "duration", "start", "end")
"""Those that are times, whose columns may have a unit."""


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
    return Format("columns", needed, partial(_mapped, places), places=places)


def _with_unit(name: str, column: str) -> tuple[str, float]:
    stem, colon, unit = column.rpartition(":")
    if colon and unit in UNITS and name in TIMES:
        return stem, UNITS[unit]
    return column, 1.0


def _mapped(places: Mapping[str, tuple[str, float]], cells: Cells) -> TraceJob:
    def place(name: str) -> tuple[str, float]:
        return places.get(name, ("", 1.0))

    def column(name: str) -> str:
        return place(name)[0]

    group = text(cells, column("group"))
    seconds, notes = ran(cells, place("duration"), place("start"), place("end"))
    return TraceJob(
        text(cells, column("name")),
        number(cells, column("gpus"), MAX_GPUS),
        moment(cells, *place("submit")),
        seconds,
        whole(cells, column("iterations")),
        text(cells, column("model")),
        whole(cells, column("batch-size")),
        group,
        start=started(cells, *place("start")),
        tenant=text(cells, column("tenant")) or group,
        gpu_types=names(cells, column("gpu-type")),
        partition=text(cells, column("partition")),
        notes=notes,
    )
