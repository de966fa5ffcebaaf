"""A schedule: where and when each job runs (model, section 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field

from rarmodel.tabular import MOST_ROWS, frame, html_rows

from .base import Count, Integer, Name, Record, Version
from .time import SlotTime

if TYPE_CHECKING:
    import pandas as pd


class Assignment(Record):
    """Start and GPUs of one job, which holds them until it completes."""

    job: Name
    """Name of the job."""

    start: Integer
    """First slot in which the job is active, a_j. Whether it exists is the verifier's question."""

    gpus: dict[Name, tuple[Integer, ...]]
    """Indices (from 0) of the GPUs held on each server; as many in all as the job asks for."""


class ProvenValue(Record):
    """A lower bound on the values of an objective that was proven when a schedule was made."""

    objective: Name
    """Name of the objective."""

    value: Annotated[int, Field(strict=True)] | Annotated[str, Field(pattern=r"^-?\d+/[1-9]\d*$")]
    """No schedule of the instance has less: a whole number, or a fraction such as `17/3`."""

    name: Name
    """Name of the bound, or of the solver that proved it."""


class ProvenBound(Record):
    """A lower bound on the makespan that was proven when a schedule was made."""

    slots: Count
    """No schedule of the instance is shorter."""

    name: Name
    """Name of the bound, or of the solver that proved it."""

    aim: ProvenValue | None = None
    """The same for the most important objective, if that is not the makespan."""

    instance_sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    """Digest of the instance for which the bound holds."""


class Schedule(Record):
    """An assignment for each job. Completion times follow from it, so they are not part of it."""

    schema_version: Version
    """Version of the file format."""

    instance: Name
    """Name of the instance."""

    method: Name
    """The method that made the schedule."""

    time: SlotTime | None = None
    """Length of the slots and time of slot 0, so that each start has a clock time."""

    assignments: tuple[Assignment, ...]
    """One assignment for each job."""

    bound: ProvenBound | None = None
    """The best lower bound known when the schedule was made."""

    def rows(self) -> list[dict[str, Any]]:
        """One row of plain data for each assignment: job, start, GPUs, servers, placement."""
        return [
            {
                "job": assignment.job,
                "start": assignment.start,
                "gpus": sum(map(len, assignment.gpus.values())),
                "servers": sum(map(bool, assignment.gpus.values())),
                "placement": {server: list(gpus) for server, gpus in assignment.gpus.items()},
            }
            for assignment in self.assignments
        ]

    def to_frame(self) -> pd.DataFrame:
        """The assignments as a pandas data frame, with the columns of `rows`."""
        return frame(self.rows())

    def _repr_html_(self) -> str:
        shown = [{**row, "placement": _placed(row["placement"])} for row in self.rows()[:MOST_ROWS]]
        title = f"Schedule of {self.instance} by {self.method}"
        return html_rows(title, shown, len(self.assignments))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: FBT001 - IPython's
        jobs = len(self.assignments)
        printer.text(f"Schedule of {self.instance!r} by {self.method!r}: {jobs} jobs")

    def timed(self, time: SlotTime) -> Self:
        """The schedule with the slots of its instance."""
        fields = {"slot_seconds", "origin"}
        slots = SlotTime(**time.model_dump(include=fields, exclude_unset=True))
        return self.model_copy(update={"time": slots})


def _placed(placement: Mapping[str, Sequence[int]]) -> str:
    """GPUs held, in a few words."""
    few = [f"{server}: {', '.join(map(str, gpus))}" for server, gpus in placement.items()]
    return "; ".join(few)
