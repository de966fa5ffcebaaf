"""The rings on each link and the speeds that follow, equations (6)–(8), change by change.

When rings begin or end, only the number of rings on their links changes, and only the rings on
those links change speed. So the cost of an event does not grow with the number of rings elsewhere.
Where rings are not alike, as by duty, it is the same with the sum of what they count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple

from rarmodel.model import timing
from rarmodel.model.contention import cards_gbps
from rarmodel.model.gpu_sharing import shares_gpus
from rarmodel.model.sharing_rule import (
    RingOnLinks,
    pressure_of,
    sensitivity_of,
    sharing_rule,
)
from rarmodel.model.topology import Topology, topology
from rarmodel.schema import Instance, Job

from .gpu_loads import GpuLoads
from .report import Ring
from .simulation_result import Gpu, Run


class Placed(NamedTuple):
    """A job on its servers: all that its speed depends on."""

    job: Job
    """The job."""
    workers: Mapping[int, int]
    """Workers on each server it uses, by index."""
    links: tuple[int, ...]
    """Links that the ring uses, by index into the links of the topology."""
    gpus: tuple[Gpu, ...] = ()
    """GPUs of which it takes slices."""


def placed(runs: Iterable[Run], tree: Topology) -> list[Placed]:
    """Runs, as far as their speed depends on their servers; those on the same share a copy."""
    same: dict[tuple[tuple[int, int], ...], Mapping[int, int]] = {}
    found = []
    for run in runs:
        workers = same.setdefault(tuple(run.workers.items()), dict(run.workers))
        found.append(Placed(run.job, workers, tree.links_used(workers), run.gpus))
    return found


class _Terms(NamedTuple):
    """The constant parts of (8) for a ring: seconds but for the first and the last."""

    bits: float
    latency: float
    reduction: float
    overhead: float
    compute: float
    most_gbps: float
    """The most that the network cards of its servers let it have in Gbit/s."""


class Traffic:
    """The rings on each link, where they are alike, as by the count of (6); at first none.

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
    gpus
        What active rings count to each other on GPUs; None where none is shared.
    """

    def __init__(self, instance: Instance, rings: Sequence[Placed]) -> None:
        self.rings_on = [set[int]() for _ in topology(instance.cluster).links]
        self._instance = instance
        self._rule = sharing_rule(instance.contention)
        self._rings = rings
        self._gbps = [link.gbps for link in topology(instance.cluster).links]
        self._uplink = [path[0] if path else 0 for path in topology(instance.cluster).paths]
        cluster = instance.cluster
        own = [server.intra_server_gbps for server in cluster.servers]
        self._within = [cluster.intra_server_gbps if gbps is None else gbps for gbps in own]
        self._share = list(self._gbps)  # b^e / f(α, ξ1·p_ℓ), what each ring gets of a link
        self._terms: dict[int, _Terms] = {}
        self.gpus: GpuLoads | None = None
        if shares_gpus(instance):
            names, gpus = [ring.job.name for ring in rings], [ring.gpus for ring in rings]
            self.gpus = GpuLoads(instance, names, gpus)

    def change(self, ended: Iterable[int], begun: Iterable[int]) -> dict[int, float]:
        """Take rings off their links and put others on theirs.

        Returns
        -------
        dict
            The links whose rings may have other bandwidths now, each with a share in Gbit/s: a ring
            whose bandwidth was below this share keeps its bandwidth. Where rings are alike, it is
            the lesser of the shares before and after: the link neither was nor is the slowest of
            such a ring.
        """
        before: dict[int, int] = {}
        for i in ended:
            for link in self._rings[i].links:
                on_link = self.rings_on[link]
                before.setdefault(link, len(on_link))
                on_link.remove(i)
            self._left(i)
            del self._terms[i]
            if self.gpus is not None:
                self.gpus.end(i)
        for i in begun:
            self._terms[i] = self._terms_of(self._rings[i])
            for link in self._rings[i].links:
                on_link = self.rings_on[link]
                before.setdefault(link, len(on_link))
                on_link.add(i)
            self._joined(i)
            if self.gpus is not None:
                self.gpus.begin(i)
        return self._changed(before)

    def _joined(self, i: int) -> None:
        """Note what else a ring that begins changes."""

    def _left(self, i: int) -> None:
        """Note what else a ring that ends changes."""

    def _changed(self, before: Mapping[int, int]) -> dict[int, float]:
        """What `change` returns, from the number of rings before on the links concerned."""
        changed = {}
        for link, count in before.items():
            now = len(self.rings_on[link])
            if now != count:
                share = self._rule.share(self._instance.contention, self._gbps[link], now - 1)
                changed[link] = min(share, self._share[link])
                self._share[link] = share
        return changed

    def bandwidth_gbps(self, i: int) -> float:
        """B_j of an active ring in Gbit/s."""
        links = self._rings[i].links
        if not links:
            return self._within[next(iter(self._rings[i].workers))]
        return min(self._on_links(i, links), self._terms[i].most_gbps)

    def _on_links(self, i: int, links: Sequence[int]) -> float:
        """The least share on the links that a ring uses, (7)."""
        return min(map(self._share.__getitem__, links))

    def iteration_seconds(self, i: int, gbps: float) -> float:
        """τ_j of an active ring in seconds at a bandwidth, (8)."""
        bits, latency, reduction, overhead, compute, _ = self._terms[i]
        overlap = self._instance.contention.overlap
        if self.gpus is not None:
            compute *= self.gpus.slowdown(i)
        return timing.iteration_seconds(bits, gbps, latency, reduction, overhead, compute, overlap)

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

    def _terms_of(self, ring: Placed) -> _Terms:
        """The constant parts of (8)."""
        job, cluster, size = ring.job, self._instance.cluster, sum(ring.workers.values())
        contention = self._instance.contention
        if job.times is None:
            compute = timing.compute_seconds(job, size)
        else:  # At the pace of the slowest type of GPU.
            kinds = {cluster.servers[s].gpu_type for s in ring.workers}
            compute = max(timing.compute_seconds(job, size, kind) for kind in kinds)
        return _Terms(
            timing.exchange_bits(job.gradient_mb, size),
            timing.latency_seconds(contention.latency_ms, size),
            timing.reduction_seconds(job.gradient_mb, size, cluster.reduction_gbps),
            timing.overhead_seconds(contention.overhead_ms_per_server, len(ring.workers)),
            compute,
            self._most_of_cards(ring),
        )

    def _most_of_cards(self, ring: Placed) -> float:
        """The least, over a ring's servers, of what its workers reach there."""
        most = inf
        for s, workers in ring.workers.items() if ring.links else ():
            cards = self._instance.cluster.servers[s].network_cards
            if cards > workers:
                most = min(most, cards_gbps(self._gbps[self._uplink[s]], workers, cards))
        return most

    def _linked(self, i: int) -> RingOnLinks:
        """An active ring, as a user of its links."""
        own, ring = self._terms[i], self._rings[i]
        return RingOnLinks(
            *(ring.links, own.bits, own.reduction + own.overhead, own.compute, own.latency),
            *(self._instance.contention.overlap, own.most_gbps),
            *(pressure_of(ring.job), sensitivity_of(ring.job)),
        )


