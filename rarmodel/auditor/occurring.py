"""Attained execution times: the greatest over all feasible schedules of a tiny instance.

`job_extremes` gives bounds: most servers, slowest link and most rings, whether or not these occur
together. The paper's ρ_j^max is the greatest execution time that can really occur.
"""

from __future__ import annotations

from rarmodel.engine.enumerate import all_schedules
from rarmodel.formulations import Scope
from rarmodel.formulations.placements import placements, ways_by_size
from rarmodel.model import job_extremes, topology
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
    horizon = instance.time.horizon
    scope = Scope(instance, topology(instance.cluster), job_extremes(instance), horizon, 0)
    if sum(ways_by_size(scope).values()) > MOST_PLACEMENTS:
        return None
    ways = [tuple(options.values()) for options in placements(scope).values()]
    index = {server: s for s, server in enumerate(scope.servers)}
    options = [[{index[s]: n for s, n in way.workers.items()} for way in each] for each in ways]
    least = [[way.least_slots for way in each] for each in ways]
    found = all_schedules(instance, options, least, horizon, MOST_SCHEDULES, MOST_EVALUATIONS)
    if found is None or len(found.starts) == 0:
        return None
    greatest = (found.completions - found.starts).max(axis=0)
    return dict(zip(scope.jobs, greatest.tolist(), strict=True))
