"""Exchanges of jobs between two servers, whose areas match.

Where almost no GPU slot up to the target may be idle, most exchanges fail because one server gets
more work than it has room for. So these choose among those that do not.
"""

from __future__ import annotations

from functools import partial

from rarmodel.engine.arrays import Ints
from rarmodel.engine.compilation import compiled
from rarmodel.engine.random_numbers import Generator, below, fraction

from .least_excess import area_of
from .server_sets import Servers, Sets, room_for, try_exchange
from .similar import similar_job

_inner = partial(compiled, inner=True)

PAIR_SHARE = 0.15
"""Share of the exchanges that give two jobs, not one."""
MOST_CANDIDATES = 12
"""Most jobs of the other server to choose from: the choices are their sets of up to three."""


@_inner
def swap_similar(
    servers: Servers, sets: Sets, server: int, target: int, limit: int, generator: Generator
) -> None:
    """Swap a job of a server with a job of its size on another server."""
    job = sets.members[server, below(generator, sets.counts[server])]
    their_job = similar_job(servers.layout, job, generator)
    if their_job < 0:
        return
    other = sets.home[their_job]
    if other >= 0 and other != server:
        servers.lists[0, 0], servers.lists[1, 0] = job, their_job
        try_exchange(servers, sets, server, other, 1, 1, target, limit, generator)


@_inner
def exchange_matched(
    servers: Servers,
    sets: Sets,
    server: int,
    other: int,
    target: int,
    limit: int,
    generator: Generator,
) -> None:
    """Give one or two jobs to another server for up to three of its jobs, of about their area."""
    size, gpus, lists = servers.items.size, servers.layout.server_gpus, servers.lists
    members, count = sets.members[server], sets.counts[server]
    place, given = below(generator, count), 1
    lists[0, 0] = members[place]
    area, largest = area_of(servers.items, lists[0, 0]), size[lists[0, 0]]
    if count > 1 and fraction(generator) < PAIR_SHARE:
        second = members[(place + 1 + below(generator, count - 1)) % count]
        area += area_of(servers.items, second)
        largest = max(largest, size[second])
        lists[0, 1] = second
        given = 2
    if largest > gpus[other]:
        return
    jobs, areas = lists[2], lists[3]
    candidates = _candidates(servers, sets, other, gpus[server], jobs, areas, generator)
    room = room_for(sets, server, other, limit)
    # GPU slots that each server needs beyond those up to the target, before the exchange.
    own_area, their_area = sets.area[server], sets.area[other]
    one = two = three = -1
    found = 0
    # −1 stands for no job, so that each set of up to three candidates comes once. One more job
    # leaves the server less room, so no set goes on that is too much already.
    for i in range(-1, candidates):
        first_area = own_area - area + (areas[i] if i >= 0 else 0)
        if first_area > room:
            continue
        for j in range(-1, max(i, 0)):
            next_area = first_area + (areas[j] if j >= 0 else 0)
            if next_area > room:
                continue
            for k in range(-1, max(j, 0)):
                last_area = next_area + (areas[k] if k >= 0 else 0)
                rest = their_area + own_area - last_area
                if max(0, last_area) + max(0, rest) <= room:
                    found += 1
                    if below(generator, found) == 0:
                        one, two, three = i, j, k
    if found == 0:
        return
    taken = 0
    for candidate in (one, two, three):
        if candidate >= 0:
            lists[1, taken] = jobs[candidate]
            taken += 1
    try_exchange(servers, sets, server, other, given, taken, target, limit, generator)


@_inner
def _candidates(
    servers: Servers, sets: Sets, server: int, gpus: int, jobs: Ints, areas: Ints, random: Generator
) -> int:
    """List some jobs of a server that are not wider than another one, and their areas."""
    found = 0
    count = sets.counts[server]
    if count > 0:
        offset = below(random, count)
        for step in range(min(count, MOST_CANDIDATES)):
            job = sets.members[server, (offset + step) % count]
            if servers.items.size[job] <= gpus:
                jobs[found], areas[found] = job, area_of(servers.items, job)
                found += 1
    return found
