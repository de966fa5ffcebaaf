"""The placement rules: FA-FFP and LBSGF of SJF-BCO, first fit, list scheduling, random."""

from __future__ import annotations

from functools import partial

import numpy as np

from rarmodel.engine.arrays import Floats, Ints
from rarmodel.engine.compilation import compiled

from .room import Room, available, rule

_inner = partial(compiled, inner=True)

IGNORE, BREAK_TIES, FIRST = range(3)
"""What it counts, in `least_busy`, that a server already hosts a job."""


@_inner
def _move(first: Floats, second: Floats, came: Ints, chosen: Ints, source: int, to: int) -> None:
    """Move an entry of the heap in `least_busy`."""
    first[to] = first[source]
    second[to] = second[source]
    came[to] = came[source]
    chosen[to] = chosen[source]


@compiled
def least_busy(
    job: int, room: Room, servers: Ints, count: int, occupied: int, chosen: Ints
) -> bool:
    """Choose as many GPUs as the job needs, with least accumulated time of the available ones.

    Parameters
    ----------
    job, room, chosen
        As a rule gets them.
    servers, count
        The servers to choose from are the first `count` of `servers`; their order, then the
        GPUs' order, breaks ties.
    occupied
        What it counts that a server already hosts a job: IGNORE, BREAK_TIES, or FIRST, before
        accumulated time.

    Returns
    -------
    bool
        Whether there are enough.
    """
    size = room.size[job]
    # The chosen ones form a heap with the worst on top, which a better GPU replaces. Of equal
    # ones the latest is the worst, so a new one never replaces an equal one.
    first, second, came = room.keys[0], room.keys[1], room.scratch[2]
    full = 0
    arrival = 0
    for i in range(count):
        server = servers[i]
        if room.idle_gpus[server] == 0:
            continue
        empty = 0.0 if room.hosted[server] > 0 else 1.0
        for gpu in range(room.first_gpu[server], room.first_gpu[server + 1]):
            if not available(room, job, gpu):
                continue
            a, b = room.load[gpu], 0.0
            if occupied == BREAK_TIES:
                b = empty
            elif occupied == FIRST:
                a, b = empty, a
            if full < size:
                place = full
                full += 1
                while place > 0:
                    parent = (place - 1) >> 1
                    if (first[parent], second[parent]) > (a, b):
                        break
                    _move(first, second, came, chosen, parent, place)
                    place = parent
            elif (a, b) < (first[0], second[0]):
                place = 0
                while 2 * place + 1 < size:
                    child = 2 * place + 1
                    if child + 1 < size and (
                        first[child + 1],
                        second[child + 1],
                        came[child + 1],
                    ) > (first[child], second[child], came[child]):
                        child += 1
                    if (first[child], second[child]) <= (a, b):
                        break
                    _move(first, second, came, chosen, child, place)
                    place = child
            else:
                continue
            first[place], second[place] = a, b
            came[place] = arrival
            chosen[place] = gpu
            arrival += 1
    return bool(full == size)


@_inner
def _less_loaded(room: Room, one: int, other: int) -> bool:
    """Whether a server has a smaller `Σ_g U_g / O_s` than another; ties in server order."""
    left = room.server_load[one] * room.server_gpus[other]
    right = room.server_load[other] * room.server_gpus[one]
    return bool(left < right or (left == right and one < other))


@_inner
def _sink(room: Room, heap: Ints, place: int, size: int) -> None:
    """Move an entry of a heap of servers, least loaded first, down to where it belongs."""
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and _less_loaded(room, heap[child + 1], heap[child]):
            child += 1
        if _less_loaded(room, heap[place], heap[child]):
            return
        heap[place], heap[child] = heap[child], heap[place]
        place = child


@compiled
def least_loaded_servers(room: Room, gpus: float, servers: Ints) -> int:
    """Choose the servers of least `Σ_g U_g / O_s`, as few as have `gpus` GPUs in all, or all.

    Writes them to the front of `servers`, least loaded first, and returns how many they are.
    """
    heap = room.scratch[0]
    size = len(room.server_gpus)
    for server in range(size):
        heap[server] = server
    for place in range(size // 2 - 1, -1, -1):
        _sink(room, heap, place, size)
    count = 0
    capacity = 0
    while size > 0 and capacity < gpus:
        servers[count] = heap[0]
        capacity += room.server_gpus[heap[0]]
        count += 1
        size -= 1
        heap[0] = heap[size]
        _sink(room, heap, 0, size)
    return count


@rule
def sjf_bco_rule(job: int, room: Room, parameters: Floats, chosen: Ints) -> bool:
    """SJF-BCO: Algorithm 2 (FA-FFP) for jobs of at most κ GPUs, Algorithm 3 (LBSGF) for others.

    Parameters are κ, λ, and how FA-FFP regards occupied servers, as in `least_busy`: BREAK_TIES
    for the paper's pseudo-code, FIRST for its text. LBSGF looks at the least loaded servers that
    have `λ·G_j` GPUs in all, and breaks ties of accumulated time by that order.
    """
    if room.size[job] <= parameters[0]:
        return least_busy(job, room, room.servers, len(room.servers), int(parameters[2]), chosen)
    servers = room.scratch[1]
    count = least_loaded_servers(room, parameters[1] * room.size[job], servers)
    return least_busy(job, room, servers, count, IGNORE, chosen)


@rule
def first_fit_rule(job: int, room: Room, parameters: Floats, chosen: Ints) -> bool:
    """FF: the first available GPUs, from server to server."""
    count = 0
    for server in room.servers:
        if room.idle_gpus[server] == 0:
            continue
        for gpu in range(room.first_gpu[server], room.first_gpu[server + 1]):
            if available(room, job, gpu):
                chosen[count] = gpu
                count += 1
                if count == room.size[job]:
                    return True
    return False


@rule
def list_scheduling_rule(job: int, room: Room, parameters: Floats, chosen: Ints) -> bool:
    """LS: the available GPUs of least accumulated time; ties in server, then GPU order."""
    return least_busy(job, room, room.servers, len(room.servers), IGNORE, chosen)


@_inner
def _mixed(value: np.uint64) -> np.uint64:
    """SplitMix64: the next state, its bits well mixed (Steele, Lea, Flood 2014)."""
    value = np.uint64(value + np.uint64(0x9E3779B97F4A7C15))
    value = np.uint64((value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9))
    value = np.uint64((value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB))
    return np.uint64(value ^ (value >> np.uint64(31)))


@rule
def random_rule(job: int, room: Room, parameters: Floats, chosen: Ints) -> bool:
    """RAND: available GPUs at random, every choice equally likely. The parameter is the seed."""
    count = 0
    for gpu in range(len(room.idle)):
        if available(room, job, gpu):
            chosen[count] = gpu
            count += 1
    size = room.size[job]
    if count < size:
        return False
    # Draws depend on seed and job alone: the same on every machine, and at every call.
    state = _mixed(np.uint64(parameters[0]) ^ _mixed(np.uint64(job)))
    for i in range(size):
        state = _mixed(state)
        pick = i + int(state % np.uint64(count - i))
        chosen[i], chosen[pick] = chosen[pick], chosen[i]
    return True
