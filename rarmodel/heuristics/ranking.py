"""Servers in the order in which a rule wants them, so that it need not look at all of them.

Binary trees over the servers know the server with the least busy idle GPU, the least loaded
server, and on which server the n-th idle GPU is. A leaf is a server, and node i stands above nodes
2i and 2i + 1; a walk from a leaf to the root keeps a tree right. The clock only notes which servers
change: a rule that asks a tree brings that tree up to date first.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from rarmodel.engine.arrays import Floats, Ints
from rarmodel.engine.compilation import compiled

from .idle_gpus import TOLERANCE, IdleGpus, Ranks

_inner = partial(compiled, inner=True)

NOTED, BY_IDLE, BY_LOAD, BY_COUNT = range(4)
"""Rows of `Ranks.counts`: changes noted, and how many of them each tree has read."""
HOSTING, EMPTY, EITHER = range(3)
"""Columns of `Ranks.least_idle`: servers with active jobs, without, and both."""
IGNORE, BREAK_TIES, FIRST = range(3)
"""What it counts, when the least busy GPUs are chosen, that a server already hosts a job."""
NOBODY = -1
"""Entry of `Ranks.lightest` where no server stands."""


@_inner
def note_change(ranks: Ranks, server: int) -> None:
    """Note that a server's idle GPUs or its accumulated time may be others."""
    ranks.changes[ranks.counts[NOTED]] = server
    ranks.counts[NOTED] += 1


@_inner
def note_all(ranks: Ranks, servers: int) -> None:
    """Note that every server changed, and forget what was noted before."""
    ranks.counts[:] = 0
    for server in range(servers):
        note_change(ranks, server)


@_inner
def _set_idle(least: Floats, server: int, hosting: float, empty: float) -> None:
    """Set what the tree of idle GPUs says of a server."""
    node = (len(least) >> 1) + server
    least[node, HOSTING], least[node, EMPTY] = hosting, empty
    least[node, EITHER] = min(hosting, empty)
    while node > 1:
        node >>= 1
        one, other, same = 2 * node, 2 * node + 1, True
        for column in range(3):
            time = min(least[one, column], least[other, column])
            same = same and time == least[node, column]
            least[node, column] = time
        if same:
            break


@_inner
def _rank_idle(room: IdleGpus, server: int) -> None:
    """Put a server where its least busy idle GPU says."""
    time = np.inf
    for gpu in range(room.first_gpu[server], room.first_gpu[server + 1]):
        if room.idle[gpu]:
            time = min(time, room.load[gpu])
    if room.hosted[server] > 0:
        _set_idle(room.ranks.least_idle, server, time, np.inf)
    else:
        _set_idle(room.ranks.least_idle, server, np.inf, time)


@_inner
def rank_by_idle(room: IdleGpus) -> None:
    """Bring the tree of least busy idle GPUs up to date."""
    counts = room.ranks.counts
    for i in range(counts[BY_IDLE], counts[NOTED]):
        _rank_idle(room, room.ranks.changes[i])
    counts[BY_IDLE] = counts[NOTED]


@_inner
def first_server(least: Floats, column: int, node: int, work: float, most: float) -> int:
    """The first server, from a node on, with an idle GPU that can take `work` more.

    The GPU's accumulated time is then at most `most`. More than any server's number is returned
    if there is none.
    """
    leaves = len(least) >> 1
    while not least[node, column] + work <= most:
        while node & 1:
            node >>= 1
        if node == 0:
            return leaves
        node += 1
    while node < leaves:
        node *= 2
        if not least[node, column] + work <= most:
            node += 1
    return node - leaves


