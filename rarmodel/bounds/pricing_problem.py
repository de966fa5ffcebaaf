"""The dearest configuration: what can run in one slot, where each job's state has a price.

The jobs are decided one after another. Of each server only this matters for the jobs to come: its
free GPUs, the rings that use its link, and how many more rings those allow. So equal servers are
alike, and of two ways to one state only the dearer one is followed. A branch ends where the best
knapsack of the jobs to come, in all free GPUs, does not make it dear enough.

A ring may take a state in which more rings may share its links than do; no ring may take a faster
one. The search is exact and in whole numbers: if it finds nothing above a price, there is nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from rarmodel.engine.compilation import compiled

from .knapsack import Ints

_inner = partial(compiled, inner=True)

MOST_BITS = 62
"""Bits of a number that tells the state of all servers."""
STACK, MEMORY = 200_000, 1 << 18
"""Most open branches; rows in the table of known states, a power of two."""
MOST_NODES = 300_000
"""Most branches to look at before the search gives up."""
MOST_FOUND = 8
"""Most configurations that a search returns."""
NEW, FULL = -1, -2
EXACT, GIVEN_UP = 1, 0


class States(NamedTuple):
    """The states of a server, by number; the greater of two numbers has more free GPUs."""

    free: Ints
    """(states) Free GPUs."""
    rings: Ints
    """(states) Rings that use its link."""
    more: Ints
    """(states) How many more rings may use it."""
    number: np.ndarray[tuple[int, int, int], np.dtype[np.int64]]
    """(free, rings, more) Number of a state."""
    bits: int
    """Bits of a number."""


class Choices(NamedTuple):
    """What jobs can take, sorted by job, and cheap ones first."""

    first: Ints
    """(jobs + 1) Offsets of each job's choices."""
    size: Ints
    servers: Ints
    rings: Ints
    price: Ints
    label: Ints
    """Number of the state among all states of rings."""


class Memory(NamedTuple):
    """Scratch memory of a search."""

    stack: np.ndarray[tuple[int, int], np.dtype[np.int64]]
    """(open branches, 4) Servers, jobs decided, price so far, and the last job's choice."""
    key: Ints
    depth: Ints
    price: Ints
    """(rows) The table of known states: servers, jobs decided, price."""
    path: Ints
    """(jobs) Choices on the way to the present branch; −1 for none."""
    servers: Ints
    """(servers) State of each server, the greatest number first."""
    after: Ints
    """(servers) The same after a choice."""
    taken: Ints
    """(servers) Workers of the ring on each."""
    counters: Ints
    """(2) Open branches; rows in use."""


def server_states(largest: int, most_rings: int) -> States:
    """The states of servers with up to `largest` GPUs, and rings with at most so many beside."""
    found = [(0, 0, 0)]
    for free in range(1, largest + 1):
        found.append((free, 0, 0))
        for beside in range(min(largest - free, most_rings - 1) + 1):
            # With no ring as yet, nothing limits the number of rings but room and the jobs' states.
            most = min(free, most_rings - beside)
            found += [(free, beside, limit) for limit in range(1 if beside else most, most + 1)]
    number = np.zeros((largest + 1, most_rings, largest + 1), np.int64)
    for i, state in enumerate(found):
        number[state] = i
    table = np.array(found, np.int64).T.copy()
    return States(table[0], table[1], table[2], number, max(1, (len(found) - 1).bit_length()))


