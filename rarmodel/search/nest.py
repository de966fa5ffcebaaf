"""Search over nested lanes: where sizes divide each other, jobs need not be simulated to be packed.

A lane is a GPU of a server, or as many as the smallest job needs. If each size divides the next
larger one (1, 2, 4, 8, …), the lanes of a server form a tree: a block of lanes as wide as the
widest job that fits, divided into blocks for the next size, and so on down to single lanes. Give
each job a block of its own size, and run on each block first what its parts hold and then its own
jobs. That is a schedule of length θ exactly if no lane, summed over the blocks that it is part of,
holds more than θ. So an exchange costs only sums over the lanes that it changes.

Spread rings hold lanes from slot 0 until their last slot there: what they leave idle before is not
used here. Simulated annealing reduces the slots that lanes hold past the target. Two blocks of the
same size exchange some of what they hold: a job, or for each part of the block a job or nothing.
"""

from __future__ import annotations

from functools import partial
from math import log
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import Floats, Ints
from rarmodel.engine.compilation import compiled

from .draw import Draws, below, fraction
from .layout import Layout
from .repack import Packing

_inner = partial(compiled, inner=True)

LATE_SHARE = 0.7
"""Part of the exchanges that begin at a lane which misses the target."""
OWN_SHARE = 0.7
"""Chance that a block gives a job of its own size, if it has one, and not some of its parts."""
EMPTY_SHARE = 0.1
"""Chance that the second block gives nothing."""
TWICE_SHARE = 0.2
"""Chance that a block gives a second time."""
SIMILAR_SHARE = 0.85
"""Part of the exchanges that swap two jobs of one size and of about the same execution time."""
SIMILAR = 8
"""How far apart these are at most, when jobs of their size are sorted by execution time."""
CHANCE = 0.05
"""Randomness of a job's first block, as a part of its execution time."""


class Nest(NamedTuple):
    """The blocks, which jobs they hold, and the memory to search with."""

    width: Ints
    """(sizes) Lanes of a block for each size."""
    block: Ints
    """(sizes, lanes) The block for each size that a lane is part of, −1 for none."""
    level: Ints
    """(blocks) Place of its size in `width`."""
    lane: Ints
    """(blocks) Its first lane."""
    server: Ints
    """(blocks) Its server."""
    home: Ints
    """(2, jobs) Block of each job, −1 for jobs that are not packed: now, and at the least excess."""
    first: Ints
    """(blocks) First job of each block, −1 for none."""
    after: Ints
    """(jobs) The next job of its block, −1 at the end."""
    before: Ints
    """(jobs) The previous one, −1 at the front."""
    count: Ints
    """(blocks) Number of jobs."""
    sorted: Ints
    """(packed jobs) By size, then by execution time."""
    place: Ints
    """(jobs) Place of each packed job among them."""
    load: Ints
    """(lanes) Slots that each lane holds."""
    late: Ints
    """(lanes) The lanes that hold more than the target, in any order."""
    late_at: Ints
    """(lanes) Place of each among them, −1 if it does not."""
    total: Floats
    """(2) Slots past the target on all lanes: now, and the least so far."""
    change: Ints
    """(lanes of the widest block) Scratch: what the first block's lanes gain."""
    given: Ints
    """(2, jobs) Scratch: the jobs that each of two blocks gives."""
    taken: Ints
    """(jobs) Scratch: whether a job is among them."""
    stack: Ints
    """(room) Scratch: blocks to look at."""


def nestable(layout: Layout) -> bool:
    """Whether the sizes of the jobs that fit a server divide each other."""
    sizes = np.unique(layout.size[layout.packed > 0])
    return bool(len(sizes)) and not (sizes[1:] % sizes[:-1]).any()


