"""The best lower bounds on every objective, from all relaxations that hold for an instance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rarmodel.model import horizon_of, job_extremes, unhandled, windows
from rarmodel.model.caching import once_per_instance
from rarmodel.model.features import CAPS, OBJECTIVES, PLACES, WINDOWS
from rarmodel.model.objectives import MAKESPAN, Objective, Value, objectives_of
from rarmodel.schema import Instance

from .best import best_bound
from .bound import LowerBound
from .gpu_prices import gpu_prices
from .relaxations import (
    cheapest_placements,
    earliest_due_sets,
    intervals_overfull,
    jobs_alone,
    late_by_area,
    mean_busy_times,
    shortest_first,
)


class ValueBound(NamedTuple):
    """A lower bound on the value of an objective, and the name of the relaxation behind it."""

    value: Value
    name: str


class Relaxation(NamedTuple):
    """A lower bound on values of objectives.

    Attributes
    ----------
    name
        What it is called.
    prove
        Gives the bound; None for objectives that it is not for.
    handles
        Names of the features with which it holds.
    """

    name: str
    prove: Callable[[Instance, Objective], Value | None]
    handles: frozenset[str] = WINDOWS | CAPS | PLACES


def last_job(instance: Instance, objective: Objective) -> Value | None:
    """Some job completes no earlier than the bound on the makespan, and its term counts."""
    terms = objective.terms(instance)
    if not objective.greatest or not terms:
        return None
    slots = best_bound(instance).slots
    values = [term.at(slots) for term in terms if term is not None]
    return min(values) if len(values) == len(terms) else None


RELAXATIONS = (
    Relaxation("each job alone", jobs_alone),
    Relaxation("makespan", last_job),
    Relaxation("overfull intervals", intervals_overfull),
    Relaxation("shortest remaining area", shortest_first),
    Relaxation("mean busy times", mean_busy_times),
    Relaxation("earliest due jobs", earliest_due_sets),
    Relaxation("room before due slots", late_by_area),
    Relaxation("cheapest placements", cheapest_placements),
    Relaxation("prices of GPUs", gpu_prices),
)
"""Every relaxation; each says by itself which objectives it is for."""


def objective_bounds(instance: Instance, objective: Objective) -> tuple[ValueBound, ...]:
    """What the relaxations that hold for an instance prove about an objective."""
    found = []
    for one in RELAXATIONS:
        if unhandled(instance, one.handles | {OBJECTIVES.name}, "") is None:
            value = one.prove(instance, objective)
            if value is not None:
                found.append(ValueBound(value, one.name))
    return tuple(found)


def objective_bound(instance: Instance, objective: Objective) -> ValueBound | None:
    """The greatest of `objective_bounds`, of equal ones the first; None if there is none."""
    return max(objective_bounds(instance, objective), key=lambda one: one.value, default=None)


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
