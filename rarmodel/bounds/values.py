"""The best lower bounds on every objective, from all relaxations that hold for an instance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rarmodel.model import unhandled
from rarmodel.model.features import CAPS, OBJECTIVES, PLACES, WINDOWS
from rarmodel.model.objectives import MAKESPAN, Objective, Value, objectives_of
from rarmodel.schema import Instance

from .best import best_bound
from .bound import LowerBound
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


def least_values(instance: Instance) -> tuple[Value, ...]:
    """What each objective is worth at least, the most important first.

    Where no relaxation holds, only what follows from prices that are not below 0, and from jobs
    that complete no earlier than slot 1.
    """
    found = []
    for one in objectives_of(instance):
        bound = objective_bound(instance, one)
        if bound is None:
            soonest, nothing = [1] * len(instance.jobs), [0] * len(instance.cluster.servers)
            found.append(one.value(instance, soonest, nothing))
        else:
            found.append(bound.value)
    return tuple(found)


def with_makespan(
    instance: Instance, bounds: Sequence[Value], makespan: LowerBound
) -> tuple[Value, ...]:
    """Bounds on the objectives, where one on the makespan is known: it holds at any place."""
    return tuple(
        max(bound, makespan.slots) if one is MAKESPAN else bound
        for one, bound in zip(objectives_of(instance), bounds, strict=True)
    )
