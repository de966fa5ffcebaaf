"""The servers by the number of their idle GPUs, so that a placement looks at few of them.

For each number of idle GPUs there is a set of servers, kept as bits: 64 servers in a word, and a
bit for each word that is not 0. The servers that a job may use are bits as well. All servers with
many idle GPUs are in one set.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import Ints
from rarmodel.engine.compilation import compiled

from .server_bits import NO_BIT, ONE_BIT, Words, lowest_bit, words_for
from .server_groups import ServerGroups

_inner = partial(compiled, inner=True)

MOST_LEVELS = 128
"""From one less idle GPUs on, servers are in one set."""
NOBODY = -1
"""No server."""


class FreeGpus(NamedTuple):
    """Idle GPUs of the servers, and the servers by them."""

    idle: Ints
    """(servers) GPUs that jobs may take now; below 0 where they hold more than is left."""
    in_group: Ints
    """(groups) Idle GPUs of the servers of each group; the last one has all servers."""
    highest: Ints
    """(1) The highest level with servers, or a higher one."""
    members: Ints
    """(levels) Servers in each set: level i has those with i idle GPUs, the last one also more."""
    words: Words
    """(levels, words) Which servers these are."""
    summary: Words
    """(levels, words of words) Which words are not 0."""


def new_free_gpus(server_gpus: Ints, groups: ServerGroups) -> FreeGpus:
    """Memory for a cluster; `free_all` fills it."""
    levels = min(MOST_LEVELS, int(server_gpus.max()) + 1)
    words = words_for(len(server_gpus))
    return FreeGpus(
        idle=np.zeros(len(server_gpus), np.int64),
        in_group=np.zeros(len(groups.first), np.int64),
        highest=np.zeros(1, np.int64),
        members=np.zeros(levels, np.int64),
        words=np.zeros((levels, words), np.uint64),
        summary=np.zeros((levels, words_for(words)), np.uint64),
    )


@_inner
def free_all(free: FreeGpus, groups: ServerGroups, server_gpus: Ints) -> None:
    """All GPUs are idle."""
    free.in_group[:] = 0
    free.highest[0] = 0
    free.members[:] = 0
    free.words[:, :] = NO_BIT
    free.summary[:, :] = NO_BIT
    for server in range(len(server_gpus)):
        free.idle[server] = server_gpus[server]
        for i in range(groups.at[server], groups.at[server + 1]):
            free.in_group[groups.group[i]] += server_gpus[server]
        _put(free, _level(free, server_gpus[server]), server)


@_inner
def set_idle(free: FreeGpus, groups: ServerGroups, server: int, idle: int) -> None:
    """Note how many GPUs of a server are idle."""
    before = free.idle[server]
    if before == idle:
        return
    free.idle[server] = idle
    more = max(0, idle) - max(0, before)
    for i in range(groups.at[server], groups.at[server + 1]):
        free.in_group[groups.group[i]] += more
    old, new = _level(free, before), _level(free, idle)
    if old != new:
        word, bit = server >> 6, ONE_BIT << np.uint64(server & 63)
        free.words[old, word] ^= bit
        free.members[old] -= 1
        if free.words[old, word] == NO_BIT:
            free.summary[old, word >> 6] ^= ONE_BIT << np.uint64(word & 63)
        _put(free, new, server)


@_inner
def total_free(free: FreeGpus) -> int:
    """Idle GPUs of all servers."""
    return int(free.in_group[-1])


@_inner
def next_server(
    free: FreeGpus, groups: ServerGroups, group: int, allowed: Words, level: int, server: int
) -> int:
    """The first server of a level from a server on, of a group and allowed; NOBODY if none is."""
    word, end = server >> 6, groups.end_word[group]
    if word >= end:
        return NOBODY
    members = groups.words[group]
    left = free.words[level, word] & allowed[word] & members[word]
    left = (left >> np.uint64(server & 63)) << np.uint64(server & 63)
    if left != NO_BIT:
        return (word << 6) + lowest_bit(left)
    word += 1
    if word >= end:
        return NOBODY
    block = word >> 6
    some = (free.summary[level, block] >> np.uint64(word & 63)) << np.uint64(word & 63)
    while True:
        while some != NO_BIT:
            word = (block << 6) + lowest_bit(some)
            if word >= end:
                return NOBODY
            left = free.words[level, word] & allowed[word] & members[word]
            if left != NO_BIT:
                return (word << 6) + lowest_bit(left)
            some &= some - ONE_BIT
        block += 1
        if block << 6 >= end:
            return NOBODY
        some = free.summary[level, block]


@_inner
def _level(free: FreeGpus, idle: int) -> int:
    return int(max(0, min(idle, len(free.members) - 1)))


@_inner
def _put(free: FreeGpus, level: int, server: int) -> None:
    word = server >> 6
    free.words[level, word] |= ONE_BIT << np.uint64(server & 63)
    free.summary[level, word >> 6] |= ONE_BIT << np.uint64(word & 63)
    free.members[level] += 1
    free.highest[0] = max(free.highest[0], level)


@_inner
def highest_level(free: FreeGpus) -> int:
    """The highest level that has servers; 0 if no GPU is idle."""
    while free.highest[0] > 0 and free.members[free.highest[0]] == 0:
        free.highest[0] -= 1
    return int(free.highest[0])
