"""The schedules from which restricted models begin: admissible ones, or short ones to repair.

No method knows the additions. The shortest schedule of all methods and of `search` may keep them.
Where it does not, or may be far from the best, and additions come to caps, `search` takes these for
resources. Unless an admissible schedule is then near, all jobs are inserted anew under the caps,
and wait for each other until the schedule is admissible. Where that does not help, schedules in
which less runs at once are tried. The best of all is admissible, or is left to models that repair
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import ceil
from time import perf_counter
from typing import NamedTuple

from rarmodel.methods import attempt
from rarmodel.model import unhandled
from rarmodel.model.windows import in_order, waited_for
from rarmodel.search import SEARCH, SESSION_HANDLES

from .caps_as_resources import with_resources
from .delays import delayed, slots_for
from .insertion import Insertion, Way
from .insertion_orders import inserted_anew
from .learned_caps import Key, LearnedCap, learned_caps, slots_needed
from .ranking import Incumbent, Ranking
from .thinned_schedules import STRETCHES, on_less

INSERTIONS = 8
"""Plans that are tried where no method keeps the rules."""

PADDING = 1.1
"""Multiple of the expected slots that every other of these plans gives a job: rings that share
links may take longer than expected, into slots that rules refuse."""

WAYS = 8
"""Placements of each job in such plans."""

MOST_OFFERED = 40
"""Most schedules whose placements are in the pool."""

DELAYS_SHARE = 0.2
"""Share of the time for delays."""

INSERTION_SHARE = 0.2
"""Share of the time for plans under caps that additions come to."""

SEARCH_SHARE = 0.3
"""Share of the time for `search` on an instance with such caps as resources."""

SPARE = 1.5
"""Multiple of the slots that caps ask for, which plans may have."""

FIRST_SHARE = 0.04
"""Share of the time for each search on a part of the cluster."""

NEAR_ENOUGH = 1.2
"""Up to this multiple of the shortest schedule known, an admissible one is a good start."""

CLOSE = 1.01
"""Up to this multiple of it, or of the lower bound where it is admissible, `search` under caps
would gain less than models do in its time."""


class First(NamedTuple):
    """Where restricted models begin.

    Attributes
    ----------
    admissible
        The best admissible schedule, or None.
    broken
        A schedule that is worth a repair, or None: a short one, where no admissible one is.
    needed
        About how many slots caps of the additions ask for; 0 if that is not known.
    """

    admissible: Incumbent | None
    broken: Incumbent | None
    needed: int = 0


def first_incumbents(ranking: Ranking, deadline: float) -> First:
    """Find where to begin, in a part of the time until a reading of `perf_counter`."""
    known, pool = ranking.known, ranking.pool
    shortest_first = sorted(known.offered, key=lambda one: one[1].makespan or ranking.most)
    offered = [one for one in shortest_first[:MOST_OFFERED] if pool.add_schedule(one[0])]
    found = list[Incumbent]()
    if known.schedule is not None:
        pool.add_schedule(known.schedule)
        own = ranking.ranked(known.schedule)
        found += [own] if own is not None and not own.violated else []
    # Rules on placements, or on their slots, may allow none of the schedules of methods.
    shortest = ranking.ranked(offered[0][0]) if offered else None
    if shortest is None:
        shortest = _inserted(ranking, deadline) or _in_a_row(ranking)
    if shortest is None:
        return First(_best(found), None)
    near = NEAR_ENOUGH * shortest.times.latest
    found.append(shortest)
    needed = 0
    goal = shortest.times.latest if shortest.violated else known.bound.slots
    if not _within(found, CLOSE * goal):
        needed = _under_caps(ranking, shortest, deadline, found, near)
        near = max(near, NEAR_ENOUGH * needed)
    if not _within(found, near):
        for thin in _thinner(ranking, shortest, deadline):
            found.append(thin)
            if perf_counter() > deadline or not thin.violated:
                break
    admissible = _best(found)
    broken = [one for one in found if one.violated]
    if not broken or _within(found, near):
        return First(admissible, None, needed)
    # Of the most violated one half the length is as good as no violation.
    worst = max(one.violated for one in broken)
    repaired = min(broken, key=lambda one: one.times.latest * (1 + one.violated / worst))
    if _within(found, NEAR_ENOUGH * repaired.times.latest):
        return First(admissible, None, needed)
    return First(admissible, repaired, needed)


def _under_caps(
    ranking: Ranking, shortest: Incumbent, deadline: float, found: list[Incumbent], near: float
) -> int:
    """Add schedules in which jobs keep learned caps, or wait for each other.

    Where an admissible one is `near`, in slots, only `search` is asked for a better one.

    Returns
    -------
    int
        About how many slots the caps ask for.
    """
    slots = slots_for(ranking, shortest)
    caps = learned_caps(ranking, shortest, slots)
    needed = slots_needed(caps, shortest.times)
    if SPARE * needed > slots:
        slots = min(ranking.most, round(SPARE * needed) + slots)
        caps = learned_caps(ranking, shortest, slots)
    searched = _searched(ranking, caps, deadline)
    found += [] if searched is None else [searched]
    if _within(found, near):
        return needed
    begin = min(filter(None, (shortest, searched)), key=lambda one: one.rank)
    insertion = Insertion(ranking.scope(slots), ranking.slot_rules, caps)
    if caps and begin.violated:
        until = perf_counter() + _part(INSERTION_SHARE, deadline)
        for anew in inserted_anew(ranking, insertion, searched or shortest, until):
            found.append(anew)
            begin = min(begin, anew, key=lambda one: one.rank)
    if begin.violated:
        until = perf_counter() + _part(DELAYS_SHARE, deadline)
        found.append(delayed(ranking, begin, until, insertion))
    return needed


def _searched(
    ranking: Ranking, caps: Mapping[Key, LearnedCap], deadline: float
) -> Incumbent | None:
    """The schedule of `search` on the instance with caps as resources; None if it takes none."""
    stated = with_resources(ranking.known.instance, caps) if caps else None
    if stated is None or unhandled(stated, SESSION_HANDLES, ""):
        return None
    made = attempt(SEARCH, stated, ranking.limits(_part(SEARCH_SHARE, deadline))).schedule
    return ranking.ranked(made) if made is not None and ranking.pool.add_schedule(made) else None


def _part(share: float, deadline: float) -> float:
    """Seconds: a share of those that are left."""
    return share * max(0.0, deadline - perf_counter())


def _best(found: list[Incumbent]) -> Incumbent | None:
    """The best admissible schedule of some."""
    return min((one for one in found if not one.violated), key=lambda one: one.rank, default=None)


def _within(found: list[Incumbent], slots: float) -> bool:
    """Whether an admissible schedule is no longer than this."""
    return any(not one.violated and one.times.latest <= slots for one in found)


def _inserted(ranking: Ranking, deadline: float) -> Incumbent | None:
    """The longest jobs first, each as soon as there is room in a placement that rules allow.

    The best of some such schedules: each of them tells the next plan how long jobs took.
    """
    found = list[Incumbent]()
    for turn in range(INSERTIONS):
        if perf_counter() > deadline:
            break
        padding = PADDING if turn % 2 else 1.0
        ways = {
            j: [(way, ceil(padding * slots)) for way, slots in some]
            for j, some in _ways(ranking, WAYS).items()
        }
        longest = sorted(ways, key=lambda j: -min((slots for _, slots in ways[j]), default=0))
        made = _planned(ranking, longest, ways, {})
        found += [] if made is None else [made]
    return min(found, key=lambda one: one.rank, default=None)


def _in_a_row(ranking: Ranking) -> Incumbent | None:
    """Jobs one after another, each in a placement that its rules allow."""
    instance = ranking.known.instance
    order = [instance.jobs[j].name for j in in_order(waited_for(instance))]
    waits = {j: {before} for before, j in pairwise(order)}
    return _planned(ranking, order, _ways(ranking, WAYS), waits)


def _ways(ranking: Ranking, number: int) -> dict[str, list[Way]]:
    """By job: some placements, and how long they are expected to take."""
    pool = ranking.pool
    return {
        job.name: [
            (way, pool.expected(job.name, way))
            for way in pool.draw(job.name, number, ranking.random)
        ]
        for job in ranking.known.instance.jobs
    }


def _planned(
    ranking: Ranking,
    order: list[str],
    ways: Mapping[str, list[Way]],
    waits: Mapping[str, set[str]],
) -> Incumbent | None:
    """The schedule of a plan by insertion; None if there is none, or rules refuse it.

    The plan has twice as many slots until it fits: rules are asked about each of them.
    """
    slots = 2 * max((slots for some in ways.values() for _, slots in some), default=1)
    plan = None
    while plan is None and slots < 2 * ranking.most:
        scope = ranking.scope(min(slots, ranking.most))
        plan = Insertion(scope, ranking.slot_rules).plan(order, ways, waits, {})
        slots *= 2
    if plan is None:
        return None
    starts = [plan.starts[job.name] for job in ranking.known.instance.jobs]
    return ranking.settled(starts, plan.workers)


def _thinner(ranking: Ranking, found: Incumbent, deadline: float) -> Iterator[Incumbent]:
    """Schedules in which less and less runs at once."""
    instance = ranking.known.instance
    seconds = max(0.5, FIRST_SHARE * (deadline - perf_counter()))
    for schedule in on_less(instance, ranking.known.limits, seconds):
        thin = ranking.ranked(schedule) if ranking.pool.add_schedule(schedule) else None
        if thin is not None:
            yield thin
    jobs = [job.name for job in instance.jobs]
    for factor in STRETCHES:
        starts = [round(factor * found.times.starts[j]) for j in jobs]
        thin = ranking.settled(starts, found.times.workers)
        if thin is not None:
            yield thin
