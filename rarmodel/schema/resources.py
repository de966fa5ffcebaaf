"""What jobs use beside GPUs: licences, power, the right to run alone (model, section 19)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Annotated, Self

from pydantic import ConfigDict, Field, Tag, field_validator, model_validator

from rarmodel.errors import InputError, Problem

from .base import (
    MAX_INTEGER,
    ONE,
    SEVERAL,
    Name,
    NonNegative,
    NonNegativeInteger,
    Record,
    common_unit,
    exactly,
    one_or_listed,
)
from .job import Job
from .problems import place_of


class CapacityWindow(Record):
    """How much of a resource there is for a while."""

    model_config = ConfigDict(serialize_by_alias=True)

    start: Annotated[NonNegativeInteger, Field(alias="from")]
    """First slot in which the capacity holds."""

    end: Annotated[NonNegativeInteger | None, Field(alias="to")] = None
    """First slot in which it does not hold any more; by default it always does."""

    capacity: NonNegative
    """How much jobs may use at once."""

    @model_validator(mode="after")
    def _ends_after_its_start(self) -> Self:
        if self.end is not None and self.end <= self.start:
            message = f"{self.end}; it must be above from, {self.start}"
            raise InputError([Problem("to", message)])
        return self


Capacity = Annotated[
    Annotated[NonNegative, Tag(ONE)]
    | Annotated[tuple[CapacityWindow, ...], Field(min_length=1), Tag(SEVERAL)],
    one_or_listed,
]


class Resource(Record):
    """What jobs use beside GPUs."""

    name: Name
    """Unique name of the resource."""

    capacity: Capacity
    """How much jobs may use at once; or a list of windows, outside of which there is no limit."""

    @property
    def windows(self) -> tuple[CapacityWindow, ...]:
        """When there is how much, in order."""
        if isinstance(self.capacity, tuple):
            return tuple(sorted(self.capacity, key=lambda one: one.start))
        return (CapacityWindow.model_construct(start=0, end=None, capacity=self.capacity),)

    @field_validator("capacity")
    @classmethod
    def _windows_do_not_overlap(
        cls, capacity: float | tuple[CapacityWindow, ...]
    ) -> float | tuple[CapacityWindow, ...]:
        if not isinstance(capacity, tuple):
            return capacity
        problems = []
        in_order = sorted(range(len(capacity)), key=lambda i: (capacity[i].start, i))
        for i, k in pairwise(in_order):
            end = capacity[i].end
            if end is None or capacity[k].start < end:
                until = "for ever" if end is None else f"until slot {end}"
                message = (
                    f"{capacity[k].start}; window [{i}] holds {until}, and two must not overlap"
                )
                problems.append(Problem(f"[{k}].from", message))
        if problems:
            raise InputError(problems)
        return capacity


USES = ("resources", "resources_per_gpu")
"""The fields of a job that say what it uses."""


def uses_of(job: Job) -> Iterator[tuple[str, str, float]]:
    """What a job uses: field, name of the resource, amount."""
    for field in USES:
        for name, amount in (getattr(job, field) or {}).items():
            yield field, name, amount


def problems_with_resources(
    jobs: Sequence[Job], resources: Sequence[Resource], parts: int = 1
) -> Iterator[Problem]:
    """Jobs that use resources which are not listed, or amounts with too many digits.

    Parameters
    ----------
    jobs, resources
        What jobs use of what.
    parts
        Of how many parts of a GPU workers hold a whole number.
    """
    listed = {one.name for one in resources}
    amounts: dict[str, list[tuple[int, str, float]]] = {}
    for i, job in enumerate(jobs):
        if job.resources is None and job.resources_per_gpu is None:
            continue
        for field, name, amount in uses_of(job):
            place = f"[{i}].{place_of((field, name))}"
            if name in listed:
                most = job.sizes[-1] if field == USES[1] else 1
                amounts.setdefault(name, []).append((most, place, amount))
            else:
                yield Problem(place, f"{name!r}; resources lists no such name")
    for name, used in amounts.items():
        unit = common_unit(amount for _, _, amount in used)
        if sum(most * exactly(amount) for most, _, amount in used) * parts > MAX_INTEGER * unit:
            _, place, amount = max(used, key=lambda one: exactly(one[2]).denominator)
            message = (
                f"{amount:g}, beside what other jobs use of {name!r}; all amounts together must be "
                f"below 2^53 times the greatest number of which each is a multiple, {float(unit):g}"
            )
            if parts > 1:
                message += f", by the {parts} parts of GPUs that workers hold"
            yield Problem(place, message)