class Pricing:
    """Searches for dear configurations on servers with given GPUs.

    Parameters
    ----------
    capacities
        GPUs of each server.
    jobs
        Number of jobs.

    Attributes
    ----------
    fits
        Whether the states of all servers fit into one number.
    """

    def __init__(self, capacities: Sequence[int], jobs: int) -> None:
        most_rings = min(max(capacities), jobs)
        self.fits = False
        if max(len(capacities), most_rings) > MOST_BITS:
            return
        self._states = server_states(max(capacities), most_rings)
        if self._states.bits * len(capacities) > MOST_BITS:
            return
        self.fits = True
        self._total = sum(capacities)
        limits = [min(gpus, most_rings) for gpus in capacities]
        start = [
            int(self._states.number[gpus, 0, limit])
            for gpus, limit in zip(capacities, limits, strict=True)
        ]
        self._start = np.array(sorted(start, reverse=True), np.int64)
        servers = len(capacities)
        self._memory = Memory(
            stack=np.zeros((STACK, 4), np.int64),
            key=np.zeros(MEMORY, np.int64),
            depth=np.full(MEMORY, NEW, np.int64),
            price=np.zeros(MEMORY, np.int64),
            path=np.zeros(jobs + 1, np.int64),
            servers=np.zeros(servers, np.int64),
            after=np.zeros(servers, np.int64),
            taken=np.zeros(servers, np.int64),
            counters=np.zeros(2, np.int64),
        )

    def above(
        self, price: int, choices: Sequence[Sequence[tuple[int, int, int, int, int]]]
    ) -> tuple[bool, int, list[tuple[int, ...]]]:
        """Look for configurations above a price.

        Parameters
        ----------
        price
            Only dearer ones are looked for.
        choices
            (jobs) What each job can take: size, servers, rings, price, label.

        Returns
        -------
        bool
            Whether the next number is proven.
        int
            The greatest price of a configuration; `price` if none is dearer.
        list
            Labels of each dear configuration found; the last one is the dearest.
        """
        worth = [[one for one in row if one[3] > 0] for row in choices]
        rows = [sorted(row, key=lambda one: one[3]) for row in worth if row]
        # Dear jobs first: the first branches are then dear, and others end soon.
        rows.sort(key=lambda row: -max(one[3] / one[0] for one in row))
        if not rows:
            return True, price, []
        flat = [one for row in rows for one in row]
        columns = [np.array(column, np.int64) for column in zip(*flat, strict=True)]
        first = np.cumsum([0, *map(len, rows)]).astype(np.int64)
        table = Choices(first, *columns)
        rest = np.zeros((len(rows) + 1, self._total + 1), np.int64)
        found = np.full((MOST_FOUND, len(rows)), -1, np.int64)
        numbers = np.zeros(2, np.int64)
        self._memory.depth[:] = NEW
        verdict = _search(
            self._states, table, self._start, rest, self._memory, price, found, numbers
        )
        kept = [found[(int(numbers[0]) - 1 - i) % MOST_FOUND] for i in range(int(numbers[0]))]
        configurations = [
            tuple(int(table.label[choice]) for choice in row if choice >= 0)
            for row in kept[:MOST_FOUND]
        ]
        return verdict == EXACT, int(numbers[1]), configurations[::-1]


@_inner
def _copy(source: Ints, target: Ints) -> None:
    for i in range(len(source)):
        target[i] = source[i]


@_inner
def _fill_rest(choices: Choices, total: int, rest: Ints) -> None:
    """The greatest price of jobs from each one on, in so many GPUs: a knapsack."""
    jobs = len(choices.first) - 1
    rest[jobs, :] = 0
    for job in range(jobs - 1, -1, -1):
        for free in range(total + 1):
            rest[job, free] = rest[job + 1, free]
        for i in range(choices.first[job], choices.first[job + 1]):
            size, price = choices.size[i], choices.price[i]
            for free in range(size, total + 1):
                better = price + rest[job + 1, free - size]
                rest[job, free] = max(rest[job, free], better)


@_inner
def _known(memory: Memory, key: int, depth: int, price: int) -> bool:
    """Whether a state was reached before at no lower price; note it."""
    mask = MEMORY - 1
    mixed = (key ^ (depth * 0x9E3779B97F4A7C1)) * 0x2545F4914F6CDD1D
    row = (mixed ^ (mixed >> 29)) & mask
    for _ in range(32):
        if memory.depth[row] == NEW:
            memory.key[row], memory.depth[row], memory.price[row] = key, depth, price
            return False
        if memory.key[row] == key and memory.depth[row] == depth:
            if memory.price[row] >= price:
                return True
            memory.price[row] = price
            return False
        row = (row + 1) & mask
    return False  # No room: the state is looked at again.


@_inner
def _push(states: States, memory: Memory, depth: int, price: int, choice: int, most: int) -> bool:
    """Open a branch with the servers of `memory.after`, sorted."""
    after = memory.after
    for i in range(1, len(after)):
        here, k = after[i], i
        while k > 0 and after[k - 1] < here:
            after[k] = after[k - 1]
            k -= 1
        after[k] = here
    key = 0
    for i in range(len(after)):
        key = (key << states.bits) | after[i]
    top = memory.counters[0]
    if top >= most:
        return False
    memory.stack[top, 0], memory.stack[top, 1] = key, depth
    memory.stack[top, 2], memory.stack[top, 3] = price, choice
    memory.counters[0] = top + 1
    return True


@_inner
def _with_ring(states: States, state: int, workers: int, limit: int) -> int:
    """State of a server once a ring has workers there and allows so many rings."""
    free, rings = states.free[state] - workers, states.rings[state] + 1
    more = min(states.more[state] - 1, limit - rings, free)
    if more <= 0:
        return int(states.number[free, 0, 0])
    return int(states.number[free, rings, more])


