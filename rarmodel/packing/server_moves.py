"""Changes to a packing that annealing over servers tries: of one server's order, or of two servers.

A change is made if the excess of all servers stays within a limit.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from rarmodel.engine.arrays import Ints
from rarmodel.engine.compilation import compiled
from rarmodel.engine.random_numbers import Generator, below, fraction

from .layout import Layout
from .server_orders import Packing, give, jobs_of, place_jobs, set_excess
from .similar import similar_job

_inner = partial(compiled, inner=True)


class Numbers(NamedTuple):
    """How packings on servers are changed."""

    order_share: float = 0.3
    """Share of the changes to a server's order; the others are exchanges."""
    overfull_share: float = 0.8
    """Share of the changes that begin at a server past the target."""
    similar_share: float = 0.3
    """Share of the exchanges that swap two jobs of one size and of similar execution time."""
    area_share: float = 0.15
    """Share of the exchanges that give a job for jobs of similar area."""
    none_back: float = 0.2
    one_back: float = 0.7
    two_back: float = 0.9
    """Up to these shares of the others, no job comes back, one or two; then three."""
    least_area: float = 0.7
    area_range: float = 0.5
    """The area that comes back, as a part of the job's: at least, and how much more at most."""
    most_work: float = 3e8
    """If jobs times jobs per server are more, placing all jobs once takes too long to anneal."""


NUMBERS = Numbers()


@_inner
def _insert(row: Ints, count: int, place: int, job: int) -> int:
    """Insert a job at a place of a list; return the number of jobs."""
    for i in range(count, place, -1):
        row[i] = row[i - 1]
    row[place] = job
    return count + 1


@_inner
def _remove(row: Ints, count: int, place: int) -> int:
    """Remove the job at a place of a list; return the number of jobs."""
    for i in range(place, count - 1):
        row[i] = row[i + 1]
    return count - 1


@_inner
def reorder(
    layout: Layout, packing: Packing, server: int, target: int, limit: float, generator: Generator
) -> None:
    """Swap two jobs in a server's order, or move one."""
    after = packing.lists[1]
    count = jobs_of(packing, server, packing.lists[0], after)
    if count < 2:
        return
    one, other = below(generator, count), below(generator, count)
    job = after[one]
    if below(generator, 2) == 0:
        after[one] = after[other]
        after[other] = job
    else:
        _insert(after, _remove(after, count, one), other, job)
    rest = packing.total[0] - packing.excess[server]
    excess = place_jobs(layout, packing, server, after, count, target, limit - rest)
    if rest + excess <= limit:
        give(packing, server, after, count)
        packing.total[0] = rest + excess
        set_excess(packing, server, excess)


@_inner
def exchange(
    layout: Layout,
    packing: Packing,
    server: int,
    other: int,
    target: int,
    limit: float,
    generator: Generator,
) -> None:
    """Give a job of one server to another, which gives some of its jobs back, or none."""
    own, own_after = packing.lists[0], packing.lists[1]
    theirs, theirs_after = packing.lists[2], packing.lists[3]
    count = jobs_of(packing, server, own, own_after)
    place = below(generator, count)
    job = own[place]
    if layout.size[job] > layout.server_gpus[other]:
        return
    their_count = jobs_of(packing, other, theirs, theirs_after)
    own_count = _remove(own_after, count, place)
    left = their_count
    area = float(layout.size[job]) * layout.packed[job]
    moved = area
    wanted = -1.0
    back = 0
    if fraction(generator) < NUMBERS.area_share:
        back = their_count
        wanted = area * (NUMBERS.least_area + NUMBERS.area_range * fraction(generator))
    else:
        kind = fraction(generator)
        back = 3
        if kind < NUMBERS.none_back:
            back = 0
        elif kind < NUMBERS.one_back:
            back = 1
        elif kind < NUMBERS.two_back:
            back = 2
        if back > their_count:
            return
    for _ in range(back):
        if wanted >= 0.0 and area - moved >= wanted:
            break
        pick = below(generator, left)
        their_job = theirs_after[pick]
        if layout.size[their_job] > layout.server_gpus[server]:
            return
        left = _remove(theirs_after, left, pick)
        at = min(place, own_count) if below(generator, 2) == 0 else below(generator, own_count + 1)
        own_count = _insert(own_after, own_count, at, their_job)
        moved -= float(layout.size[their_job]) * layout.packed[their_job]
    left = _insert(theirs_after, left, below(generator, left + 1), job)
    counts = own_count, left
    _give_both(layout, packing, server, other, counts, moved, target, limit)


@_inner
def swap(
    layout: Layout, packing: Packing, server: int, target: int, limit: float, generator: Generator
) -> None:
    """Swap a job of a server with a job of its size on another server."""
    own, own_after = packing.lists[0], packing.lists[1]
    theirs, theirs_after = packing.lists[2], packing.lists[3]
    count = jobs_of(packing, server, own, own_after)
    place = below(generator, count)
    job = own[place]
    their_job = similar_job(layout, job, generator)
    if their_job < 0:
        return
    other = packing.home[their_job]
    if other < 0 or other == server:
        return
    their_count = jobs_of(packing, other, theirs, theirs_after)
    their_place = 0
    while theirs[their_place] != their_job:
        their_place += 1
    own_after[place], theirs_after[their_place] = their_job, job
    moved = float(layout.size[job]) * (layout.packed[job] - layout.packed[their_job])
    counts = count, their_count
    _give_both(layout, packing, server, other, counts, moved, target, limit)


@_inner
def _give_both(
    layout: Layout,
    packing: Packing,
    server: int,
    other: int,
    counts: tuple[int, int],
    moved: float,
    target: int,
    limit: float,
) -> None:
    """Set the jobs of two servers, unless the result is past the limit."""
    own_after, theirs_after = packing.lists[1], packing.lists[3]
    own_count, left = counts
    # What exceeds the area up to the target surely ends past it.
    room = limit - (packing.total[0] - packing.excess[server] - packing.excess[other])
    least = max(0.0, packing.area[other] + moved)
    if max(0.0, packing.area[server] - moved) + least > room:
        return
    excess = place_jobs(layout, packing, server, own_after, own_count, target, room - least)
    if excess + least > room:
        return
    their_excess = place_jobs(layout, packing, other, theirs_after, left, target, room - excess)
    if excess + their_excess > room:
        return
    give(packing, server, own_after, own_count)
    give(packing, other, theirs_after, left)
    packing.total[0] -= packing.excess[server] + packing.excess[other]
    packing.total[0] += excess + their_excess
    set_excess(packing, server, excess)
    set_excess(packing, other, their_excess)
    packing.area[server] -= moved
    packing.area[other] += moved
