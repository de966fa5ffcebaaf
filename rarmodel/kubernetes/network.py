"""The network above the nodes: Kueue's levels, labels of Topograph and of clouds, HyperNodes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from .schema import HyperNode, Labels, Member, Topology
from .selection import HOSTNAME, UnreadableError, matches

TOPOGRAPH = tuple(f"network.topology.nvidia.com/{name}" for name in ("core", "spine", "leaf"))
"""Labels of Topograph before version 1, from the top."""
_OLD_TOPOGRAPH = tuple(
    f"network.topology.nvidia.com/{name}" for name in ("datacenter", "spine", "block")
)
_FABRIC = re.compile(r"fabric\.topograph\.run/tier-(\d{1,3})")
"""Labels of Topograph since version 1; the greatest number is at the top."""
AWS = tuple(f"topology.k8s.aws/network-node-layer-{n}" for n in (1, 2, 3))
GKE = tuple(f"cloud.google.com/gce-topology-{name}" for name in ("block", "subblock"))
"""The third label, of hosts, tells nothing more: a node is one."""
_DOMAINS = ("accelerator.topograph.run/domain", "accelerator.topograph.run/sub-domain")
_DOMAIN = ("network.topology.nvidia.com/accelerator",)
_CLIQUE = ("nvidia.com/gpu.clique",)
_SIMPLE = re.compile(r"\^?(?:[\w.-]|\\[.d-]|\[[\w-]+\]|[+*?])*\$?")
MOST_LENGTH, MOST_REPEATED = 200, 2
"""Longest pattern of a HyperNode that is read, and how many parts of it may be repeated: Volcano
matches in linear time, and Python does not."""


class Network(NamedTuple):
    """Parts of the network above each node.

    Attributes
    ----------
    source
        Where it is from, in words.
    levels
        Names of the levels, from the top.
    above
        By node, the parts above it from the top: level and name of each. A node without a label
        lies below the parts that its other labels name, down to the first that is missing.
    names
        Other names of levels, such as `tier-2` or the number of a tier, and the level meant.
    """

    source: str
    levels: tuple[str, ...]
    above: Mapping[str, tuple[tuple[str, str], ...]]
    names: Mapping[str, str]

    def known(self, name: str) -> str | None:
        """The level of that name; None if there is none."""
        return name if name in self.levels else self.names.get(name)

    def tree(self, root: str) -> tuple[dict[str, str], dict[str, str]]:
        """What is above each node and each part, and the level of each part.

        A part has the names of those above it in its own, as two blocks may each have a rack 1.
        """
        taken = Counter([*self.above])
        called: dict[tuple[tuple[str, str], ...], str] = {(): _free(root, taken)}
        parents, level_of = dict[str, str](), dict[str, str]()
        for node, path in self.above.items():
            for depth in range(1, len(path) + 1):
                if path[:depth] not in called:
                    name = _free("/".join(name for _, name in path[:depth]), taken)
                    called[path[:depth]] = name
                    parents[name] = called[path[: depth - 1]]
                    level_of[name] = path[depth - 1][0]
            parents[node] = called[path]
        return parents, level_of


def _free(name: str, taken: Counter[str]) -> str:
    """A name that nothing has; it is taken from now on."""
    while taken[name]:
        name += "'"
    taken[name] += 1
    return name


def network_of(
    nodes: Mapping[str, Labels],
    topologies: Sequence[Topology],
    hyper_nodes: Sequence[HyperNode],
    labels: Sequence[str] = (),
) -> Network | None:
    """The network above the nodes, from the most telling source; None if nothing tells of it.

    Parameters
    ----------
    nodes
        Labels by node.
    topologies, hyper_nodes
        Kueue's and Volcano's objects.
    labels
        Labels of the levels that the user names, from the top; they go before all others.
    """
    if labels:
        return _by_labels("the labels named", labels, nodes)
    best, most = None, 0
    for one in topologies:
        names = [level.node_label for level in one.spec.levels if level.node_label != HOSTNAME]
        count = sum(all(some.get(name) for name in names) for some in nodes.values())
        if names and count > most:
            best, most = (one.metadata.name, names), count
    if best is not None:
        return _by_labels(f"Kueue's topology {best[0]!r}", best[1], nodes)
    if hyper_nodes and (found := _by_hyper_nodes(hyper_nodes, nodes)) is not None:
        return found
    tiers = {int(n[1]) for some in nodes.values() for key in some if (n := _FABRIC.fullmatch(key))}
    fabric = [f"fabric.topograph.run/tier-{n}" for n in sorted(tiers, reverse=True)]
    there = {key for some in nodes.values() for key in some}
    for source, known in (
        ("labels of Topograph", fabric or ()),
        ("labels of Topograph", TOPOGRAPH),
        ("labels of Topograph", _OLD_TOPOGRAPH),
        ("labels of AWS", AWS),
        ("labels of Google Cloud", GKE),
        *(("labels of NVLink domains", some) for some in (_DOMAINS, _DOMAIN, _CLIQUE)),
    ):
        present = [one for one in known if one in there]
        if present:
            return _by_labels(source, present, nodes)
    return None


def _by_labels(source: str, labels: Sequence[str], nodes: Mapping[str, Labels]) -> Network:
    above = {}
    for node, some in nodes.items():
        path = list[tuple[str, str]]()
        for label in labels:
            if not some.get(label):
                break
            path.append((label, some[label]))
        above[node] = tuple(path)
    return Network(source, tuple(labels), above, {})


def _by_hyper_nodes(found: Sequence[HyperNode], nodes: Mapping[str, Labels]) -> Network | None:
    """The tree of HyperNodes; those above themselves, or below two of one tier, are left out."""
    tiers = {one.metadata.name: one.spec.tier for one in found}
    parent: dict[str, str] = {}
    for one in sorted(found, key=lambda one: (one.spec.tier, one.metadata.name)):
        for member in one.spec.members:
            if member.type == "HyperNode":
                inside = [n for n in _named(member, tiers) if tiers[n] < one.spec.tier]
            else:
                inside = [n for n, some in nodes.items() if _is_member(member, n, some)]
            for name in inside:
                parent.setdefault(f"{member.type} {name}", one.metadata.name)
    level_of = {tier: f"tier-{tier}" for tier in tiers.values()}
    above = {}
    for node in nodes:
        path, here = list[tuple[str, str]](), parent.get(f"Node {node}")
        while here is not None:
            path.append((level_of[tiers[here]], here))
            here = parent.get(f"HyperNode {here}")
        above[node] = tuple(reversed(path))
    if not any(above.values()):
        return None
    names = {str(tier): level for tier, level in level_of.items()}
    names |= {one.spec.tier_name: level_of[one.spec.tier] for one in found if one.spec.tier_name}
    levels = tuple(level_of[tier] for tier in sorted(level_of, reverse=True))
    return Network("Volcano's HyperNodes", levels, above, names)


def _named(member: Member, names: Iterable[str]) -> list[str]:
    return [name for name in names if _is_member(member, name, {})]


def _is_member(member: Member, name: str, labels: Labels) -> bool:
    chosen = member.selector
    if chosen.exact_match is not None:
        return chosen.exact_match.name == name
    if chosen.regex_match is not None:
        return _matched(chosen.regex_match.pattern, name)
    try:
        return chosen.label_match is not None and matches(chosen.label_match, labels)
    except UnreadableError:
        return False


def _matched(pattern: str, name: str) -> bool:
    return is_read(pattern) and re.search(pattern, name) is not None


def is_read(pattern: str) -> bool:
    """Whether the pattern of a HyperNode is one that is read."""
    repeated = sum(map(pattern.count, "+*?"))
    if len(pattern) > MOST_LENGTH or repeated > MOST_REPEATED or not _SIMPLE.fullmatch(pattern):
        return False
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True
