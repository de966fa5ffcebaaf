"""Clusters from servers, switches and rates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from pydantic import ValidationError

from rarmodel.errors import InputError, Problem, UsageError
from rarmodel.schema import Cluster
from rarmodel.schema.base import LEAST_POSITIVE, MAX_NUMBER
from rarmodel.schema.problems import problems_of


@dataclass(frozen=True)
class Rates:
    """Rates of a cluster of which only the GPUs are known, as in `philly-2869ce`.

    Raises
    ------
    UsageError
        If a rate is not above 0.

    Attributes
    ----------
    network_gbps
        Rate of each server's link, b^e, in Gbit/s.
    intra_server_gbps
        Bandwidth within a server, b^i: about that of Muri's measurements with 8 GPUs.
    reduction_gbps
        Rate of the reduction, C.
    oversubscription
        Total rate of the servers below a switch divided by the rate of its uplink.
    """

    network_gbps: float = 25.0
    intra_server_gbps: float = 120.0
    reduction_gbps: float = 400.0
    oversubscription: float = 1.0

    def __post_init__(self) -> None:
        wrong = [
            f"{field.name} {getattr(self, field.name)}: it must be above 0"
            for field in fields(self)
            if not LEAST_POSITIVE <= getattr(self, field.name) <= MAX_NUMBER
        ]
        if wrong:
            raise UsageError("; ".join(wrong))


def cluster_of(
    gpus: Mapping[str, int],
    parents: Mapping[str, str] | None,
    rates: Rates,
    source: str = "",
    types: Mapping[str, str] | None = None,
    slices: Mapping[str, int] | None = None,
) -> Cluster:
    """A cluster of servers by name.

    Parameters
    ----------
    gpus
        GPUs of each server.
    parents
        Switch above each server and each switch but the root; None for a star. Switches without
        servers below are left out.
    rates
        All rates.
    source
        Source of the data, for error messages.
    types
        Type of the GPUs of servers, if known.
    slices
        Equal slices of each GPU of servers, where they are divided.

    Raises
    ------
    InputError
        If servers and switches do not form a tree.
    """
    network: dict[str, Any] = {"kind": "star", "gbps": float(rates.network_gbps)}
    if parents is not None:
        below = _servers_below(gpus, parents, source)
        links = [
            {
                "node": node,
                "parent": parents[node],
                "gbps": _uplink(node in gpus, count, rates),
            }
            for node, count in below.items()
            if node in parents
        ]
        network = {"kind": "tree", "links": links}
    try:
        return Cluster.model_validate(
            {
                "servers": [
                    {"name": name, "gpus": count}
                    | ({"gpu_type": types[name]} if types and types.get(name) else {})
                    | ({"gpu_slices": slices[name]} if slices and slices[name] > 1 else {})
                    for name, count in gpus.items()
                ],
                "network": network,
                "intra_server_gbps": float(rates.intra_server_gbps),
                "reduction_gbps": float(rates.reduction_gbps),
            }
        )
    except ValidationError as error:
        raise InputError(problems_of(error), source) from error


def _uplink(is_server: bool, servers: int, rates: Rates) -> float:  # noqa: FBT001
    rate = (
        rates.network_gbps if is_server else servers * rates.network_gbps / rates.oversubscription
    )
    return float(round(rate, 6)) or float(rate)


def _servers_below(
    gpus: Mapping[str, int], parents: Mapping[str, str], source: str
) -> dict[str, int]:
    """Servers below each node that has any, servers first."""
    below = dict.fromkeys(gpus, 1)
    for server in gpus:
        node, path = server, {server}
        while node in parents:
            node = parents[node]
            if node in path:
                raise InputError([Problem("", f"switch {node!r} is above itself")], source)
            if node in gpus:
                raise InputError([Problem("", f"{node!r} is a node and a switch")], source)
            path.add(node)
            below[node] = below.get(node, 0) + 1
    return below
