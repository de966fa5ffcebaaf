"""Simulated annealing over buddy blocks, until no lane holds more than the target.

A change swaps the blocks of two jobs of the same size, most often of similar execution time. Or two
blocks of the same size exchange some jobs: one job, or for each part of the block a job or nothing.
"""

from __future__ import annotations

from functools import partial
from math import log
from typing import NamedTuple

from rarmodel.engine.arrays import Ints
from rarmodel.engine.compilation import compiled
from rarmodel.engine.random_numbers import Generator, below, fraction

from .buddy_blocks import BuddyBlocks, keep, move
from .indexed_set import updated
from .layout import Layout
from .similar import similar_job

_inner = partial(compiled, inner=True)


class Numbers(NamedTuple):
    """How blocks exchange jobs."""

    overfull_share: float = 0.7
    """Share of the exchanges that begin at a lane past the target."""
    own_share: float = 0.7
    """Chance that a block gives a job of its own size, if it has one, instead of jobs of its
    parts."""
    empty_share: float = 0.1
    """Chance that the second block gives nothing."""
    twice_share: float = 0.2
    """Chance that a block gives a second time."""
    similar_share: float = 0.85
    """Share of the exchanges that swap two jobs of one size and of similar execution time."""


NUMBERS = Numbers()


@partial(compiled, parallel=True)
def anneal_blocks(
    layout: Layout,
    blocks: BuddyBlocks,
    target: int,
    moves: int,
    hot: float,
    cooling: float,
    generator: Generator,
    stop: Ints,
) -> bool:
    """Anneal; return whether no lane holds more than the target.

    Parameters
    ----------
    layout, blocks
        The instance, and the blocks to improve.
    target
        The makespan to reach in slots.
    moves
        Exchanges to try.
    hot
        Temperature at the first exchange, in slots.
    cooling
        Factor of the temperature from one exchange to the next.
    generator
        The random numbers.
    stop
        (1) Another thread sets it to 1 to stop this function.
    """
    lanes = len(blocks.load)
    overfull = 0
    blocks.overfull_at[:] = -1
    blocks.total[0] = 0.0
    for lane in range(lanes):
        overfull = _see(blocks, lane, overfull, target)
        blocks.total[0] += max(0, blocks.load[lane] - target)
    keep(blocks)
    saved = 0
    temperature = hot
    given = returned = 0
    for step in range(moves):
        if blocks.total[0] <= 0.0 or stop[0] != 0:
            break
        temperature *= cooling
        if fraction(generator) < NUMBERS.overfull_share:
            lane = blocks.overfull[below(generator, overfull)]
        else:
            lane = below(generator, lanes)
        size = 0
        while size < len(blocks.width) - 1 and below(generator, 2) == 0:
            size += 1
        block = blocks.block[size, lane]
        if block < 0:
            continue
        if fraction(generator) < NUMBERS.similar_share:
            other = _swap(layout, blocks, block, generator)
            given = returned = 1
        else:
            other = blocks.block[size, below(generator, lanes)]
            if other >= 0 and other != block:
                given, returned = _propose(layout, blocks, block, other, generator)
        if other < 0 or other == block:
            continue
        limit = -temperature * log(fraction(generator))
        at, other_at = blocks.lane[block], blocks.lane[other]
        worse = 0
        for i in range(blocks.width[size]):
            change = blocks.change[i]
            worse += _past(blocks, at + i, change, target) + _past(
                blocks, other_at + i, -change, target
            )
        if (
            worse <= limit
            and _fit(blocks, blocks.given[0], given, other_at - at)
            and _fit(blocks, blocks.given[1], returned, at - other_at)
        ):
            blocks.total[0] += worse
            for i in range(blocks.width[size]):
                blocks.load[at + i] += blocks.change[i]
                blocks.load[other_at + i] -= blocks.change[i]
                overfull = _see(blocks, at + i, overfull, target)
                overfull = _see(blocks, other_at + i, overfull, target)
            move(blocks, blocks.given[0], given, other_at - at)
            move(blocks, blocks.given[1], returned, at - other_at)
        # Copying takes as long as there are jobs, so it must not happen at every gain.
        if blocks.total[0] < blocks.total[1] and step - saved >= len(layout.size):
            keep(blocks)
            saved = step
    if blocks.total[0] < blocks.total[1]:
        keep(blocks)
    return bool(blocks.total[1] <= 0.0)


