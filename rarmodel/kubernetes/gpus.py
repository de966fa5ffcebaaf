"""Which resources are whole GPUs, which are parts of some, and what pods ask for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from .quantities import quantity, whole
from .schema import Amounts, Labels, PodSpec

WHOLE = (
    "nvidia.com/gpu",
    "amd.com/gpu",
    "habana.ai/gaudi",
    "gpu.intel.com/i915",
    "gpu.intel.com/xe",
    "aws.amazon.com/neuron",
    "huawei.com/Ascend910",
    "cambricon.com/mlu",
)
"""Resources of which each piece is a GPU, or an accelerator that rings have as workers."""
_PARTS = re.compile(
    r"nvidia\.com/(?:mig-.+|gpu\.shared|gpumem.*|gpucores|vgpu.*)"
    r"|amd\.com/(?!gpu$).+|aws\.amazon\.com/neuroncore|volcano\.sh/v?gpu.*|aliyun\.com/gpu.*"
)
"""Resources of which a piece is a part of a GPU: slices of MIG, shares, partitions."""
_TYPES = (
    "nvidia.com/gpu.product",
    "amd.com/gpu.product-name",
    "cloud.google.com/gke-accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
)
"""Labels of nodes that name the type of their GPUs, the most exact first."""


class Demand(NamedTuple):
    """What a pod asks for.

    Attributes
    ----------
    gpus
        Whole GPUs.
    resource
        The resource that they are; empty without GPUs.
    part
        A resource that it asks for and that is part of a GPU; empty if there is none.
    cpus, memory
        Processors, and bytes of memory.
    """

    gpus: int
    resource: str
    part: str
    cpus: Fraction
    memory: Fraction


def demand_of(spec: PodSpec) -> Demand:
    """What a pod asks for: the sum of its containers, or one that runs before them if it is more.

    Raises
    ------
    ValueError
        If that is not what Kubernetes lets it ask for, or if it asks for GPUs of two kinds.
    """
    names = {name for one in _requests(spec) for name in one}
    asked = {name: whole(str(n)) for name in WHOLE if name in names and (n := _of(spec, name))}
    if len(asked) > 1:
        raise ValueError(f"a pod asks for GPUs of two kinds, {' and '.join(asked)}")
    parts = sorted(name for name in names if _PARTS.fullmatch(name) and _of(spec, name))
    resource, gpus = next(iter(asked.items()), ("", 0))
    return Demand(gpus, resource, next(iter(parts), ""), _of(spec, "cpu"), _of(spec, "memory"))


def _requests(spec: PodSpec) -> list[Mapping[str, str | int | float]]:
    """What each container asks for; a limit without a request is one."""
    return [
        {**one.resources.limits, **one.resources.requests}
        for one in (*spec.init_containers, *spec.containers)
    ]


def _of(spec: PodSpec, name: str) -> Fraction:
    asked = [quantity(one.get(name, 0)) for one in _requests(spec)]
    before, most = Fraction(0), Fraction(0)
    for one, amount in zip(spec.init_containers, asked, strict=False):
        if one.restart_policy == "Always":  # It goes on beside the others.
            before += amount
            most = max(most, before)
        else:
            most = max(most, before + amount)
    return max(most, before + sum(asked[len(spec.init_containers) :], Fraction(0)))


def gpus_of_node(amounts: Amounts) -> dict[str, int]:
    """Whole GPUs of a node by resource.

    Raises
    ------
    ValueError
        If a number is none.
    """
    return {name: n for name in WHOLE if (n := whole(amounts.get(name, 0)))}


def parts_of_node(amounts: Amounts) -> list[str]:
    """Resources of a node that are parts of GPUs."""
    return sorted(
        name
        for name, amount in amounts.items()
        if _PARTS.fullmatch(name) and str(amount).strip() not in {"", "0"}
    )


def why_parts(labels: Labels) -> str:
    """Why each piece of a node's resource is only a part of a GPU; empty if it is a whole one."""
    product = labels.get("nvidia.com/gpu.product", "")
    if "-MIG-" in product or labels.get("cloud.google.com/gke-gpu-partition-size"):
        return "its GPUs are slices of MIG"
    replicas = labels.get("nvidia.com/gpu.replicas", "1")
    clients = labels.get("cloud.google.com/gke-max-shared-clients-per-gpu", "1")
    several = any(one.isdecimal() and int(one[:9]) > 1 for one in (replicas, clients))
    if several or product.endswith("-SHARED"):
        return "its GPUs are shared"
    return ""


def type_of(labels: Labels) -> str:
    """The type of a node's GPUs; empty if no label names it."""
    return next((labels[name] for name in _TYPES if labels.get(name)), "")
