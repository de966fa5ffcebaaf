"""The schedules from which restricted models begin: admissible ones, or short ones to repair.

No method knows the additions. The shortest schedule of all methods and of `search` may keep them.
If not, and additions come to caps, `search` takes these for resources, or all jobs are inserted
anew under them; and jobs wait for each other until the schedule is admissible. Where that does not
help, schedules in which less runs at once are tried. The best of all is admissible, or is left to
models that repair it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from time import perf_counter
from typing import NamedTuple

from rarmodel.methods import attempt
from rarmodel.model import unhandled
from rarmodel.search import SEARCH

from .caps_as_resources import with_resources
from .delays import delayed, slots_for
from .insertion import Insertion
from .insertion_orders import inserted_anew
from .learned_caps import Key, LearnedCap, learned_caps, slots_needed
from .ranking import Incumbent, Ranking
from .thinned_schedules import STRETCHES, on_less

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


class First(NamedTuple):
    """Where restricted models begin.

    Attributes
    ----------
    admissible
        The best admissible schedule, or None.
    broken
        A schedule that is worth a repair, or None: a short one, where no admissible one is.
    """

    admissible: Incumbent | None
    broken: Incumbent | None


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
    # The rules on placements may allow none of the schedules of methods.
    shortest = ranking.ranked(offered[0][0]) if offered else _in_a_row(ranking)
    if shortest is None:
        return First(_best(found), None)
    near = NEAR_ENOUGH * shortest.times.latest
    if _within(found, near):
        return First(_best(found), None)
    found.append(shortest)
    if shortest.violated:
        needed = _under_caps(ranking, shortest, deadline, found)
        near = max(near, NEAR_ENOUGH * needed)
    if not _within(found, near):
        for thin in _thinner(ranking, shortest, deadline):
            found.append(thin)
            if perf_counter() > deadline or not thin.violated:
                break
    admissible = _best(found)
    broken = [one for one in found if one.violated]
    if not broken:
        return First(admissible, None)
    # Of the most violated one half the length is as good as no violation.
    worst = max(one.violated for one in broken)
    repaired = min(broken, key=lambda one: one.times.latest * (1 + one.violated / worst))
    if _within(found, NEAR_ENOUGH * repaired.times.latest):
        return First(admissible, None)
    return First(admissible, repaired)


def _under_caps(
    ranking: Ranking, shortest: Incumbent, deadline: float, found: list[Incumbent]
) -> int:
    """Add schedules in which jobs keep learned caps, or wait for each other.

    Returns
    -------
    int
        About how many slots the caps ask for.
    """
    slots = slots_for(ranking, shortest)
    caps = learned_caps(ranking, shortest, slots)
    needed = slots_needed(caps, ranking, shortest.times)
    if SPARE * needed > slots:
        slots = min(ranking.most, round(SPARE * needed) + slots)
        caps = learned_caps(ranking, shortest, slots)
    insertion, begin = Insertion(ranking.scope(slots), caps), shortest
    for anew in _keeping(ranking, caps, insertion, shortest, deadline):
        found.append(anew)
        begin = min(begin, anew, key=lambda one: one.rank)
    if begin.violated:
        until = perf_counter() + _part(DELAYS_SHARE, deadline)
        found.append(delayed(ranking, begin, until, insertion))
    return needed


def _keeping(
    ranking: Ranking,
    caps: Mapping[Key, LearnedCap],
    insertion: Insertion,
    shortest: Incumbent,
    deadline: float,
) -> Iterator[Incumbent]:
    """Schedules made for caps: by `search`, which knows resources, or else by insertion."""
    if not caps:
        return
    own = None
    stated = with_resources(ranking.known.instance, caps)
    if stated is not None and not unhandled(stated, SEARCH.handles, ""):
        limits = ranking.limits(_part(SEARCH_SHARE, deadline))
        made = attempt(SEARCH, stated, limits).schedule
        own = ranking.ranked(made) if made is not None and ranking.pool.add_schedule(made) else None
        if own is not None:
            yield own
    if own is None or own.violated:
        until = perf_counter() + _part(INSERTION_SHARE, deadline)
        yield from inserted_anew(ranking, insertion, own or shortest, until)


def _part(share: float, deadline: float) -> float:
    """Seconds: a share of those that are left."""
    return share * max(0.0, deadline - perf_counter())


def _best(found: list[Incumbent]) -> Incumbent | None:
    """The best admissible schedule of some."""
    return min((one for one in found if not one.violated), key=lambda one: one.rank, default=None)


def _within(found: list[Incumbent], slots: float) -> bool:
    """Whether an admissible schedule is no longer than this."""
    return any(not one.violated and one.times.latest <= slots for one in found)


def _in_a_row(ranking: Ranking) -> Incumbent | None:
    """Jobs one after another, each in a placement that its rules allow."""
    starts, workers, end = list[int](), dict[str, Mapping[str, int]](), 0
    for job in ranking.known.instance.jobs:
        drawn = ranking.pool.draw(job.name, 1, ranking.random)
        if not drawn:
            return None
        workers[job.name] = drawn[0]
        starts.append(max(end, job.release))
        end = starts[-1] + ranking.pool.expected(job.name, drawn[0])
    return ranking.settled(starts, workers)


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
