"""A small part of an instance: code that compiles for the part then runs for the whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from rarmodel.schema import Cluster, Instance, Job, Link, Server, StarNetwork

MOST_SERVERS = 64
"""Servers of each kind that a part keeps, the largest, or as many as its jobs need."""
MOST_GPUS = 64
"""GPUs that each of them keeps, or as many as one of its jobs can hold there."""


def part_of(instance: Instance, jobs: int = 1) -> Instance:
    """The first jobs on few of the servers.

    It has the features of the whole, if not all of what uses them. It takes no time to speak of,
    however large the instance is: rarmodel compiles by it before it measures time.

    Parameters
    ----------
    instance
        The problem.
    jobs
        How many jobs, at most. Jobs that wait for another one wait no longer.
    """
    first = instance.jobs[:jobs]
    sharing = next((job for job in instance.jobs if job.slices is not None), None)
    if sharing is not None and all(job.slices is None for job in first):
        first = sharing, *first[:-1]  # Whether jobs share GPUs decides what is compiled.
    kept = _kept(instance.cluster.servers, first)
    most = max(MOST_GPUS, *(job.sizes[-1] for job in first))
    for job in first:
        for gpus in (job.running.gpus if job.running else {}).values():
            most = max(most, 1 + max(gpus))
    names = {server.name for server in kept}
    cluster = instance.cluster.model_copy(
        update={
            "servers": tuple(
                server if server.gpus <= most else server.model_copy(update={"gpus": most})
                for server in kept
            ),
            "network": instance.cluster.network
            if isinstance(instance.cluster.network, StarNetwork)
            else instance.cluster.network.model_copy(
                update={"links": _links_above(instance.cluster, names)}
            ),
            "reservations": tuple(
                one.model_copy(update={"gpus": min(one.gpus, most)})
                for one in instance.cluster.reservations
                if one.server in names
            ),
        }
    )
    return instance.model_copy(
        update={"cluster": cluster, "jobs": tuple(_alone(job, names) for job in first)}
    )


def _kept(servers: Sequence[Server], jobs: Sequence[Job]) -> list[Server]:
    """The largest servers of each kind, those that a job names, and enough for each job.

    Of one kind are those of one type of GPU, divided alike, with the same memory.
    """
    named = {name for job in jobs for name in (job.servers or ())}
    named |= {name for job in jobs for name in (job.running.gpus if job.running else ())}
    least = max(job.spread.min_servers if job.spread else 1 for job in jobs)
    gpus = max(job.sizes[-1] for job in jobs)
    many, room = Counter[object](), Counter[object]()
    kept = []
    for s in sorted(range(len(servers)), key=lambda s: -servers[s].gpus):
        kind = servers[s].gpu_type, servers[s].gpu_slices, servers[s].gpu_memory_gb
        few = many[kind] < max(MOST_SERVERS, least) or room[kind] < gpus
        if few or servers[s].name in named:
            many[kind] += 1
            room[kind] += servers[s].gpus
            kept.append(s)
    return [servers[s] for s in sorted(kept)]


def _alone(job: Job, servers: Collection[str]) -> Job:
    """A job that waits for no other, on servers that are there, however far apart they are."""
    listed = None if job.servers is None else tuple(s for s in job.servers if s in servers)
    spread = job.spread and job.spread.model_copy(update={"within": None})
    return job.model_copy(update={"after": (), "servers": listed, "spread": spread})


def _links_above(cluster: Cluster, servers: Collection[str]) -> tuple[Link, ...]:
    """The links of a tree on the way from some servers to its root."""
    assert not isinstance(cluster.network, StarNetwork)  # noqa: S101 - the caller has asked
    above = {link.node: link for link in cluster.network.links}
    kept = set[str]()
    for node in servers:
        while node in above and node not in kept:
            kept.add(node)
            node = above[node].parent  # noqa: PLW2901 - upward
    return tuple(link for link in cluster.network.links if link.node in kept)
