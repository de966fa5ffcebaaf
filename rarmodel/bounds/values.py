"""Lower bounds on every objective, from how early each job can complete."""

from __future__ import annotations

from collections.abc import Sequence

from rarmodel.model import horizon_of, job_extremes, windows
from rarmodel.model.objectives import MAKESPAN, Value, objectives_of
from rarmodel.schema import Instance

from .bound import LowerBound


def least_values(instance: Instance) -> tuple[Value, ...]:
    """What each objective is worth at least, the most important first.

    No job completes before its earliest start plus its least execution time, and no term of an
    objective falls with a completion. Prices are not below 0.
    """
    begins = windows(instance, horizon_of(instance))
    extremes = job_extremes(instance)
    soonest = [w.start + e.least_slots for w, e in zip(begins, extremes, strict=True)]
    nothing = [0] * len(instance.cluster.servers)
    return tuple(one.value(instance, soonest, nothing) for one in objectives_of(instance))


def with_makespan(
    instance: Instance, bounds: Sequence[Value], makespan: LowerBound
) -> tuple[Value, ...]:
    """Bounds on the objectives, where one on the makespan is known: it holds at any place."""
    return tuple(
        max(bound, makespan.slots) if one is MAKESPAN else bound
        for one, bound in zip(objectives_of(instance), bounds, strict=True)
    )
