"""Lower bounds in schedules, so that a later reader knows what was proven."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from rarmodel.model import instance_digest
from rarmodel.model.objectives import MAKESPAN, Value, exact, objectives_of
from rarmodel.schema import Instance, ProvenBound, ProvenValue, Schedule

from .bound import LowerBound, ValueBound
from .proven import best_bound, value_bounds


def with_bound(
    schedule: Schedule, instance: Instance, bound: LowerBound, aim: ValueBound | None = None
) -> Schedule:
    """Return the schedule with bounds that hold for every schedule of its instance.

    Parameters
    ----------
    schedule, instance
        The schedule and its instance.
    bound
        A bound on the makespan.
    aim
        A bound on the most important objective.
    """
    if bound.slots < 1:
        return schedule
    first = objectives_of(instance)[0]
    proven = None
    if aim is not None and first is not MAKESPAN:
        value = aim.value if isinstance(aim.value, int) else str(aim.value)
        proven = ProvenValue(objective=first.name, value=value, name=aim.name)
    claim = ProvenBound(
        slots=bound.slots,
        name=bound.name,
        instance_sha256=_digest(instance),
        **({} if proven is None else {"aim": proven}),
    )
    return schedule.model_copy(update={"bound": claim})


def known_aims(
    instance: Instance, schedules: Iterable[Schedule], least: Value | None = None
) -> tuple[ValueBound, ...]:
    """The best known bound on each objective, the most important first.

    Parameters
    ----------
    instance, schedules
        As for `known_bound`.
    least
        The least verified value of the most important objective. A greater bound is false, and is
        ignored.
    """
    first, *others = value_bounds(instance)
    known = [first]
    for schedule in schedules:
        claim = schedule.bound
        if claim is None or claim.aim is None or claim.instance_sha256 != _digest(instance):
            continue
        value = exact(Fraction(claim.aim.value))
        if claim.aim.objective == instance.objectives[0] and (least is None or value <= least):
            known.append(ValueBound(value, claim.aim.name))
    return max(known, key=lambda bound: bound.value), *others


def known_bound(
    instance: Instance, schedules: Iterable[Schedule], least_makespan: int | None = None
) -> LowerBound:
    """The best known bound: of those that need no search, and those in the given schedules.

    Parameters
    ----------
    instance
        The problem. Bounds that were proven for another instance are ignored.
    schedules
        Schedules, with or without bounds.
    least_makespan
        The least verified makespan in slots. A greater bound is false, and is ignored.
    """
    known = [best_bound(instance)]
    for schedule in schedules:
        claim = schedule.bound
        if claim is None or claim.instance_sha256 != _digest(instance):
            continue
        if least_makespan is None or claim.slots <= least_makespan:
            known.append(LowerBound(claim.slots, claim.name))
    return max(known, key=lambda bound: bound.slots)


def _digest(instance: Instance) -> str:
    """The digest of all on which bounds depend; the objective's name stands beside its bound."""
    return instance_digest(instance.model_copy(update={"objective": "makespan"}))
