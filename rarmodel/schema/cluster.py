"""The cluster: servers of equal GPUs and the tree network that joins them (model, section 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import lcm
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, Tag, ValidationInfo, field_validator, model_validator

from rarmodel.errors import InputError, Problem

from .base import (
    ONE,
    SEVERAL,
    Count,
    Name,
    NonNegative,
    NonNegativeInteger,
    Positive,
    Record,
    one_or_keyed,
    repeated_names,
)

MAX_GPUS = 10_000_000
"""Largest cluster, in GPUs: a greater number is a mistake, and would only exhaust the memory."""

MAX_SLICES = 64
"""Most slices of a GPU: no GPU is divided further, and loads of one stay exact."""

MOST_PARTS = 2**20
"""Most parts of a GPU in which all that workers hold is whole: what is held is added exactly."""

Slices = Annotated[int, Field(strict=True, ge=1, le=MAX_SLICES)]
"""Equal slices into which a GPU is divided."""


class Server(Record):
    """A server and its equal GPUs."""

    name: Name
    """Unique name of the server."""

    gpus: Count
    """Number of GPUs, O_s."""

    gpu_type: Name | None = None
    """Type of its GPUs; required of all servers where a job has `times`."""

    intra_server_gbps: Positive | None = None
    """Bandwidth of a ring within this server in Gbit/s; by default the cluster's."""

    network_cards: Count = 1
    """Network cards that its link consists of, n: a ring with y workers here reaches at most
    min(1, y/n) of the link's rate."""

    gpu_slices: Slices | None = None
    """Equal slices into which each of its GPUs is divided, Q_s; by default the cluster's."""

    gpu_memory_gb: Positive | None = None
    """Memory of each of its GPUs in GB; by default the cluster's."""


class Reservation(Record):
    """GPUs of a server that are away for a while: maintenance, an inference service by day."""

    model_config = ConfigDict(serialize_by_alias=True)

    server: Name
    """The server."""

    gpus: Count
    """How many of its GPUs; which ones, nobody says."""

    start: Annotated[NonNegativeInteger, Field(alias="from")]
    """First slot in which they are away."""

    end: Annotated[NonNegativeInteger | None, Field(alias="to")] = None
    """First slot in which they are back; by default never."""

    reason: str | None = None
    """Why, for people."""

    @model_validator(mode="after")
    def _ends_after_its_start(self) -> Self:
        if self.end is not None and self.end <= self.start:
            message = f"{self.end}; it must be above from, {self.start}"
            raise InputError([Problem("to", message)])
        return self


class StarNetwork(Record):
    """Every server has one link of the same rate to one switch: the paper's network."""

    kind: Literal["star"]
    """Marks a star."""

    gbps: Positive
    """Rate of each server's link in Gbit/s, b^e."""


class Link(Record):
    """The upward link of one node of a tree network."""

    node: Name
    """The lower end: a server, or a switch that other links name as their parent."""

    parent: Name
    """The upper end: a switch."""

    gbps: Positive
    """Rate of the link in Gbit/s; parallel uplinks count as one link of their total rate."""

    level: Name | None = None
    """Name for nodes of one height, such as `rack`, that the lower end belongs to; no node of a
    level lies below another of it. Jobs may ask to stay within one such node."""


def _departures_from_one_tree(links: tuple[Link, ...]) -> list[Problem]:
    """All cycles, and the roots if there are several, in links with distinct lower ends."""
    uplink = {link.node: i for i, link in enumerate(links)}
    problems = []
    roots: dict[str, None] = {}
    met_from: dict[str, str] = {}
    for link in links:
        node, walk = link.node, list[str]()
        while node in uplink and node not in met_from:
            met_from[node] = link.node
            walk.append(node)
            node = links[uplink[node]].parent
        if node not in uplink:
            roots[node] = None
        elif met_from[node] == link.node:
            cycle = " → ".join(map(repr, [*walk[walk.index(node) :], node]))
            problems.append(Problem(f"[{uplink[node]}]", f"a cycle, {cycle}; a tree has none"))
    if len(roots) > 1:
        names = ", ".join(map(repr, roots))
        message = f"{len(roots)} separate trees, with roots {names}; there must be one root"
        problems.append(Problem("", message))
    return problems


