"""Places in which a ring makes progress: where it does not, the place does not fit the job.

Reading: a ring that would do no iteration in a slot, beside all rings that hold GPUs then, is put
elsewhere, or waits. So the ring that started last always makes progress, and completes: whatever
starts later has progress itself, and whatever ends makes others no slower.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

import numpy as np
import numpy.typing as npt

from rarmodel.engine.arrays import Ints
from rarmodel.model.card_spreads import ring_on_cards
from rarmodel.model.lone import within_gbps
from rarmodel.model.sharing_rule import sensitivity_of, sharing_rule

from .cluster_at_work import WorkingCluster
from .idle_capacity import Ring
from .placement import Asked, fewest_servers

Truths = npt.NDArray[np.bool_]


def moves(cluster: WorkingCluster, k: int, ring: Ring) -> bool:
    """Whether a job does an iteration in a slot in a ring, beside all others that hold GPUs."""
    return not cluster.jobs.stalls[k] or cluster.speed_in(k, ring) > 0


def elsewhere(cluster: WorkingCluster, k: int, asked: Asked) -> Ring | None:
    """Idle GPUs on which a job makes progress, on the fewest servers; None if there are none.

    A ring between servers has the least share of the links between them. So servers are tried
    together that links of some share or more join. One server is tried for each rate within. Where
    servers have several network cards, a ring must have enough workers on each of them, too.
    """
    best: Ring | None = None
    idle, _ = cluster.room_for(k)
    few = [(servers, replace(asked, most=1)) for servers in _of_rates(cluster)]
    if asked.fewest > 1:
        few = []
    several = replace(asked, fewest=max(2, asked.fewest))
    ways = [*few, *((servers, several) for servers in _joined(cluster, k))]
    for allowed in asked.each_allowed() if cluster.tree.has_cards else ():
        for one in _on_cards(cluster, k, several, allowed, idle):
            fewer = best is None or len(one) < len(best)
            if fewer and cluster.speed_in(k, one) > 0:
                best = one
    for allowed in asked.each_allowed():
        for servers, way in ways:
            if way.fewest > way.most:
                continue
            fits = replace(way, allowed=(allowed & servers,), parts=())
            ring = fewest_servers(fits, idle)
            if ring is None or (best is not None and len(ring) >= len(best)):
                continue
            if cluster.speed_in(k, ring) > 0:
                best = ring
    return best


def _of_rates(cluster: WorkingCluster) -> Iterator[Truths]:
    """Servers of a rate or more within, the greatest rate first."""
    one = cluster.instance.cluster
    rates = np.array([within_gbps(one, s) for s in range(len(one.servers))])
    for rate in sorted(set(rates.tolist()), reverse=True):
        yield rates >= rate


def _joined(cluster: WorkingCluster, k: int) -> Iterator[Truths]:
    """Servers that are joined by links of a share or more for a job, the greatest share first.

    Of equal shares, those with the first server of the cluster come first.
    """
    instance, tree = cluster.instance, cluster.tree
    count = len(instance.cluster.servers)
    index = {server.name: s for s, server in enumerate(instance.cluster.servers)}
    nodes = {node for link in tree.links for node in (link.node, link.parent)}
    group = {node: {node} for node in nodes}
    shares = zip(_shares(cluster, k), tree.links, strict=True)
    ordered = sorted(shares, key=lambda one: -one[0])
    for _, links in groupby(ordered, key=lambda one: one[0]):
        grown = []
        for _, link in links:
            small, large = sorted((group[link.node], group[link.parent]), key=len)
            large |= small
            group |= dict.fromkeys(small, large)
            grown.append(link.node)
        joined = {id(group[node]): group[node] for node in grown}.values()
        there = (sorted(index[node] for node in found if node in index) for found in joined)
        for some in sorted(one for one in there if one):
            servers = np.zeros(count, np.bool_)
            servers[some] = True
            yield servers


def _on_cards(
    cluster: WorkingCluster, k: int, asked: Asked, allowed: Truths, idle: Ints
) -> Iterator[Ring]:
    """The rings between servers that have some bandwidth or more on the fewest servers."""
    tree, shares, gpus = cluster.tree, _shares(cluster, k), idle.tolist()
    for gbps in sorted({*shares, *tree.part_rates}, reverse=True):
        for room in tree.joined(gbps, shares):
            among = [s for s in room if allowed[s]]
            ring = ring_on_cards(
                *(tree, among, gpus, asked.size, gbps, asked.fewest, asked.most), equal=asked.equal
            )
            if ring is not None:
                yield ring


def _shares(cluster: WorkingCluster, k: int) -> list[float]:
    """(links) What the ring of a job would have of each link as one more, in Gbit/s."""
    contention, links = cluster.instance.contention, cluster.tree.links
    sensitivity = sensitivity_of(cluster.instance.jobs[int(cluster.jobs.index[k])])
    rule, load = sharing_rule(contention), [0] * len(links)
    for ring in cluster.linked.values():
        alone = min(links[link].gbps for link in ring.links)
        weight = ring.weight(rule, alone, sensitivity)
        for link in ring.links:
            load[link] += weight
    return [rule.share(contention, link.gbps, n) for link, n in zip(links, load, strict=True)]
