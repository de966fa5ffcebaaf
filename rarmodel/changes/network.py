"""Other links: of the servers, of a level, or all; and other links within servers."""

from __future__ import annotations

from collections.abc import Callable

from rarmodel import registry
from rarmodel.errors import UsageError
from rarmodel.schema import Cluster, Instance
from rarmodel.schema.cluster import Link, StarNetwork

from .amounts import Amount, amount_of, factor_of


def links_of_servers(instance: Instance, _: str, text: str) -> Instance:
    """The instance with another rate of each server's link."""
    names = {server.name for server in instance.cluster.servers}
    return _with_rates(instance, amount_of(text), lambda link: link.node in names)


def links_of_level(instance: Instance, level: str, text: str) -> Instance:
    """The instance with another rate of all links of a level.

    Raises
    ------
    UsageError
        If no link has this level.
    """
    known = instance.cluster.levels()
    if not known:
        raise UsageError(
            "no link has a level; give the links of a tree a level, or change network-gbps"
        )
    if level not in known:
        raise UsageError(registry.unknown("level", [level], known))
    return _with_rates(instance, amount_of(text), lambda link: link.level == level)


def all_links(instance: Instance, _: str, text: str) -> Instance:
    """The instance with all links of its network faster or slower by a factor."""
    return _with_rates(instance, Amount(factor_of(text), is_factor=True), lambda _: True)


def links_within_servers(instance: Instance, _: str, text: str) -> Instance:
    """The instance with another rate of rings within a server, also of servers with their own."""
    amount, cluster = amount_of(text), instance.cluster
    servers = tuple(
        server
        if server.intra_server_gbps is None
        else server.model_copy(update={"intra_server_gbps": amount.of(server.intra_server_gbps)})
        for server in cluster.servers
    )
    rate = amount.of(cluster.intra_server_gbps)
    return with_cluster(instance, servers=servers, intra_server_gbps=rate)


def with_cluster(instance: Instance, **fields: object) -> Instance:
    """The instance with other fields of its cluster."""
    cluster: Cluster = instance.cluster.model_copy(update=fields)
    return instance.model_copy(update={"cluster": cluster})


def _with_rates(instance: Instance, amount: Amount, chosen: Callable[[Link], bool]) -> Instance:
    """The instance with another rate of the chosen links; a star has the links of its servers."""
    network = instance.cluster.network
    if isinstance(network, StarNetwork):
        update: dict[str, object] = {"gbps": amount.of(network.gbps)}
    else:
        update = {
            "links": tuple(
                link.model_copy(update={"gbps": amount.of(link.gbps)}) if chosen(link) else link
                for link in network.links
            )
        }
    return with_cluster(instance, network=network.model_copy(update=update))