@_inner
def least_busy_servers(room: IdleGpus, job: int, occupied: int, servers: Ints) -> int:
    """Write down servers among whose GPUs are the least busy available ones.

    These are as many as the job needs, or all there are. The servers come in their order, and the
    number of them is returned.
    """
    rank_by_idle(room)
    least, work, most = room.ranks.least_idle, room.work[job], room.limit + TOLERANCE
    count, found = 0, 0
    while found < room.size[job]:
        hosting, empty, column = least[1, HOSTING], least[1, EMPTY], EITHER
        if occupied == BREAK_TIES:
            column = HOSTING if hosting <= empty else EMPTY
        elif occupied == FIRST:
            column = HOSTING if hosting + work <= most else EMPTY
        time = least[1, column]
        if not time + work <= most:
            break
        server = first_server(least, column, 1, 0.0, time)
        # No GPU of a server that comes later is better than these.
        for gpu in range(room.first_gpu[server], room.first_gpu[server + 1]):
            found += int(room.idle[gpu] and room.load[gpu] == time)
        _set_idle(least, server, np.inf, np.inf)
        place = count
        while place > 0 and servers[place - 1] > server:
            servers[place] = servers[place - 1]
            place -= 1
        servers[place] = server
        count += 1
    for i in range(count):
        _rank_idle(room, servers[i])
    return count


@_inner
def _set_lightest(room: IdleGpus, server: int, entry: int) -> None:
    """Say whether a server stands in the tree of loads: `entry` is its number or NOBODY."""
    lightest, load, gpus = room.ranks.lightest, room.server_load, room.server_gpus
    node = (len(lightest) >> 1) + server
    lightest[node] = entry
    while node > 1:
        node >>= 1
        best, other = lightest[2 * node], lightest[2 * node + 1]
        # Of equally loaded servers the first comes first.
        if best == NOBODY or (
            other != NOBODY and load[other] * gpus[best] < load[best] * gpus[other]
        ):
            best = other
        if best == lightest[node] and best != server:
            break
        lightest[node] = best


@_inner
def least_loaded_servers(room: IdleGpus, gpus: float, servers: Ints) -> int:
    """Choose the servers of least `Σ_g U_g / O_s`, as few as have `gpus` GPUs in all, or all.

    Writes them to the front of `servers`, least loaded first, and returns how many they are.
    """
    ranks = room.ranks
    for i in range(ranks.counts[BY_LOAD], ranks.counts[NOTED]):
        _set_lightest(room, ranks.changes[i], ranks.changes[i])
    ranks.counts[BY_LOAD] = ranks.counts[NOTED]
    count, capacity = 0, 0
    while capacity < gpus and ranks.lightest[1] != NOBODY:
        servers[count] = ranks.lightest[1]
        capacity += room.server_gpus[servers[count]]
        _set_lightest(room, servers[count], NOBODY)
        count += 1
    for i in range(count):
        _set_lightest(room, servers[i], servers[i])
    return count


@_inner
def count_idle(room: IdleGpus) -> int:
    """Bring the tree of numbers of idle GPUs up to date; how many are idle in all."""
    ranks, counts = room.ranks, room.ranks.counts
    for i in range(counts[BY_COUNT], counts[NOTED]):
        server = ranks.changes[i]
        node = (len(ranks.idle_gpus) >> 1) + server
        more = room.idle_gpus[server] - ranks.idle_gpus[node]
        while node > 0 and more != 0:
            ranks.idle_gpus[node] += more
            node >>= 1
    counts[BY_COUNT] = counts[NOTED]
    return int(ranks.idle_gpus[1])


@_inner
def nth_idle(room: IdleGpus, number: int) -> int:
    """The idle GPU with so many idle ones before it; `count_idle` has said that there is one."""
    idle, node = room.ranks.idle_gpus, 1
    leaves = len(idle) >> 1
    while node < leaves:
        node *= 2
        if idle[node] <= number:
            number -= idle[node]
            node += 1
    gpu = room.first_gpu[node - leaves]
    while number > 0 or not room.idle[gpu]:
        number -= int(room.idle[gpu])
        gpu += 1
    return int(gpu)
