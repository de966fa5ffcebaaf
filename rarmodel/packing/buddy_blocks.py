"""Search over buddy blocks: pack jobs without simulation.

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
from rarmodel.engine.random_numbers import Generator, below_plain, fraction

from .layout import Layout
from .server_orders import Packing

_inner = partial(compiled, inner=True)

TRIES = 10
"""Number of tries to divide servers at random."""
CHANCE = 0.05
"""Randomness of a job's first block, as a share of its execution time."""


class BuddyBlocks(NamedTuple):
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
    overfull: Ints
    """(lanes) The lanes that hold more than the target, in any order."""
    overfull_at: Ints
    """(lanes) Place of each lane in `overfull`, −1 if it keeps to the target."""
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


def new_blocks(layout: Layout, packing: Packing, generator: Generator) -> BuddyBlocks:
    """Deal the jobs that fit a server out to blocks, each to one of the least loaded.

    Parameters
    ----------
    layout, packing
        The instance, with jobs that fit a server, and what spread rings hold.
    generator
        The random numbers.
    """
    sizes = np.unique(layout.size[layout.by_size])
    unit = int(np.gcd.reduce(sizes))
    widths = (sizes // unit).tolist()
    lanes = (layout.server_gpus // unit).tolist()
    # Where sizes do not divide each other, chance may leave none of the blocks of some size.
    for skips in (*[True] * TRIES, False):
        parts = _divided(lanes, widths, generator if skips else None)
        if len({size for _, size, _ in parts}) == len(widths):
            break
    block = np.full((len(widths), sum(lanes)), -1, np.int64)
    for index, (_, size, lane) in enumerate(parts):
        block[size, lane : lane + widths[size]] = index
    blocks = BuddyBlocks(
        width=np.array(widths, np.int64),
        block=block,
        level=np.array([size for _, size, _ in parts], np.int64),
        lane=np.array([lane for _, _, lane in parts], np.int64),
        server=np.array([server for server, _, _ in parts], np.int64),
        home=np.full((2, len(layout.size)), -1, np.int64),
        first=np.full(len(parts), -1, np.int64),
        after=np.full(len(layout.size), -1, np.int64),
        before=np.full(len(layout.size), -1, np.int64),
        jobs=np.zeros(len(parts), np.int64),
        load=np.array(
            [
                until
                for server in range(len(lanes))
                for until in _held(layout, packing, server, unit)
            ],
            np.int64,
        ),
        overfull=np.zeros(sum(lanes), np.int64),
        overfull_at=np.full(sum(lanes), -1, np.int64),
        total=np.zeros(2),
        change=np.zeros(widths[-1], np.int64),
        given=np.zeros((2, len(layout.size)), np.int64),
        taken=np.zeros(len(layout.size), np.int64),
        stack=np.zeros(2 * widths[-1] + 2, np.int64),
    )
    sorted_sizes = layout.size[layout.by_size]
    _deal(layout, blocks, layout.by_size, np.searchsorted(sizes, sorted_sizes), generator)
    return blocks


def _divided(
    lanes: list[int], widths: list[int], generator: Generator | None
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
            if costs and generator is not None and below_plain(generator, 2) == 0:
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
def keep(blocks: BuddyBlocks) -> None:
    """Record the contents of the blocks as the best."""
    for job in range(blocks.home.shape[1]):
        blocks.home[1, job] = blocks.home[0, job]
    blocks.total[1] = blocks.total[0]


@_inner
def move(blocks: BuddyBlocks, jobs: Ints, count: int, lanes: int) -> None:
    """Move jobs by some lanes, to blocks of the same size."""
    for i in range(count):
        block = blocks.home[0, jobs[i]]
        _release(blocks, jobs[i])
        _hold(blocks, blocks.block[blocks.level[block], blocks.lane[block] + lanes], jobs[i])


@partial(compiled, parallel=True)
def _deal(
    layout: Layout, blocks: BuddyBlocks, jobs: Ints, sizes: Ints, generator: Generator
) -> None:
    """Give each job of one size, one after another, the block that ends first, or nearly so."""
    for index in range(len(jobs)):
        job, size = jobs[index], sizes[index]
        chosen = -1
        least = 0.0
        lane = 0
        while lane < len(blocks.load):
            block = blocks.block[size, lane]
            if block < 0:
                lane += 1
                continue
            most = 0
            for here in range(lane, lane + blocks.width[size]):
                most = max(most, blocks.load[here])
            value = most + CHANCE * layout.packed[job] * fraction(generator)
            if chosen < 0 or value < least:
                chosen = block
                least = value
            lane += blocks.width[size]
        for here in range(blocks.lane[chosen], blocks.lane[chosen] + blocks.width[size]):
            blocks.load[here] += layout.packed[job]
        _hold(blocks, chosen, job)
    keep(blocks)


@_inner
def _hold(blocks: BuddyBlocks, block: int, job: int) -> None:
    """Give a job to a block."""
    first = blocks.first[block]
    blocks.home[0, job] = block
    blocks.before[job] = -1
    blocks.after[job] = first
    if first >= 0:
        blocks.before[first] = job
    blocks.first[block] = job
    blocks.jobs[block] += 1


@_inner
def _release(blocks: BuddyBlocks, job: int) -> None:
    """Take a job from its block."""
    block = blocks.home[0, job]
    if blocks.before[job] >= 0:
        blocks.after[blocks.before[job]] = blocks.after[job]
    else:
        blocks.first[block] = blocks.after[job]
    if blocks.after[job] >= 0:
        blocks.before[blocks.after[job]] = blocks.before[job]
    blocks.jobs[block] -= 1


def pack_blocks(layout: Layout, blocks: BuddyBlocks, packing: Packing) -> None:
    """Give each server of a packing the jobs of the best blocks there, by start."""
    home = blocks.home[1]
    jobs = np.flatnonzero(home >= 0)
    end = _unloaded(layout, blocks, jobs)
    start = np.zeros(len(home), np.int64)
    # Parts before what they are part of.
    for job in jobs[np.argsort(blocks.level[home[jobs]], kind="stable")].tolist():
        block = home[job]
        lanes = slice(blocks.lane[block], blocks.lane[block] + blocks.width[blocks.level[block]])
        start[job] = end[lanes].max()
        end[lanes] = start[job] + layout.packed[job]
    packing.first[:] = -1
    for job in jobs[np.argsort(-start[jobs], kind="stable")].tolist():
        server = blocks.server[home[job]]
        packing.after[:, job] = packing.first[0, server]
        packing.first[:, server] = job


def _unloaded(layout: Layout, blocks: BuddyBlocks, jobs: Ints) -> Ints:
    """(lanes) Until when spread rings hold each lane."""
    end = blocks.load.copy()
    for job in jobs.tolist():
        block = blocks.home[0, job]
        at = blocks.lane[block]
        end[at : at + blocks.width[blocks.level[block]]] -= layout.packed[job]
    return end
