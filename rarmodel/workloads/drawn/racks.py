"""Racks: a level of the network, and jobs that stay within one of its nodes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any, ClassVar

from pydantic import Field

from rarmodel.model import features, topology
from rarmodel.model.lone import allowed_servers, groups_of
from rarmodel.schema import Cluster, Instance, Link
from rarmodel.schema.base import Count
from rarmodel.schema.cluster import StarNetwork, TreeNetwork
from rarmodel.schema.job import Spread
from rarmodel.schema.references import has_room

from .feature import Drawn, Rng, Share, progressing, some

RACK = "rack"
ROOT = "spine"


class Levels(Drawn):
    """Servers are in racks, and some jobs of several GPUs must stay within one."""

    name: ClassVar[str] = features.LEVELS.name

    share: Share = 0.25
    """Part of the jobs of several GPUs that must stay within a rack, if one has room for them."""

    servers: Count = 4
    """Servers of a rack, in their order, where the network is a star."""

    oversubscription: Annotated[float, Field(ge=1.0, le=1000.0)] = 2.0
    """How many times faster the links of a rack's servers are together than that of the rack."""

    def draw(self, instance: Instance, rng: Rng) -> Instance:
        """Put servers into racks, and keep some jobs within them."""
        racked = instance.model_copy(update={"cluster": self._racked(instance.cluster)})
        tree, servers = topology(racked.cluster), racked.cluster.servers
        several = [j for j, job in enumerate(racked.jobs) if job.sizes[0] > 1]
        updates: dict[int, dict[str, Any]] = {}
        for j in some(rng, several, self.share):
            job = racked.jobs[j]
            spread = (job.spread or Spread()).model_copy(update={"within": RACK})
            groups = groups_of(tree, spread, allowed_servers(racked)[j])
            rooms = [[servers[s].gpus for s in sorted(group)] for group in groups]
            asked = job.model_copy(update={"spread": spread})
            if all(any(has_room(asked, size, room) for room in rooms) for size in job.sizes):
                updates[j] = {"spread": spread}
        return progressing(racked, updates)

    def _racked(self, cluster: Cluster) -> Cluster:
        """The cluster with a level of racks: of a tree the switches right above servers."""
        network = cluster.network
        if isinstance(network, StarNetwork):
            links = self._racks(cluster, network.gbps)
        else:
            switches = {link.node for link in network.links} - {s.name for s in cluster.servers}
            above = {link.parent for link in network.links if link.node not in switches}
            inner = {link.parent for link in network.links if link.node in switches}
            links = tuple(
                link.model_copy(update={"level": RACK})
                if link.node in above - inner and link.level is None
                else link
                for link in network.links
            )
        tree = TreeNetwork(kind="tree", links=links)
        return cluster.model_copy(update={"network": tree})

    def _racks(self, cluster: Cluster, gbps: float) -> tuple[Link, ...]:
        """A tree of racks in place of a star."""
        servers = cluster.servers
        names = {server.name for server in servers}
        racks, links = -(-len(servers) // self.servers), list[Link]()
        for i in range(racks):
            rack = _unused(f"{RACK}{i:0{len(str(racks - 1))}d}", names)
            here = servers[i * self.servers : (i + 1) * self.servers]
            links += [Link(node=server.name, parent=rack, gbps=gbps) for server in here]
            rate = max(gbps, float(f"{gbps * len(here) / self.oversubscription:.4g}"))
            links.append(Link(node=rack, parent=_unused(ROOT, names), gbps=rate, level=RACK))
        return tuple(links)


def _unused(name: str, names: Collection[str]) -> str:
    """The name, or one like it that no server has."""
    while name in names:
        name += "'"
    return name
