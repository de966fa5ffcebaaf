"""Search over nested lanes: pack jobs without simulation.

A lane is a GPU of a server, or a group of GPUs if all sizes are multiples of the group. The lanes
of a server form a tree: blocks of lanes as wide as the widest jobs that fit, divided into blocks
for the next size, and so on. Each job gets a block of its own size. Each block runs first the jobs
of its parts and then its own. This is a schedule of length θ exactly if no lane, summed over its
blocks, holds more than θ. So an exchange costs only sums over the lanes it changes.

When sizes divide one another (1, 2, 4, 8, …), almost no packing is missed. Otherwise a block can be
divided in several ways, and the choice is random.

Spread rings hold lanes from slot 0 until their last slot there: the idle time before it is not
used.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import Floats, Ints
from rarmodel.engine.compilation import compiled

from .draw import Draws, drawn, fraction
from .layout import Layout
from .packing import Packing

_inner = partial(compiled, inner=True)

TRIES = 10
"""Number of tries to divide servers at random."""
CHANCE = 0.05
"""Randomness of a job's first block, as a share of its execution time."""


class Nest(NamedTuple):
    """The blocks, their jobs, and the memory of the search."""

    width: Ints
    """(sizes) Lanes of a block for each size."""
    block: Ints
    """(sizes, lanes) The block for each size that contains a lane, −1 for none."""
    level: Ints
    """(blocks) Index of the block's size in `width`."""
    lane: Ints
    """(blocks) First lane of the block."""
    server: Ints
    """(blocks) Server of the block."""
    home: Ints
    """(2, jobs) Block of each packed job, −1 for others: now, and at the least excess."""
    first: Ints
    """(blocks) First job of each block, −1 for none."""
    after: Ints
    """(jobs) The next job of its block, −1 at the end."""
    before: Ints
    """(jobs) The previous one, −1 at the front."""
    jobs: Ints
    """(blocks) Number of jobs."""
    load: Ints
    """(lanes) Slots that each lane holds."""
    late: Ints
    """(lanes) The lanes that hold more than the target, in any order."""
    late_at: Ints
    """(lanes) Place of each lane in `late`, −1 if it keeps to the target."""
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


def divisible(layout: Layout) -> bool:
    """Whether the sizes of the jobs that fit a server divide one another."""
    sizes = np.unique(layout.size[layout.by_size])
    return not (sizes[1:] % sizes[:-1]).any()


def new_nest(layout: Layout, packing: Packing, draws: Draws) -> Nest:
    """Deal the jobs that fit a server out to blocks, each to one of the least loaded.

    Parameters
    ----------
    layout, packing
        The instance, with jobs that fit a server, and what spread rings hold.
    draws
        The random numbers.
    """
    sizes = np.unique(layout.size[layout.by_size])
    unit = int(np.gcd.reduce(sizes))
    widths = (sizes // unit).tolist()
    lanes = (layout.server_gpus // unit).tolist()
    # Where sizes do not divide each other, chance may leave none of the blocks of some size.
    for skips in (*[True] * TRIES, False):
        blocks = _divided(lanes, widths, draws if skips else None)
        if len({size for _, size, _ in blocks}) == len(widths):
            break
    block = np.full((len(widths), sum(lanes)), -1, np.int64)
    for index, (_, size, lane) in enumerate(blocks):
        block[size, lane : lane + widths[size]] = index
    nest = Nest(
        width=np.array(widths, np.int64),
        block=block,
        level=np.array([size for _, size, _ in blocks], np.int64),
        lane=np.array([lane for _, _, lane in blocks], np.int64),
        server=np.array([server for server, _, _ in blocks], np.int64),
        home=np.full((2, len(layout.size)), -1, np.int64),
        first=np.full(len(blocks), -1, np.int64),
        after=np.full(len(layout.size), -1, np.int64),
        before=np.full(len(layout.size), -1, np.int64),
        jobs=np.zeros(len(blocks), np.int64),
        load=np.array(
            [
                until
                for server in range(len(lanes))
                for until in _held(layout, packing, server, unit)
            ],
            np.int64,
        ),
        late=np.zeros(sum(lanes), np.int64),
        late_at=np.full(sum(lanes), -1, np.int64),
        total=np.zeros(2),
        change=np.zeros(widths[-1], np.int64),
        given=np.zeros((2, len(layout.size)), np.int64),
        taken=np.zeros(len(layout.size), np.int64),
        stack=np.zeros(2 * widths[-1] + 2, np.int64),
    )
    sorted_sizes = layout.size[layout.by_size]
    _deal(layout, nest, layout.by_size, np.searchsorted(sizes, sorted_sizes), draws)
    return nest


def _divided(
    lanes: list[int], widths: list[int], draws: Draws | None
) -> list[tuple[int, int, int]]:
    """Server, size and first lane of all blocks.

    A block is divided into as many blocks of the next smaller size as it has room for, and the
    rest in the same way. If that leaves less room for some smaller size, it is left to chance
    whether the size is passed over; never without random numbers.
    """
    blocks: list[tuple[int, int, int]] = []

    def divide(server: int, at: int, room: int, sizes: int) -> None:
        for size in range(sizes - 1, -1, -1):
            width = widths[size]
            if width > room:
                continue
            costs = any(
                room // less > room // width * (width // less) + room % width // less
                for less in widths[:size]
            )
            if costs and draws is not None and drawn(draws, 2) == 0:
                continue
            for _ in range(room // width):
                blocks.append((server, size, at))
                divide(server, at, width, size)
                at += width
            room %= width

    at = 0
    for server, room in enumerate(lanes):
        divide(server, at, room, len(widths))
        at += room
    return blocks


def _held(layout: Layout, packing: Packing, server: int, unit: int) -> list[int]:
    """Until when spread rings hold each lane of a server, descending."""
    gpus = int(layout.server_gpus[server])
    lanes = gpus // unit
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
            needed = lanes - (gpus - int(in_use[index])) // unit
            held += [until] * (needed - len(held))
    return held + [0] * (lanes - len(held))


@_inner
def keep(nest: Nest) -> None:
    """Record the contents of the blocks as the best."""
    for job in range(nest.home.shape[1]):
        nest.home[1, job] = nest.home[0, job]
    nest.total[1] = nest.total[0]


@_inner
def move(nest: Nest, jobs: Ints, count: int, lanes: int) -> None:
    """Move jobs by some lanes, to blocks of the same size."""
    for i in range(count):
        block = nest.home[0, jobs[i]]
        _release(nest, jobs[i])
        _hold(nest, nest.block[nest.level[block], nest.lane[block] + lanes], jobs[i])


@partial(compiled, parallel=True)
def _deal(layout: Layout, nest: Nest, jobs: Ints, sizes: Ints, draws: Draws) -> None:
    """Give each job of one size, one after another, the block that ends first, or nearly so."""
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
    keep(nest)


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
    nest.jobs[block] += 1


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
    nest.jobs[block] -= 1


def unnest(layout: Layout, nest: Nest, packing: Packing) -> None:
    """Give each server of a packing the jobs of the best nest there, by start."""
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
