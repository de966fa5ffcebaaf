"""How many slots are enough, where an instance does not say."""

from __future__ import annotations

from rarmodel.schema import Instance

from .caching import once_per_instance
from .extremes import job_extremes


@once_per_instance
def horizon_of(instance: Instance) -> int:
    """The horizon of an instance in slots, T.

    Where the instance has none: one job after another, each alone in its best placement, once the
    last release, due slot, deadline and end of a reservation is over. Some optimal schedule of
    every objective ends by then. Order the jobs by completion: the longest suffix that is later
    than that row can be replaced by it, and every job gains.
    """
    if instance.time.horizon is not None:
        return instance.time.horizon
    return last_event(instance) + sum(extreme.least_slots for extreme in job_extremes(instance))


def last_event(instance: Instance) -> int:
    """The last release, due slot, deadline and begin or end of a reservation; 0 at least."""
    moments = [0]
    for job in instance.jobs:
        moments += [job.release, job.due or 0, job.deadline or 0]
    for one in instance.cluster.reservations:
        moments += [one.start, one.end or 0]
    return max(moments)