@_inner
def _packed(states: States, state: int, workers: int) -> int:
    """State of a server once a ring has all its workers there."""
    free, rings = states.free[state] - workers, states.rings[state]
    more = min(states.more[state], free)
    if more <= 0:
        return int(states.number[free, 0, 0])
    return int(states.number[free, rings, more])


@_inner
def _room(states: States, state: int, limit: int) -> int:
    """GPUs that a ring which allows so many rings can use there."""
    if states.more[state] < 1 or states.rings[state] + 1 > limit:
        return 0
    return int(states.free[state])


@_inner
def _spread(
    states: States, choices: Choices, memory: Memory, depth: int, price: int, choice: int
) -> bool:
    """Open a branch for each way to spread a ring; equal servers get falling numbers."""
    servers, taken = memory.servers, memory.taken
    count, limit = len(servers), choices.rings[choice]
    left, ring = choices.size[choice], choices.servers[choice]
    taken[:] = 0
    place = 0
    down = True
    while place >= 0:
        if down:
            most = min(_room(states, servers[place], limit), left - max(0, ring - 1))
            if place > 0 and servers[place] == servers[place - 1]:
                most = min(most, taken[place - 1])
            taken[place] = most if ring > 0 and most > 0 else 0
        elif taken[place] > 0:
            left += taken[place]
            ring += 1
            taken[place] -= 1
        else:
            place -= 1
            continue
        if taken[place] > 0:
            left -= taken[place]
            ring -= 1
        if left == 0 and ring == 0:
            for i in range(count):
                memory.after[i] = servers[i]
                if i <= place and taken[i] > 0:
                    memory.after[i] = _with_ring(states, servers[i], taken[i], limit)
            if not _push(states, memory, depth, price, choice, STACK):
                return False
            down = False
        elif ring > 0 and left >= ring and place + 1 < count and ring <= count - place - 1:
            place += 1
            down = True
        else:
            down = False
    return True


@partial(compiled, parallel=True)
def _search(
    states: States,
    choices: Choices,
    start: Ints,
    rest: Ints,
    memory: Memory,
    best: int,
    found: Ints,
    numbers: Ints,
) -> int:
    """Find configurations dearer than `best`; `numbers` gets how many, and the greatest price."""
    jobs = len(choices.first) - 1
    _fill_rest(choices, rest.shape[1] - 1, rest)
    servers, path = memory.servers, memory.path
    memory.counters[0] = 0
    _copy(start, memory.after)
    numbers[0], numbers[1] = 0, best
    _push(states, memory, 0, 0, -1, STACK)
    mask = (1 << states.bits) - 1
    nodes = 0
    while memory.counters[0] > 0:
        memory.counters[0] -= 1
        top = memory.counters[0]
        key, job = memory.stack[top, 0], memory.stack[top, 1]
        price, last = memory.stack[top, 2], memory.stack[top, 3]
        if job > 0:
            path[job - 1] = last
        free, shifted = 0, key
        for i in range(len(servers) - 1, -1, -1):
            servers[i] = shifted & mask
            shifted >>= states.bits
            free += states.free[servers[i]]
        if price > best:
            best = price
            row = numbers[0] % len(found)
            found[row, :] = -1
            for i in range(job):
                found[row, i] = path[i]
            numbers[0] += 1
            numbers[1] = best
        if job == jobs or price + rest[job, free] <= best:
            continue
        if _known(memory, key, job, price):
            continue
        nodes += 1
        if nodes > MOST_NODES:
            return GIVEN_UP
        # The last branch opened is the first one looked at: the job's dearest choice.
        _copy(servers, memory.after)
        if not _push(states, memory, job + 1, price, -1, STACK):
            return GIVEN_UP
        for choice in range(choices.first[job], choices.first[job + 1]):
            size, dearer = choices.size[choice], price + choices.price[choice]
            if size > free or dearer + rest[job + 1, free - size] <= best:
                continue
            if choices.servers[choice] > 1:
                if not _spread(states, choices, memory, job + 1, dearer, choice):
                    return GIVEN_UP
                continue
            for i in range(len(servers)):
                same = i > 0 and servers[i] == servers[i - 1]
                if not same and states.free[servers[i]] >= size:
                    _copy(servers, memory.after)
                    memory.after[i] = _packed(states, servers[i], size)
                    if not _push(states, memory, job + 1, dearer, choice, STACK):
                        return GIVEN_UP
    return EXACT
