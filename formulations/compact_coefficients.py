"""The numbers of the compact formulation: ranges, and speeds with their floor, as data."""

from __future__ import annotations

from rarmodel.model.contention import ring_share

from .formulation import Scope
from .placements import most_rings

Speeds = dict[tuple[str, int, str], list[int]]


class Coefficients:
    """The numbers of a scope that the constraints use.

    Attributes
    ----------
    horizon, jobs, servers, slots, links
        Number of slots, and the index sets by name; `links` has the links that a ring can use.
    size, iterations, least
        By job: GPUs G_j, iterations F_j, and least execution time ρ_j^min in slots.
    capacity
        By server: GPUs O_s.
    most_workers
        By job and server: the most workers of the job that fit.
    most_rings, below
        By link: the most rings that can use it at once, and the servers below it.
    counts, spread
        By job: numbers of servers on which the job can make progress; the same without 1.
    rings
        Jobs that can use links: those that can use more than one server.
    together
        By job: speed φ_j within one server, if the job fits one.
    speeds
        By job, number of servers n ≥ 2 and link: φ_j(n, ℓ, p) for p = 0, 1, … rings on the link.
    lone
        By job and number of servers n ≥ 2: the greatest φ_j(n, ℓ, 1) over all links.
    """

    def __init__(self, scope: Scope) -> None:
        self.horizon = scope.horizon
        self.jobs = list(scope.jobs)
        self.servers = list(scope.servers)
        self.slots = range(scope.horizon)
        self.size = {j: job.size for j, job in scope.jobs.items()}
        self.capacity = {s: server.gpus for s, server in scope.servers.items()}
        self.iterations = {j: job.iterations for j, job in scope.jobs.items()}
        self.least = scope.least_slots
        self.most_workers = {
            (j, s): min(self.capacity[s], self.size[j]) for j in self.jobs for s in self.servers
        }
        self.most_rings = most_rings(scope)
        self.links = list(self.most_rings)
        self.below = {l: scope.below[l] for l in self.links}
        self.counts: dict[str, list[int]] = {}
        self.together: dict[str, int] = {}
        self.speeds: Speeds = {}
        for j in self.jobs:
            self._rate(scope, j)
        self.spread = {j: [n for n in counts if n > 1] for j, counts in self.counts.items()}
        self.rings = [j for j in self.jobs if self.spread[j]]
        self.lone = {
            (j, n): max(self.speeds[j, n, l][1] for l in self.links)
            for j in self.rings
            for n in self.spread[j]
        }

    def _rate(self, scope: Scope, j: str) -> None:
        """Speeds of job j by number of servers, link, and rings on it; empty without progress."""
        instance, job = scope.instance, scope.jobs[j]
        pace = scope.pace(j)

        def speed(servers: int, gbps: float) -> int:
            # A slot cannot do more than all iterations; without the cap coefficients are wild.
            return min(pace.speed(servers, gbps), pace.iterations)

        counts = []
        if job.size <= max(self.capacity.values()):
            self.together[j] = speed(1, instance.cluster.intra_server_gbps)
            if self.together[j] > 0:
                counts.append(1)
        largest = sorted(self.capacity.values(), reverse=True)
        for n in range(2, min(job.size, len(self.capacity)) + 1):
            if sum(largest[:n]) < job.size:
                continue
            for l in self.links:
                gbps = scope.links[l].gbps
                self.speeds[j, n, l] = [
                    speed(n, ring_share(instance.contention, gbps, p))
                    for p in range(self.most_rings[l] + 1)
                ]
            if max(self.speeds[j, n, l][1] for l in self.links) > 0:
                counts.append(n)
        self.counts[j] = counts
