"""Which jobs each server has, in no order, and the least excess of each server.

Where almost no GPU slot may be idle, few orders of a server's jobs keep to the target. Changes of
an order and changes of the jobs, each tried alone, seldom arrive at such an order. So a set of jobs
counts with the least excess that a search finds. A table keeps it, as most sets come again: a
transposition table with the keys of A. Zobrist (1970), but with sums of random numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import Ints
from rarmodel.engine.compilation import compiled
from rarmodel.engine.random_numbers import Generator, fraction

from .indexed_set import updated
from .layout import MANY, Layout
from .least_excess import Items, Stack, area_of, least_excess, new_stack

_inner = partial(compiled, inner=True)

STEPS, RETRY_STEPS, RETRY_SHARE = 20, 1_000, 0.01
"""Steps of the first search of a set, steps of a later one, and the chance of a later one.

Later searches are only for sets that seem to have too much. They save sets that need an unusual
order."""
ENTRIES = 2**17
"""Places of a table, a power of 2. A later set takes the place of an earlier one."""


class Servers(NamedTuple):
    """Servers, the jobs and pieces to run, and the memory of the search."""

    layout: Layout
    """Servers and jobs. Pieces of spread rings are further jobs."""
    items: Items
    """The jobs and pieces."""
    ring: Ints
    """(items) The ring of each piece, −1 for jobs."""
    code: Ints
    """(items) Random numbers. The sum of those of a set, and of its server's, is the set's key."""
    server_code: Ints
    """(servers) Random numbers, the same for servers with as many GPUs."""
    table: Ints
    """(entries, 2) Key of a set, and its least excess: −1 − m if a search found none up to m."""
    lists: Ints
    """(4, items) Scratch: the jobs that two servers give, and their jobs then."""
    stack: Stack
    """Memory for the search of the least excess."""


class Sets(NamedTuple):
    """The jobs of each server."""

    members: Ints
    """(servers, items) The jobs of each server, in any order."""
    counts: Ints
    """(servers) Number of its jobs."""
    home: Ints
    """(items) Server of each job; −1 for jobs that are not to be packed."""
    key: Ints
    """(servers) Key of each set."""
    area: Ints
    """(servers) GPU slots needed minus GPU slots up to the target."""
    excess: Ints
    """(servers) Least excess found for each set."""
    overfull: Ints
    """(servers) The servers with an excess, in any order."""
    overfull_at: Ints
    """(servers) Place of each server in `overfull`, −1 if it has no excess."""
    overfull_count: Ints
    """(1) Number of servers in `overfull`."""
    total: Ints
    """(1) Excess of all servers."""


def servers_of(
    layout: Layout, items: Items, ring: Ints, kind: Ints, random: np.random.Generator
) -> Servers:
    """Servers and jobs, with an empty table.

    Parameters
    ----------
    layout, items, ring
        As in `Servers`.
    kind
        (items) Numbers below that of all jobs and pieces, the same for pieces that are alike.
    random
        The random numbers.
    """
    number, servers = len(items.size), len(layout.server_gpus)
    codes = random.integers(2**62, size=number, dtype=np.int64)
    _, first = np.unique(layout.server_gpus, return_inverse=True)
    server_codes = random.integers(2**62, size=servers, dtype=np.int64)
    return Servers(
        layout=layout,
        items=items,
        ring=ring,
        code=codes[kind],
        server_code=server_codes[first],
        table=np.zeros((ENTRIES, 2), np.int64),
        lists=np.zeros((4, number), np.int64),
        stack=new_stack(number),
    )


def new_sets(servers: Servers, members: Sequence[Sequence[int]], target: int) -> Sets:
    """The sets of given jobs for each server."""
    items, number = len(servers.items.size), len(members)
    sets = Sets(
        members=np.zeros((number, items), np.int64),
        counts=np.array([len(row) for row in members], np.int64),
        home=np.full(items, -1, np.int64),
        key=np.zeros(number, np.int64),
        area=np.zeros(number, np.int64),
        excess=np.zeros(number, np.int64),
        overfull=np.zeros(number, np.int64),
        overfull_at=np.full(number, -1, np.int64),
        overfull_count=np.zeros(1, np.int64),
        total=np.zeros(1, np.int64),
    )
    for server, row in enumerate(members):
        sets.members[server, : len(row)] = row
        sets.home[list(row)] = server
    _measure(servers, sets, target)
    return sets


@compiled
def _measure(servers: Servers, sets: Sets, target: int) -> None:
    """Key, area and excess of every server."""
    items, layout = servers.items, servers.layout
    for server in range(len(sets.counts)):
        row, count = sets.members[server], sets.counts[server]
        gpus = layout.server_gpus[server]
        sets.key[server] = servers.server_code[server]
        sets.area[server] = -gpus * target
        for item in row[:count]:
            sets.key[server] += servers.code[item]
            sets.area[server] += area_of(items, item)
        # The first schedule of the search always counts.
        excess = least_excess(items, row, count, gpus, target, MANY, STEPS, servers.stack)
        _set_excess(sets, server, excess)


@_inner
def _set_excess(sets: Sets, server: int, excess: int) -> None:
    """Set the excess of a server."""
    sets.total[0] += excess - sets.excess[server]
    sets.excess[server] = excess
    count = sets.overfull_count
    count[0] = updated(sets.overfull, sets.overfull_at, count[0], server, excess)


@_inner
def room_for(sets: Sets, server: int, other: int, limit: int) -> int:
    """The excess that two servers may have, so that all servers together keep to a limit."""
    return int(limit - (sets.total[0] - sets.excess[server] - sets.excess[other]))


@_inner
def try_exchange(
    servers: Servers,
    sets: Sets,
    server: int,
    other: int,
    given: int,
    taken: int,
    target: int,
    limit: int,
    generator: Generator,
) -> None:
    """Exchange jobs of two servers, if the excess of all servers then is within a limit.

    If pieces of two rings were on a server at one time, they would share a link. The servers must
    not have more such pairs than before.

    Parameters
    ----------
    servers, sets
        The jobs, and the sets to change.
    server, other
        The servers.
    given, taken
        How many jobs `server` gives and takes. They are in the first two lists of the scratch, and
        no wider than the server that gets them.
    target
        The makespan to meet in slots.
    limit
        The greatest excess of all servers.
    generator
        The random numbers.
    """
    items, lists = servers.items, servers.lists
    moved, codes, pieces = 0, 0, False
    for i in range(given):
        item = lists[0, i]
        moved += area_of(items, item)
        codes += servers.code[item]
        pieces |= servers.ring[item] >= 0
    for i in range(taken):
        item = lists[1, i]
        moved -= area_of(items, item)
        codes -= servers.code[item]
        pieces |= servers.ring[item] >= 0
    room = room_for(sets, server, other, limit)
    least = max(0, sets.area[server] - moved)
    their_least = max(0, sets.area[other] + moved)
    if least + their_least > room:
        return
    own_key, their_key = sets.key[server] - codes, sets.key[other] + codes
    excess = _known(servers.table, own_key, room - their_least, generator)
    if excess == _TOO_MUCH:
        return
    their_excess = _known(servers.table, their_key, room - max(least, excess), generator)
    if their_excess == _TOO_MUCH:
        return
    own, theirs = lists[2], lists[3]
    own_count = _after(sets, server, lists[0], given, lists[1], taken, own)
    their_count = _after(sets, other, lists[1], taken, lists[0], given, theirs)
    if pieces:
        after = _shared(servers, own, own_count) + _shared(servers, theirs, their_count)
        before = _shared(servers, sets.members[server], sets.counts[server])
        if after > before + _shared(servers, sets.members[other], sets.counts[other]):
            return
    if excess < 0:
        most = room - max(their_least, their_excess)
        steps = STEPS if excess == _UNKNOWN else RETRY_STEPS
        excess = _found(servers, server, own, own_count, own_key, target, most, steps)
        if excess < 0:
            return
    if their_excess < 0:
        most = room - excess
        steps = STEPS if their_excess == _UNKNOWN else RETRY_STEPS
        their_excess = _found(servers, other, theirs, their_count, their_key, target, most, steps)
        if their_excess < 0:
            return
    _give(sets, server, own, own_count, own_key, excess)
    _give(sets, other, theirs, their_count, their_key, their_excess)
    sets.area[server] -= moved
    sets.area[other] += moved


_TOO_MUCH, _UNKNOWN, _DOUBTED = -1, -2, -3


@_inner
def _known(table: Ints, key: int, most: int, generator: Generator) -> int:
    """The least excess of a set, or why that is not known to be at most `most`.

    `_TOO_MUCH` if a search found none that small, and by chance `_DOUBTED` instead. `_UNKNOWN` if
    no search looked.
    """
    place = key & (len(table) - 1)
    excess = table[place, 1]
    if table[place, 0] != key or (excess < 0 and -1 - excess < most):
        return _UNKNOWN
    if 0 <= excess <= most:
        return int(excess)
    return _DOUBTED if fraction(generator) < RETRY_SHARE else _TOO_MUCH


@_inner
def _found(
    servers: Servers,
    server: int,
    row: Ints,
    count: int,
    key: int,
    target: int,
    most: int,
    steps: int,
) -> int:
    """Search for the least excess of a set; return it, or −1 if none is at most `most`.

    The table keeps the result, unless it knows more of the set already.
    """
    gpus = servers.layout.server_gpus[server]
    excess = least_excess(servers.items, row, count, gpus, target, most, steps, servers.stack)
    table = servers.table
    place = key & (len(table) - 1)
    if excess >= 0:
        table[place, 0], table[place, 1] = key, excess
    elif table[place, 0] != key or -1 - most < table[place, 1] < 0:
        table[place, 0], table[place, 1] = key, -1 - most
    return excess


@_inner
def _after(
    sets: Sets, server: int, given: Ints, givens: int, taken: Ints, takens: int, row: Ints
) -> int:
    """Write the jobs of a server after an exchange to a list; return their number."""
    count = 0
    for i in range(sets.counts[server]):
        item = sets.members[server, i]
        stays = True
        for place in range(givens):
            stays &= given[place] != item
        if stays:
            row[count] = item
            count += 1
    for place in range(takens):
        row[count + place] = taken[place]
    return count + takens


@_inner
def _shared(servers: Servers, row: Ints, count: int) -> int:
    """Number of pairs of pieces in a list that are of two rings and overlap in time."""
    items, ring = servers.items, servers.ring
    pairs = 0
    for i in range(count):
        for j in range(i):
            item, other = row[i], row[j]
            pairs += (
                min(ring[item], ring[other]) >= 0
                and ring[item] != ring[other]
                and items.release[item] < items.due[other]
                and items.release[other] < items.due[item]
            )
    return int(pairs)


@_inner
def _give(sets: Sets, server: int, row: Ints, count: int, key: int, excess: int) -> None:
    """Set the jobs of a server from a list."""
    for i in range(count):
        sets.members[server, i] = row[i]
        sets.home[row[i]] = server
    sets.counts[server] = count
    sets.key[server] = key
    _set_excess(sets, server, excess)
