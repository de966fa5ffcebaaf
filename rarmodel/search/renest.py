"""Simulated annealing over nested lanes, until no lane holds more than the target.

A change swaps the blocks of two jobs of the same size, most often of similar execution time. Or two
blocks of the same size exchange some jobs: one job, or for each part of the block a job or nothing.
"""

from __future__ import annotations

from functools import partial
from math import log

from rarmodel.engine.arrays import Ints
from rarmodel.engine.compilation import compiled

from .draw import Draws, below, fraction
from .late import noted
from .layout import Layout
from .nest import Nest, keep, move

_inner = partial(compiled, inner=True)

LATE_SHARE = 0.7
"""Share of the exchanges that begin at a lane past the target."""
OWN_SHARE = 0.7
"""Chance that a block gives a job of its own size, if it has one, instead of jobs of its parts."""
EMPTY_SHARE = 0.1
"""Chance that the second block gives nothing."""
TWICE_SHARE = 0.2
"""Chance that a block gives a second time."""
SIMILAR_SHARE = 0.85
"""Share of the exchanges that swap two jobs of one size and of similar execution time."""
SIMILAR = 8
"""Greatest distance of these jobs when jobs of their size are sorted by execution time."""


@partial(compiled, parallel=True)
def renest(
    layout: Layout,
    nest: Nest,
    target: int,
    moves: int,
    hot: float,
    cooling: float,
    draws: Draws,
    stop: Ints,
) -> bool:
    """Anneal; return whether no lane holds more than the target.

    Parameters
    ----------
    layout, nest
        The instance, and the nest to improve.
    target
        The makespan to reach in slots.
    moves
        Exchanges to try.
    hot
        Temperature at the first exchange, in slots.
    cooling
        Factor of the temperature from one exchange to the next.
    draws
        The random numbers.
    stop
        (1) Another thread sets it to 1 to stop this function.
    """
    lanes = len(nest.load)
    late = 0
    nest.late_at[:] = -1
    nest.total[0] = 0.0
    for lane in range(lanes):
        late = _see(nest, lane, late, target)
        nest.total[0] += max(0, nest.load[lane] - target)
    keep(nest)
    saved = 0
    temperature = hot
    given = returned = 0
    for step in range(moves):
        if nest.total[0] <= 0.0 or stop[0] != 0:
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
            worse += _past(nest, at + i, change, target) + _past(
                nest, other_at + i, -change, target
            )
        if (
            worse <= limit
            and _fit(nest, nest.given[0], given, other_at - at)
            and _fit(nest, nest.given[1], returned, at - other_at)
        ):
            nest.total[0] += worse
            for i in range(nest.width[size]):
                nest.load[at + i] += nest.change[i]
                nest.load[other_at + i] -= nest.change[i]
                late = _see(nest, at + i, late, target)
                late = _see(nest, other_at + i, late, target)
            move(nest, nest.given[0], given, other_at - at)
            move(nest, nest.given[1], returned, at - other_at)
        # Copying takes as long as there are jobs, so it must not happen at every gain.
        if nest.total[0] < nest.total[1] and step - saved >= len(layout.size):
            keep(nest)
            saved = step
    if nest.total[0] < nest.total[1]:
        keep(nest)
    return bool(nest.total[1] <= 0.0)


@_inner
def _past(nest: Nest, lane: int, change: int, target: int) -> int:
    """The change of the slots that a lane holds past the target."""
    load = nest.load[lane]
    return int(max(0, load + change - target) - max(0, load - target))


@_inner
def _see(nest: Nest, lane: int, late: int, target: int) -> int:
    """Record whether a lane is past the target; return the number of such lanes."""
    return noted(nest.late, nest.late_at, late, lane, nest.load[lane] - target)


@_inner
def _fit(nest: Nest, jobs: Ints, count: int, lanes: int) -> bool:
    """Whether blocks exist for jobs that move by some lanes: not all blocks are divided alike."""
    for i in range(count):
        block = nest.home[0, jobs[i]]
        lane = nest.lane[block] + lanes
        there = nest.block[nest.level[block], lane]
        if there < 0 or nest.lane[there] != lane:
            return False
    return True


@_inner
def _swap(layout: Layout, nest: Nest, block: int, draws: Draws) -> int:
    """Choose two jobs of one size, one of them in a block; the other block or −1."""
    if nest.jobs[block] == 0:
        return -1
    job = nest.first[block]
    for _ in range(below(draws, nest.jobs[block])):
        job = nest.after[job]
    place = layout.size_rank[job] + 1 + below(draws, SIMILAR)
    if below(draws, 2) == 0:
        place = 2 * layout.size_rank[job] - place
    if place < 0 or place >= len(layout.by_size):
        return -1
    other = layout.by_size[place]
    if layout.size[other] != layout.size[job]:
        return -1
    nest.given[0, 0], nest.given[1, 0] = job, other
    for i in range(nest.width[nest.level[block]]):
        nest.change[i] = layout.packed[other] - layout.packed[job]
    return int(nest.home[0, other])


@_inner
def _propose(layout: Layout, nest: Nest, block: int, other: int, draws: Draws) -> tuple[int, int]:
    """Choose the jobs that two blocks exchange; return the number for each."""
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
    """Choose the jobs that a block gives: its own, or those of each of its parts."""
    stack = nest.stack
    stack[0] = stack[1] = block
    height = 2 if fraction(draws) < TWICE_SHARE else 1
    count = 0
    while height > 0:
        height -= 1
        here = stack[height]
        size, lane = nest.level[here], nest.lane[here]
        if nest.jobs[here] > 0 and (size == 0 or fraction(draws) < OWN_SHARE):
            job = nest.first[here]
            for _ in range(below(draws, nest.jobs[here])):
                job = nest.after[job]
            if nest.taken[job] == 0:
                nest.taken[job] = 1
                jobs[count] = job
                count += 1
                at = lane - nest.lane[block]
                for i in range(at, at + nest.width[size]):
                    nest.change[i] += sign * layout.packed[job]
        elif size > 0:
            height = _push_parts(nest, size, lane, height)
    return count


@_inner
def _push_parts(nest: Nest, size: int, lane: int, height: int) -> int:
    """Push the parts of a block on the stack; return the stack's height."""
    end = lane + nest.width[size]
    while lane < end:
        part = size - 1
        while part >= 0 and nest.block[part, lane] < 0:
            part -= 1
        if part < 0:
            lane += 1
        else:
            nest.stack[height] = nest.block[part, lane]
            height += 1
            lane += nest.width[part]
    return height