def _nodes_of_one_level_below_another(links: tuple[Link, ...]) -> Iterator[Problem]:
    """Links of a tree with a level that a link above them has as well."""
    uplink = {link.node: link for link in links}
    for i, link in enumerate(links):
        above = uplink.get(link.parent)
        while link.level is not None and above is not None:
            if above.level == link.level:
                message = (
                    f"{link.level!r}; node {link.node!r} lies below {above.node!r}, which has this "
                    "level; nodes of one level lie beside each other"
                )
                yield Problem(f"[{i}].level", message)
                break
            above = uplink.get(above.parent)


class TreeNetwork(Record):
    """Servers are the leaves of a tree of switches; every node but the root has one uplink."""

    kind: Literal["tree"]
    """Marks a tree."""

    links: tuple[Link, ...]
    """One link for each node but the root."""

    @field_validator("links")
    @classmethod
    def _links_form_a_tree(cls, links: tuple[Link, ...]) -> tuple[Link, ...]:
        nodes = [link.node for link in links]
        problems = [
            Problem(f"[{i}].node", f"{name!r} already has an uplink; every node has one uplink")
            for i, name in repeated_names(nodes)
        ]
        if not problems:
            problems = _departures_from_one_tree(links)
        if not problems:
            problems = list(_nodes_of_one_level_below_another(links))
        if problems:
            raise InputError(problems)
        return links


Network = Annotated[StarNetwork | TreeNetwork, Field(discriminator="kind")]


def _departures_of_reservations(
    reservations: tuple[Reservation, ...], servers: tuple[Server, ...]
) -> Iterator[Problem]:
    """Reservations of servers that are not there, or of more GPUs at once than a server has."""
    sizes = {server.name: server.gpus for server in servers}
    away: Counter[str] = Counter()
    changes: list[tuple[int, bool, int]] = []
    for i, one in enumerate(reservations):
        if one.server in sizes:
            changes.append((one.start, True, i))
            if one.end is not None:
                changes.append((one.end, False, i))
        else:
            yield Problem(f"[{i}].server", f"{one.server!r}; the cluster has no such server")
    for slot, begins, i in sorted(changes):  # What ends at a slot does so before others begin.
        server, gpus = reservations[i].server, reservations[i].gpus
        away[server] += gpus if begins else -gpus
        if begins and away[server] > sizes[server]:
            message = (
                f"at slot {slot}, {away[server]} GPUs of server {server!r} are away at once; "
                f"it has {sizes[server]}"
            )
            yield Problem(f"[{i}].gpus", message)


Prices = Annotated[
    Annotated[NonNegative, Tag(ONE)] | Annotated[dict[Name, NonNegative], Tag(SEVERAL)],
    one_or_keyed,
]


