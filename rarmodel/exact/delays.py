"""Let jobs wait for each other until a schedule keeps what was added.

Where jobs together break a constraint, one of them waits until another has ended. For projects with
resources this is a delaying alternative (E. Demeulemeester, W. Herroelen, "A branch-and-bound
procedure for the multiple resource-constrained project scheduling problem", Management Science 38,
1992). Then all jobs are inserted anew in the order of their starts, so that the others give way,
and holes are filled. The jobs of a constraint that nobody waits for can begin later than its slots,
or be the first of all. Of some such changes the one is kept that violates least.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import permutations
from time import perf_counter
from typing import Any

from .insertion import Insertion, Way
from .ranking import Conflict, Incumbent, Ranking

CHANGES = 8
"""Changes that are tried at a time."""

WAYS = 4
"""Placements that a job may have beside its own."""

ROUNDS = 3
"""Walks from the same schedule, by other random numbers."""

MOST_IN_VAIN = 4
"""Steps in a row that violate no less, after which a walk ends."""

SLOTS = 2
"""Multiple of the first schedule's slots that plans may have."""


@dataclass(frozen=True)
class Decisions:
    """Who waits, by job.

    Attributes
    ----------
    waits
        Jobs for which it waits.
    earliest
        A slot before which it does not start.
    first
        Jobs that come before all others, in this order.
    """

    waits: Mapping[str, set[str]] = field(default_factory=dict)
    earliest: Mapping[str, int] = field(default_factory=dict)
    first: tuple[str, ...] = ()

    def wait(self, job: str, other: str) -> Decisions:
        """The same, but a job waits for another one, which does not wait for it any more."""
        waits = {j: set(others) for j, others in self.waits.items()}
        waits.setdefault(job, set()).add(other)
        waits.get(other, set()).discard(job)
        return Decisions(waits, self.earliest, self.first)

    def delay(self, job: str, slot: int) -> Decisions:
        """The same, but a job does not start before a slot."""
        return Decisions(self.waits, {**self.earliest, job: slot}, self.first)

    def hurry(self, job: str) -> Decisions:
        """The same, but a job is the first of all."""
        first = (job, *(one for one in self.first if one != job))
        earliest = {j: slot for j, slot in self.earliest.items() if j != job}
        return Decisions(self.waits, earliest, first)


Change = tuple[Decisions, frozenset[str], Mapping[str, int]]
"""New decisions, the jobs that they are about, and keys of the order that they change."""


def delayed(
    ranking: Ranking, begin: Incumbent, deadline: float, insertion: Insertion | None = None
) -> Incumbent:
    """Repair a schedule by delays; the least violated one that is found, itself at worst.

    Parameters
    ----------
    ranking
        The solve.
    begin
        The schedule.
    deadline
        A reading of `perf_counter`.
    insertion
        Makes plans; by default for `slots_for`, with the instance's own caps.
    """
    if insertion is None:
        insertion = Insertion(ranking.scope(slots_for(ranking, begin)), ranking.slot_rules)
    best = begin
    for _ in range(ROUNDS):
        for found in _walk(ranking, insertion, begin, deadline):
            best = min(best, found, key=lambda one: one.rank)
    return best


def slots_for(ranking: Ranking, begin: Incumbent) -> int:
    """Slots that plans may have."""
    times = begin.times
    longest = max(times.ends[j] - times.starts[j] for j in times.starts)
    return min(ranking.most, SLOTS * times.latest + longest)


def _walk(
    ranking: Ranking, insertion: Insertion, begin: Incumbent, deadline: float
) -> Iterator[Incumbent]:
    """Schedules that violate less and less, as a rule."""
    current, decisions, in_vain = begin, Decisions(), 0
    while current.violated and in_vain < MOST_IN_VAIN and perf_counter() < deadline:
        made = list[tuple[tuple[Any, ...], int, Incumbent, Decisions]]()
        for change in _changes(ranking, current, decisions):
            for several in (False, True):
                if perf_counter() < deadline:
                    found = _made(ranking, insertion, current, change, several=several)
                    if found is not None:
                        made.append((found.rank, len(made), found, change[0]))
        if not made:
            return
        rank, _, found, decisions = min(made, key=lambda one: one[:2])
        in_vain = 0 if rank < current.rank else in_vain + 1
        current = found
        yield current


def _changes(ranking: Ranking, current: Incumbent, decisions: Decisions) -> Iterator[Change]:
    """Some changes that may mend a conflict: the earliest one, or any."""
    random, times = ranking.random, current.times
    conflicts = ranking.conflicts(current)
    if not conflicts:
        conflicts = [Conflict(tuple(times.starts), ())]
    conflicts.sort(key=lambda one: one.slots[:1])
    for number in range(CHANGES):
        jobs, slots = conflicts[0] if number % 2 == 0 else random.choice(conflicts)
        pairs = [
            (j, k)
            for j, k in permutations(random.sample(jobs, min(len(jobs), 2 * CHANGES)), 2)
            if times.starts[j] < times.ends[k]
        ]
        kinds = ["wait"] * 4 if pairs else []
        kinds += ["later"] if slots else []
        kinds += ["first"] if len(jobs) < 3 else []
        kind = random.choice(kinds or ["first"])
        if kind == "wait":
            j, k = random.choice(pairs)
            keys = {
                j: max(times.starts[j], times.ends[k]),
                k: min(times.starts[j], times.starts[k]),
            }
            yield decisions.wait(j, k), frozenset((j, k)), keys
        elif kind == "later":
            j = random.choice(jobs)
            later = slots[-1] + 1 if len(jobs) < 3 else slots[0] + 1
            yield decisions.delay(j, later), frozenset((j,)), {j: later}
        else:
            j = random.choice(jobs)
            yield decisions.hurry(j), frozenset((j,)), {}


def _made(
    ranking: Ranking,
    insertion: Insertion,
    current: Incumbent,
    change: Change,
    *,
    several: bool,
) -> Incumbent | None:
    """The schedule of a change.

    Parameters
    ----------
    several
        Whether every job may have other placements, and not only those that the change is about.
    """
    decisions, about, keys = change
    times, pool = current.times, ranking.pool
    first = {j: place - len(decisions.first) for place, j in enumerate(decisions.first)}
    order = sorted(times.starts, key=lambda j: first.get(j, keys.get(j, times.starts[j])))
    ways: dict[str, list[Way]] = {}
    for j in order:
        mine = times.workers[j]
        ways[j] = [(mine, times.ends[j] - times.starts[j])]
        if several or j in about:
            drawn = pool.draw(j, WAYS, ranking.random)
            ways[j] += [(way, pool.expected(j, way)) for way in drawn if way != mine]
    plan = insertion.plan(order, ways, decisions.waits, decisions.earliest)
    if plan is None:
        return None
    names = [job.name for job in ranking.known.instance.jobs]
    return ranking.settled([plan.starts[j] for j in names], plan.workers)
