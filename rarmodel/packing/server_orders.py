"""A packing: the order of jobs on each server, with fixed spread rings.

A job within one server uses no link, so its execution time is fixed, and other servers do not
affect it. So each server is a separate packing problem. Serial schedule generation places its jobs:
in the server's order, each at the earliest slot from which enough GPUs stay free.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from math import inf
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rarmodel.engine.arrays import Floats, Ints
from rarmodel.engine.compilation import compiled

from .indexed_set import updated
from .layout import MANY, Layout
from .solution import Solution

Bools = npt.NDArray[np.bool_]

_inner = partial(compiled, inner=True)


class Packing(NamedTuple):
    """The order of jobs on each server, and the memory of the search."""

    first: Ints
    """(2, servers) First job of each server, −1 for none: now, and at the least excess."""
    after: Ints
    """(2, jobs) The next job of its server, −1 at the end."""
    ring_at: Ints
    """(servers + 1) Offsets into the next three, for the GPUs that spread rings hold."""
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
    weight: Floats
    """(jobs) What a slot of each job's completion adds to the excess, in GPU slots past the target;
    0 if only the makespan counts."""
    excess: Floats
    """(servers) GPU slots held past the target, and weighted completions."""
    overfull: Ints
    """(servers) The servers that hold some past the target, in any order."""
    overfull_at: Ints
    """(servers) Place of each server in `overfull`, −1 if it keeps to the target."""
    overfull_count: Ints
    """(1) Number of servers in `overfull`."""
    area: Floats
    """(servers) GPU slots needed minus GPU slots up to the target."""
    total: Floats
    """(2) Excess of all servers: now, and the least so far."""
    slots: Ints
    """(room) Scratch: slots at which the number of free GPUs changes."""
    free: Ints
    """(room) Scratch: free GPUs from then on."""
    lists: Ints
    """(4, jobs or servers + 1) Scratch: jobs of two servers, before and after."""


def packing_of(layout: Layout, solution: Solution) -> Packing:
    """The packing of a solution: its packed jobs by server, in the order of their starts."""
    jobs_of: list[list[int]] = [[] for _ in layout.server_gpus]
    used, at, server = solution.used.tolist(), solution.at.tolist(), solution.server.tolist()
    for job in np.argsort(solution.starts, kind="stable").tolist():
        if used[job] == 1:
            jobs_of[server[at[job]]].append(job)
    return _new_packing(layout, jobs_of, rings_of(layout, solution))


def rings_of(layout: Layout, solution: Solution) -> list[list[tuple[int, int, int]]]:
    """First slot, slot after the last, and GPUs that each spread ring holds, by server."""
    rings: list[list[tuple[int, int, int]]] = [[] for _ in layout.server_gpus]
    server, workers = solution.server.tolist(), solution.workers.tolist()
    for job in np.flatnonzero(solution.used > 1).tolist():
        start, end = int(solution.starts[job]), int(solution.completions[job])
        for place in range(solution.at[job], solution.at[job + 1]):
            rings[server[place]].append((start, end, workers[place]))
    return rings


def _new_packing(
    layout: Layout, jobs_of: list[list[int]], rings: list[list[tuple[int, int, int]]]
) -> Packing:
    """Start with given jobs for each server, and the GPUs that spread rings hold there.

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
        weight=np.zeros(jobs),
        excess=np.zeros(servers),
        overfull=np.zeros(servers, np.int64),
        overfull_at=np.full(servers, -1, np.int64),
        overfull_count=np.zeros(1, np.int64),
        area=np.zeros(servers),
        total=np.zeros(2),
        slots=np.zeros(room, np.int64),
        free=np.zeros(room, np.int64),
        lists=np.zeros((4, max(jobs, servers) + 1), np.int64),
    )


def rings_alone(layout: Layout, solution: Solution) -> tuple[Solution, Packing]:
    """The rest of a solution if every job that fits a server is to be packed anew.

    The remaining spread rings keep their order. The time in which none of them runs is removed, so
    that they begin at slot 0. As they are fewer, they may also end earlier.

    Returns
    -------
    tuple
        The solution, in which servers, starts and completions of the jobs to be packed have no
        meaning (`solution_of` gives them one), and the packing without these jobs.
    """
    fits = layout.packed > 0
    used = np.where(fits, 1, solution.used)
    at = np.concatenate(([0], np.cumsum(used)))
    source = np.repeat(solution.at[:-1] - at[:-1], used) + np.arange(at[-1])
    workers = solution.workers[source]
    workers[at[:-1][fits]] = layout.size[fits]
    starts, completions = _pressed(solution, ~fits)
    skeleton = solution._replace(
        starts=starts,
        completions=completions,
        at=at,
        server=solution.server[source],
        workers=workers,
    )
    packing = packing_of(layout, skeleton)
    packing.first[:] = -1
    return skeleton, packing


