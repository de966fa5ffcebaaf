"""Facts about an instance for the search, beside the engine's arrays, and its working memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rarmodel.engine import Arrays
from rarmodel.engine.arrays import Ints
from rarmodel.model import LeastSlots, job_extremes, least_slots_by_placement, topology
from rarmodel.schema import Instance

PACK, FEWEST_ALONE, ANY_ALONE, FEWEST_PAIRED, ANY, SPREAD = range(6)
"""How a job may be placed if no server has room for all of it: not at all (a job that fits no
server spreads as FEWEST_ALONE does); on as few servers as possible, or on any number, over links
that no other ring uses while the job runs; on as few servers as possible over links that at most
one other ring uses when the job starts; in any way. SPREAD spreads it in any way even if a server
has room: some networks are faster than what is within servers. The first three keep the links to
themselves."""
MODES = 6
MANY = 2**62


class Layout(NamedTuple):
    """Facts for the decoder; they never change.

    A group has the servers below one switch; groups with the same servers are merged.
    """

    server_gpus: Ints
    """(servers) GPUs of each server, O_s."""
    size: Ints
    """(jobs) GPUs of the job, G_j."""
    size_index: Ints
    """(jobs) Index of the job's size in `sizes`."""
    sizes: Ints
    """Distinct sizes, ascending."""
    least: Ints
    """(jobs) Least execution time in slots."""
    packed: Ints
    """(jobs) Least execution time in slots on one server; 0 if the job fits none."""
    most_modes: Ints
    """(jobs) Number of useful modes of the job, from PACK on."""
    fewest: Ints
    """(jobs) Fewest servers over which the job spreads."""
    group_at: Ints
    """(groups + 1) Offsets into the next two; groups with fewer servers come first."""
    group_server: Ints
    """Servers of each group."""
    group_hops: Ints
    """Number of links between each of them and the group's switch."""
    place_at: Ints
    """(jobs + 1) Offsets of each job's servers in `Work.server` and `Work.workers`."""


class Work(NamedTuple):
    """Working memory of the decoder, and its last schedule."""

    starts: Ints
    """(jobs) Start slots a_j."""
    used: Ints
    """(jobs) Number of servers used."""
    server: Ints
    """Servers of each job, from `Layout.place_at[j]` on."""
    workers: Ints
    """Workers on each of them."""
    finished: Ints
    """(jobs) Jobs in the order of their completion."""
    idle: Ints
    """(servers) Idle GPUs."""
    bucket: Ints
    """(most GPUs of a server + 1) First server with this many idle GPUs; -1 for none."""
    after: Ints
    """(servers) The next server of its bucket; -1 at the end."""
    before: Ints
    """(servers) The previous one; -1 at the front."""
    queue: Ints
    """(sizes × modes) First waiting job of each size and mode; -1 for none."""
    behind: Ints
    """(jobs) The next job of its queue; -1 at the end."""
    rank: Ints
    """(jobs) Rank of each job in the order."""
    shut: Ints
    """(sizes × modes) 1 if the queue's first job finds no place now."""
    delayed: Ints
    """(jobs) Jobs that may not start at slot 0, by earliest start."""
    pool: Ints
    """(servers) Servers that a job may spread over."""
    completed: Ints
    """(jobs) Scratch for the engine."""
    stop: Ints
    """(1) Another thread sets it to 1 to stop all threads."""


def layout_of(instance: Instance) -> Layout:
    """Compute the layout of an instance."""
    cluster = instance.cluster
    least = least_slots_by_placement(instance)
    size = np.array([job.size for job in instance.jobs], np.int64)
    sizes, size_index = np.unique(size, return_inverse=True)
    packed = np.array([slots.packed or 0 for slots in least], np.int64)
    groups = _groups(instance)
    return Layout(
        server_gpus=np.array([server.gpus for server in cluster.servers], np.int64),
        size=size,
        size_index=size_index.astype(np.int64),
        sizes=sizes,
        least=np.array([extreme.least_slots for extreme in job_extremes(instance)], np.int64),
        packed=packed,
        most_modes=np.array([_most_modes(slots) for slots in least], np.int64),
        fewest=np.array([slots.fewest_servers or 1 for slots in least], np.int64),
        group_at=np.cumsum([0, *(len(group) for group in groups)], dtype=np.int64),
        group_server=np.array([server for group in groups for server, _ in group], np.int64),
        group_hops=np.array([hops for group in groups for _, hops in group], np.int64),
        place_at=np.concatenate(
            ([0], np.cumsum(np.minimum(size, len(cluster.servers)), dtype=np.int64))
        ),
    )


def _most_modes(slots: LeastSlots) -> int:
    if not slots.spread:
        return PACK + 1
    return SPREAD + 1 if slots.packed and slots.spread < slots.packed else ANY + 1


def _groups(instance: Instance) -> list[list[tuple[int, int]]]:
    """Servers below each switch with their distance to it, smallest groups first."""
    tree = topology(instance.cluster)
    below: dict[str, list[tuple[int, int]]] = {}
    for server, path in enumerate(tree.paths):
        for hops, link in enumerate(path, 1):
            below.setdefault(tree.links[link].parent, []).append((server, hops))
    distinct: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for group in below.values():
        servers = tuple(server for server, _ in group)
        if len(servers) > 1 and (servers not in distinct or group[0][1] < distinct[servers][0][1]):
            distinct[servers] = group
    return sorted(distinct.values(), key=len)


def new_work(arrays: Arrays, layout: Layout, stop: Ints | None = None) -> Work:
    """Memory for one thread; all threads share `stop`."""
    jobs, servers = len(layout.size), len(layout.server_gpus)
    queues = len(layout.sizes) * MODES

    def room(length: int) -> Ints:
        return np.zeros(length, np.int64)

    return Work(
        starts=room(jobs),
        used=room(jobs),
        server=room(int(layout.place_at[-1])),
        workers=room(int(layout.place_at[-1])),
        finished=room(jobs),
        idle=room(servers),
        bucket=room(int(arrays.server_gpus.max()) + 1),
        after=room(servers),
        before=room(servers),
        queue=room(queues),
        behind=room(jobs),
        rank=room(jobs),
        shut=room(queues),
        delayed=room(jobs),
        pool=room(servers),
        completed=room(jobs),
        stop=room(1) if stop is None else stop,
    )
