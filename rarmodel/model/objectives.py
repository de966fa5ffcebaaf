"""What can be minimised, as data: completions, what is held, or the links of rings (section 10).

An objective is the sum or the greatest of one non-decreasing function for each job's completion;
or prices times slots held; or, for each job, the sum of what the links count that its ring uses.
All parts derive what they need from that: none asks which objective it is. An objective of one's
own is an `Objective`, named in the entry-point group
`rarmodel.objectives` or as `package.module:Name`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from functools import cache, partial
from typing import Any, NamedTuple

from rarmodel import registry
from rarmodel.schema import Instance, Job, SlotTime
from rarmodel.tabular import NONE

from .caching import once_per_instance
from .extremes import slots_alone
from .topology import Topology, topology

Value = int | Fraction
"""A value of an objective: exact, whole where it can be."""


SLOTS = "slots"
"""The unit of values that are a time."""

NEVER = -1
"""A slot before which nothing can complete."""

OBJECTIVES_KNOWN = 3
"""Objectives of an instance whose terms are kept: a solve has few, and a million are large."""


class Shape(IntEnum):
    """How a term grows with x, the slots from its offset to the completion."""

    LINEAR = 0
    """As x, which may be below 0."""
    TARDY = 1
    """As x from 0 on, and 0 before."""
    LATE = 2
    """From 0 to 1 as soon as x is above 0."""


class Term(NamedTuple):
    """What one job adds: `weight · shape(T − offset) / divisor`, never less for a later T."""

    weight: int = 1
    offset: int = 0
    divisor: int = 1
    shape: Shape = Shape.LINEAR

    def at(self, completion: int) -> Value:
        """The term at a completion time in slots."""
        weight, offset, divisor, shape = self
        slots = completion - offset
        if shape is Shape.TARDY:
            slots = max(0, slots)
        elif shape is Shape.LATE:
            slots = int(slots > 0)
        value = weight * slots
        return value if divisor == 1 else exact(Fraction(value, divisor))

    def latest(self, value: Value) -> int | None:
        """The last completion time with a term of at most `value`; None if every one has.

        A term that is above it at every time gives one before which nothing can complete.
        """
        slots = value.numerator * self.divisor // (value.denominator * self.weight)
        if self.shape is Shape.LATE:
            return None if slots >= 1 else self.offset if slots == 0 else NEVER
        return NEVER if self.shape is Shape.TARDY and slots < 0 else self.offset + slots


@dataclass(frozen=True)
class Objective(registry.Part):
    """Something to minimise.

    Attributes
    ----------
    name
        Its name in files and on the command line.
    description
        What it is, in a line.
    unit
        The unit of its values.
    greatest
        Whether the value is the greatest of the terms, and not their sum.
    term
        Gives the term of a job of an instance, by index; None for a job that does not count. Of
        this and the next two, the one that makes the value is there, and the others are None.
    prices
        Gives the price of a GPU for a slot on each server.
    link_weights
        Gives what each link counts for a ring that uses it, whatever the time. A job of several
        segments counts as in the one of them that counts most.
    """

    kind = "objectives"

    name: str
    description: str
    unit: str
    greatest: bool = False
    term: Callable[[Instance, int], Term | None] | None = None
    prices: Callable[[Instance], Sequence[Fraction]] | None = None
    link_weights: Callable[[Instance], Sequence[Value]] | None = None

    @property
    def of_completions(self) -> bool:
        """Whether it follows from completions alone; if not, placements count."""
        return self.term is not None

    def terms(self, instance: Instance) -> tuple[Term | None, ...]:
        """(jobs) What each job adds by its completion; empty if placements count.

        Raises
        ------
        PartError
            If the function raises an exception, or returns anything else.
        """
        if self.term is None:
            return ()
        known = _known_terms(instance)
        if self not in known:
            while len(known) >= OBJECTIVES_KNOWN:
                del known[next(iter(known))]
            known[self] = self._terms_anew(self.term, instance)
        return known[self]

    def _terms_anew(
        self, function: Callable[[Instance, int], Term | None], instance: Instance
    ) -> tuple[Term | None, ...]:
        with registry.calling("objectives", self):
            terms = tuple(map(partial(function, instance), range(len(instance.jobs))))
        for term in terms:
            if term is not None and not _is_term(term):
                expected = "a Term of whole numbers, its weight and divisor at least 1, or None,"
                raise registry.nonsense("objectives", self, term, expected)
        return terms

    def prices_of(self, instance: Instance) -> Sequence[Fraction]:
        """(servers) Price of a GPU for a slot; only if what is held has a price.

        Raises
        ------
        PartError
            If the function raises an exception, or returns anything else.
        """
        return self._numbers(self.prices, instance, len(instance.cluster.servers), "server")

    def link_weights_of(self, instance: Instance) -> Sequence[Value]:
        """(links) What each counts for a ring that uses it; only if links count.

        Raises
        ------
        PartError
            If the function raises an exception, or returns anything else.
        """
        links = len(topology(instance.cluster).links)
        return self._numbers(self.link_weights, instance, links, "link")

    def _numbers(
        self,
        function: Callable[[Instance], Sequence[Any]] | None,
        instance: Instance,
        count: int,
        what: str,
    ) -> Sequence[Any]:
        """Fractions of at least 0, one for each server or link; none without a function."""
        if function is None:
            return ()
        with registry.calling("objectives", self):
            found: Any = function(instance)
        if not isinstance(found, Sequence) or len(found) != count:
            expected = f"a list of {count} fractions, one for each {what},"
            raise registry.nonsense("objectives", self, found, expected)
        for number in found:
            if not isinstance(number, int | Fraction) or number < 0:
                expected = f"a fraction of at least 0 for each {what}"
                raise registry.nonsense("objectives", self, number, expected)
        return found

    def value(
        self,
        instance: Instance,
        completions: Sequence[int],
        held: Sequence[Value] = (),
        rings: Iterable[Iterable[Mapping[int, int]]] = (),
    ) -> Value:
        """The value of a schedule.

        Parameters
        ----------
        instance
            The problem.
        completions
            (jobs) Completion times in slots.
        held
            (servers) GPU slots that jobs hold on each; only prices need them.
        rings
            (jobs) Workers by server index in each segment of a job; only link weights need them.
        """
        if self.prices is not None:
            paid = zip(self.prices_of(instance), held, strict=True)
            return exact(sum((price * slots for price, slots in paid), Fraction(0)))
        if self.link_weights is not None:
            weights, tree = self.link_weights_of(instance), topology(instance.cluster)
            return exact(Fraction(sum(heaviest(tree, weights, segments) for segments in rings)))
        pairs = zip(self.terms(instance), completions, strict=True)
        values = [term.at(completion) for term, completion in pairs if term is not None]
        return max(values, default=0) if self.greatest else sum(values)

    def told(self, value: Value | float, time: SlotTime, *notes: str) -> str:
        """A value with its unit, slots with their length, and notes: `1,234 weighted slots`."""
        if self.unit == SLOTS and isinstance(value, int):
            return time.told(value, *notes, form=",")
        unit = self.unit.removesuffix("s") if value == 1 else self.unit
        noted = f" ({'; '.join(notes)})" if notes else ""
        return f"{in_digits(value)} {unit}".rstrip() + noted


@once_per_instance
def _known_terms(_: Instance) -> dict[Objective, tuple[Term | None, ...]]:
    """The terms of the objectives that were asked for last, the oldest first."""
    return {}


def heaviest(
    tree: Topology, weights: Sequence[Value], segments: Iterable[Mapping[int, int]]
) -> Value:
    """What a job's links count where they count most: the greatest over its segments."""
    used = (tree.links_used(workers) for workers in segments)
    return max((sum((weights[link] for link in links), start=0) for links in used), default=0)