def new_nest(layout: Layout, packing: Packing, draws: Draws) -> Nest:
    """Deal the jobs that fit a server out to blocks, each to one then among the least loaded.

    Parameters
    ----------
    layout, packing
        The instance, for which `nestable` is true, and what spread rings hold.
    draws
        The random numbers.
    """
    sizes = np.unique(layout.size[layout.packed > 0])
    width = sizes // sizes[0]
    rows: list[list[int]] = [[] for _ in sizes]
    level: list[int] = []
    lane: list[int] = []
    server_of: list[int] = []
    load: list[int] = []
    for server, gpus in enumerate((layout.server_gpus // sizes[0]).tolist()):
        begun = len(load)
        while len(load) - begun < gpus:
            at = len(load)
            widest = int(np.searchsorted(width, gpus - (at - begun), "right")) - 1
            load += [0] * int(width[widest])
            for size, row in enumerate(rows):
                for part in range(at, len(load), int(width[size])):
                    row += [len(lane) if size <= widest else -1] * min(
                        int(width[size]), len(load) - at
                    )
                    if size <= widest:
                        level.append(size)
                        lane.append(part)
                        server_of.append(server)
        load[begun:] = _held(layout, packing, server, int(sizes[0]))
    blocks = len(lane)
    jobs = np.flatnonzero(layout.packed > 0)
    widest = jobs[np.lexsort((-layout.packed[jobs], -layout.size[jobs]))]
    place = np.zeros(len(layout.size), np.int64)
    place[widest] = np.arange(len(widest))
    nest = Nest(
        width=width,
        block=np.array(rows, np.int64),
        level=np.array(level, np.int64),
        lane=np.array(lane, np.int64),
        server=np.array(server_of, np.int64),
        home=np.full((2, len(layout.size)), -1, np.int64),
        first=np.full(blocks, -1, np.int64),
        after=np.full(len(layout.size), -1, np.int64),
        before=np.full(len(layout.size), -1, np.int64),
        count=np.zeros(blocks, np.int64),
        sorted=widest,
        place=place,
        load=np.array(load, np.int64),
        late=np.zeros(len(load), np.int64),
        late_at=np.full(len(load), -1, np.int64),
        total=np.zeros(2),
        change=np.zeros(int(width[-1]), np.int64),
        given=np.zeros((2, len(layout.size)), np.int64),
        taken=np.zeros(len(layout.size), np.int64),
        stack=np.zeros(2 * int(width[-1]) + 2 * len(width) + 2, np.int64),
    )
    _deal(layout, nest, widest, np.searchsorted(sizes, layout.size[widest]), draws)
    return nest


def _held(layout: Layout, packing: Packing, server: int, smallest: int) -> list[int]:
    """Until when spread rings hold each lane of a server, descending."""
    gpus = int(layout.server_gpus[server])
    lanes = gpus // smallest
    rings = slice(packing.ring_at[server], packing.ring_at[server + 1])
    slots = np.concatenate((packing.ring_start[rings], packing.ring_end[rings]))
    holds = np.concatenate((packing.ring_gpus[rings], -packing.ring_gpus[rings]))
    order = np.argsort(slots, kind="stable")
    in_use = np.cumsum(holds[order])
    # From the end: so many lanes as have been in use at once are held at least until then.
    held: list[int] = []
    for index in range(len(order) - 2, -1, -1):
        until = int(slots[order[index + 1]])
        if until > slots[order[index]]:
            needed = lanes - (gpus - int(in_use[index])) // smallest
            held += [until] * (needed - len(held))
    return held + [0] * (lanes - len(held))


@partial(compiled, parallel=True)
def _deal(layout: Layout, nest: Nest, jobs: Ints, sizes: Ints, draws: Draws) -> None:
    """Give each job of one size after another the block that then ends first, or nearly so."""
    for index in range(len(jobs)):
        job, size = jobs[index], sizes[index]
        chosen = -1
        least = 0.0
        lane = 0
        while lane < len(nest.load):
            block = nest.block[size, lane]
            if block < 0:
                lane += 1
                continue
            most = 0
            for here in range(lane, lane + nest.width[size]):
                most = max(most, nest.load[here])
            value = most + CHANCE * layout.packed[job] * fraction(draws)
            if chosen < 0 or value < least:
                chosen = block
                least = value
            lane += nest.width[size]
        for here in range(nest.lane[chosen], nest.lane[chosen] + nest.width[size]):
            nest.load[here] += layout.packed[job]
        _hold(nest, chosen, job)
    _keep(nest)


@_inner
def _hold(nest: Nest, block: int, job: int) -> None:
    """Give a job to a block."""
    first = nest.first[block]
    nest.home[0, job] = block
    nest.before[job] = -1
    nest.after[job] = first
    if first >= 0:
        nest.before[first] = job
    nest.first[block] = job
    nest.count[block] += 1


@_inner
def _release(nest: Nest, job: int) -> None:
    """Take a job from its block."""
    block = nest.home[0, job]
    if nest.before[job] >= 0:
        nest.after[nest.before[job]] = nest.after[job]
    else:
        nest.first[block] = nest.after[job]
    if nest.after[job] >= 0:
        nest.before[nest.after[job]] = nest.before[job]
    nest.count[block] -= 1


@partial(compiled, parallel=True)
def anneal(
    layout: Layout,
    nest: Nest,
    target: int,
    moves: int,
    hot: float,
    cooling: float,
    draws: Draws,
) -> bool:
    """Anneal; whether no lane holds more than the target any more.

    Parameters
    ----------
    layout, nest
        The instance, and what to improve.
    target
        The makespan to reach in slots.
    moves
        Exchanges to try.
    hot
        Temperature at the first of them, in slots.
    cooling
        Factor of the temperature from one to the next.
    draws
        The random numbers.
    """
    lanes = len(nest.load)
    late = 0
    nest.late_at[:] = -1
    nest.total[0] = 0.0
    for lane in range(lanes):
        late = _note(nest, lane, late, target)
        nest.total[0] += max(0, nest.load[lane] - target)
    _keep(nest)
    saved = 0
    temperature = hot
    given = returned = 0
    for move in range(moves):
        if nest.total[0] <= 0.0:
            break
        temperature *= cooling
        if fraction(draws) < LATE_SHARE:
            lane = nest.late[below(draws, late)]
        else:
            lane = below(draws, lanes)
        size = 0
        while size < len(nest.width) - 1 and below(draws, 2) == 0:
            size += 1
        block = nest.block[size, lane]
        if block < 0:
            continue
        if fraction(draws) < SIMILAR_SHARE:
            other = _swap(layout, nest, block, draws)
            given = returned = 1
        else:
            other = nest.block[size, below(draws, lanes)]
            if other >= 0 and other != block:
                given, returned = _propose(layout, nest, block, other, draws)
        if other < 0 or other == block:
            continue
        limit = -temperature * log(fraction(draws))
        at, other_at = nest.lane[block], nest.lane[other]
        worse = 0
        for i in range(nest.width[size]):
            change = nest.change[i]
            worse += _past(nest, at + i, change, target) + _past(nest, other_at + i, -change, target)
        if worse <= limit:
            nest.total[0] += worse
            for i in range(nest.width[size]):
                nest.load[at + i] += nest.change[i]
                nest.load[other_at + i] -= nest.change[i]
                late = _note(nest, at + i, late, target)
                late = _note(nest, other_at + i, late, target)
            _move(nest, nest.given[0], given, other_at - at)
            _move(nest, nest.given[1], returned, at - other_at)
        # Copying takes as long as there are jobs, so it must not happen at every gain.
        if nest.total[0] < nest.total[1] and move - saved >= len(layout.size):
            _keep(nest)
            saved = move
    if nest.total[0] < nest.total[1]:
        _keep(nest)
    return bool(nest.total[1] <= 0.0)


@_inner
def _keep(nest: Nest) -> None:
    """Note what the blocks hold as the best."""
    for job in range(nest.home.shape[1]):
        nest.home[1, job] = nest.home[0, job]
    nest.total[1] = nest.total[0]


@_inner
def _past(nest: Nest, lane: int, change: int, target: int) -> int:
    """What a change adds to the slots that a lane holds past the target."""
    load = nest.load[lane]
    return max(0, load + change - target) - max(0, load - target)


@_inner
def _note(nest: Nest, lane: int, late: int, target: int) -> int:
    """See whether a lane holds more than the target; how many do then."""
    place = nest.late_at[lane]
    if nest.load[lane] > target and place < 0:
        nest.late_at[lane] = late
        nest.late[late] = lane
        return late + 1
    if nest.load[lane] <= target and place >= 0:
        last = nest.late[late - 1]
        nest.late[place] = last
        nest.late_at[last] = place
        nest.late_at[lane] = -1
        return late - 1
    return late


@_inner
def _move(nest: Nest, jobs: Ints, count: int, lanes: int) -> None:
    """Move jobs by some lanes, to blocks of the same size."""
    for i in range(count):
        block = nest.home[0, jobs[i]]
        _release(nest, jobs[i])
        _hold(nest, nest.block[nest.level[block], nest.lane[block] + lanes], jobs[i])


@_inner
def _swap(layout: Layout, nest: Nest, block: int, draws: Draws) -> int:
    """Choose two jobs of one size to exchange, one of a block; the other's block, −1 for none."""
    if nest.count[block] == 0:
        return -1
    job = nest.first[block]
    for _ in range(below(draws, nest.count[block])):
        job = nest.after[job]
    place = nest.place[job] + 1 + below(draws, SIMILAR)
    if below(draws, 2) == 0:
        place = 2 * nest.place[job] - place
    if place < 0 or place >= len(nest.sorted):
        return -1
    other = nest.sorted[place]
    if layout.size[other] != layout.size[job]:
        return -1
    nest.given[0, 0], nest.given[1, 0] = job, other
    for i in range(nest.width[nest.level[block]]):
        nest.change[i] = layout.packed[other] - layout.packed[job]
    return nest.home[0, other]


@_inner
def _propose(
    layout: Layout, nest: Nest, block: int, other: int, draws: Draws
) -> tuple[int, int]:
    """Choose what two blocks exchange; how many jobs each of them gives."""
    for i in range(nest.width[nest.level[block]]):
        nest.change[i] = 0
    given = _choose(layout, nest, block, nest.given[0], -1, draws)
    returned = 0
    if fraction(draws) >= EMPTY_SHARE:
        returned = _choose(layout, nest, other, nest.given[1], 1, draws)
    for i in range(given):
        nest.taken[nest.given[0, i]] = 0
    for i in range(returned):
        nest.taken[nest.given[1, i]] = 0
    return given, returned


@_inner
def _choose(layout: Layout, nest: Nest, block: int, jobs: Ints, sign: int, draws: Draws) -> int:
    """Choose what a block gives: of its own jobs, or of those of each of its parts."""
    stack = nest.stack
    stack[0] = stack[1] = block
    height = 2 if fraction(draws) < TWICE_SHARE else 1
    count = 0
    while height > 0:
        height -= 1
        here = stack[height]
        size, lane = nest.level[here], nest.lane[here]
        if nest.count[here] > 0 and (size == 0 or fraction(draws) < OWN_SHARE):
            job = nest.first[here]
            for _ in range(below(draws, nest.count[here])):
                job = nest.after[job]
            if nest.taken[job] == 0:
                nest.taken[job] = 1
                jobs[count] = job
                count += 1
                at = lane - nest.lane[block]
                for i in range(at, at + nest.width[size]):
                    nest.change[i] += sign * layout.packed[job]
        elif size > 0:
            for part in range(lane, lane + nest.width[size], nest.width[size - 1]):
                stack[height] = nest.block[size - 1, part]
                height += 1
    return count


def unnest(layout: Layout, nest: Nest, packing: Packing) -> None:
    """Give each server of a packing the jobs that the best nest found has there, by start."""
    home = nest.home[1]
    jobs = np.flatnonzero(home >= 0)
    end = _unloaded(layout, nest, jobs)
    start = np.zeros(len(home), np.int64)
    # Parts before what they are part of.
    for job in jobs[np.argsort(nest.level[home[jobs]], kind="stable")].tolist():
        block = home[job]
        lanes = slice(nest.lane[block], nest.lane[block] + nest.width[nest.level[block]])
        start[job] = end[lanes].max()
        end[lanes] = start[job] + layout.packed[job]
    packing.first[:] = -1
    for job in jobs[np.argsort(-start[jobs], kind="stable")].tolist():
        server = nest.server[home[job]]
        packing.after[:, job] = packing.first[0, server]
        packing.first[:, server] = job


def _unloaded(layout: Layout, nest: Nest, jobs: Ints) -> Ints:
    """(lanes) Until when spread rings hold each lane."""
    end = nest.load.copy()
    for job in jobs.tolist():
        block = nest.home[0, job]
        at = nest.lane[block]
        end[at : at + nest.width[nest.level[block]]] -= layout.packed[job]
    return end
