"""The placement rules: FA-FFP and LBSGF of SJF-BCO, first fit, list scheduling, random."""

from __future__ import annotations

from functools import partial

import numpy as np

from rarmodel.engine.arrays import Floats, Ints
from rarmodel.engine.compilation import compiled
from rarmodel.engine.random_numbers import mixed

from .idle_gpus import TOLERANCE, IdleGpus, available, rule
from .ranking import (
    BREAK_TIES,
    EITHER,
    FIRST,
    IGNORE,
    count_idle,
    first_server,
    least_busy_servers,
    least_loaded_servers,
    nth_idle,
    rank_by_idle,
)

_inner = partial(compiled, inner=True)


@_inner
def _move(first: Floats, second: Floats, came: Ints, chosen: Ints, source: int, to: int) -> None:
    """Move an entry of the heap in `least_busy`."""
    first[to] = first[source]
    second[to] = second[source]
    came[to] = came[source]
    chosen[to] = chosen[source]


@_inner
def least_busy(
    job: int, room: IdleGpus, servers: Ints, count: int, occupied: int, chosen: Ints
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
        if server < 0 or server >= len(room.idle_gpus):
            chosen[0] = -1  # No such server: the clock refuses this.
            return True
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


@rule
def sjf_bco_rule(job: int, room: IdleGpus, parameters: Floats, chosen: Ints) -> bool:
    """SJF-BCO: Algorithm 2 (FA-FFP) for jobs of at most κ GPUs, Algorithm 3 (LBSGF) for others.

    Parameters are κ, λ, and how FA-FFP regards occupied servers, as in `least_busy`: BREAK_TIES
    for the paper's pseudo-code, FIRST for its text. LBSGF looks at the least loaded servers that
    have `λ·G_j` GPUs in all, and breaks ties of accumulated time by that order.
    """
    servers, occupied = room.scratch[1], int(parameters[2])
    if room.size[job] <= parameters[0]:
        count = least_busy_servers(room, job, occupied, servers)
    else:
        occupied = IGNORE
        count = least_loaded_servers(room, parameters[1] * room.size[job], servers)
    return least_busy(job, room, servers, count, occupied, chosen)


@rule
def first_fit_rule(job: int, room: IdleGpus, parameters: Floats, chosen: Ints) -> bool:
    """FF: the first available GPUs, from server to server."""
    rank_by_idle(room)
    least, work, most = room.ranks.least_idle, room.work[job], room.limit + TOLERANCE
    server = first_server(least, EITHER, 1, work, most)
    count = 0
    while server < len(room.servers):
        for gpu in range(room.first_gpu[server], room.first_gpu[server + 1]):
            if available(room, job, gpu):
                chosen[count] = gpu
                count += 1
                if count == room.size[job]:
                    return True
        server = first_server(least, EITHER, (len(least) >> 1) + server + 1, work, most)
    return False


@rule
def list_scheduling_rule(job: int, room: IdleGpus, parameters: Floats, chosen: Ints) -> bool:
    """LS: the available GPUs of least accumulated time; ties in server, then GPU order."""
    servers = room.scratch[1]
    count = least_busy_servers(room, job, IGNORE, servers)
    return least_busy(job, room, servers, count, IGNORE, chosen)


@rule
def random_rule(job: int, room: IdleGpus, parameters: Floats, chosen: Ints) -> bool:
    """RAND: available GPUs at random, every choice equally likely. The parameter is the seed."""
    size = room.size[job]
    # Draws depend on seed and job alone: the same on every machine, and at every call.
    state = mixed(np.uint64(parameters[0]) ^ mixed(np.uint64(job)))
    within = room.most_load[0] + room.work[job] <= room.limit + TOLERANCE
    if within and size * size < len(room.idle):
        return _drawn_from_idle(room, size, state, chosen)
    count = 0
    for gpu in range(len(room.idle)):
        if available(room, job, gpu):
            chosen[count] = gpu
            count += 1
    if count < size:
        return False
    for i in range(size):
        state = mixed(state)
        pick = i + int(state % np.uint64(count - i))
        chosen[i], chosen[pick] = chosen[pick], chosen[i]
    return True


@_inner
def _drawn_from_idle(room: IdleGpus, size: int, state: np.uint64, chosen: Ints) -> bool:
    """Draw as from a list of all idle GPUs, of which only the exchanged entries are noted."""
    count = count_idle(room)
    if count < size:
        return False
    picks, moved = room.scratch[0], room.scratch[1]
    for i in range(size):
        state = mixed(state)
        picks[i] = i + int(state % np.uint64(count - i))
        here, there = i, picks[i]
        for earlier in range(i):
            if picks[earlier] == i:
                here = moved[earlier]
            if picks[earlier] == picks[i]:
                there = moved[earlier]
        moved[i] = here
        chosen[i] = nth_idle(room, there)
    return True
