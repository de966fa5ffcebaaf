"""The rings on each link and the speeds that follow, equations (6)–(8), change by change.

When rings begin or end, only the number of rings on their links changes, and only the rings on
those links change speed. So the cost of an event does not grow with the number of rings elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rarmodel.model import timing
from rarmodel.model.contention import ring_share
from rarmodel.model.topology import Topology, topology
from rarmodel.schema import Instance, Job

from .report import Ring
from .simulation_result import Run


class Placed(NamedTuple):
    """A job on its servers: all that its speed depends on."""

    job: Job
    """The job."""
    workers: Mapping[int, int]
    """Workers on each server it uses, by index."""
    links: tuple[int, ...]
    """Links that the ring uses, by index into the links of the topology."""


def placed(run: Run, tree: Topology) -> Placed:
    """A run, as far as its speed depends on its servers."""
    return Placed(run.job, dict(run.workers), tree.links_used(run.workers))


class Traffic:
    """The rings on each link; at first there are none.

    Parameters
    ----------
    instance
        The problem.
    rings
        Every ring that may appear; the methods name a ring by its index here.

    Attributes
    ----------
    rings_on
        (links) The active rings on each link; p_ℓ is their number.
    """

    def __init__(self, instance: Instance, rings: Sequence[Placed]) -> None:
        self.rings_on = [set[int]() for _ in topology(instance.cluster).links]
        self._instance = instance
        self._rings = rings
        self._gbps = [link.gbps for link in topology(instance.cluster).links]
        cluster = instance.cluster
        own = [server.intra_server_gbps for server in cluster.servers]
        self._within = [cluster.intra_server_gbps if gbps is None else gbps for gbps in own]
        self._share = list(self._gbps)  # b^e / f(α, ξ1·p_ℓ), what each ring gets of a link
        self._terms: dict[int, tuple[float, float, float, float]] = {}

    def change(self, ended: Iterable[int], begun: Iterable[int]) -> dict[int, float]:
        """Take rings off their links and put others on theirs.

        Returns
        -------
        dict
            The links on which the number of rings changed, each with the lesser of its shares
            before and after, in Gbit/s. A ring whose bandwidth is below this share keeps its
            bandwidth: the link neither was nor is the ring's slowest.
        """
        before: dict[int, int] = {}
        for i in ended:
            del self._terms[i]
            for link in self._rings[i].links:
                on_link = self.rings_on[link]
                before.setdefault(link, len(on_link))
                on_link.remove(i)
        for i in begun:
            self._terms[i] = self._terms_of(self._rings[i])
            for link in self._rings[i].links:
                on_link = self.rings_on[link]
                before.setdefault(link, len(on_link))
                on_link.add(i)
        changed = {}
        for link, count in before.items():
            now = len(self.rings_on[link])
            if now != count:
                share = ring_share(self._instance.contention, self._gbps[link], now)
                changed[link] = min(share, self._share[link])
                self._share[link] = share
        return changed

    def bandwidth_gbps(self, i: int) -> float:
        """B_j of an active ring in Gbit/s: the least share on the links that it uses, (7)."""
        links = self._rings[i].links
        if not links:
            return self._within[next(iter(self._rings[i].workers))]
        return min(map(self._share.__getitem__, links))

    def iteration_seconds(self, i: int, gbps: float) -> float:
        """τ_j of an active ring in seconds at a bandwidth, (8)."""
        bits, reduction, overhead, compute = self._terms[i]
        return timing.iteration_seconds(bits, gbps, reduction, overhead, compute)

    def state(self, i: int) -> Ring:
        """The state of an active ring, as in a report."""
        gbps = self.bandwidth_gbps(i)
        seconds = self.iteration_seconds(i, gbps)
        return Ring(
            contention=max(
                (len(self.rings_on[link]) for link in self._rings[i].links), default=0
            ),  # (6)
            bandwidth_gbps=gbps,
            iteration_seconds=seconds,
            speed=timing.speed(self._instance.time.slot_seconds, seconds),
        )

    def _terms_of(self, ring: Placed) -> tuple[float, float, float, float]:
        """The constant parts of (8): bits, and seconds that do not depend on the bandwidth."""
        job, cluster, size = ring.job, self._instance.cluster, sum(ring.workers.values())
        overhead_ms = self._instance.contention.overhead_ms_per_server
        if job.times is None:
            compute = timing.compute_seconds(job, size)
        else:  # At the pace of the slowest type of GPU.
            kinds = {cluster.servers[s].gpu_type for s in ring.workers}
            compute = max(timing.compute_seconds(job, size, kind) for kind in kinds)
        return (
            timing.exchange_bits(job.gradient_mb, size),
            timing.reduction_seconds(job.gradient_mb, size, cluster.reduction_gbps),
            timing.overhead_seconds(overhead_ms, len(ring.workers)),
            compute,
        )