@_inner
def _past(blocks: BuddyBlocks, lane: int, change: int, target: int) -> int:
    """The change of the slots that a lane holds past the target."""
    load = blocks.load[lane]
    return int(max(0, load + change - target) - max(0, load - target))


@_inner
def _see(blocks: BuddyBlocks, lane: int, overfull: int, target: int) -> int:
    """Record whether a lane is past the target; return the number of such lanes."""
    return updated(blocks.overfull, blocks.overfull_at, overfull, lane, blocks.load[lane] - target)


@_inner
def _fit(blocks: BuddyBlocks, jobs: Ints, count: int, lanes: int) -> bool:
    """Whether blocks exist for jobs that move by some lanes: not all blocks are divided alike."""
    for i in range(count):
        block = blocks.home[0, jobs[i]]
        lane = blocks.lane[block] + lanes
        there = blocks.block[blocks.level[block], lane]
        if there < 0 or blocks.lane[there] != lane:
            return False
    return True


@_inner
def _swap(layout: Layout, blocks: BuddyBlocks, block: int, generator: Generator) -> int:
    """Choose two jobs of one size, one of them in a block; return the other block or −1."""
    if blocks.jobs[block] == 0:
        return -1
    job = blocks.first[block]
    for _ in range(below(generator, blocks.jobs[block])):
        job = blocks.after[job]
    other = similar_job(layout, job, generator)
    if other < 0:
        return -1
    blocks.given[0, 0], blocks.given[1, 0] = job, other
    for i in range(blocks.width[blocks.level[block]]):
        blocks.change[i] = layout.packed[other] - layout.packed[job]
    return int(blocks.home[0, other])


@_inner
def _propose(
    layout: Layout, blocks: BuddyBlocks, block: int, other: int, generator: Generator
) -> tuple[int, int]:
    """Choose the jobs that two blocks exchange; return the number for each."""
    for i in range(blocks.width[blocks.level[block]]):
        blocks.change[i] = 0
    given = _choose(layout, blocks, block, blocks.given[0], -1, generator)
    returned = 0
    if fraction(generator) >= NUMBERS.empty_share:
        returned = _choose(layout, blocks, other, blocks.given[1], 1, generator)
    for i in range(given):
        blocks.taken[blocks.given[0, i]] = 0
    for i in range(returned):
        blocks.taken[blocks.given[1, i]] = 0
    return given, returned


@_inner
def _choose(
    layout: Layout, blocks: BuddyBlocks, block: int, jobs: Ints, sign: int, generator: Generator
) -> int:
    """Choose the jobs that a block gives: its own, or those of each of its parts."""
    stack = blocks.stack
    stack[0] = stack[1] = block
    height = 2 if fraction(generator) < NUMBERS.twice_share else 1
    count = 0
    while height > 0:
        height -= 1
        here = stack[height]
        size, lane = blocks.level[here], blocks.lane[here]
        if blocks.jobs[here] > 0 and (size == 0 or fraction(generator) < NUMBERS.own_share):
            job = blocks.first[here]
            for _ in range(below(generator, blocks.jobs[here])):
                job = blocks.after[job]
            if blocks.taken[job] == 0:
                blocks.taken[job] = 1
                jobs[count] = job
                count += 1
                at = lane - blocks.lane[block]
                for i in range(at, at + blocks.width[size]):
                    blocks.change[i] += sign * layout.packed[job]
        elif size > 0:
            height = _push_parts(blocks, size, lane, height)
    return count


@_inner
def _push_parts(blocks: BuddyBlocks, size: int, lane: int, height: int) -> int:
    """Push the parts of a block on the stack; return the stack's height."""
    end = lane + blocks.width[size]
    while lane < end:
        part = size - 1
        while part >= 0 and blocks.block[part, lane] < 0:
            part -= 1
        if part < 0:
            lane += 1
        else:
            blocks.stack[height] = blocks.block[part, lane]
            height += 1
            lane += blocks.width[part]
    return height
