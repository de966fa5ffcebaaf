"""An exchange of jobs between two servers whose areas match.

Where almost no GPU slot up to the target may be idle, most exchanges fail because one server gets
more work than it has room for. So this one chooses among those that do not.
"""

from __future__ import annotations

from functools import partial

from rarmodel.engine.arrays import Ints
from rarmodel.engine.compilation import compiled
from rarmodel.engine.random_numbers import Generator, below, fraction

from .layout import Layout
from .packing import Packing, jobs_of
from .server_moves import fits_area, give_both, insert, room_for

_inner = partial(compiled, inner=True)

PAIR_SHARE = 0.15
"""Share of the exchanges that give two jobs, not one."""
MOST_CANDIDATES = 12
"""Most jobs of the other server to choose from: the choices are their sets of up to three."""


@_inner
def exchange_matched(
    layout: Layout,
    packing: Packing,
    server: int,
    other: int,
    target: int,
    limit: float,
    generator: Generator,
) -> None:
    """Give one or two jobs to another server for up to three of its jobs, of about their area."""
    own, own_after = packing.lists[0], packing.lists[1]
    theirs, theirs_after = packing.lists[2], packing.lists[3]
    count = jobs_of(packing, server, own, own_after)
    place = below(generator, count)
    job, second = own[place], -1
    if count > 1 and fraction(generator) < PAIR_SHARE:
        second = own[(place + 1 + below(generator, count - 1)) % count]
    largest = max(layout.size[job], layout.size[second] if second >= 0 else 0)
    if largest > layout.server_gpus[other]:
        return
    area = _area(layout, job) + _area(layout, second)
    their_count = jobs_of(packing, other, theirs, theirs_after)
    candidates = _candidates(layout, theirs, their_count, server, theirs_after, generator)
    room = room_for(packing, server, other, limit)
    own_area, their_area = packing.area[server], packing.area[other]
    one = two = three = -1
    found = 0
    # −1 stands for no job, so that each set of up to three candidates comes once. One more job
    # leaves the server less room, so no set goes on that is too much already.
    for i in range(-1, candidates):
        first = theirs_after[i] if i >= 0 else -1
        first_moved = area - _area(layout, first)
        if own_area - first_moved > room:
            continue
        for j in range(-1, max(i, 0)):
            next_ = theirs_after[j] if j >= 0 else -1
            next_moved = first_moved - _area(layout, next_)
            if own_area - next_moved > room:
                continue
            for k in range(-1, max(j, 0)):
                last = theirs_after[k] if k >= 0 else -1
                if fits_area(own_area, their_area, next_moved - _area(layout, last), room):
                    found += 1
                    if below(generator, found) == 0:
                        one, two, three = first, next_, last
    if found == 0:
        return
    own_count = 0
    for i in range(count):
        if own[i] not in (job, second):
            own_after[own_count] = own[i]
            own_count += 1
    left, gap = 0, -1
    for i in range(their_count):
        back = theirs[i]
        if back not in (one, two, three):
            theirs_after[left] = back
            left += 1
            continue
        if gap < 0 or below(generator, 2) == 0:
            gap = left
        own_count = _insert_near(own_after, own_count, place, back, generator)
        area -= _area(layout, back)
    left = _insert_near(theirs_after, left, gap, job, generator)
    if second >= 0:
        left = _insert_near(theirs_after, left, gap, second, generator)
    if not (
        _holds_pieces(layout, packing, server, own_after, own_count)
        and _holds_pieces(layout, packing, other, theirs_after, left)
    ):
        return
    counts = own_count, left
    give_both(layout, packing, server, other, counts, area, target, limit)


@_inner
def _holds_pieces(layout: Layout, packing: Packing, server: int, row: Ints, count: int) -> bool:
    """Whether a server has room for the pieces of rings in a list of jobs.

    Pieces of two rings that overlap in time would share a link.
    """
    if len(packing.fixed) == 0:
        return True
    for i in range(count):
        start = packing.fixed[row[i]]
        if start < 0:
            continue
        end = start + layout.packed[row[i]]
        gpus = layout.size[row[i]]
        for j in range(i):
            other = packing.fixed[row[j]]
            if other >= 0 and other < end and start < other + layout.packed[row[j]]:
                if packing.ring[row[i]] != packing.ring[row[j]]:
                    return False
                gpus += layout.size[row[j]]
        if gpus > layout.server_gpus[server]:
            return False
    return True


@_inner
def _area(layout: Layout, job: int) -> float:
    """GPU slots of a job; 0 for no job."""
    return float(layout.size[job] * layout.packed[job]) if job >= 0 else 0.0


@_inner
def _candidates(
    layout: Layout, jobs: Ints, count: int, server: int, row: Ints, generator: Generator
) -> int:
    """Write some of the jobs that a server has room for to a list; return their number."""
    found = 0
    if count > 0:
        offset = below(generator, count)
        for step in range(min(count, MOST_CANDIDATES)):
            job = jobs[(offset + step) % count]
            if layout.size[job] <= layout.server_gpus[server]:
                row[found] = job
                found += 1
    return found


@_inner
def _insert_near(row: Ints, count: int, place: int, job: int, generator: Generator) -> int:
    """Insert a job at a place, if there is one, or anywhere; return the number of jobs."""
    near = place >= 0 and below(generator, 2) == 0
    return insert(row, count, min(place, count) if near else below(generator, count + 1), job)
