"""Which nodes the pods of a job may use: GPUs, labels, taints, flavors, processors and memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .gpus import Demand
from .job_kinds import Pods
from .nodes import GpuNode
from .schema import PodTemplate, Toleration
from .selection import refused, selects

_ASKED = {"node_selector", "affinity", "tolerations"}
"""What a pod asks of nodes, beside resources."""


class UnusableError(Exception):
    """The model cannot hold this job; the text says why."""


class FlavorNodes(NamedTuple):
    """Nodes that a queue's flavor gives, and what its pods tolerate beside their own."""

    labels: Mapping[str, str]
    tolerations: Sequence[Toleration]


class NodeChoice:
    """The nodes of a cluster that take pods. Pods that ask alike get the same answer.

    Attributes
    ----------
    nodes
        All nodes with GPUs.
    """

    def __init__(self, nodes: Mapping[str, GpuNode]) -> None:
        self.nodes = nodes
        self._known: dict[tuple[Demand, str, str], Mapping[str, bool]] = {}

    def of_all(
        self,
        asked: Sequence[tuple[Pods, Demand]],
        flavors: Mapping[str, Sequence[FlavorNodes]] | None,
    ) -> tuple[list[str], bool]:
        """Nodes that take each of some pods, and whether taints for GPUs were forgiven.

        Parameters
        ----------
        asked
            The pods, with what they ask for.
        flavors
            By resource, the flavors of their queue; None without quotas by flavor.

        Raises
        ------
        UnusableError
            If there are none.
        UnreadableError
            If the pods ask in a way that is not read.
        """
        found: list[Mapping[str, bool]] = []
        for one, demand in asked:
            spreading = one.template.spec.topology_spread_constraints
            if any(each.when_unsatisfiable == "DoNotSchedule" for each in spreading):
                raise UnusableError("asks to be spread evenly (topologySpreadConstraints)")
            own = None if flavors is None else flavors.get(demand.resource, ())
            if own is not None and not own:
                raise UnusableError(f"its queue has no quota for {demand.resource}")
            found.append(self._of(one.template, demand, own))
        left = [name for name in found[0] if all(name in some for some in found[1:])]
        # One piece of a resource is a GPU on some nodes, and a part of one on others.
        left = [name for name in left if not self.nodes[name].has_parts] or left
        if left and self.nodes[left[0]].has_parts and any(one.gpus > 1 for _, one in asked):
            raise UnusableError("asks for several parts of GPUs in one pod")
        if not left:
            raise UnusableError("no node takes its pods: GPUs, labels, taints, CPUs and memory")
        return left, any(some[name] for some in found for name in left)

    def _of(
        self, template: PodTemplate, demand: Demand, flavors: Sequence[FlavorNodes] | None
    ) -> Mapping[str, bool]:
        """Nodes that take a pod, and whether a taint for GPUs was forgiven there."""
        key = demand, template.spec.model_dump_json(include=_ASKED), repr(flavors)
        if key not in self._known:
            self._known[key] = {
                node.name: accepted
                for node in self.nodes.values()
                if (accepted := _accepts(node, template, demand, flavors)) is not None
            }
        return self._known[key]


def _accepts(
    node: GpuNode, template: PodTemplate, demand: Demand, flavors: Sequence[FlavorNodes] | None
) -> bool | None:
    """None if a node takes no such pod; else whether a taint for GPUs was forgiven."""
    enough = (
        not node.away
        and node.resource == demand.resource
        and node.gpus >= demand.gpus
        and node.cpus >= demand.cpus
        and node.memory >= demand.memory
    )
    if not enough or not selects(template.spec, node.name, node.labels):
        return None
    best: bool | None = None
    for flavor in (FlavorNodes({}, ()),) if flavors is None else flavors:
        if any(node.labels.get(key) != value for key, value in flavor.labels.items()):
            continue
        tolerations = (*template.spec.tolerations, *flavor.tolerations)
        kept_away, forgiven = refused(node.taints, tolerations, demand.resource)
        if not kept_away:
            best = forgiven if best is None else best and forgiven
    return best
