"""Lower bounds in schedules, so that a later reader knows what was proven.

A bound on the most important objective, or on the makespan, holds for every schedule. A bound on a
later objective may hold only for schedules that are no worse in what counts more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import zip_longest
from typing import Any, NamedTuple

from rarmodel.model import instance_digest
from rarmodel.model.objectives import MAKESPAN, Value, exact, objectives_of
from rarmodel.schema import Instance, ProvenBound, ProvenLater, Schedule

from .bound import LowerBound, ValueBound
from .proven import value_bounds


class Claim(NamedTuple):
    """A lower bound on an objective, and for which schedules it holds.

    Attributes
    ----------
    objective
        Name of the objective.
    bound
        The bound.
    at_most
        Objectives and values: the bound holds for schedules that exceed none of them.
    """

    objective: str
    bound: ValueBound
    at_most: tuple[tuple[str, Value], ...] = ()

    def holds(self, values: Mapping[str, Value]) -> bool:
        """Whether it is a bound for schedules with these values of objectives."""
        return all(name in values and values[name] <= most for name, most in self.at_most)


def with_bound(
    schedule: Schedule,
    instance: Instance,
    bound: LowerBound,
    aims: Sequence[ValueBound | None] = (),
    values: Sequence[Value | float | None] = (),
) -> Schedule:
    """Return the schedule with bounds on the objectives of its instance.

    Of each objective the greatest bound is stored: of those given and of those that need no search.

    Parameters
    ----------
    schedule, instance
        The schedule and its instance.
    bound
        A bound on the makespan.
    aims
        A bound on each objective, the most important first; None, or left out, where there is none.
    values
        Values of the objectives in the schedule. After the first objective, `aims` hold for
        schedules whose more important values are no worse than these.
    """
    if bound.slots < 1:
        return schedule
    proven = list[dict[str, Any]]()
    above = dict[str, int | str]()
    objectives = objectives_of(instance)
    rows = zip_longest(objectives, value_bounds(instance), aims, values)
    for i, (one, quick, aim, value) in enumerate(rows):
        known = ValueBound(bound.slots, bound.name) if one is MAKESPAN else quick
        given = aim is not None and aim.value > known.value and len(above) == i
        at_most = above.copy() if given else {}
        if given:
            known = aim
        if one is not MAKESPAN or at_most:  # Without a condition it is `slots`.
            shown = {"objective": one.name, "value": _plain(known.value), "name": known.name}
            proven.append(shown | ({"at_most": at_most} if at_most else {}))
        if isinstance(value, int | Fraction):
            above[one.name] = _plain(value)
    claim: dict[str, Any] = {"slots": bound.slots, "name": bound.name}
    if objectives[0] is not MAKESPAN:
        claim["aim"] = proven.pop(0)
    if proven:
        claim["later"] = proven
    claim["instance_sha256"] = _digest(instance)
    return schedule.model_copy(update={"bound": ProvenBound.model_validate(claim)})


def claims_in(schedule: Schedule) -> Iterator[Claim]:
    """The bounds that a schedule carries, for whatever instance they were proven."""
    claim = schedule.bound
    if claim is None:
        return
    yield Claim(MAKESPAN.name, ValueBound(claim.slots, claim.name))
    for one in [*([] if claim.aim is None else [claim.aim]), *claim.later]:
        at_most = one.at_most if isinstance(one, ProvenLater) else {}
        yield Claim(
            one.objective,
            ValueBound(exact(Fraction(one.value)), one.name),
            tuple((name, exact(Fraction(value))) for name, value in at_most.items()),
        )


def known_claims(
    instance: Instance, schedules: Iterable[Schedule], values: Iterable[Mapping[str, Value]] = ()
) -> tuple[tuple[Claim, ...], ...]:
    """What is known about each objective of an instance, the most important first.

    Parameters
    ----------
    instance
        The problem. Bounds that were proven for another instance are ignored.
    schedules
        Schedules, with or without bounds.
    values
        Values of the objectives in each schedule that the verifier has accepted. Bounds that they
        contradict are false, and are ignored.

    Returns
    -------
    tuple
        Of each objective: the bound that needs no search, and those in the schedules.
    """
    digest, reached = _digest(instance), list(values)
    told = [
        claim
        for schedule in schedules
        if schedule.bound is not None and schedule.bound.instance_sha256 == digest
        for claim in claims_in(schedule)
    ]

    def refuted(claim: Claim) -> bool:
        of_these = [one for one in reached if claim.objective in one and claim.holds(one)]
        return any(one[claim.objective] < claim.bound.value for one in of_these)

    true = [claim for claim in told if not refuted(claim)]
    return tuple(
        (Claim(one.name, quick), *(claim for claim in true if claim.objective == one.name))
        for one, quick in zip(objectives_of(instance), value_bounds(instance), strict=True)
    )


def greatest(claims: Iterable[Claim], values: Mapping[str, Value]) -> Claim:
    """Of bounds on one objective the greatest that holds for some values; of equal ones the first.

    One of the claims holds for every schedule.
    """
    known = (claim for claim in claims if claim.holds(values))
    return max(known, key=lambda claim: claim.bound.value)


def _plain(value: Value) -> int | str:
    """A value as a file has it."""
    return value if isinstance(value, int) else str(value)


def _digest(instance: Instance) -> str:
    """The digest of all on which bounds depend; the objective's name stands beside its bound."""
    return instance_digest(instance.model_copy(update={"objective": "makespan"}))
