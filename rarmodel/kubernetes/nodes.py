"""Nodes with GPUs, whole or in equal parts, and why others are left out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from .gpus import (
    WHOLE,
    equal_parts_of_node,
    gpus_of_node,
    parts_of_node,
    slices_per_gpu,
    type_of,
)
from .quantities import quantity
from .schema import Labels, Node, Taint


class GpuNode(NamedTuple):
    """A node with GPUs.

    Attributes
    ----------
    name, gpus, resource
        Its name, its GPUs, and the resource that they are.
    gpu_type
        Their type; empty if no label names it.
    cpus, memory
        Processors and bytes of memory for pods.
    labels, taints
        As it has them.
    away
        Why it takes no more pods; empty if it does.
    parts
        Resources that are parts of its other GPUs.
    slices
        Equal parts of each GPU, of which each is a piece of the resource; 1 if these are GPUs.
    """

    name: str
    gpus: int
    resource: str
    gpu_type: str
    cpus: Fraction
    memory: Fraction
    labels: Labels
    taints: Sequence[Taint]
    away: str
    parts: Sequence[str]
    slices: int = 1

    @property
    def has_parts(self) -> bool:
        """Whether each piece of its resource is a part of a GPU."""
        return self.resource not in WHOLE or self.slices > 1


def gpu_node(node: Node) -> GpuNode | str:
    """A node, or why it is left out.

    Raises
    ------
    ValueError
        If a number is none.
    """
    labels, status = node.metadata.labels, node.status
    # A node whose device plugin is down still tells its capacity, but has nothing to give.
    found = gpus_of_node(status.allocatable or status.capacity)
    parts = parts_of_node(status.allocatable)
    if not found and (found := equal_parts_of_node(status.allocatable)):
        parts = []
    if not found:
        if parts:
            return f"it has only parts of GPUs, which are not equal ({', '.join(parts)})"
        return "it has no GPUs" if not gpus_of_node(status.capacity) else "it has no GPUs to give"
    if len(found) > 1:
        return f"it has GPUs of two kinds ({', '.join(found)})"
    resource, pieces = next(iter(found.items()))
    if isinstance(slices := slices_per_gpu(resource, pieces, labels), str):
        return slices
    return GpuNode(
        name=node.metadata.name,
        gpus=pieces // slices,
        resource=resource,
        gpu_type=type_of(labels),
        cpus=_has(status.allocatable, "cpu"),
        memory=_has(status.allocatable, "memory"),
        labels=labels,
        taints=node.spec.taints,
        away=_why_away(node),
        parts=parts,
        slices=slices,
    )


def _has(amounts: Mapping[str, str | int | float], name: str) -> Fraction:
    """How much a node has of a resource; very much if it does not say."""
    return quantity(amounts[name]) if name in amounts else Fraction(10) ** 30


def _why_away(node: Node) -> str:
    ready = next((one for one in node.status.conditions if one.type == "Ready"), None)
    if node.metadata.deletion_timestamp is not None:
        return "being deleted"
    if ready is not None and not ready.holds:
        return "not ready"
    cordon = "node.kubernetes.io/unschedulable"
    if node.spec.unschedulable or any(one.key == cordon for one in node.spec.taints):
        return "cordoned"
    return ""


def by_number(name: str) -> tuple[tuple[tuple[bool, int, str], ...], str]:
    """A key that sorts `node-2` before `node-10`."""
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+|[0-9]", name)
    return tuple((not one.isdigit(), int(one) if one.isdigit() else 0, one) for one in parts), name
