"""What each job needs at least: of time, of GPUs, and to wait."""

from __future__ import annotations

from typing import NamedTuple

from rarmodel.model import horizon_of, job_extremes, lone_options, windows
from rarmodel.model.caching import once_per_instance
from rarmodel.schema import Instance


class Work(NamedTuple):
    """What a job needs at least.

    Attributes
    ----------
    job
        Its index.
    head
        The slot before which it cannot start.
    area
        GPU slots, at least.
    slots
        Slots from start to completion, at least.
    """

    job: int
    head: int
    area: int
    slots: int


@once_per_instance
def works(instance: Instance) -> tuple[Work, ...]:
    """(jobs) What each job needs at least."""
    begins = windows(instance, horizon_of(instance))
    needs = zip(begins, least_areas(instance), job_extremes(instance), strict=True)
    return tuple(
        Work(j, window.start, area, extreme.least_slots)
        for j, (window, area, extreme) in enumerate(needs)
    )


def least_areas(instance: Instance) -> list[int]:
    """(jobs) The fewest GPU slots that a job can hold, over all of its ring sizes."""
    return [
        min(
            option.pace.size * slots
            for option in options
            if (slots := option.pace.slots(option.servers, option.gbps))
        )
        for options in lone_options(instance)
    ]
