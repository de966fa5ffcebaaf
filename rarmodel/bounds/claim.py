"""Lower bounds in schedules, so that a later reader knows what was proven."""

from __future__ import annotations

from collections.abc import Iterable

from rarmodel.model import instance_digest
from rarmodel.schema import Instance, ProvenBound, Schedule

from .bound import LowerBound
from .proven import best_bound


def with_bound(schedule: Schedule, instance: Instance, bound: LowerBound) -> Schedule:
    """Return the schedule with a bound that holds for every schedule of its instance."""
    if bound.slots < 1:
        return schedule
    claim = ProvenBound(slots=bound.slots, name=bound.name, instance_sha256=_digest(instance))
    return schedule.model_copy(update={"bound": claim})


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
    """The digest of all on which a bound on the makespan depends: not the objective."""
    return instance_digest(instance.model_copy(update={"objective": "makespan"}))