def _pressed(solution: Solution, rings: Bools) -> tuple[Ints, Ints]:
    """Starts and completions without the slots in which no ring runs."""
    changes = np.unique(np.concatenate((solution.starts[rings], solution.completions[rings], [0])))
    running = np.zeros(len(changes), np.int64)
    np.add.at(running, np.searchsorted(changes, solution.starts[rings]), 1)
    np.add.at(running, np.searchsorted(changes, solution.completions[rings]), -1)
    lengths = np.where(np.cumsum(running)[:-1] > 0, np.diff(changes), 0)
    before = np.concatenate(([0], np.cumsum(lengths)))
    starts, completions = solution.starts.copy(), solution.completions.copy()
    starts[rings] = before[np.searchsorted(changes, starts[rings])]
    completions[rings] = before[np.searchsorted(changes, completions[rings])]
    return starts, completions


def solution_of(layout: Layout, skeleton: Solution, packing: Packing) -> Solution:
    """The solution of a settled packing, with spread rings as in the skeleton."""
    alone = skeleton.used == 1
    starts = np.where(alone, packing.starts, skeleton.starts)
    completions = np.where(alone, starts + layout.packed, skeleton.completions)
    server = skeleton.server.copy()
    first, after = packing.first[0].tolist(), packing.after[0].tolist()
    at = skeleton.at.tolist()
    for index, job in enumerate(first):
        here = job
        while here >= 0:
            server[at[here]] = index
            here = after[here]
    return skeleton._replace(
        makespan=int(completions.max()), starts=starts, completions=completions, server=server
    )


@_inner
def _cut(slots: Ints, free: Ints, count: int, step: int, at: int) -> int:
    """Split a step in two, the second from slot `at` on; return the number of steps."""
    for i in range(count, step, -1):
        slots[i + 1] = slots[i]
        free[i] = free[i - 1]
    slots[step + 1] = at
    return count + 1


@_inner
def _reserve(slots: Ints, free: Ints, count: int, start: int, end: int, gpus: int) -> int:
    """Take GPUs from `start` until before `end`; return the number of steps."""
    step = 0
    while slots[step + 1] <= start:
        step += 1
    if slots[step] < start:
        count = _cut(slots, free, count, step, start)
        step += 1
    while slots[step + 1] <= end:
        free[step] -= gpus
        step += 1
    if slots[step] < end:
        count = _cut(slots, free, count, step, end)
        free[step] -= gpus
    return count


@_inner
def place_jobs(
    layout: Layout, packing: Packing, server: int, row: Ints, count: int, target: int, most: float
) -> float:
    """Place jobs on a server in their order; return the GPU slots past the target.

    If they are more than `most`, the rest of the jobs may be left out.
    """
    slots, free = packing.slots, packing.free
    slots[0], slots[1] = 0, MANY
    free[0] = layout.server_gpus[server]
    steps = 1
    for ring in range(packing.ring_at[server], packing.ring_at[server + 1]):
        steps = _reserve(
            slots,
            free,
            steps,
            packing.ring_start[ring],
            packing.ring_end[ring],
            packing.ring_gpus[ring],
        )
    excess = 0.0
    for i in range(count):
        job = row[i]
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
        if slots[last + 1] > end:
            steps = _cut(slots, free, steps, last, end)
        for held in range(step, last + 1):
            free[held] -= size
        excess += packing.weight[job] * end
        if end > target:
            excess += float(end - target) * size
        if excess > most:
            break
    return excess


@_inner
def jobs_of(packing: Packing, server: int, row: Ints, copy: Ints) -> int:
    """Write the jobs of a server to a list and to a copy; return their number."""
    count = 0
    job = packing.first[0, server]
    while job >= 0:
        row[count] = copy[count] = job
        count += 1
        job = packing.after[0, job]
    return count


@_inner
def give(packing: Packing, server: int, row: Ints, count: int) -> None:
    """Set the jobs of a server from a list."""
    packing.first[0, server] = -1
    for i in range(count - 1, -1, -1):
        packing.after[0, row[i]] = packing.first[0, server]
        packing.first[0, server] = row[i]
        packing.home[row[i]] = server


@_inner
def measure(layout: Layout, packing: Packing, target: int) -> None:
    """Excess and area of every server for a target."""
    packing.total[0] = 0.0
    for server in range(len(packing.excess)):
        area = -float(layout.server_gpus[server]) * target
        for ring in range(packing.ring_at[server], packing.ring_at[server + 1]):
            length = packing.ring_end[ring] - packing.ring_start[ring]
            area += float(length) * packing.ring_gpus[ring]
        row = packing.lists[0]
        count = jobs_of(packing, server, row, packing.lists[1])
        for job in row[:count]:
            packing.home[job] = server
            area += float(layout.packed[job]) * layout.size[job]
        packing.area[server] = area
        excess = place_jobs(layout, packing, server, row, count, target, inf)
        set_excess(packing, server, excess)
        packing.total[0] += packing.excess[server]


@_inner
def set_excess(packing: Packing, server: int, excess: float) -> None:
    """Set the excess of a server."""
    packing.excess[server] = excess
    count = packing.overfull_count
    count[0] = updated(packing.overfull, packing.overfull_at, count[0], server, excess)


@_inner
def keep(packing: Packing) -> None:
    """Record the current packing as the best."""
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
    """Restore the best packing, and write its start slots."""
    _copy(packing, 1, 0)
    measure(layout, packing, target)
