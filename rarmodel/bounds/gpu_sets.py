"""The dearest sets of jobs on a GPU, where what a job is worth falls with the load of the others.

Members of a set lose by each one that joins, so a set with more members is worth at most what it
is worth now, and what each of those who join is worth beside the present members alone. Depth
first, the most promising first, the search leaves what cannot be dearer than a threshold. Where its
work ends, what is left open counts with that upper bound.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import Ints
from rarmodel.engine.compilation import compiled

_inner = partial(compiled, inner=True)


class Candidates(NamedTuple):
    """Jobs that may be on a GPU, alike ones as one item, the dearest first."""

    units: Ints
    """(rows, columns) What a job counts to those that suffer: see `losses`."""
    row: Ints
    """(items) Its class by which others suffer."""
    column: Ints
    """(items) Its class as it suffers."""
    slices: Ints
    """(items) Slices that it takes, at most all."""
    memory: Ints
    """(items) Memory that it needs."""
    number: Ints
    """(items) How many jobs are alike."""


class Found(NamedTuple):
    """A set for each item that is in sets above a threshold: the dearest that was seen."""

    worth: Ints
    """(items) What it is worth; 0 if there is none."""
    members: Ints
    """(items, members) Its items, in a row of its own; −1 behind the last one."""


class Scratch(NamedTuple):
    """Memory of a search; places are those of the members so far."""

    now: Ints
    """(places, items) What a set is worth with each item."""
    most: Ints
    """(places, items) The same at most, with more after that."""
    loads: Ints
    """(places + 1, columns) Loads of the GPU."""
    top: Ints
    """(places) The greatest worths of those that may follow."""
    set_: Ints
    """(places) The members."""
    slices: Ints
    """(places + 1) Slices that are left."""
    memory: Ints
    """(places + 1) Memory that is left."""


def scratch_of(those: Candidates, slices: int) -> Scratch:
    """Memory for the sets on a GPU of so many slices."""
    items, columns = len(those.row), those.units.shape[1]

    def zeros(*shape: int) -> Ints:
        return np.zeros(shape, np.int64)

    return Scratch(
        zeros(slices, items),
        zeros(slices, items),
        zeros(slices + 1, columns),
        *(zeros(slices) for _ in range(2)),
        *(zeros(slices + 1) for _ in range(2)),
    )


@_inner
def _at(worths: Ints, shift: int, item: int, load: int) -> int:
    """What an item is worth at a load, which counts as the level below it."""
    return int(worths[item, min(load >> shift, worths.shape[1] - 1)])


@_inner
def _keep(top: Ints, length: int, most: int, number: int) -> int:
    """Add a number to the greatest ones, of which so many are kept; how many there are then."""
    if length == most:
        if most == 0 or top[most - 1] >= number:
            return length
        length -= 1
    place = length
    while place > 0 and top[place - 1] < number:
        top[place] = top[place - 1]
        place -= 1
    top[place] = number
    return length + 1


@_inner
def _weigh(
    those: Candidates,
    worths: Ints,
    shift: int,
    members: Ints,
    left: tuple[int, int],
    loads: Ints,
    now: Ints,
    most: Ints,
    top: Ints,
) -> None:
    """What a set is worth with each item that may join, and at most with more after that.

    Items join in their order. So those that may follow an item are known when the items are looked
    at from the last one on.
    """
    units, row, column, slices, memory, number = those
    last = members[-1]
    now[:] = -1
    most[:] = -1
    length = densest = 0
    narrowest = left[0] + 1
    for item in range(len(row) - 1, last - 1, -1):
        copies = number[item]
        for member in members:
            copies -= member == item
        if copies <= 0 or slices[item] > left[0] or memory[item] > left[1]:
            continue
        own = _at(worths, shift, item, loads[column[item]])
        together = own
        for member in members:
            load = loads[column[member]] - units[row[member], column[member]]
            load += units[row[item], column[member]]
            together += _at(worths, shift, member, load)
        # It may follow itself.
        for _ in range(min(copies - 1, left[0])):
            length = _keep(top, length, left[0], own)
        if copies > 1:
            narrowest = min(narrowest, slices[item])
            densest = max(densest, -(-own // slices[item]))
        rest = left[0] - slices[item]
        more = 0
        for place in range(min(rest // narrowest, length)):
            more += top[place]
        now[item] = together
        most[item] = together + min(more, rest * densest)
        length = _keep(top, length, left[0], own)
        narrowest = min(narrowest, slices[item])
        densest = max(densest, -(-own // slices[item]))


@_inner
def _note(found: Found, worth: int, members: Ints) -> None:
    """Keep a set for those of its members that are in no dearer one so far."""
    for item in members:
        if worth > found.worth[item]:
            found.worth[item] = worth
            found.members[item, :] = -1
            for place in range(len(members)):
                found.members[item, place] = members[place]


@compiled
def dearest_sets(
    those: Candidates,
    worths: Ints,
    shift: int,
    room: tuple[int, int],
    threshold: int,
    work: tuple[int, int],
    found: Found,
    scratch: Scratch,
) -> int:
    """What no set of jobs on a GPU exceeds, and not less than a threshold.

    Parameters
    ----------
    those
        The jobs.
    worths
        (items, levels) What each is worth beside others whose load is at least the level times
        `2^shift`; never more at a higher level.
    shift
        As above.
    room
        Slices of the GPU, and its memory.
    threshold
        Sets that are not worth more are left out.
    work
        Items that are weighed, at most, for each first item, and in all.
    found
        Receives the dearest sets.
    scratch
        See `scratch_of`.
    """
    items, columns = len(those.row), those.units.shape[1]
    now, most, loads, top, set_, slices_left, memory_left = scratch
    greatest = threshold
    total = 0
    found.worth[:] = 0
    for first in range(items):
        if those.slices[first] > room[0] or those.memory[first] > room[1]:
            continue
        alone = worths[first, 0]
        if alone > threshold:
            greatest = max(greatest, alone)
            set_[0] = first
            _note(found, alone, set_[:1])
        many = 0
        item = first
        slices_left[0], memory_left[0] = room
        done = 0
        entering = True
        while True:
            if entering:
                set_[many] = item
                for column in range(columns):
                    loads[many + 1, column] = (
                        loads[many, column] + those.units[those.row[item], column]
                    )
                slices_left[many + 1] = slices_left[many] - those.slices[item]
                memory_left[many + 1] = memory_left[many] - those.memory[item]
                many += 1
                if slices_left[many] == 0:
                    many -= 1
                else:
                    left = (slices_left[many], memory_left[many])
                    _weigh(
                        *(those, worths, shift, set_[:many], left, loads[many]),
                        *(now[many - 1], most[many - 1], top),
                    )
                    done += (items - item) * many
                    total += (items - item) * many
            entering = False
            if many == 0:
                break
            item = int(np.argmax(most[many - 1]))
            promised = most[many - 1, item]
            if promised <= max(threshold, found.worth[first]):
                many -= 1
                continue
            if now[many - 1, item] > threshold:
                set_[many] = item
                _note(found, now[many - 1, item], set_[: many + 1])
                greatest = max(greatest, now[many - 1, item])
            if done > work[0] or total > work[1]:
                greatest = max(greatest, promised)
                many -= 1
                continue
            most[many - 1, item] = -1
            entering = True
    return int(greatest)
