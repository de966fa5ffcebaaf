"""Parts of a cluster that no ring of several nodes crosses: trees of switches, and types of GPU.

Slurm starts no job across two trees. GPUs of two types are not equally fast, and a ring goes at the
pace of its slowest worker: where nothing is known of their speeds, a ring stays on one type.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from rarmodel.errors import UsageError, listed
from rarmodel.workloads.gres import SHARD
from rarmodel.workloads.model_profiles import is_type
from rarmodel.workloads.switch_trees import Tree

from .queue import Queue

Speeds = Mapping[str, float]
"""How fast GPUs are in comparison, by the type that Slurm tells of a node."""


class Parts(NamedTuple):
    """The parts of a cluster.

    Attributes
    ----------
    parts
        The parts, by name; none if a ring may cross the whole cluster.
    tree_of, type_of
        The tree of switches of a part, and its type of GPU; empty if that does not divide them.
    """

    parts: tuple[Tree, ...]
    tree_of: Mapping[str, str]
    type_of: Mapping[str, str]


def speeds_of(queue: Queue, asked: Mapping[str, float] | None) -> Speeds:
    """The speeds of all types of GPU; none if nothing is asked for.

    Raises
    ------
    UsageError
        If a type has no speed, or a speed no type.
    """
    if not asked:
        return {}
    # A job of slices names their type, so it has no other.
    sliced = {node.gpu_type for node in queue.nodes.values() if node.part not in {"", SHARD}}
    kinds = {
        name: node.gpu_type for name, node in queue.nodes.items() if node.gpu_type not in sliced
    }
    if typeless := [name for name, kind in kinds.items() if not kind]:
        raise UsageError(f"--gpu-speed: GPUs of {listed(typeless)} have no type in Slurm")
    found: dict[str, float] = {}
    used = set[str]()
    for kind in sorted({*kinds.values()}):
        known = {one: [name for name in asked if is_type(one, name)] for one in kind.split("+")}
        if lacking := [one for one, names in known.items() if not names]:
            raise UsageError(f"--gpu-speed: {listed(lacking)} has no factor; give each type one")
        found[kind] = min(asked[names[0]] for names in known.values())
        used |= {name for names in known.values() for name in names}
    if odd := [name for name in asked if name not in used]:
        there = ", ".join(sorted({*kinds.values()}))
        raise UsageError(f"--gpu-speed: {listed(odd)} is no type of this cluster; it has {there}")
    return found | dict.fromkeys(sliced - found.keys(), 1.0)


def parts_of(queue: Queue, speeds: Speeds) -> Parts:
    """The parts of a cluster of which these speeds are known."""
    kinds = {node.gpu_type for node in queue.nodes.values()}
    if speeds or len(kinds) == 1:
        roots = {tree.root: tree.root for tree in queue.trees}
        return Parts(queue.trees, roots, dict.fromkeys(roots, ""))
    parts, tree_of, type_of = list[Tree](), dict[str, str](), dict[str, str]()
    for tree in queue.trees or (Tree("", tuple(queue.nodes)),):
        inside: dict[str, list[str]] = defaultdict(list)
        for name in tree.nodes:
            if name in queue.nodes:
                inside[queue.nodes[name].gpu_type].append(name)
        for kind, names in inside.items():
            root = f"{tree.root}, {kind}" if tree.root else kind
            parts.append(Tree(root, tuple(names)))
            tree_of[root], type_of[root] = tree.root, kind or "no type"
    return Parts(tuple(parts), tree_of, type_of)
