"""A schedule: where and when each job runs (model, section 4)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Discriminator,
    FailFast,
    Field,
    Tag,
    TypeAdapter,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_validator,
)

from rarmodel.errors import InputError, Problem
from rarmodel.tabular import MOST_ROWS, frame, html_rows

from .base import ONE, SEVERAL, Count, Integer, Name, Record, Version
from .problems import show
from .time import SlotTime

if TYPE_CHECKING:
    import pandas as pd


class Segment(Record):
    """GPUs that a job holds from one slot until before another."""

    start: Integer
    """First slot in which the job holds them."""

    end: Integer | None = None
    """First slot in which it does not any more. The last segment has none: it ends when the job
    completes."""

    gpus: dict[Name, tuple[Integer, ...]]
    """Indices (from 0) of the GPUs held on each server."""


class Assignment(Record):
    """Start and GPUs of one job, which holds them until it completes."""

    job: Name
    """Name of the job."""

    start: Integer
    """First slot in which the job is active, a_j. Whether it exists is the verifier's question."""

    gpus: dict[Name, tuple[Integer, ...]]
    """Indices (from 0) of the GPUs held on each server; as many in all as the job asks for."""

    @property
    def end(self) -> None:
        """No slot in which the job is interrupted."""
        return

    @property
    def segments(self) -> tuple[Held, ...]:
        """The one segment: the assignment itself, as it has all that a segment has."""
        return (self,)


class InterruptedAssignment(Record):
    """A job that is interrupted, and goes on later, perhaps elsewhere or with another ring size."""

    job: Name
    """Name of the job."""

    segments: Annotated[tuple[Segment, ...], Field(min_length=1)]
    """What it holds, and when; one after another."""

    @property
    def start(self) -> int:
        """First slot in which the job holds GPUs, a_j."""
        return self.segments[0].start

    @property
    def gpus(self) -> dict[str, tuple[int, ...]]:
        """GPUs of the first segment."""
        return self.segments[0].gpus

    @field_validator("segments")
    @classmethod
    def _one_after_another(cls, segments: tuple[Segment, ...]) -> tuple[Segment, ...]:
        problems = []
        for i, segment in enumerate(segments):
            last = i == len(segments) - 1
            if last and segment.end is not None:
                message = "the last segment ends when the job completes; remove its end"
                problems.append(Problem(f"[{i}].end", message))
            elif not last and segment.end is None:
                message = "missing; every segment but the last one needs it"
                problems.append(Problem(f"[{i}].end", message))
            elif segment.end is not None and segment.end <= segment.start:
                message = f"{segment.end}; it must be above start, {segment.start}"
                problems.append(Problem(f"[{i}].end", message))
            before = segments[i - 1].end if i else None
            if before is not None and segment.start < before:
                message = f"{segment.start}; the segment before it ends at slot {before}"
                problems.append(Problem(f"[{i}].start", message))
        if problems:
            raise InputError(problems)
        return segments


Held = Segment | Assignment
"""GPUs that a job holds from one slot until before another, or until it completes."""


def _in_segments(value: object) -> str:
    keys = value if isinstance(value, dict) else getattr(type(value), "model_fields", ())
    return SEVERAL if "segments" in keys else ONE


AnyAssignment = Annotated[
    Annotated[Assignment, Tag(ONE)] | Annotated[InterruptedAssignment, Tag(SEVERAL)],
    Discriminator(_in_segments),
]


_plain: TypeAdapter[tuple[Assignment, ...]] = TypeAdapter(
    Annotated[tuple[Assignment, ...], FailFast()]
)


def _plain_first(value: object, validate: ValidatorFunctionWrapHandler) -> object:
    """Validate assignments without segments in compiled code, which needs no tag for each."""
    try:
        return _plain.validate_python(value)
    except ValidationError:
        return validate(value)


_FRACTION = r"^-?\d+/[1-9]\d*$"


