"""Replicas together with the jobs: replicas first, and from there the model of both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

from rarmodel.bounds import LowerBound, best_bound, with_bound
from rarmodel.limits import INTERRUPTED, Limits
from rarmodel.methods import STARTED, Goal, Result, proven_aim, status_of
from rarmodel.schema import Instance, Schedule

FIRST_SHARE = 0.5
"""Most of the time limit for replicas first."""


def solve_together(
    instance: Instance,
    limits: Limits,
    first: Callable[[Limits], Result],
    both: Callable[[Limits, Schedule | None], Result],
    *,
    started: bool,
) -> Result:
    """Decide replicas first; unless that is proven optimal, go on with a model of all.

    Parameters
    ----------
    instance
        The problem, with services.
    limits
        Their time counts for both.
    first
        Decides replicas first.
    both
        Solves the model of services and jobs, from a schedule or from none.
    started
        Whether the user gave a schedule to start from.
    """
    begun, whole = perf_counter(), limits.time_limit
    share = None if whole is None else FIRST_SHARE * whole
    one = first(replace(limits, time_limit=share))
    if one.status in {"optimal", "infeasible"} or one.stopped == INTERRUPTED:
        return one
    found = both(limits.since(begun), one.schedule)
    goals = tuple(map(_greater, one.objective, found.objective))
    schedule = found.schedule
    if schedule is not None and goals != found.objective:
        known = best_bound(instance)
        if found.lower_bound is not None and found.bound_name is not None:
            known = max(
                known, LowerBound(found.lower_bound, found.bound_name), key=lambda one: one.slots
            )
        aims = [proven_aim(goal, goal.proved_by or known.name) for goal in goals]
        schedule = with_bound(schedule, instance, known, aims, [goal.value for goal in goals])
    status = status_of(goals, found=schedule is not None, infeasible=found.status == "infeasible")
    by = found.schedule_by
    return replace(
        found,
        status=status,
        schedule=schedule,
        objective=goals,
        schedule_by=one.schedule_by if by == STARTED and not started else by,
        seconds=perf_counter() - begun,
    )


def _greater(one: Goal, other: Goal) -> Goal:
    """The second of two goals, with the greater of both bounds."""
    if one.bound is None or (other.bound is not None and other.bound >= one.bound):
        return other
    return replace(other, bound=one.bound, proved_by=one.proved_by)
