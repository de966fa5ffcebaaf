"""Take better schedules and better bounds into a library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from functools import cache
from typing import Any, NamedTuple

from rarmodel import __version__, registry
from rarmodel.bounds import (
    CHECKED_PROOF,
    ENUMERATION,
    PROOF,
    ValueBound,
    bounds,
    claims_in,
    value_bounds,
)
from rarmodel.errors import InputError, Problem
from rarmodel.instances import Family, Known, Library, Listed, Recorded, changed, entries
from rarmodel.model import instance_digest
from rarmodel.model.objectives import MAKESPAN, Value, in_digits, number
from rarmodel.schema import Instance, Schedule
from rarmodel.verifier import verify
from rarmodel.workloads.bundled import listed_instance

from .library_schedules import compact


class Change(NamedTuple):
    """A change of what is known about an instance.

    Attributes
    ----------
    instance, objective
        Names.
    what
        What changed: `best`, `bound` or `claimed`.
    before, after
        The value or bound; None if there is none.
    by
        The method, or what proved the bound; None if there is no bound any more.
    """

    instance: str
    objective: str
    what: str
    before: Value | None
    after: Value | None
    by: str | None

    def summary(self) -> dict[str, Any]:
        """The change as plain data."""
        return self._asdict() | {"before": number(self.before), "after": number(self.after)}

    def __str__(self) -> str:
        by = "" if self.by is None else f", by {self.by}"
        values = f"{in_digits(self.before)} → {in_digits(self.after)}"
        return f"{self.instance}: {self.objective}: {self.what} {values}{by}"


class Improved(NamedTuple):
    """A library with improvements.

    Attributes
    ----------
    library
        The library.
    changes
        Its changes.
    problems
        What is wrong with schedules, or with bounds that they refute; the source is the place.
    """

    library: Library
    changes: tuple[Change, ...]
    problems: tuple[Problem, ...]


def improve(
    library: Library, schedules: Mapping[str, Schedule], day: date | None = None
) -> Improved:
    """Verify schedules, and take those that are better, and better bounds that they carry.

    A schedule belongs to the instance for which its bound was proven, or else to the one that it
    names. A bound counts as proven if it has the name of a bound or solver of this rarmodel; any
    other is recorded as claimed. An equal bound replaces only an unchecked proof.

    Parameters
    ----------
    library
        The library.
    schedules
        The schedules, each by the name of its source.
    day
        The day to record; by default today.
    """
    families = {entry.name: family for _, family, entry in entries(library)}
    now = {entry.name: entry for _, _, entry in entries(library)}
    by_digest = {entry.sha256: name for name, entry in now.items()}
    changes: list[Change] = []
    problems: list[Problem] = []
    instance_of = cache(lambda name: _same_instance(families[name], now[name]))
    for source, schedule in schedules.items():
        name: str | None = schedule.instance
        if schedule.bound is not None:
            name = by_digest.get(schedule.bound.instance_sha256)
        if name not in now:
            message = f"the library does not have its instance, {schedule.instance!r}"
            problems.append(Problem(source, message))
            continue
        try:
            known = tuple(
                _with(instance_of(name), old, schedule, day or date.today())
                for old in now[name].known or [None]
            )
        except InputError as error:
            problems += [Problem(source, line) for line in error.lines()]
            continue
        changes += _changes(now[name], known)
        now[name] = now[name].model_copy(update={"known": known})
    library = changed(library, lambda entry: now[entry.name])
    return Improved(library, tuple(changes), tuple(problems))


def _same_instance(family: Family, listed: Listed) -> Instance:
    """An instance of a library, if it is still the same."""
    instance = listed_instance(family, listed)
    if instance_digest(instance) != listed.sha256:
        message = f"{listed.name!r} is not the library's any more: `rarmodel instances check`"
        raise InputError([Problem("", message)])
    return instance


def _with(instance: Instance, old: Known | None, schedule: Schedule, day: date) -> Known:
    """What is known of an objective with one more schedule; of the makespan if nothing was.

    Raises
    ------
    InputError
        If the schedule breaks a constraint, or contradicts a bound.
    """
    objective = MAKESPAN.name if old is None else old.objective
    instance = instance.model_copy(update={"objective": objective})
    value = _value(instance, schedule)

    def recorded(value: Value, by: str) -> Recorded:
        plain = value if isinstance(value, int) else str(value)
        return Recorded(value=plain, by=by, rarmodel=__version__, date=day)

    claim = _claim(schedule, objective)
    proven, claims = [recorded(*value_bounds(instance)[0])], list[Recorded]()
    if claim is not None:
        (proven if _own(claim.name) else claims).append(recorded(*claim))
    best, placed = recorded(value, schedule.method), compact(instance, schedule)
    if old is not None:
        proven.insert(0, old.bound)
        claims[:0] = [] if old.claimed is None else [old.claimed]
        if old.best.exact <= value:
            best, placed = old.best, old.schedule
    # Of equal bounds the first, unless that is a proof which no other engine has checked.
    bound = max(proven, key=lambda one: (one.exact, one.by != PROOF))
    for one in (bound, *claims):
        if one.exact > best.exact and (old is None or one is not old.claimed):
            told = f"the bound {one.value}, by {one.by}, is above {objective} {best.value}"
            raise InputError([Problem("", f"{told}, by {best.by}, which is verified")])
    open_claims = [one for one in claims if bound.exact < one.exact <= best.exact]
    claimed = max(open_claims, key=lambda one: one.exact, default=None)
    return Known(
        objective=objective,
        best=best,
        bound=bound,
        schedule=placed,
        **({} if claimed is None else {"claimed": claimed}),
    )


def _value(instance: Instance, schedule: Schedule) -> Value:
    """The value of a schedule that keeps all constraints."""
    report = verify(instance, schedule)
    if broken := [Problem(one.constraint, one.message) for one in report.violations]:
        raise InputError(broken)
    assert report.objective is not None  # noqa: S101 - a feasible schedule has it
    return report.objective[instance.objectives[0]]


def _claim(schedule: Schedule, objective: str) -> ValueBound | None:
    """The bound on an objective that a schedule carries."""
    claims = (claim for claim in claims_in(schedule) if claim.objective == objective)
    known = [claim.bound for claim in claims if not claim.at_most]
    return max(known, key=lambda bound: bound.value, default=None)


def _own(name: str) -> bool:
    """Whether a bound has the name of something of rarmodel's that proves bounds."""
    proofs = {PROOF, CHECKED_PROOF, ENUMERATION, *registry.names("solvers")}
    return name in proofs or any(name == bound.name for bound in bounds())


def _changes(before: Listed, after: tuple[Known, ...]) -> Iterator[Change]:
    """The differences in what is known of an instance."""
    known = {known.objective: known for known in before.known}
    for new in after:
        for what in ("best", "bound", "claimed"):
            old: Recorded | None = getattr(known.get(new.objective), what, None)
            one: Recorded | None = getattr(new, what)
            if one != old:
                was, now = (None if at is None else at.exact for at in (old, one))
                by = None if one is None else one.by
                yield Change(before.name, new.objective, what, was, now, by)