def _is_term(term: object) -> bool:
    if not (isinstance(term, Term) and isinstance(term.shape, Shape)):
        return False
    numbers: tuple[object, ...] = term[:3]
    return all(isinstance(one, int) for one in numbers) and term.weight >= 1 and term.divisor >= 1


def in_digits(value: Value | float | None) -> str:
    """A value as people read it; fractions have six digits, or all before the point."""
    if value is None:
        return NONE
    if isinstance(value, int):
        return f"{value:,}"
    plain = float(value)
    return f"{plain:,.6g}" if abs(plain) < 1e6 else f"{plain:,.0f}"


def exact(value: Value) -> Value:
    """A fraction, as a whole number if it is one."""
    return int(value) if value.denominator == 1 else value


def number(value: Value | None) -> int | float | None:
    """A value as JSON has it."""
    return float(value) if isinstance(value, Fraction) else value


@cache  # Entry points take milliseconds to read, and the verifier asks for each schedule.
def objective(name: str) -> Objective:
    """The objective of a name.

    Raises
    ------
    UsageError
        If there is none.
    """
    found: Objective = registry.find("objectives", name)
    return found


def objectives_of(instance: Instance) -> tuple[Objective, ...]:
    """What an instance asks to minimise, the most important first."""
    return tuple(objective(name) for name in instance.objectives)


