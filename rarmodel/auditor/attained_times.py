"""Attained execution times: the greatest over all feasible schedules of a tiny instance.

`job_extremes` gives bounds: most servers, slowest link and most rings, whether or not these occur
together. The paper's ρ_j^max is the greatest execution time that can really occur.
"""

from __future__ import annotations

from rarmodel.formulations.every_schedule import every_schedule
from rarmodel.model import horizon_of
from rarmodel.schema import Instance

MOST_JOBS = 8
"""Most jobs for enumeration; more jobs have too many schedules."""

MOST_PLACEMENTS = 1_000
"""Most placements for enumeration, of a job of each size."""

MOST_SCHEDULES = 200_000
"""Most schedules for enumeration."""

MOST_EVALUATIONS = 1_000_000
"""Most simulations of partial schedules for enumeration: about two seconds."""


def greatest_slots(instance: Instance) -> dict[str, int] | None:
    """Greatest execution time of each job in slots, by name, over all feasible schedules.

    None if there are too many schedules to enumerate, or none.
    """
    if len(instance.jobs) > MOST_JOBS:
        return None
    every = every_schedule(
        instance,
        horizon_of(instance),
        most_placements=MOST_PLACEMENTS,
        most_schedules=MOST_SCHEDULES,
        most_evaluations=MOST_EVALUATIONS,
    )
    if every is None or len(every[1].starts) == 0:
        return None
    _, found = every
    greatest = (found.completions - found.starts).max(axis=0)
    names = (job.name for job in instance.jobs)
    return dict(zip(names, greatest.tolist(), strict=True))
