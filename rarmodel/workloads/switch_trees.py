"""Slurm's trees of switches: who is below which switch, and which nodes no switch joins.

With `topology/tree` Slurm starts no job on nodes that no switch joins, and none at all on a node
below no switch. This is the one reader of `topology.conf` and of `scontrol show topology`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from rarmodel.errors import Problem

ABOVE_ALL = "all switches"
"""Name of the node above separate trees: the model has one tree. No ring of a plan crosses it."""


class Switch(NamedTuple):
    """A switch: the place that tells of it, its name, and what is below it."""

    place: str
    name: str
    nodes: Collection[str]
    switches: Collection[str]


class Tree(NamedTuple):
    """A tree of switches: its highest switch, and the nodes with GPUs below it."""

    root: str
    nodes: tuple[str, ...]


class Topology(NamedTuple):
    """Switches above nodes.

    Attributes
    ----------
    parents
        What is above each node and each switch but the root, as one tree: separate trees are below
        `ABOVE_ALL`. None without switches.
    trees
        The separate trees.
    outside
        Nodes below no switch.
    """

    parents: Mapping[str, str] | None
    trees: tuple[Tree, ...]
    outside: tuple[str, ...]


def topology_of(
    switches: Iterable[Switch],
    nodes: Collection[str],
    problems: list[Problem],
    *,
    keeps_outside: bool = False,
) -> Topology:
    """The trees of some switches.

    Slurm lists at each switch all nodes below it: those of a switch above switches are not its own.

    Parameters
    ----------
    switches
        All switches.
    nodes
        Nodes with GPUs; others are left out.
    problems
        Gets a problem for each node or switch that is below two switches, or above itself.
    keeps_outside
        Whether the one tree of `parents` shall have the nodes below no switch too.
    """
    parents: dict[str, str] = {}
    places = dict[str, str]()
    for one in switches:
        places[one.name] = one.place
        below = one.switches or [node for node in one.nodes if node in nodes]
        for name in below:
            if parents.setdefault(name, one.name) != one.name:
                message = f"{name!r} is below {parents[name]!r} and {one.name!r}; a tree has one"
                problems.append(Problem(one.place, f"{message} uplink for each node"))
    below_root: dict[str, list[str]] = defaultdict(list)
    looped = set[str]()
    for node in nodes:
        if node in parents:
            root = _root(node, parents)
            below_root[root].append(node)
            looped |= {root} & {*parents}
    problems += [Problem(places.get(one, ""), f"switch {one!r} is above itself") for one in looped]
    trees = tuple(Tree(root, tuple(inside)) for root, inside in below_root.items())
    outside = tuple(node for node in nodes if node not in parents)
    apart = [*(tree.root for tree in trees), *(outside if keeps_outside else ())]
    if len(apart) > 1:
        name = ABOVE_ALL
        while name in {*parents, *parents.values(), *nodes}:
            name += "'"
        parents |= dict.fromkeys(apart, name)
    return Topology(parents, trees, outside)


def _root(node: str, parents: Mapping[str, str]) -> str:
    """The highest switch above a node; one that is above itself if there is none."""
    seen = {node}
    while node in parents:
        node = parents[node]
        if node in seen:
            loop = [node]
            while parents[loop[-1]] != node:
                loop.append(parents[loop[-1]])
            return min(loop)
        seen.add(node)
    return node


class Dealing:
    """Deals jobs that need more than one server to separate trees, each to the emptiest.

    The model has no words for a job that may use this tree or that one. So its tree is chosen
    before the plan: the one whose GPUs have least to do so far.

    Attributes
    ----------
    chosen
        Names of the jobs that several trees had room for.
    """

    def __init__(self, trees: Sequence[Tree], gpus: Mapping[str, int]) -> None:
        self.trees = trees
        self.chosen = list[str]()
        self._gpus = {tree.root: sum(gpus[name] for name in tree.nodes) for tree in trees}
        self._work = dict.fromkeys(self._gpus, 0.0)

    def load(self, nodes: Iterable[str], work: float) -> None:
        """Note work, in GPUs times slots, that is on some nodes in any case."""
        inside = {*nodes}
        for tree in self.trees:
            if inside & {*tree.nodes}:
                self._work[tree.root] += work

    def deal(self, job: str, room: Sequence[Tree], work: float) -> Tree:
        """The tree of a job that any of some trees has room for.

        Parameters
        ----------
        job
            Its name.
        room
            The trees that have room, at least one.
        work
            GPUs times slots of the job.
        """
        if len(room) > 1:
            self.chosen.append(job)
        tree = min(room, key=lambda one: self._work[one.root] / self._gpus[one.root])
        self._work[tree.root] += work
        return tree
