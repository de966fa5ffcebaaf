"""Search over servers: exchange jobs between servers until each server keeps to the target.

A job within one server uses no link, so its execution time is fixed, and neither it nor anything
else on the server minds what other servers do. So with the spread rings left where they are, each
server has a packing problem of its own, and an exchange of jobs costs two of these. They are
solved by serial schedule generation: jobs in the server's order, each at the earliest slot from
which on enough GPUs stay free. Simulated annealing (S. Kirkpatrick, C. Gelatt, M. Vecchi, Science
220, 1983) over exchanges and orders reduces the GPU slots that jobs hold past the target.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from math import log
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import Floats, Ints
from rarmodel.engine.compilation import compiled

from .draw import Draws, below, fraction
from .layout import MANY, Layout

_inner = partial(compiled, inner=True)

ORDER_SHARE = 0.3
"""Part of the changes that are to a server's order; the others are exchanges."""
LATE_SHARE = 0.8
"""Part of the changes that begin at a server which misses the target."""
SIMILAR_SHARE = 0.3
"""Part of the exchanges that swap two jobs of one size and of about the same execution time."""
SIMILAR = 8
"""How far apart these are at most, when jobs of their size are sorted by execution time."""
AREA_SHARE = 0.15
"""Part of the other exchanges that swap a job for jobs of about its area."""


class Packing(NamedTuple):
    """Which jobs run on which server in which order, and the memory to search with."""

    first: Ints
    """(2, servers) First job of each server, −1 for none: now, and at the least excess."""
    after: Ints
    """(2, jobs) The next job of its server, −1 at the end."""
    ring_at: Ints
    """(servers + 1) Offsets into the next three: what spread rings hold of each server."""
    ring_start: Ints
    """First slot."""
    ring_end: Ints
    """Slot after the last."""
    ring_gpus: Ints
    """GPUs."""
    home: Ints
    """(jobs) Server of each packed job, −1 for others."""
    starts: Ints
    """(jobs) Start slots after `settle`."""
    excess: Floats
    """(servers) GPU slots held past the target."""
    late: Ints
    """(servers) The servers that hold some past the target, in any order."""
    late_at: Ints
    """(servers) Place of each among them, −1 if it does not."""
    lates: Ints
    """(1) How many they are."""
    area: Floats
    """(servers) GPU slots needed less those there are up to the target."""
    total: Floats
    """(2) Excess of all servers: now, and the least so far."""
    slots: Ints
    """(room) Scratch: slots at which the number of free GPUs changes."""
    free: Ints
    """(room) Scratch: free GPUs from then on."""
    lists: Ints
    """(4, jobs or servers + 1) Scratch: jobs of two servers, before and after."""


def new_packing(
    layout: Layout, jobs_of: list[list[int]], rings: list[list[tuple[int, int, int]]]
) -> Packing:
    """Begin with given jobs for each server, and what spread rings hold there.

    Parameters
    ----------
    layout
        The instance.
    jobs_of
        (servers) Packed jobs in their order.
    rings
        (servers) First slot, slot after the last, and GPUs that each spread ring holds.
    """
    jobs, servers = len(layout.size), len(layout.server_gpus)
    first, after = np.full((2, servers), -1, np.int64), np.full((2, jobs), -1, np.int64)
    for server, row in enumerate(jobs_of):
        for job, follower in pairwise(row):
            after[:, job] = follower
        if row:
            first[:, server] = row[0]
    flat = np.array([ring for row in rings for ring in row], np.int64).reshape(-1, 3)
    room = 2 * (jobs + max(map(len, rings))) + 3
    return Packing(
        first=first,
        after=after,
        ring_at=np.cumsum([0, *map(len, rings)], dtype=np.int64),
        ring_start=flat[:, 0].copy(),
        ring_end=flat[:, 1].copy(),
        ring_gpus=flat[:, 2].copy(),
        home=np.full(jobs, -1, np.int64),
        starts=np.zeros(jobs, np.int64),
        excess=np.zeros(servers),
        late=np.zeros(servers, np.int64),
        late_at=np.full(servers, -1, np.int64),
        lates=np.zeros(1, np.int64),
        area=np.zeros(servers),
        total=np.zeros(2),
        slots=np.zeros(room, np.int64),
        free=np.zeros(room, np.int64),
        lists=np.zeros((4, max(jobs, servers) + 1), np.int64),
    )


@_inner
def _reserve(slots: Ints, free: Ints, count: int, start: int, end: int, gpus: int) -> int:
    """Take GPUs from `start` until before `end`; the number of steps afterwards."""
    step = 0
    while slots[step + 1] <= start:
        step += 1
    if slots[step] < start:
        for i in range(count, step, -1):
            slots[i + 1] = slots[i]
            free[i] = free[i - 1]
        count += 1
        step += 1
        slots[step] = start
    while slots[step + 1] <= end:
        free[step] -= gpus
        step += 1
    if slots[step] < end:
        for i in range(count, step, -1):
            slots[i + 1] = slots[i]
            free[i] = free[i - 1]
        count += 1
        slots[step + 1] = end
        free[step] -= gpus
    return count


