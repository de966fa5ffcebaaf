"""What a job's pods ask for in the model's terms: ring size, servers, spread.

A worker is a GPU. A pod's GPUs are of one node; the model knows no pods, so it divides a ring of
pods with several GPUs evenly, over numbers of servers that leave every pod whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import isqrt
from typing import Any, NamedTuple

from .gpus import Demand, demand_of
from .job_kinds import Pods
from .network import Network
from .node_choice import FlavorNodes, NodeChoice, UnusableError
from .nodes import GpuNode
from .selection import HOSTNAME, UnreadableError, levels_with_others, one_pod_a_node


class Shape(NamedTuple):
    """What a job asks for.

    Attributes
    ----------
    size, pods
        GPUs of its ring, and pods that have them.
    nodes
        Nodes that it may use, in the order of the cluster.
    spread
        The field `spread` of the model's job; empty if it asks for none.
    forgiven
        Whether a taint for GPUs was taken to be tolerated.
    narrowed
        Whether its pods could also be on numbers of nodes that the model cannot tell apart.
    on_parts
        Whether each of its workers has a part of a GPU.
    """

    size: int
    pods: int
    nodes: tuple[str, ...]
    spread: Mapping[str, Any]
    forgiven: bool
    narrowed: bool
    on_parts: bool = False


def with_gpus(pods: Iterable[Pods]) -> list[tuple[Pods, Demand]]:
    """Those pods that ask for GPUs, with what they ask for.

    Raises
    ------
    UnusableError
        If what they ask for is nothing that the model has.
    """
    found = []
    for one in pods:
        if not one.number:
            continue
        try:
            demand = demand_of(one.template.spec)
        except ValueError as error:
            raise UnusableError(str(error)) from error
        if demand.part:
            raise UnusableError(f"asks for parts of GPUs ({demand.part})")
        if one.template.spec.resource_claims:
            raise UnusableError("asks for devices by ResourceClaim")
        if demand.gpus:
            found.append((one, demand))
    if not found:
        raise UnusableError("asks for no GPUs")
    return found


def shape_of(
    pods: Iterable[Pods],
    choice: NodeChoice,
    network: Network | None,
    flavors: Mapping[str, Sequence[FlavorNodes]] | None = None,
    level: str | None = None,
) -> Shape:
    """What a job asks for.

    Parameters
    ----------
    pods
        Its pods.
    choice
        The nodes that pods may use.
    network
        The parts of the network that it may ask to be within.
    flavors
        By resource, the flavors of its queue; None without quotas.
    level
        A level within which it must be, beside those that its pods name.

    Raises
    ------
    UnusableError
        If the model cannot hold it, or no node has what it asks for.
    """
    asked = with_gpus(pods)
    try:
        allowed, forgiven = choice.of_all(asked, flavors)
        apart = any(one_pod_a_node(one.template) for one, _ in asked)
        levels = [name for one, _ in asked for name in _levels(one)]
    except UnreadableError as error:
        raise UnusableError(str(error)) from error
    count, sizes = sum(one.number for one, _ in asked), {demand.gpus for _, demand in asked}
    size = sum(one.number * demand.gpus for one, demand in asked)
    on_one_node = HOSTNAME in levels
    within = _narrowest(
        [*(one for one in levels if one != HOSTNAME), *([level] if level else [])], network
    )
    parts = _parts(allowed, choice.nodes, network, within)
    if on_one_node or len(sizes) > 1:
        if all(size > gpus for part in parts for gpus in part):
            if on_one_node:
                raise UnusableError("asks for one node for all its pods, and none has room")
            raise UnusableError(
                "its pods ask for different numbers of GPUs, and no one node has room for all"
            )
        if apart and count > 1:
            raise UnusableError("its pods ask for different numbers of GPUs on nodes of their own")
        spread: dict[str, Any] = {"max_servers": 1} if size > 1 else {}
        narrowed = not on_one_node and count > 1
    else:
        spread, narrowed = _spread(count, sizes.pop(), parts, apart=apart and count > 1)
    if within is not None:
        spread["within"] = within
    on_parts = choice.nodes[allowed[0]].has_parts
    return Shape(size, count, tuple(allowed), spread, forgiven, narrowed, on_parts)


def _levels(one: Pods) -> list[str]:
    if one.slices:
        raise UnusableError("asks for parts of its pods to be close (podset-slice-…-topology)")
    return [*([one.within] if one.within else []), *levels_with_others(one.template)]


def _narrowest(names: Sequence[str], network: Network | None) -> str | None:
    """The lowest of some levels: who is within one part of it is within one of those above."""
    known = []
    for name in names:
        level = network.known(name) if network else None
        if level is None:
            raise UnusableError(f"asks for one part of the network by {name!r}, which is no level")
        known.append(level)
    return max(known, key=network.levels.index) if network and known else None


def _parts(
    allowed: Sequence[str],
    nodes: Mapping[str, GpuNode],
    network: Network | None,
    within: str | None,
) -> list[list[int]]:
    """GPUs of the nodes in each part of the network that may hold the ring."""
    parts: dict[tuple[tuple[str, str], ...], list[int]] = defaultdict(list)
    for name in allowed:
        path = network.above[name] if network and within else ()
        depth = next((i for i, (level, _) in enumerate(path, 1) if level == within), None)
        if within is None or depth is not None:
            parts[path[:depth]].append(nodes[name].gpus)
    return [*parts.values()]


def _spread(
    pods: int, gpus: int, parts: Sequence[Sequence[int]], *, apart: bool
) -> tuple[dict[str, Any], bool]:
    """The field `spread` of equal pods, and whether it allows fewer places than they do."""
    size = pods * gpus
    if all(sum(part) < size for part in parts):
        raise UnusableError("needs more GPUs than the nodes that it may use have")

    def has_room(servers: int) -> bool:
        share = size // servers
        return any(sum(one >= share for one in part) >= servers for part in parts)

    if apart:
        if not has_room(pods):
            raise UnusableError("asks for more nodes of its own than there are")
        return {"min_servers": pods, "max_servers": pods, "equal": True}, False
    if gpus == 1:
        return {}, False
    possible = [n for n in _divisors(size) if n <= pods]
    whole = [n for n in possible if pods % n == 0 and has_room(n)]
    if not whole:
        raise UnusableError("needs more GPUs than the nodes that it may use have")
    fewest = whole[0]
    split = [n for n in possible if pods % n]
    least = max((n for n in split if n < fewest), default=0) + 1
    most = min((n for n in split if n > fewest), default=pods + 1) - 1
    spread = {"max_servers": most, "equal": True}
    return ({"min_servers": least} if least > 1 else {}) | spread, pods > 1


def _divisors(number: int) -> list[int]:
    small = [n for n in range(1, isqrt(number) + 1) if number % n == 0]
    return sorted({*small, *(number // n for n in small)})
