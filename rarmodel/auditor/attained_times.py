"""The greatest execution times that occur: over all feasible schedules of a tiny instance.

Those of `job_extremes` are bounds: most servers, slowest link and most rings, whether or not they
come together. What the paper writes ρ_j^max for is the greatest that can happen.
"""

from __future__ import annotations

from rarmodel.formulations.every_schedule import every_schedule
from rarmodel.model import horizon_of
from rarmodel.schema import Instance

MOST_JOBS = 8
"""Most jobs for enumeration; more have too many schedules at any rate."""

MOST_PLACEMENTS = 1_000
"""Most placements of a job of each size for it."""

MOST_SCHEDULES = 200_000
"""Most schedules for it."""

MOST_EVALUATIONS = 1_000_000
"""Most simulations of partial schedules for it: about two seconds."""


def greatest_slots(instance: Instance) -> dict[str, int] | None:
    """Greatest execution time of each job in slots, by name, over all feasible schedules.

    None if schedules are too many to enumerate, or there is none.
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