def _whole_or_fraction(value: object) -> object:
    if isinstance(value, str) and re.match(_FRACTION, value):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    expected = "a whole number, or a fraction such as '17/3', is expected"
    raise InputError([Problem("", f"{show(value)}; {expected}")])


ExactValue = Annotated[
    int | Annotated[str, Field(pattern=_FRACTION)], BeforeValidator(_whole_or_fraction)
]
"""The value of an objective in a file: a whole number, or a fraction such as `17/3`."""


class ProvenValue(Record):
    """A lower bound on the values of an objective that was proven when a schedule was made."""

    objective: Name
    """Name of the objective."""

    value: ExactValue
    """No schedule of the instance has less: a whole number, or a fraction such as `17/3`."""

    name: Name
    """Name of the bound, or of the solver that proved it."""


class ProvenLater(ProvenValue):
    """The same for an objective after the most important one.

    There a solver proves only what holds for schedules that are no worse in what counts more.
    """

    value: ExactValue
    """No schedule of the instance that keeps `at_most` has less."""

    at_most: Annotated[dict[Name, ExactValue], Field(default_factory=dict)]
    """Values of more important objectives. The bound holds for schedules that exceed none of them;
    without any, for every schedule."""


class Replica(Record):
    """A replica of a service, and the GPUs that it holds for a while."""

    model_config = ConfigDict(serialize_by_alias=True)

    service: Name
    """Name of the service."""

    variant: Name
    """Name of the variant that the replica runs."""

    start: Annotated[Integer, Field(alias="from")]
    """First slot in which it holds its GPUs; one from slot 0 on was up before."""

    end: Annotated[Integer, Field(alias="to")]
    """First slot in which it does not hold them any more."""

    gpus: dict[Name, tuple[Integer, ...]]
    """Indices (from 0) of the GPUs held, on one server."""


class ProvenBound(Record):
    """A lower bound on the makespan that was proven when a schedule was made."""

    slots: Count
    """No schedule of the instance is shorter."""

    name: Name
    """Name of the bound, or of the solver that proved it."""

    aim: ProvenValue | None = None
    """The same for the most important objective, if that is not the makespan."""

    later: tuple[ProvenLater, ...] = ()
    """The same for the objectives after the most important one, if they are not the makespan with
    the bound `slots`."""

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

    placement: Name | None = None
    """The placement that chose the GPUs for an online policy; left out for other methods."""

    time: SlotTime | None = None
    """Length of the slots and time of slot 0, so that each start has a clock time."""

    assignments: Annotated[tuple[AnyAssignment, ...], WrapValidator(_plain_first)]
    """One assignment for each job."""

    services: tuple[Replica, ...] = ()
    """The replicas of services. Whether they answer the requests is the verifier's question."""

    bound: ProvenBound | None = None
    """The best lower bound known when the schedule was made."""

    def rows(self) -> list[dict[str, Any]]:
        """One row of plain data for each segment: job, start, GPUs, servers, placement.

        Where a job is interrupted, rows also have the end of their segment.
        """
        interrupted = any(len(assignment.segments) > 1 for assignment in self.assignments)
        return [
            {
                "job": assignment.job,
                "start": segment.start,
                **({"end": segment.end} if interrupted else {}),
                "gpus": sum(map(len, segment.gpus.values())),
                "servers": sum(map(bool, segment.gpus.values())),
                "placement": {server: list(gpus) for server, gpus in segment.gpus.items()},
            }
            for assignment in self.assignments
            for segment in assignment.segments
        ]

    def to_frame(self) -> pd.DataFrame:
        """The assignments as a pandas data frame, with the columns of `rows`."""
        return frame(self.rows())

    def _repr_html_(self) -> str:
        shown = [{**row, "placement": _placed(row["placement"])} for row in self.rows()[:MOST_ROWS]]
        title = f"Schedule of {self.instance} by {self.method}"
        rows = sum(len(assignment.segments) for assignment in self.assignments)
        return html_rows(title, shown, rows)

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
