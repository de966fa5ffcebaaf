"""All schedules of a tiny instance, over all placements that formulations know."""

from __future__ import annotations

from rarmodel.model import job_extremes, topology
from rarmodel.proof.all_schedules import Schedules, all_schedules
from rarmodel.schema import Instance

from .placements import placements, ways_by_size
from .scope import Scope

Options = tuple[tuple[dict[int, int], ...], ...]
"""(jobs) The placements that choices number: workers by server index."""


def every_schedule(
    instance: Instance,
    horizon: int,
    *,
    most_placements: int,
    most_schedules: int,
    most_evaluations: int,
) -> tuple[Options, Schedules] | None:
    """Every feasible schedule within a horizon, up to the numbering of GPUs.

    Parameters
    ----------
    instance
        The problem.
    horizon
        Greatest makespan in slots.
    most_placements
        How many placements there may be, of one job of each size.
    most_schedules, most_evaluations
        How many schedules, and simulations of partial ones, there may be.

    Returns
    -------
    tuple or None
        The placements of each job and the schedules; None if there are more.
    """
    scope = Scope(instance, topology(instance.cluster), job_extremes(instance), horizon, 0)
    if sum(ways_by_size(scope).values()) > most_placements:
        return None
    ways = [tuple(options.values()) for options in placements(scope).values()]
    index = {server: s for s, server in enumerate(scope.servers)}
    options = tuple(
        tuple({index[s]: n for s, n in way.workers.items()} for way in each) for each in ways
    )
    least = [[way.least_slots for way in each] for each in ways]
    found = all_schedules(instance, options, least, horizon, most_schedules, most_evaluations)
    return None if found is None else (options, found)