class Cluster(Record):
    """Servers, the network between them, and the rates within a server."""

    servers: Annotated[tuple[Server, ...], Field(min_length=1)]
    """The servers; their order breaks ties."""

    network: Network
    """The links between servers: a star or a tree."""

    intra_server_gbps: Positive
    """Bandwidth of a ring within one server in Gbit/s, b^i."""

    reduction_gbps: Positive
    """Rate at which a worker reduces gradients in Gbit/s, C."""

    reservations: tuple[Reservation, ...] = ()
    """When GPUs of servers are away; those of one server add up."""

    prices_per_gpu_hour: Prices | None = None
    """Price of a GPU for an hour, by its type or of all, for the objective `cost`."""

    gpu_slices: Slices = 1
    """Equal slices into which each GPU is divided, Q_s, on servers that say nothing else."""

    gpu_memory_gb: Positive | None = None
    """Memory of each GPU in GB on servers that say nothing else; by default there is no limit."""

    @property
    def total_gpus(self) -> int:
        """Number of GPUs in the cluster."""
        return sum(server.gpus for server in self.servers)

    @property
    def largest_server(self) -> int:
        """Number of GPUs of the largest server."""
        return max(server.gpus for server in self.servers)

    @property
    def parts(self) -> int:
        """Equal parts of a GPU such that each slice is a whole number of them."""
        return lcm(*map(self.slices_of, self.servers))

    def slices_of(self, server: Server) -> int:
        """Equal slices into which each GPU of a server is divided, Q_s."""
        return self.gpu_slices if server.gpu_slices is None else server.gpu_slices

    def memory_gb_of(self, server: Server) -> float | None:
        """Memory of each GPU of a server in GB; None if there is no limit."""
        return self.gpu_memory_gb if server.gpu_memory_gb is None else server.gpu_memory_gb

    def levels(self) -> tuple[str, ...]:
        """Levels that links have, in the order in which they first appear; a star has none."""
        links = () if isinstance(self.network, StarNetwork) else self.network.links
        return tuple(dict.fromkeys(link.level for link in links if link.level is not None))

    def nodes_at(self, level: str) -> dict[str, str]:
        """The node of a level at or above each server, by name; those below none are left out."""
        links = () if isinstance(self.network, StarNetwork) else self.network.links
        uplink = {link.node: link for link in links}
        found = {}
        for server in self.servers:
            link = uplink.get(server.name)
            while link is not None and link.level != level:
                link = uplink.get(link.parent)
            if link is not None:
                found[server.name] = link.node
        return found

    def capacity(self, server: int, slot: int) -> int:
        """GPUs of a server, by index, that no reservation holds in a slot."""
        here = self.servers[server]
        return here.gpus - sum(
            one.gpus
            for one in self.reservations
            if one.server == here.name and one.start <= slot and (one.end is None or slot < one.end)
        )

    @field_validator("reservations")
    @classmethod
    def _reservations_fit_the_servers(
        cls, reservations: tuple[Reservation, ...], info: ValidationInfo
    ) -> tuple[Reservation, ...]:
        if servers := info.data.get("servers"):
            problems = list(_departures_of_reservations(reservations, servers))
            if problems:
                raise InputError(problems)
        return reservations

    @field_validator("prices_per_gpu_hour")
    @classmethod
    def _every_type_has_a_price(
        cls, prices: float | dict[str, float] | None, info: ValidationInfo
    ) -> float | dict[str, float] | None:
        servers = info.data.get("servers")
        if isinstance(prices, dict) and servers:
            free = dict.fromkeys(s.gpu_type for s in servers if s.gpu_type not in prices)
            problems = [
                Problem("", f"no price for GPU type {kind!r}, which a server has")
                if kind is not None
                else Problem("", "by type of GPU, but some servers have no gpu_type")
                for kind in free
            ]
            if problems:
                raise InputError(problems)
        return prices

    @field_validator("servers")
    @classmethod
    def _servers_are_distinct(cls, servers: tuple[Server, ...]) -> tuple[Server, ...]:
        problems = [
            Problem(f"[{i}].name", f"{name!r} names two servers; names must be unique")
            for i, name in repeated_names([server.name for server in servers])
        ]
        total = sum(server.gpus for server in servers)
        if total > MAX_GPUS:
            problems.append(Problem("", f"{total} GPUs in all; at most {MAX_GPUS} are supported"))
        if problems:
            raise InputError(problems)
        return servers

    @model_validator(mode="after")
    def _parts_of_gpus_are_few(self) -> Self:
        if self.parts > MOST_PARTS:
            several = ", ".join(map(str, sorted(set(map(self.slices_of, self.servers)))))
            message = (
                f"the GPUs of servers have {several} slices; the least common multiple, "
                f"{self.parts}, must be at most 2^20"
            )
            raise InputError([Problem("servers", message)])
        return self

    @model_validator(mode="after")
    def _every_server_is_a_leaf(self) -> Self:
        if isinstance(self.network, TreeNetwork):
            servers = {server.name for server in self.servers}
            linked = {link.node for link in self.network.links}
            problems = [
                Problem(
                    f"network.links[{i}].parent",
                    f"{link.parent!r} is a server; only a switch can have links below it",
                )
                for i, link in enumerate(self.network.links)
                if link.parent in servers
            ]
            if missing := [s.name for s in self.servers if s.name not in linked]:
                problems.append(
                    Problem(
                        "network.links",
                        f"no uplink for {'servers' if len(missing) > 1 else 'server'} "
                        f"{', '.join(map(repr, missing))}; every server needs one",
                    )
                )
            if problems:
                raise InputError(problems)
        return self
