"""Unavoidable contention: rings that fit no server must share the servers' links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, fsum

from rarmodel.model import least_slots_by_placement, timing, topology
from rarmodel.model.contention import ring_share
from rarmodel.schema import Instance, Job

from .bound import LowerBound


def shared_links(instance: Instance) -> LowerBound | None:
    """Rings wider than every server keep links busy, for longer if they share them.

    Such a ring uses the links of all its servers, at least k. In a slot in which p rings share a
    link, let each ring take 1/p of it. With at most `φ(p)` iterations per slot, a ring of F
    iterations takes at least `F / max_p p·φ(p)` of each link it uses, however contention changes.
    All rings together take at most one slot of each link in each slot.

    Returns
    -------
    LowerBound or None
        None if every job fits a server.
    """
    cluster = instance.cluster
    largest = cluster.largest_server
    wide = [
        (job, least.fewest_servers)
        for job, least in zip(instance.jobs, least_slots_by_placement(instance), strict=True)
        if job.gpus > largest and least.fewest_servers is not None
    ]
    if not wide:
        return None
    tree = topology(cluster)
    fastest = max(tree.links[path[0]].gbps for path in tree.paths)
    rings = min(len(wide), largest)  # Each has a worker below the link.
    shares = [ring_share(instance.contention, fastest, p) for p in range(1, rings + 1)]
    taken = []
    for job, servers in wide:
        most = max(p * speed for p, speed in enumerate(_speeds(instance, job, servers, shares), 1))
        taken.append(servers * job.iterations / most)
    slots = fsum(taken) / len(cluster.servers)
    return LowerBound(ceil(slots * (1 - 1e-12)), "shared links")


def _speeds(instance: Instance, job: Job, servers: int, shares: Sequence[float]) -> Iterator[int]:
    """Iterations per slot on this many servers at each bandwidth."""
    bits = timing.exchange_bits(job.gradient_mb, job.gpus)
    rest = (
        timing.reduction_seconds(job.gradient_mb, job.gpus, instance.cluster.reduction_gbps),
        timing.overhead_seconds(instance.contention.overhead_ms_per_server, servers),
        timing.compute_seconds(job),
    )
    for gbps in shares:
        yield timing.speed(instance.time.slot_seconds, timing.iteration_seconds(bits, gbps, *rest))
