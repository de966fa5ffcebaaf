"""Check a library: every instance, every schedule, every value, and what bounds prove anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil
from typing import Any, NamedTuple

from rarmodel.bounds import LowerBound, ValueBound, objective_bound, raised_slowly, slow_bounds
from rarmodel.errors import InputError, Problem, UsageError
from rarmodel.instances import Known, Library, entries
from rarmodel.model import instance_digest
from rarmodel.model.objectives import MAKESPAN, Value, in_digits, number, objectives_of
from rarmodel.schema import Instance
from rarmodel.verifier import verify
from rarmodel.workloads.bundled import listed_instance

from .library_schedules import expanded


class Recomputed(NamedTuple):
    """A recorded bound, and what rarmodel's bounds prove now.

    Attributes
    ----------
    instance, objective
        Names.
    recorded, by
        The bound in the library, and its name.
    proven, name
        The greatest bound now, and its name; None if no bound says anything.
    """

    instance: str
    objective: str
    recorded: Value
    by: str
    proven: Value | None
    name: str | None

    @property
    def reproduced(self) -> bool:
        """Whether at least as much is proven as is recorded."""
        return self.proven is not None and self.proven >= self.recorded

    def summary(self) -> dict[str, Any]:
        """The bounds as plain data."""
        values = {"recorded": number(self.recorded), "proven": number(self.proven)}
        return self._asdict() | values | {"reproduced": self.reproduced}


class Checked(NamedTuple):
    """The outcome of a check.

    Attributes
    ----------
    problems
        All that is wrong, with its place in the file.
    instances, schedules, optimal
        Numbers of instances, of their schedules, and of values that are proven optimal.
    bounds
        The bounds that were proven anew, if that was asked for.
    """

    problems: tuple[Problem, ...]
    instances: int
    schedules: int
    optimal: int
    bounds: tuple[Recomputed, ...]

    def lines(self) -> dict[str, str]:
        """The numbers as a dictionary of names and text."""
        found = {
            "instances": str(self.instances),
            "schedules": str(self.schedules),
            "proven optimal": str(self.optimal),
        }
        if self.bounds:
            again = sum(one.reproduced for one in self.bounds)
            found["bounds reproduced"] = f"{again} of {len(self.bounds)}"
        return found | {"problems": str(len(self.problems))}

    def summary(self) -> dict[str, Any]:
        """The outcome as plain data."""
        return self._asdict() | {
            "problems": [problem._asdict() for problem in self.problems],
            "bounds": [one.summary() for one in self.bounds],
        }


def check(
    library: Library, seconds: float | None = None, tell: Callable[[str], None] = lambda _: None
) -> Checked:
    """Make every instance anew and compare its digest; verify every schedule and its value.

    That bounds are at most values is part of the file's format.

    Parameters
    ----------
    library
        The library.
    seconds
        If given, prove bounds anew: the quick ones, and the slow ones in so much time for each
        instance.
    tell
        Receives the name of each instance as it is due.
    """
    problems: list[Problem] = []
    bounds: list[Recomputed] = []
    listed = list(entries(library))
    for place, family, entry in listed:
        tell(entry.name)
        try:
            instance = listed_instance(family, entry)
            if (digest := instance_digest(instance)) != entry.sha256:
                message = f"{entry.sha256}; rarmodel makes another instance now, {digest}"
                problems.append(Problem(f"{place}.sha256", message))
                continue
            for k, known in enumerate(entry.known):
                asked = instance.model_copy(update={"objective": known.objective})
                if seconds is not None:
                    bounds.append(_recomputed(asked, known, seconds))
                for at, message in _wrong(asked, known):
                    problems.append(Problem(f"{place}.known[{k}].{at}", message))
        except (InputError, UsageError) as error:
            problems += [Problem(place, line) for line in str(error).splitlines()]
    values = [known for _, _, entry in listed for known in entry.known]
    return Checked(
        tuple(problems),
        instances=len(listed),
        schedules=len(values),
        optimal=sum(known.optimal for known in values),
        bounds=tuple(bounds),
    )


def _wrong(instance: Instance, known: Known) -> Iterator[Problem]:
    """What is wrong about a schedule and its value."""
    try:
        schedule = expanded(instance, known)
    except InputError as error:
        yield from error.problems
        return
    report = verify(instance, schedule)
    for violation in report.violations:
        yield Problem("schedule", f"{violation.constraint}: {violation.message}")
    value = (report.objective or {}).get(known.objective)
    if value is not None and value != known.best.exact:
        yield Problem("best.value", f"{known.best.value}; the schedule has {in_digits(value)}")


def _recomputed(instance: Instance, known: Known, seconds: float) -> Recomputed:
    """The greatest bound that rarmodel proves without a search."""
    (objective,) = objectives_of(instance)
    found = objective_bound(instance, objective)
    if objective is MAKESPAN and found is not None:
        quick = LowerBound(ceil(found.value), found.name)
        slow = slow_bounds(instance, objective)
        most = int(known.best.exact)
        found = ValueBound(*raised_slowly(instance, quick, slow, most, seconds))
    value, name = found or (None, None)
    return Recomputed(instance.name, objective.name, known.bound.exact, known.bound.by, value, name)
