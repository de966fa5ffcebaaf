"""Every placement of a job that is alone, and how long it then takes: by the naive simulation."""

from __future__ import annotations

from collections.abc import Iterable

from enumeration import count_vectors
from wide_instances import has_memory

from rarmodel.schema import Instance, Job
from rarmodel.verifier import Run, simulate


def allowed(instance: Instance, job: Job, workers: dict[int, int]) -> bool:
    """Whether a job may be placed so: read from the fields once more."""
    if not has_memory(instance, job, workers):
        return False
    for s in workers:
        server = instance.cluster.servers[s]
        if job.servers is not None and server.name not in job.servers:
            return False
        if job.times is not None and server.gpu_type not in job.times:
            return False
    if job.spread is None:
        return True
    if job.spread.within and not within_one(instance, job.spread.within, workers):
        return False
    most = job.spread.max_servers or len(workers)
    alike = not job.spread.equal or len(set(workers.values())) == 1
    return alike and job.spread.min_servers <= len(workers) <= most


def within_one(instance: Instance, level: str, servers: Iterable[int]) -> bool:
    """Whether some node of a level has all these servers at or below it: read once more."""
    names = [instance.cluster.servers[s].name for s in servers]
    network = instance.cluster.network
    assert network.kind == "tree"
    parent = {link.node: link.parent for link in network.links}
    above = []
    for name in names:
        way = [name]
        while way[-1] in parent:
            way.append(parent[way[-1]])
        above.append(set(way))
    nodes = {link.node for link in network.links if link.level == level}
    return bool(nodes.intersection(*above))


def placements(instance: Instance, job: Job) -> list[dict[int, int]]:
    index = {server.name: s for s, server in enumerate(instance.cluster.servers)}
    if job.running is not None:
        return [{index[name]: len(gpus) for name, gpus in job.running.gpus.items()}]
    capacities = [server.gpus for server in instance.cluster.servers]
    every = [workers for size in job.sizes for workers in count_vectors(capacities, size)]
    return [workers for workers in every if allowed(instance, job, workers)]


def slots_alone_at(instance: Instance, job: Job, workers: dict[int, int]) -> int | None:
    return simulate(instance, [Run(job, 0, workers)], slot_by_slot=True).completion[0]


def slots_of_placements(instance: Instance, job: Job) -> list[int]:
    """Execution time in each placement in which the job progresses."""
    found = (slots_alone_at(instance, job, workers) for workers in placements(instance, job))
    return [slots for slots in found if slots is not None]
