"""The best lower bounds on the objectives of an instance."""

from __future__ import annotations

from collections.abc import Sequence

from rarmodel.model import horizon_of, job_extremes, windows
from rarmodel.model.caching import once_per_instance
from rarmodel.model.objectives import MAKESPAN, Value, objectives_of
from rarmodel.schema import Instance

from .best import objective_bound
from .bound import LowerBound


@once_per_instance
def least_values(instance: Instance) -> tuple[Value, ...]:
    """What each objective is worth at least, the most important first.

    No job completes before its earliest start plus its least execution time, and no term of an
    objective falls with a completion. Prices are not below 0. `objective_bound` often proves more.
    """
    begins = windows(instance, horizon_of(instance))
    extremes = job_extremes(instance)
    soonest = [w.start + e.least_slots for w, e in zip(begins, extremes, strict=True)]
    nothing = [0] * len(instance.cluster.servers)
    values = []
    for one in objectives_of(instance):
        proven = objective_bound(instance, one)
        value = one.value(instance, soonest, nothing)
        values.append(value if proven is None else max(value, proven.value))
    return tuple(values)


def with_makespan(
    instance: Instance, bounds: Sequence[Value], makespan: LowerBound
) -> tuple[Value, ...]:
    """Bounds on the objectives, where one on the makespan is known: it holds at any place."""
    return tuple(
        max(bound, makespan.slots) if one is MAKESPAN else bound
        for one, bound in zip(objectives_of(instance), bounds, strict=True)
    )
