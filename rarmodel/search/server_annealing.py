"""Simulated annealing over servers: exchange jobs until each server keeps to the target.

If spread rings stay where they are, each server is a separate packing problem, and an exchange of
jobs costs two of these. Simulated annealing (S. Kirkpatrick, C. Gelatt, M. Vecchi,
Science 220, 1983) over exchanges and orders reduces the GPU slots that jobs hold past the target.
"""

from __future__ import annotations

from functools import partial
from math import log

from rarmodel.engine.arrays import Ints
from rarmodel.engine.compilation import compiled
from rarmodel.engine.random_numbers import Generator, below, fraction

from .layout import Layout
from .packing import Packing, give, jobs_of, keep, measure, place_jobs, set_excess
from .similar import similar_job

_inner = partial(compiled, inner=True)

ORDER_SHARE = 0.3
"""Share of the changes to a server's order; the others are exchanges."""
OVERFULL_SHARE = 0.8
"""Share of the changes that begin at a server past the target."""
SIMILAR_SHARE = 0.3
"""Share of the exchanges that swap two jobs of one size and of similar execution time."""
AREA_SHARE = 0.15
"""Share of the other exchanges that swap a job for jobs of similar area."""


@_inner
def _insert(row: Ints, count: int, place: int, job: int) -> int:
    for i in range(count, place, -1):
        row[i] = row[i - 1]
    row[place] = job
    return count + 1


@_inner
def _remove(row: Ints, count: int, place: int) -> int:
    for i in range(place, count - 1):
        row[i] = row[i + 1]
    return count - 1


@partial(compiled, parallel=True)
def anneal_servers(
    layout: Layout,
    packing: Packing,
    target: int,
    moves: int,
    hot: float,
    cooling: float,
    generator: Generator,
    stop: Ints,
) -> bool:
    """Anneal; return whether no job is past the target.

    Parameters
    ----------
    layout, packing
        The instance, and the packing to improve.
    target
        The makespan to reach in slots.
    moves
        Changes to try.
    hot
        Temperature at the first change, in GPU slots.
    cooling
        Factor of the temperature from one change to the next.
    generator
        The random numbers.
    stop
        (1) Another thread sets it to 1 to stop this function.
    """
    servers = len(layout.server_gpus)
    measure(layout, packing, target)
    keep(packing)
    saved = 0
    temperature = hot
    for move in range(moves):
        if packing.total[0] <= 0.0 or stop[0] != 0:
            break
        temperature *= cooling
        if fraction(generator) < OVERFULL_SHARE:
            server = packing.overfull[below(generator, packing.overfull_count[0])]
        else:
            server = below(generator, servers)
        if packing.first[0, server] < 0:
            continue
        limit = packing.total[0] - temperature * log(fraction(generator))
        if fraction(generator) < ORDER_SHARE or servers == 1:
            _reorder(layout, packing, server, target, limit, generator)
        elif fraction(generator) < SIMILAR_SHARE:
            _swap(layout, packing, server, target, limit, generator)
        else:
            other = below(generator, servers)
            if other != server:
                _exchange(layout, packing, server, other, target, limit, generator)
        # Copying takes as long as there are jobs, so it must not happen at every gain.
        if packing.total[0] < packing.total[1] and move - saved >= len(layout.size):
            keep(packing)
            saved = move
    if packing.total[0] < packing.total[1]:
        keep(packing)
    return bool(packing.total[1] <= 0.0)


@_inner
def _reorder(
    layout: Layout, packing: Packing, server: int, target: int, limit: float, generator: Generator
) -> None:
    """Swap two jobs in a server's order, or move one."""
    before, after = packing.lists[0], packing.lists[1]
    count = jobs_of(packing, server, before, after)
    if count < 2:
        return
    one, other = below(generator, count), below(generator, count)
    job = after[one]
    if below(generator, 2) == 0:
        after[one] = after[other]
        after[other] = job
    else:
        _insert(after, _remove(after, count, one), other, job)
    give(packing, server, after, count)
    excess = place_jobs(layout, packing, server, target)
    total = packing.total[0] - packing.excess[server] + excess
    if total <= limit:
        packing.total[0] = total
        set_excess(packing, server, excess)
    else:
        give(packing, server, before, count)


@_inner
def _exchange(
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
    if fraction(generator) < AREA_SHARE:
        back = their_count
        wanted = area * (0.7 + 0.5 * fraction(generator))
    else:
        kind = fraction(generator)
        back = 0 if kind < 0.2 else 1 if kind < 0.7 else 2 if kind < 0.9 else 3
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
    counts = count, own_count, their_count, left
    _evaluate(layout, packing, server, other, counts, moved, target, limit)


@_inner
def _swap(
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
    counts = count, count, their_count, their_count
    _evaluate(layout, packing, server, other, counts, moved, target, limit)


@_inner
def _evaluate(
    layout: Layout,
    packing: Packing,
    server: int,
    other: int,
    counts: tuple[int, int, int, int],
    moved: float,
    target: int,
    limit: float,
) -> None:
    """Set the jobs of two servers, unless the result is past the limit."""
    own, own_after = packing.lists[0], packing.lists[1]
    theirs, theirs_after = packing.lists[2], packing.lists[3]
    count, own_count, their_count, left = counts
    # What exceeds the area up to the target surely ends past it.
    rest = packing.total[0] - packing.excess[server] - packing.excess[other]
    least = max(0.0, packing.area[other] + moved)
    if rest + max(0.0, packing.area[server] - moved) + least > limit:
        return
    give(packing, server, own_after, own_count)
    give(packing, other, theirs_after, left)
    excess = place_jobs(layout, packing, server, target)
    if rest + excess + least <= limit:
        their_excess = place_jobs(layout, packing, other, target)
        if rest + excess + their_excess <= limit:
            packing.total[0] = rest + excess + their_excess
            set_excess(packing, server, excess)
            set_excess(packing, other, their_excess)
            packing.area[server] -= moved
            packing.area[other] += moved
            return
    give(packing, server, own, count)
    give(packing, other, theirs, their_count)
