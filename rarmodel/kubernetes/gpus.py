"""Which resources are whole GPUs, which are parts of some, and what pods ask for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from rarmodel.schema.cluster import MAX_SLICES
from rarmodel.workloads.gpu_divisions import instances_per_gpu

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
_EQUAL = re.compile(r"nvidia\.com/(?:mig-([0-9]+g\.[0-9]+gb)|gpu\.shared)")
"""Resources of parts that are equal, of which a pod with one is a worker on a slice."""
_TYPES = (
    "nvidia.com/gpu.product",
    "amd.com/gpu.product-name",
    "cloud.google.com/gke-accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
)
"""Labels of nodes that name the type of their GPUs, the most exact first."""


_REPLICAS = "nvidia.com/gpu.replicas", "cloud.google.com/gke-max-shared-clients-per-gpu"
"""Labels of nodes that say how many pods share a GPU by turns."""


class Demand(NamedTuple):
    """What a pod asks for.

    Attributes
    ----------
    gpus
        Whole GPUs.
    resource
        The resource that they are; empty without GPUs.
    part
        A resource that it asks for and that the instance cannot have, as it is of parts of GPUs;
        empty if there is none.
    cpus, memory
        Processors, and bytes of memory.
    is_part
        Whether it asks for one part of a GPU: `gpus` is 1, and `resource` is of parts.
    """

    gpus: int
    resource: str
    part: str
    cpus: Fraction
    memory: Fraction
    is_part: bool = False


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
    cpus, memory = _of(spec, "cpu"), _of(spec, "memory")
    if len(parts) == 1 and not gpus and _EQUAL.fullmatch(parts[0]) and _of(spec, parts[0]) == 1:
        return Demand(1, parts[0], "", cpus, memory, is_part=True)
    return Demand(gpus, resource, next(iter(parts), ""), cpus, memory)


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


def equal_parts_of_node(amounts: Amounts) -> dict[str, int]:
    """The only resource of a node's parts of GPUs, with its pieces, if parts of it are equal.

    Raises
    ------
    ValueError
        If a number is none.
    """
    parts = parts_of_node(amounts)
    return {
        name: whole(amounts[name]) for name in parts if len(parts) == 1 and _EQUAL.fullmatch(name)
    }


def slices_per_gpu(resource: str, pieces: int, labels: Labels) -> int | str:
    """Into how many equal parts, as which a node has its pieces, each GPU is divided, or why not.

    Parameters
    ----------
    resource, pieces
        The only resource of the node that is of GPUs, and how many pieces it has of it.
    labels
        Labels of the node.
    """
    named, product = _EQUAL.fullmatch(resource), labels.get("nvidia.com/gpu.product", "")
    profile = named[1] if named else labels.get("cloud.google.com/gke-gpu-partition-size", "")
    profile = profile or product.partition("-MIG-")[2]
    told = (labels.get(name, "1") for name in _REPLICAS)
    replicas = max(int(one[:9]) if one.isdecimal() else 1 for one in told)
    is_shared = replicas > 1 or product.endswith("-SHARED") or resource.endswith(".shared")
    if profile and is_shared:
        return "its slices of MIG are shared"
    if profile:
        each = instances_per_gpu(profile, pieces)
        return f"its slices of MIG ({profile}) fill no whole GPUs" if each is None else each
    if not is_shared:
        return 1
    if replicas == 1 or replicas > MAX_SLICES or pieces % replicas:
        return f"its GPUs are shared, and {pieces} shares are no equal parts of them"
    return replicas


def type_of(labels: Labels) -> str:
    """The type of a node's GPUs; empty if no label names it."""
    return next((labels[name] for name in _TYPES if labels.get(name)), "")