@_inner
def _pack(layout: Layout, packing: Packing, server: int, target: int) -> float:
    """Place the jobs of a server in their order; the GPU slots they hold past the target."""
    slots, free = packing.slots, packing.free
    slots[0], slots[1] = 0, MANY
    free[0] = layout.server_gpus[server]
    count = 1
    for ring in range(packing.ring_at[server], packing.ring_at[server + 1]):
        count = _reserve(
            slots,
            free,
            count,
            packing.ring_start[ring],
            packing.ring_end[ring],
            packing.ring_gpus[ring],
        )
    excess = 0.0
    job = packing.first[0, server]
    while job >= 0:
        size = layout.size[job]
        step = 0
        while True:
            while free[step] < size:
                step += 1
            start = slots[step]
            end = start + layout.packed[job]
            last = step
            while slots[last + 1] < end and free[last + 1] >= size:
                last += 1
            if slots[last + 1] >= end:
                break
            step = last + 1
        packing.starts[job] = start
        count = _reserve(slots, free, count, start, end, size)
        if end > target:
            excess += float(end - target) * size
        job = packing.after[0, job]
    return excess


@_inner
def _read(packing: Packing, server: int, row: Ints) -> int:
    """Write the jobs of a server to a list; how many they are."""
    count = 0
    job = packing.first[0, server]
    while job >= 0:
        row[count] = job
        count += 1
        job = packing.after[0, job]
    return count


@_inner
def _write(packing: Packing, server: int, row: Ints, count: int) -> None:
    """Give a server the jobs of a list."""
    packing.first[0, server] = -1
    for i in range(count - 1, -1, -1):
        packing.after[0, row[i]] = packing.first[0, server]
        packing.first[0, server] = row[i]
        packing.home[row[i]] = server


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


@_inner
def _measure(layout: Layout, packing: Packing, target: int) -> None:
    """Excess and area of every server for a target."""
    packing.total[0] = 0.0
    for server in range(len(packing.excess)):
        area = -float(layout.server_gpus[server]) * target
        for ring in range(packing.ring_at[server], packing.ring_at[server + 1]):
            length = packing.ring_end[ring] - packing.ring_start[ring]
            area += float(length) * packing.ring_gpus[ring]
        job = packing.first[0, server]
        while job >= 0:
            packing.home[job] = server
            area += float(layout.packed[job]) * layout.size[job]
            job = packing.after[0, job]
        packing.area[server] = area
        _note(packing, server, _pack(layout, packing, server, target))
        packing.total[0] += packing.excess[server]


@_inner
def _note(packing: Packing, server: int, excess: float) -> None:
    """Set the excess of a server."""
    packing.excess[server] = excess
    place = packing.late_at[server]
    if excess > 0.0 and place < 0:
        packing.late_at[server] = packing.lates[0]
        packing.late[packing.lates[0]] = server
        packing.lates[0] += 1
    elif excess <= 0.0 and place >= 0:
        packing.lates[0] -= 1
        last = packing.late[packing.lates[0]]
        packing.late[place] = last
        packing.late_at[last] = place
        packing.late_at[server] = -1


@partial(compiled, parallel=True)
def repack(
    layout: Layout,
    packing: Packing,
    target: int,
    moves: int,
    hot: float,
    cooling: float,
    draws: Draws,
) -> bool:
    """Anneal; whether no job is past the target any more.

    Parameters
    ----------
    layout, packing
        The instance, and what to improve.
    target
        The makespan to reach in slots.
    moves
        Changes to try.
    hot
        Temperature at the first of them, in GPU slots.
    cooling
        Factor of the temperature from one to the next.
    draws
        The random numbers.
    """
    servers = len(layout.server_gpus)
    _measure(layout, packing, target)
    _keep(packing)
    saved = 0
    temperature = hot
    for move in range(moves):
        if packing.total[0] <= 0.0:
            break
        temperature *= cooling
        if fraction(draws) < LATE_SHARE:
            server = packing.late[below(draws, packing.lates[0])]
        else:
            server = below(draws, servers)
        if packing.first[0, server] < 0:
            continue
        limit = packing.total[0] - temperature * log(fraction(draws))
        if fraction(draws) < ORDER_SHARE or servers == 1:
            _reorder(layout, packing, server, target, limit, draws)
        elif fraction(draws) < SIMILAR_SHARE:
            _swap(layout, packing, server, target, limit, draws)
        else:
            other = below(draws, servers)
            if other != server:
                _exchange(layout, packing, server, other, target, limit, draws)
        # Copying takes as long as there are jobs, so it must not happen at every gain.
        if packing.total[0] < packing.total[1] and move - saved >= len(layout.size):
            _keep(packing)
            saved = move
    if packing.total[0] < packing.total[1]:
        _keep(packing)
    return bool(packing.total[1] <= 0.0)


@_inner
def _keep(packing: Packing) -> None:
    """Note the present packing as the best."""
    _copy(packing, 0, 1)
    packing.total[1] = packing.total[0]


@_inner
def _copy(packing: Packing, source: int, to: int) -> None:
    for server in range(packing.first.shape[1]):
        packing.first[to, server] = packing.first[source, server]
    for job in range(packing.after.shape[1]):
        packing.after[to, job] = packing.after[source, job]


