"""The least excess of some jobs on one server, whatever their order.

The excess of a job is its GPUs for each slot that it ends late. A depth-first search places the
jobs in the order of their starts. GPUs of a server are alike, so the slots from which they are free
say all about the jobs placed. GPUs that idle before the last start stay idle. That leaves few
schedules where almost no GPU slot may be idle.

The search tries the earliest start first, and of equal starts the job with more GPU slots. So the
first schedules are mostly the best, and a few steps are enough for most sets of jobs. A short
search may miss the least excess.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import Ints
from rarmodel.engine.compilation import compiled

from .layout import MANY

_inner = partial(compiled, inner=True)


class Items(NamedTuple):
    """The jobs, and the pieces of spread rings, that servers run."""

    size: Ints
    """(items) GPUs."""
    slots: Ints
    """(items) Execution time in slots."""
    release: Ints
    """(items) First slot at which it may start."""
    due: Ints
    """(items) The slot by which it is to end, the target or before. Its excess is its GPUs for each
    slot after that."""


class Stack(NamedTuple):
    """Memory of a search: by place, the jobs as they are tried; by depth, the jobs placed so far.

    The last four arrays have a row for each depth. A row has two places more than the server has
    jobs.
    """

    item: Ints
    """(places) The jobs, those with most GPU slots first."""
    placed: Ints
    """(places) 1 if it is placed, otherwise 0."""
    chosen: Ints
    """(depths) Place of the job that is placed at this depth."""
    start: Ints
    """(depths) Its start slot."""
    choices: Ints
    """(depths) Number of jobs that may come next."""
    tried: Ints
    """(depths) How many of them have been tried."""
    idle: Ints
    """(depths) GPU slots that are idle before the last start, and before the target."""
    excess: Ints
    """(depths) Excess of the jobs placed."""
    groups: Ints
    """(depths) Number of groups of GPUs."""
    free_from: Ints
    """(depths × groups) The slot from which a group is free, ascending."""
    gpus: Ints
    """(depths × groups) Its GPUs."""
    choice: Ints
    """(depths × choices) Places of the jobs that may come next, by start."""
    choice_start: Ints
    """(depths × choices) Their start slots."""


def new_stack(items: int) -> Stack:
    """Memory for up to so many jobs on a server."""
    by_depth, rows = np.zeros((9, items + 1), np.int64), (items + 1) * (items + 2)
    return Stack(*by_depth, *np.zeros((4, rows), np.int64))


@_inner
def area_of(items: Items, item: int) -> int:
    """GPU slots of a job."""
    return int(items.size[item] * items.slots[item])


@_inner
def least_excess(
    items: Items,
    row: Ints,
    count: int,
    gpus: int,
    target: int,
    most: int,
    steps: int,
    stack: Stack,
) -> int:
    """The least excess that a search finds for some jobs; −1 if that is more than `most`.

    The result does not depend on the order of the list. A search with a smaller `most` visits some
    of the same schedules, in the same order. So it still finds what is not more than that.

    Parameters
    ----------
    items
        All jobs.
    row, count
        The jobs of the server are the first `count` of this list.
    gpus
        GPUs of the server.
    target
        The makespan to meet in slots.
    most
        Greatest excess that counts.
    steps
        Steps of the search, beyond those to a first schedule.
    stack
        Memory. If the result is 0, `item`, `chosen` and `start` hold the schedule.
    """
    area = _sort(items, row, count, stack) - gpus * target
    stack.idle[0] = stack.excess[0] = stack.free_from[0] = 0
    stack.groups[0] = 1
    stack.gpus[0] = gpus
    best = most + 1
    left = steps + count
    depth, entered = 0, True
    while True:
        if entered and depth == count:
            best = stack.excess[depth]
            # More than fits before the target surely ends after it.
            if best <= max(0, area):
                break
        elif entered:
            if left == 0:
                break
            left -= 1
            stack.tried[depth] = 0
            stack.choices[depth] = _choices(items, count, depth, best, stack)
        if depth == count or stack.tried[depth] == stack.choices[depth]:
            if depth == 0:
                break
            depth -= 1
            stack.placed[stack.chosen[depth]] = 0
            entered = False
        else:
            entered = _place(items, count, depth, target, best - area, stack)
            depth += int(entered)
    return int(best) if best <= most else -1


@_inner
def _sort(items: Items, row: Ints, count: int, stack: Stack) -> int:
    """List jobs by descending GPU slots, then by index; return the GPU slots of all."""
    total = 0
    for i in range(count):
        item = row[i]
        area = area_of(items, item)
        total += area
        place = i
        while place > 0:
            before = stack.item[place - 1]
            other = area_of(items, before)
            if other > area or (other == area and before < item):
                break
            stack.item[place] = before
            place -= 1
        stack.item[place] = item
        stack.placed[i] = 0
    return int(total)


@_inner
def _choices(items: Items, count: int, depth: int, best: int, stack: Stack) -> int:
    """List the jobs that may come next by their starts; return their number.

    None may if the excess is sure to become `best` or more.
    """
    first = depth * (count + 2)
    excess = stack.excess[depth]
    if excess >= best:
        return 0
    now = stack.start[depth - 1] if depth > 0 else 0
    # A job that starts when another one could have ended would leave that one's room idle.
    latest = MANY
    found = 0
    for place in range(count):
        if stack.placed[place] != 0:
            continue
        item = stack.item[place]
        group = first
        free = stack.gpus[group]
        while free < items.size[item]:
            group += 1
            free += stack.gpus[group]
        start = max(stack.free_from[group], now, items.release[item])
        end = start + items.slots[item]
        if end > items.due[item]:
            # It can only start later from here on.
            excess += (end - items.due[item]) * items.size[item]
            if excess >= best:
                return 0
        if start < latest:
            latest = min(latest, end)
            at = first + found
            while at > first and stack.choice_start[at - 1] > start:
                stack.choice_start[at] = stack.choice_start[at - 1]
                stack.choice[at] = stack.choice[at - 1]
                at -= 1
            stack.choice_start[at] = start
            stack.choice[at] = place
            found += 1
    while found > 0 and stack.choice_start[first + found - 1] >= latest:
        found -= 1
    return found


@_inner
def _place(items: Items, count: int, depth: int, target: int, most_idle: int, stack: Stack) -> bool:
    """Place the next choice, if that is new and leaves fewer GPU slots idle than `most_idle`."""
    width = count + 2
    group, after = depth * width, depth * width + width
    at = group + stack.tried[depth]
    stack.tried[depth] += 1
    place, start = stack.choice[at], stack.choice_start[at]
    # Jobs that start at one slot come in one order only.
    if depth > 0 and start == stack.start[depth - 1] and stack.chosen[depth - 1] > place:
        return False
    item = stack.item[place]
    groups_end = group + stack.groups[depth]
    idle, free = stack.idle[depth], 0
    while group < groups_end and stack.free_from[group] <= start:
        idle += stack.gpus[group] * (min(start, target) - min(stack.free_from[group], target))
        free += stack.gpus[group]
        group += 1
    if idle >= most_idle:
        return False
    end = start + items.slots[item]
    if free > items.size[item]:
        stack.free_from[after] = start
        stack.gpus[after] = free - items.size[item]
        after += 1
    while group < groups_end and stack.free_from[group] < end:
        stack.free_from[after] = stack.free_from[group]
        stack.gpus[after] = stack.gpus[group]
        group += 1
        after += 1
    stack.free_from[after] = end
    stack.gpus[after] = items.size[item]
    after += 1
    while group < groups_end:
        stack.free_from[after] = stack.free_from[group]
        stack.gpus[after] = stack.gpus[group]
        group += 1
        after += 1
    stack.placed[place] = 1
    stack.chosen[depth], stack.start[depth] = place, start
    stack.idle[depth + 1] = idle
    late = max(0, end - items.due[item])
    stack.excess[depth + 1] = stack.excess[depth] + late * items.size[item]
    stack.groups[depth + 1] = after - (depth + 1) * width
    return True