@once_per_instance
def ties_of(instance: Instance) -> tuple[Objective, ...]:
    """What decides between schedules that are equal in all that an instance asks for (section 18).

    An instance that names one objective, or none, goes on to total completion, for else jobs wait
    for nothing where only the last one counts, and then to total links, for else rings are
    scattered where nobody slows them. A list of objectives is taken as it is, also a list of one.
    What cannot differ between such schedules is left out.
    """
    if not isinstance(instance.objective, str):
        return ()
    asked = objective(instance.objective)
    ties = []
    if not _same_but_for_a_constant(instance, asked, TOTAL_COMPLETION):
        ties.append(TOTAL_COMPLETION)
    if asked is not TOTAL_LINKS and _rings_may_use_links(instance):
        ties.append(TOTAL_LINKS)
    return tuple(ties)


def _same_but_for_a_constant(instance: Instance, one: Objective, other: Objective) -> bool:
    """Whether two objectives of completions order all schedules alike: terms differ in offsets."""
    if one is other:
        return True
    if one.greatest or other.greatest:
        return False

    def slopes(some: Objective) -> list[tuple[int, int, Shape] | None]:
        terms = some.terms(instance)
        return [term and (term.weight, term.divisor, term.shape) for term in terms]

    return slopes(one) == slopes(other) and all(
        term is not None and term.shape is Shape.LINEAR for term in one.terms(instance)
    )


def _rings_may_use_links(instance: Instance) -> bool:
    """Whether a ring can be on more than one server."""
    return len(instance.cluster.servers) > 1 and any(max(job.sizes) > 1 for job in instance.jobs)


def _prices(instance: Instance) -> list[Fraction]:
    """Price of a GPU for a slot on each server; a GPU-hour costs 1 where there are no prices."""
    hours = Fraction(str(instance.time.slot_seconds)) / 3600
    prices = instance.cluster.prices_per_gpu_hour
    by_server = []
    for server in instance.cluster.servers:
        price = prices[server.gpu_type or ""] if isinstance(prices, dict) else prices
        by_server.append(hours * (1 if price is None else Fraction(str(price))))
    return by_server


def _tardy(job: Job, shape: Shape, weight: int) -> Term | None:
    return None if job.due is None else Term(weight, job.due, shape=shape)


def _flow(weight: int, release: int) -> Term:
    return _COMPLETION if weight == 1 and release == 0 else Term(weight, release)


_COMPLETION = Term()
"""The term of most jobs of most instances, made once."""

MAKESPAN = Objective(
    "makespan", "when the last job completes", SLOTS, greatest=True, term=lambda *_: _COMPLETION
)
TOTAL_COMPLETION = Objective(
    "total-completion",
    "sum of completion times, by weight",
    "weighted slots",
    term=lambda instance, j: _flow(instance.jobs[j].weight, 0),
)
TOTAL_FLOW = Objective(
    "total-flow",
    "sum of times from release to completion, by weight",
    "weighted slots",
    term=lambda instance, j: _flow(instance.jobs[j].weight, instance.jobs[j].release),
)
MAX_FLOW = Objective(
    "max-flow",
    "longest time from release to completion",
    SLOTS,
    greatest=True,
    term=lambda instance, j: _flow(1, instance.jobs[j].release),
)
TOTAL_TARDINESS = Objective(
    "total-tardiness",
    "sum of slots past the due slots, by weight",
    "weighted slots",
    term=lambda instance, j: _tardy(instance.jobs[j], Shape.TARDY, instance.jobs[j].weight),
)
MAX_TARDINESS = Objective(
    "max-tardiness",
    "most slots past a due slot",
    SLOTS,
    greatest=True,
    term=lambda instance, j: _tardy(instance.jobs[j], Shape.TARDY, 1),
)
LATE_JOBS = Objective(
    "late-jobs",
    "number of jobs that complete past their due slot, by weight",
    "weighted jobs",
    term=lambda instance, j: _tardy(instance.jobs[j], Shape.LATE, instance.jobs[j].weight),
)
MAX_STRETCH = Objective(
    "max-stretch",
    "greatest time from release to completion, as a multiple of the job's least time alone",
    "times its least time",
    greatest=True,
    term=lambda instance, j: Term(
        offset=instance.jobs[j].release, divisor=slots_alone(instance)[j]
    ),
)
COST = Objective("cost", "price of the GPU-hours held", "price units", prices=_prices)
TOTAL_LINKS = Objective(
    "total-links",
    "sum over the jobs of the links that their rings use",
    "links",
    link_weights=lambda instance: [1] * len(topology(instance.cluster).links),
)