@partial(compiled, parallel=True)
def settle(layout: Layout, packing: Packing, target: int) -> None:
    """Go back to the best packing, and write its start slots."""
    _copy(packing, 1, 0)
    _measure(layout, packing, target)


@_inner
def _reorder(
    layout: Layout, packing: Packing, server: int, target: int, limit: float, draws: Draws
) -> None:
    """Swap two jobs of a server's order, or move one."""
    before, after = packing.lists[0], packing.lists[1]
    count = _read(packing, server, before)
    if count < 2:
        return
    for i in range(count):
        after[i] = before[i]
    one, other = below(draws, count), below(draws, count)
    job = after[one]
    if below(draws, 2) == 0:
        after[one] = after[other]
        after[other] = job
    else:
        _insert(after, _remove(after, count, one), other, job)
    _write(packing, server, after, count)
    excess = _pack(layout, packing, server, target)
    total = packing.total[0] - packing.excess[server] + excess
    if total <= limit:
        packing.total[0] = total
        _note(packing, server, excess)
    else:
        _write(packing, server, before, count)


@_inner
def _exchange(
    layout: Layout,
    packing: Packing,
    server: int,
    other: int,
    target: int,
    limit: float,
    draws: Draws,
) -> None:
    """Give a job of one server to another, which gives some of its jobs back, or none."""
    own, own_after = packing.lists[0], packing.lists[1]
    theirs, theirs_after = packing.lists[2], packing.lists[3]
    count = _read(packing, server, own)
    place = below(draws, count)
    job = own[place]
    if layout.size[job] > layout.server_gpus[other]:
        return
    their_count = _read(packing, other, theirs)
    for i in range(count):
        own_after[i] = own[i]
    for i in range(their_count):
        theirs_after[i] = theirs[i]
    own_count = _remove(own_after, count, place)
    left = their_count
    area = float(layout.size[job]) * layout.packed[job]
    moved = area
    wanted = -1.0
    back = 0
    if fraction(draws) < AREA_SHARE:
        back = their_count
        wanted = area * (0.7 + 0.5 * fraction(draws))
    else:
        kind = fraction(draws)
        back = 0 if kind < 0.2 else 1 if kind < 0.7 else 2 if kind < 0.9 else 3
        if back > their_count:
            return
    for _ in range(back):
        if wanted >= 0.0 and area - moved >= wanted:
            break
        pick = below(draws, left)
        their_job = theirs_after[pick]
        if layout.size[their_job] > layout.server_gpus[server]:
            return
        left = _remove(theirs_after, left, pick)
        at = min(place, own_count) if below(draws, 2) == 0 else below(draws, own_count + 1)
        own_count = _insert(own_after, own_count, at, their_job)
        moved -= float(layout.size[their_job]) * layout.packed[their_job]
    left = _insert(theirs_after, left, below(draws, left + 1), job)
    counts = count, own_count, their_count, left
    _evaluate(layout, packing, server, other, counts, moved, target, limit)


@_inner
def _swap(
    layout: Layout, packing: Packing, server: int, target: int, limit: float, draws: Draws
) -> None:
    """Swap a job of a server with one of its size on another server."""
    own, own_after = packing.lists[0], packing.lists[1]
    theirs, theirs_after = packing.lists[2], packing.lists[3]
    count = _read(packing, server, own)
    place = below(draws, count)
    job = own[place]
    there = layout.size_rank[job] + 1 + below(draws, SIMILAR)
    if below(draws, 2) == 0:
        there = 2 * layout.size_rank[job] - there
    if there < 0 or there >= len(layout.by_size):
        return
    their_job = layout.by_size[there]
    other = packing.home[their_job]
    if layout.size[their_job] != layout.size[job] or other < 0 or other == server:
        return
    their_count = _read(packing, other, theirs)
    for i in range(count):
        own_after[i] = own[i]
    for i in range(their_count):
        theirs_after[i] = job if theirs[i] == their_job else theirs[i]
    own_after[place] = their_job
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
    """Give two servers other jobs, unless that is past the limit."""
    own, own_after = packing.lists[0], packing.lists[1]
    theirs, theirs_after = packing.lists[2], packing.lists[3]
    count, own_count, their_count, left = counts
    # What exceeds the area up to the target surely ends past it.
    rest = packing.total[0] - packing.excess[server] - packing.excess[other]
    least = max(0.0, packing.area[other] + moved)
    if rest + max(0.0, packing.area[server] - moved) + least > limit:
        return
    _write(packing, server, own_after, own_count)
    _write(packing, other, theirs_after, left)
    excess = _pack(layout, packing, server, target)
    if rest + excess + least <= limit:
        their_excess = _pack(layout, packing, other, target)
        if rest + excess + their_excess <= limit:
            packing.total[0] = rest + excess + their_excess
            _note(packing, server, excess)
            _note(packing, other, their_excess)
            packing.area[server] -= moved
            packing.area[other] += moved
            return
    _write(packing, server, own, count)
    _write(packing, other, theirs, their_count)
