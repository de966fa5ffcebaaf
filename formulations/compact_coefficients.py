"""The numbers of the compact formulation: ranges, and speeds with their floor, as data."""

from __future__ import annotations

from rarmodel.model import timing
from rarmodel.model.contention import ring_share

from .formulation import Scope

Speeds = dict[tuple[int, int, int], list[int]]


def most_rings(scope: Scope) -> dict[int, int]:
    """By link that rings can use: how many can use it at once, with a worker below and above."""
    total = scope.instance.cluster.total_gpus
    wide = sum(job.gpus > 1 for job in scope.instance.jobs)
    most = {l: min(below, total - below, wide) for l, below in enumerate(scope.tree.gpus_below)}
    return {l: rings for l, rings in most.items() if rings > 0}


class Coefficients:
    """A scope's numbers as the constraints use them.

    Attributes
    ----------
    horizon, jobs, servers, slots, links
        Number of slots, and the index sets; links are those that a ring can use.
    size, iterations, least
        (jobs) GPUs G_j, iterations F_j, and least execution time ρ_j^min in slots.
    capacity
        (servers) GPUs O_s.
    most_workers
        By job and server: the most workers of the job that fit.
    most_rings, below
        By link: the most rings that can use it at once, and the servers below it.
    counts, spread
        (jobs) Numbers of servers with which the job can make progress; of these, those above 1.
    rings
        Jobs that can use links: those with a number of servers above 1.
    together
        By job: speed φ_j within one server, if the job fits one.
    speeds
        By job, number of servers n ≥ 2 and link: φ_j(n, ℓ, p) for p = 0, 1, … rings on the link.
    lone
        By job and number of servers n ≥ 2: the greatest φ_j(n, ℓ, 1) over all links.
    """

    def __init__(self, scope: Scope) -> None:
        instance, tree = scope.instance, scope.tree
        cluster = instance.cluster
        self.horizon = scope.horizon
        self.jobs = range(len(instance.jobs))
        self.servers = range(len(cluster.servers))
        self.slots = range(scope.horizon)
        self.size = [job.gpus for job in instance.jobs]
        self.capacity = [server.gpus for server in cluster.servers]
        self.iterations = [job.iterations for job in instance.jobs]
        self.least = [extreme.least_slots for extreme in scope.extremes]
        self.most_workers = {
            (j, s): min(self.capacity[s], self.size[j]) for j in self.jobs for s in self.servers
        }
        self.most_rings = most_rings(scope)
        self.links = list(self.most_rings)
        self.below = {l: [s for s in self.servers if l in tree.paths[s]] for l in self.links}
        self.counts: list[list[int]] = []
        self.together: dict[int, int] = {}
        self.speeds: Speeds = {}
        for j in self.jobs:
            self._rate(scope, j)
        self.spread = [[n for n in self.counts[j] if n > 1] for j in self.jobs]
        self.rings = [j for j in self.jobs if self.spread[j]]
        self.lone = {
            (j, n): max(self.speeds[j, n, l][1] for l in self.links)
            for j in self.rings
            for n in self.spread[j]
        }

    def _rate(self, scope: Scope, j: int) -> None:
        """Speeds of job j by number of servers, link, and rings on it; none without progress."""
        instance, job = scope.instance, scope.instance.jobs[j]

        def speed(servers: int, gbps: float) -> int:
            contention = instance.contention
            seconds = timing.iteration_seconds(
                timing.exchange_bits(job.gradient_mb, job.gpus),
                gbps,
                timing.reduction_seconds(
                    job.gradient_mb, job.gpus, instance.cluster.reduction_gbps
                ),
                timing.overhead_seconds(contention.overhead_ms_per_server, servers),
                timing.compute_seconds(job),
            )
            # A slot cannot do more than all iterations; without the cap coefficients are wild.
            return min(timing.speed(instance.time.slot_seconds, seconds), job.iterations)

        counts = []
        if job.gpus <= max(self.capacity):
            self.together[j] = speed(1, instance.cluster.intra_server_gbps)
            if self.together[j] > 0:
                counts.append(1)
        largest = sorted(self.capacity, reverse=True)
        for n in range(2, min(job.gpus, len(self.capacity)) + 1):
            if sum(largest[:n]) < job.gpus:
                continue
            for l in self.links:
                gbps = scope.tree.links[l].gbps
                self.speeds[j, n, l] = [
                    speed(n, ring_share(instance.contention, gbps, p))
                    for p in range(self.most_rings[l] + 1)
                ]
            if max(self.speeds[j, n, l][1] for l in self.links) > 0:
                counts.append(n)
        self.counts.append(counts)
