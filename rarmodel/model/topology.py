"""The network as a tree, and the links that a ring uses (reading 4)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING

from rarmodel.schema import Cluster, Link, Server, StarNetwork

from .caching import once_per_instance
from .contention import cards_gbps

if TYPE_CHECKING:
    import networkx as nx

SWITCH = "switch"


@dataclass(frozen=True)
class Topology:
    """A cluster's network: each node but the root has one link upward, and servers are leaves.

    Attributes
    ----------
    servers
        The cluster's servers.
    links
        All links. A star has one link per server, in server order.
    places
        (servers) The most workers that there is room for on each at once: slices of its GPUs.
    """

    servers: tuple[Server, ...]
    links: tuple[Link, ...]
    places: tuple[int, ...]

    @cached_property
    def tree(self) -> nx.DiGraph:
        """The network as a graph: edges lead upward and have `gbps` and `link` (its index)."""
        import networkx as nx  # noqa: PLC0415 - takes a while to load, and few need it

        tree = nx.DiGraph()
        for index, link in enumerate(self.links):
            tree.add_edge(link.node, link.parent, gbps=link.gbps, link=index)
        return tree

    @cached_property
    def paths(self) -> tuple[tuple[int, ...], ...]:
        """For each server, the indices of the links on its way up to the root."""
        uplink = {link.node: index for index, link in enumerate(self.links)}
        paths = []
        for server in self.servers:
            node, path = server.name, []
            while node in uplink:
                path.append(uplink[node])
                node = self.links[uplink[node]].parent
            paths.append(tuple(path))
        return tuple(paths)

    @cached_property
    def gpus_below(self) -> tuple[int, ...]:
        """For each link, the GPUs of all servers below it."""
        below = [0] * len(self.links)
        for server, path in zip(self.servers, self.paths, strict=True):
            for link in path:
                below[link] += server.gpus
        return tuple(below)

    @cached_property
    def most_rings(self) -> tuple[int, ...]:
        """For each link, the most rings that can use it at once: each has a worker on both sides.

        So 0 for a link with all GPUs on one side.
        """
        below = [0] * len(self.links)
        for places, path in zip(self.places, self.paths, strict=True):
            for link in path:
                below[link] += places
        total = sum(self.places)
        return tuple(min(some, total - some) for some in below)

    def below_each(self, level: str) -> tuple[frozenset[int], ...]:
        """The servers at or below each node of a level, by index; some may be below none."""
        found: dict[int, set[int]] = {}
        for server, path in enumerate(self.paths):
            node = next((link for link in path if self.links[link].level == level), None)
            if node is not None:
                found.setdefault(node, set()).add(server)
        return tuple(map(frozenset, found.values()))

    def layers(self) -> tuple[tuple[frozenset[int], ...], ...]:
        """The servers below each inner node as far from the root, farther ones later.

        Of the root there is none: all servers are below it.
        """
        found: list[dict[int, set[int]]] = []
        for server, path in enumerate(self.paths):
            for depth, link in enumerate(reversed(path[1:])):
                if depth == len(found):
                    found.append({})
                found[depth].setdefault(link, set()).add(server)
        return tuple(tuple(map(frozenset, below.values())) for below in found)

    def part(self, servers: Collection[int], level: str) -> Topology:
        """The links below the node of a level that is above some servers, with all servers."""
        inside: set[int] = set()
        for server in servers:
            for link in self.paths[server]:
                if self.links[link].level == level:
                    break
                inside.add(link)
        links = tuple(self.links[link] for link in sorted(inside))
        return Topology(self.servers, links, self.places)

    def joined(self, least_gbps: float, rates: Sequence[float] = ()) -> list[list[int]]:
        """Servers, by index, that links of at least a rate join, the largest servers first.

        Parameters
        ----------
        least_gbps
            The rate.
        rates
            (links) What each link has; by default its own rate.
        """
        size = {server.name: (-server.gpus, s) for s, server in enumerate(self.servers)}
        rates = rates or [link.gbps for link in self.links]
        if all(gbps >= least_gbps for gbps in rates):
            return [[s for _, s in sorted(size.values())]]
        import networkx as nx  # noqa: PLC0415 - takes a while to load, and few need it

        fast = nx.Graph()
        fast.add_nodes_from(node for link in self.links for node in (link.node, link.parent))
        fast.add_edges_from(
            (link.node, link.parent)
            for link, gbps in zip(self.links, rates, strict=True)
            if gbps >= least_gbps
        )
        return [
            [s for _, s in sorted(size[node] for node in nodes if node in size)]
            for nodes in nx.connected_components(fast)
        ]

    @cached_property
    def has_cards(self) -> bool:
        """Whether a server has several network cards: where workers are then matters to a ring."""
        return any(server.network_cards > 1 for server in self.servers)

    @cached_property
    def part_rates(self) -> tuple[float, ...]:
        """The rates in Gbit/s at which a ring may leave network cards of a server idle."""
        kinds = {
            (self.links[path[0]].gbps, server.network_cards, server.gpus)
            for server, path in zip(self.servers, self.paths, strict=True)
            if path and server.network_cards > 1
        }
        return tuple(
            sorted(
                {
                    cards_gbps(gbps, workers, cards)
                    for gbps, cards, gpus in kinds
                    for workers in range(1, min(cards, gpus + 1))
                }
            )
        )

    @cached_property
    def least_gbps(self) -> float:
        """The least in Gbit/s that network cards leave a ring; inf if no server has several."""
        return min(self.part_rates, default=inf)

    def cards_gbps(self, workers: Mapping[int, int]) -> float:
        """The most in Gbit/s that the network cards let a ring have; inf within one server.

        Parameters
        ----------
        workers
            Number of the ring's workers on each server (by index) that it uses.
        """
        if not self.has_cards or len(workers) == 1:
            return inf
        return min(
            cards_gbps(self.links[self.paths[s][0]].gbps, count, self.servers[s].network_cards)
            for s, count in workers.items()
        )

    def lone_gbps(self, workers: Mapping[int, int]) -> float:
        """Bandwidth in Gbit/s of a ring on several servers that is alone; inf within one."""
        rates = (self.links[link].gbps for link in self.links_used(workers))
        return min([self.cards_gbps(workers), *rates])

    def links_used(self, workers: Mapping[int, int]) -> tuple[int, ...]:
        """The links that a ring uses: those with workers of the ring both below and above them.

        On a star, a ring on several servers uses the links of all of them, and a ring on one
        server uses none: the indicator `1{0 < y_js < G_j}` of equation (6).

        Parameters
        ----------
        workers
            Number of the ring's workers y_js on each server s (by index) that it uses.

        Returns
        -------
        tuple of int
            Indices into `links`, ascending.
        """
        below: dict[int, int] = {}
        for server, count in workers.items():
            for link in self.paths[server]:
                below[link] = below.get(link, 0) + count
        ring = sum(workers.values())
        return tuple(sorted(link for link, count in below.items() if 0 < count < ring))


@once_per_instance
def topology(cluster: Cluster) -> Topology:
    """The tree of a cluster's network; for a star, one link per server to one switch."""
    network, servers = cluster.network, cluster.servers
    places = tuple(server.gpus * cluster.slices_of(server) for server in servers)
    if isinstance(network, StarNetwork):
        names = {server.name for server in servers}
        switch = SWITCH
        while switch in names:
            switch += "'"
        # All of it was checked with the cluster, and servers may be very many.
        links = tuple(
            Link.model_construct(node=server.name, parent=switch, gbps=network.gbps)
            for server in servers
        )
        return Topology(servers, links, places)
    return Topology(servers, network.links, places)
