"""Bundles: the ways to pack all narrow jobs together, with little idle time.

If narrow jobs are few, they seldom fill wider blocks exactly. A linear program that may run parts
of jobs does not see this. So the program over buddy blocks chooses a *bundle*, which says how the
narrow jobs run on some blocks of one size.

Bundles are built size by size, from the narrowest jobs on. Items of one size make pairs of *lanes*.
A lane runs its items one after another. Two lanes side by side are an item of twice the size, which
ends with the longer lane. Such items and the jobs of their size make pairs of lanes in turn.

A bundle is left out if another one has no longer items: the latter runs in the same blocks. This
leaves a small part of those with much idle time, so they can be listed as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import Ints
from rarmodel.engine.compilation import compiled

from .block_sizes import Kind, nested_sizes

ENOUGH = 1_200
"""Once there are so many bundles, those with more idle time are left out."""
MOST_NARROW, MOST_ITEMS = 24, 14
"""Most narrow jobs, and most items of one size that make pairs of lanes."""
LEAST_IDLE, MORE_IDLE = 8, 1.5
"""Most idle time of the first list of bundles; this many times as much for each further one, until
there are enough."""
STEPS = 400_000_000
"""Most pairs of lanes that are looked at: some seconds."""
MOST_FOUND = 100_000
"""Most ways to make pairs of lanes of one list of items."""


class Item(NamedTuple):
    """A job, or two lanes side by side."""

    slots: int
    """Slots until all of it has ended."""
    kind: Kind | None = None
    """Kind of the job; None for lanes."""
    lanes: tuple[tuple[Item, ...], ...] = ()
    """The items of each lane, in the order in which they run."""


class Bundle(NamedTuple):
    """A way to pack all narrow jobs."""

    items: tuple[Item, ...]
    """What each of the blocks runs; the longest first."""
    idle: int
    """Slots in which GPUs beside the narrow jobs are idle, on all GPUs together."""


class Bundles(NamedTuple):
    """Ways to pack all narrow jobs on blocks of one size."""

    size: int
    """GPUs of a block; jobs with less are narrow."""
    choices: Sequence[Bundle]
    """The ways, those with the least idle time first."""

    def by(self, target: int) -> Bundles | None:
        """Those whose items all end by a slot; None if there are none."""
        choices = [bundle for bundle in self.choices if bundle.items[0].slots <= target]
        return Bundles(self.size, choices) if choices else None


def bundles_of(gpus: Sequence[int], kinds: Sequence[Kind], target: int) -> Bundles | None:
    """The bundles of some jobs; None if narrow jobs are too many or nothing parts them from others.

    Parameters
    ----------
    gpus
        (servers) GPUs of each.
    kinds
        (jobs) Kind of each.
    target
        Slot by which all jobs must end.
    """
    size = _block_size(gpus, kinds)
    if not size:
        return None
    narrow = [kind for kind in kinds if kind.size < size]
    work = sum(kind.size * kind.slots for kind in kinds)
    most_idle = sum(gpus) * target - work
    idle, choices, steps = -1, list[Bundle](), np.array([STEPS])
    while len(choices) < ENOUGH and idle < most_idle and steps[0] > 0:
        idle = min(max(LEAST_IDLE, int(MORE_IDLE * idle)), most_idle)
        more = _with_idle(narrow, size, target, idle, steps)
        if steps[0] > 0 or not choices:
            choices = more
    return Bundles(size, choices) if choices else None


def _block_size(gpus: Sequence[int], kinds: Sequence[Kind]) -> int:
    """The greatest size of blocks that parts a few narrow jobs from the others; 0 if none does.

    Doubling any narrow size again and again gives the size, and it divides all servers and the
    wider jobs.
    """
    sizes = sorted({kind.size for kind in kinds})
    for size in reversed(sizes[1:]):
        narrow = [kind.size for kind in kinds if kind.size < size]
        wide = [kind.size for kind in kinds if kind.size >= size and kind.slots]
        doubled = all(size % less == 0 and (size // less).bit_count() == 1 for less in narrow)
        divides = all(many % size == 0 for many in (*gpus, *sizes) if many not in narrow)
        last = nested_sizes(gpus, wide)[-1:] == [size]
        if len(narrow) <= MOST_NARROW and doubled and divides and last:
            return size
    return 0


def _with_idle(
    narrow: Sequence[Kind], size: int, target: int, most_idle: int, steps: Ints
) -> list[Bundle]:
    """The bundles with so much idle time at most, but for those that `_shortest` leaves out.

    If no steps are left, some are missing.
    """
    bundles = [Bundle((), 0)]
    width = min(kind.size for kind in narrow)
    while width < size:
        jobs = [Item(kind.slots, kind) for kind in narrow if kind.size == width]
        ways = list[_Ways]()
        for bundle in bundles:
            items = sorted((*jobs, *bundle.items), key=lambda item: item.slots)
            ways.append(_paired(items, target, (most_idle - bundle.idle) // width, steps))
        work = sum(kind.size * kind.slots for kind in narrow if kind.size <= width)
        width *= 2
        bundles = [
            Bundle(pairs, width * sum(pair.slots for pair in pairs) - work)
            for pairs in (_shortest(ways) if ways else ())
        ]
    return bundles


class _Ways(NamedTuple):
    """Ways to make pairs of lanes of some items."""

    items: Sequence[Item]
    lanes: Ints
    """(ways, pairs, 2) Each lane: a bit for each item."""
    slots: Ints
    """(ways, pairs) Slots of each pair; the longest first."""


def _paired(items: Sequence[Item], target: int, most_idle: int, steps: Ints) -> _Ways:
    """The ways whose shorter lanes lack so many slots at most, all together."""
    many = len(items)
    lanes = np.zeros((MOST_FOUND if many <= MOST_ITEMS else 0, 2 * many), np.int64)
    total = np.zeros(1, np.int64)
    if len(lanes):
        for item in items:
            total = np.concatenate((total, total + item.slots))
        lanes = lanes[: _pair(total, target, most_idle, steps, lanes)]
    pairs = lanes.reshape(len(lanes), many, 2)
    slots = total[pairs].max(axis=2, initial=0)
    order = np.argsort(-slots, axis=1, kind="stable")
    longest = np.take_along_axis(slots, order, axis=1)
    return _Ways(items, np.take_along_axis(pairs, order[:, :, None], axis=1), longest)


def _shortest(ways: Sequence[_Ways]) -> list[tuple[Item, ...]]:
    """The pairs of each way, but for ways of which every pair is as long as one of another way."""
    most = max((way.slots.shape[1] for way in ways), default=0)
    slots = np.concatenate(
        [np.pad(way.slots, ((0, 0), (0, most - way.slots.shape[1]))) for way in ways]
    )
    order = np.argsort(slots.sum(axis=1), kind="stable")
    ends = np.cumsum([len(way.slots) for way in ways])
    found = []
    for index in order[_undominated(slots[order])].tolist():
        place = int(np.searchsorted(ends, index, side="right"))
        way, row = ways[place], index - int(ends[place]) + len(ways[place].slots)
        pairs = zip(way.slots[row].tolist(), way.lanes[row].tolist(), strict=True)
        found.append(
            tuple(
                Item(slots, None, (_chosen(way.items, one), _chosen(way.items, other)))
                for slots, (one, other) in pairs
                if slots
            )
        )
    return found


def _chosen(items: Sequence[Item], mask: int) -> tuple[Item, ...]:
    """The items whose bits are set."""
    return tuple(item for index, item in enumerate(items) if mask >> index & 1)


@partial(compiled, parallel=True, allocates=True)
def _undominated(rows: Ints) -> Ints:
    """The indices of the rows of which no earlier row has numbers that are all as small."""
    kept = np.zeros(len(rows), np.int64)
    many = 0
    for row in range(len(rows)):
        index = 0
        while index < many:
            place, earlier = 0, kept[index]
            while place < rows.shape[1] and rows[earlier, place] <= rows[row, place]:
                place += 1
            if place == rows.shape[1]:
                break
            index += 1
        if index == many:
            kept[many] = row
            many += 1
    return kept[:many]


@partial(compiled, parallel=True, allocates=True)
def _pair(total: Ints, target: int, most_idle: int, steps: Ints, lanes: Ints) -> int:
    """Find the ways to make pairs of lanes; return their number.

    Parameters
    ----------
    total
        (sets of items) Slots of all items whose bits are set in the index.
    target
        Most slots of a lane.
    most_idle
        Most slots by which lanes are shorter than the other one of their pair, all together.
    steps
        (1) Pairs of lanes that may still be looked at; the number falls.
    lanes
        (ways, 2 × items) Zeros; set to the lanes of each way, pair by pair: a bit for each item.
    """
    items = lanes.shape[1] // 2
    # At each depth: the items without a lane; the last of them; those beside it in its lane; the
    # other lane, -1 before the first one; and the slots by which the lanes above are shorter.
    free = np.zeros(items + 1, np.int64)
    last = np.full(items + 1, 1 << (items - 1), np.int64)
    beside = np.zeros(items + 1, np.int64)
    other = np.full(items + 1, -1, np.int64)
    above = np.zeros(items + 1, np.int64)
    free[0] = (1 << items) - 1
    beside[0] = free[0] >> 1
    found = depth = 0
    while depth >= 0 and found < len(lanes) and steps[0] > 0:
        steps[0] -= 1
        lane = beside[depth] | last[depth]
        rest = free[depth] ^ lane
        if other[depth] == 0 or total[lane] > target:
            # Nothing more fits beside this lane.
            other[depth] = -1
            if beside[depth] == 0:
                depth -= 1
            else:
                beside[depth] = (beside[depth] - 1) & (free[depth] ^ last[depth])
            continue
        other[depth] = rest if other[depth] < 0 else (other[depth] - 1) & rest
        shorter = above[depth] + abs(total[lane] - total[other[depth]])
        if total[other[depth]] > target or shorter > most_idle:
            continue
        lanes[found, 2 * depth], lanes[found, 2 * depth + 1] = lane, other[depth]
        left = rest ^ other[depth]
        if left:
            depth += 1
            last[depth] = last[depth - 1] >> 1
            while not left & last[depth]:
                last[depth] >>= 1
            free[depth], beside[depth], above[depth] = left, left ^ last[depth], shorter
            continue
        found += 1
        if found < len(lanes):
            lanes[found, : 2 * depth] = lanes[found - 1, : 2 * depth]
        lanes[found - 1, 2 * depth + 2 :] = 0
    return found
