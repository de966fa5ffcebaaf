"""The servers by the number of their idle GPUs, so that a placement looks at few of them.

For each number of idle GPUs there is a set of servers, kept as bits: 64 servers in a word, and a
bit for each word that is not 0. The servers that a job may use are bits as well. All servers with
many idle GPUs are in one set.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rarmodel.engine.arrays import Ints
from rarmodel.engine.compilation import compiled

_inner = partial(compiled, inner=True)

Words = npt.NDArray[np.uint64]

MOST_LEVELS = 128
"""From one less idle GPUs on, servers are in one set."""
NOBODY = -1
"""No server."""
TOTAL, HIGHEST = range(2)
"""Of `Room.sums`."""
BITS = 64
_ONE, _NO_BIT = np.uint64(1), np.uint64(0)
_FACTOR, _SHIFT = np.uint64(0x03F79D71B4CB0A89), np.uint64(58)
_LOWEST_BIT = np.zeros(BITS, np.int64)
for _bit in range(BITS):
    # The factor has each number of 6 bits in it once (a sequence of de Bruijn).
    _LOWEST_BIT[((1 << _bit) * 0x03F79D71B4CB0A89 % 2**64) >> 58] = _bit


class Room(NamedTuple):
    """Idle GPUs of the servers, and the servers by them."""

    idle: Ints
    """(servers) GPUs that jobs may take now; below 0 where they hold more than is left."""
    sums: Ints
    """(2) Idle GPUs in all; the highest level, or a higher one."""
    members: Ints
    """(levels) Servers in each set: level i has those with i idle GPUs, the last one also more."""
    words: Words
    """(levels, words) Which servers these are."""
    summary: Words
    """(levels, words of words) Which words are not 0."""


def new_room(server_gpus: Ints) -> Room:
    """Room for a cluster; `empty_room` fills it."""
    levels = min(MOST_LEVELS, int(server_gpus.max()) + 1)
    words = _words_for(len(server_gpus))
    return Room(
        idle=np.zeros(len(server_gpus), np.int64),
        sums=np.zeros(2, np.int64),
        members=np.zeros(levels, np.int64),
        words=np.zeros((levels, words), np.uint64),
        summary=np.zeros((levels, _words_for(words)), np.uint64),
    )


def as_words(members: npt.NDArray[np.bool_]) -> Words:
    """Rows of truth values as rows of bits."""
    padded = np.zeros((len(members), BITS * _words_for(members.shape[1])), np.bool_)
    padded[:, : members.shape[1]] = members
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def as_truths(words: Words, count: int) -> npt.NDArray[np.bool_]:
    """Rows of bits as rows of `count` truth values."""
    octets = words.astype("<u8").view(np.uint8)
    return np.unpackbits(octets, axis=1, count=count, bitorder="little").astype(np.bool_)


def _words_for(bits: int) -> int:
    return -(-bits // BITS)


@_inner
def empty_room(room: Room, server_gpus: Ints) -> None:
    """All GPUs are idle."""
    room.sums[:] = 0
    room.members[:] = 0
    room.words[:, :] = _NO_BIT
    room.summary[:, :] = _NO_BIT
    for server in range(len(server_gpus)):
        room.idle[server] = server_gpus[server]
        room.sums[TOTAL] += server_gpus[server]
        _put(room, _level(room, server_gpus[server]), server)


@_inner
def set_idle(room: Room, server: int, idle: int) -> None:
    """Note how many GPUs of a server are idle."""
    before = room.idle[server]
    if before == idle:
        return
    room.idle[server] = idle
    room.sums[TOTAL] += max(0, idle) - max(0, before)
    old, new = _level(room, before), _level(room, idle)
    if old != new:
        word, bit = server >> 6, _ONE << np.uint64(server & 63)
        room.words[old, word] ^= bit
        room.members[old] -= 1
        if room.words[old, word] == _NO_BIT:
            room.summary[old, word >> 6] ^= _ONE << np.uint64(word & 63)
        _put(room, new, server)


@_inner
def next_server(room: Room, allowed: Words, level: int, server: int) -> int:
    """The first server of a level from a server on, among those allowed; NOBODY if none is left."""
    word = server >> 6
    if word >= room.words.shape[1]:
        return NOBODY
    left = room.words[level, word] & allowed[word]
    left = (left >> np.uint64(server & 63)) << np.uint64(server & 63)
    if left != _NO_BIT:
        return (word << 6) + _lowest(left)
    word += 1
    block = word >> 6
    if block >= room.summary.shape[1]:
        return NOBODY
    some = (room.summary[level, block] >> np.uint64(word & 63)) << np.uint64(word & 63)
    while True:
        while some != _NO_BIT:
            word = (block << 6) + _lowest(some)
            left = room.words[level, word] & allowed[word]
            if left != _NO_BIT:
                return (word << 6) + _lowest(left)
            some &= some - _ONE
        block += 1
        if block >= room.summary.shape[1]:
            return NOBODY
        some = room.summary[level, block]


@_inner
def tightest(room: Room, allowed: Words, size: int) -> int:
    """The server with the fewest idle GPUs that has `size` of them, the first one; or NOBODY."""
    last, best = MOST_LEVELS - 1, NOBODY
    highest = highest_level(room)
    for level in range(size, min(highest + 1, last)):
        if room.members[level] > 0:
            server = next_server(room, allowed, level, 0)
            if server != NOBODY:
                return server
    if highest < last:
        return NOBODY
    server = next_server(room, allowed, last, 0)
    while server != NOBODY:
        idle = room.idle[server]
        if idle >= size and (best == NOBODY or idle < room.idle[best]):
            best = server
            if idle == max(size, last):
                break
        server = next_server(room, allowed, last, server + 1)
    return best


@_inner
def _level(room: Room, idle: int) -> int:
    return int(max(0, min(idle, len(room.members) - 1)))


@_inner
def _put(room: Room, level: int, server: int) -> None:
    word = server >> 6
    room.words[level, word] |= _ONE << np.uint64(server & 63)
    room.summary[level, word >> 6] |= _ONE << np.uint64(word & 63)
    room.members[level] += 1
    room.sums[HIGHEST] = max(room.sums[HIGHEST], level)


@_inner
def highest_level(room: Room) -> int:
    """The highest level that has servers; 0 if no GPU is idle."""
    while room.sums[HIGHEST] > 0 and room.members[room.sums[HIGHEST]] == 0:
        room.sums[HIGHEST] -= 1
    return int(room.sums[HIGHEST])


@_inner
def _lowest(word: np.uint64) -> int:
    """Place of the lowest bit that is set; there is one."""
    return int(_LOWEST_BIT[((word & (~word + _ONE)) * _FACTOR) >> _SHIFT])