class _Weighed(Traffic):
    """The same where rings are not alike: loads in place of numbers of rings.

    A ring counts to those of each sensitivity with a weight of its own, so a link has a load for
    each of the sensitivities.
    """

    def __init__(self, instance: Instance, rings: Sequence[Placed]) -> None:
        super().__init__(instance, rings)
        self._sensitivity = [sensitivity_of(ring.job) for ring in rings]
        few = dict.fromkeys(self._sensitivity, 0)
        self._load = [dict(few) for _ in self._gbps]
        self._weight: dict[int, dict[int, int]] = {}

    def _joined(self, i: int) -> None:
        if links := self._rings[i].links:
            alone, linked = min(self._gbps[link] for link in links), self._linked(i)
            self._weight[i] = {
                to: linked.weight(self._rule, alone, to) for to in self._load[links[0]]
            }
            for link in links:
                for to, own in self._weight[i].items():
                    self._load[link][to] += own

    def _left(self, i: int) -> None:
        for link in self._rings[i].links:
            for to, own in self._weight[i].items():
                self._load[link][to] -= own

    def _changed(self, before: Mapping[int, int]) -> dict[int, float]:
        return dict.fromkeys(before, 0.0)

    def _on_links(self, i: int, links: Sequence[int]) -> float:
        contention, to = self._instance.contention, self._sensitivity[i]
        own = self._weight[i][to]
        return min(
            self._rule.share(contention, self._gbps[link], self._load[link][to] - own)
            for link in links
        )


def traffic_of(instance: Instance, rings: Sequence[Placed]) -> Traffic:
    """Traffic by the instance's sharing rule."""
    kind = Traffic if sharing_rule(instance.contention).equal_weights else _Weighed
    return kind(instance, rings)
