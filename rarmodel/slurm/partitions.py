"""Partitions of Slurm, and whether jobs of one are interrupted to start those of another."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .accounts import Qos

BY_QOS = "preempt/qos"
"""The `PreemptType` by which jobs of some QOS interrupt those of others."""
BY_TIER = "preempt/partition_prio"
"""The `PreemptType` by which jobs of partitions of higher tiers interrupt others."""


class Partition(NamedTuple):
    """A partition.

    Attributes
    ----------
    nodes
        Its nodes with GPUs.
    most_nodes
        Most nodes of a job; None if there is no limit.
    is_up, is_exclusive
        Whether jobs may start in it, and whether each gets whole nodes.
    tier, mode
        Its `PriorityTier`, and what Slurm does to its jobs to start those of a higher tier; empty
        if it lets them run.
    qos
        The QOS whose limits all its jobs have; empty if there is none.
    """

    nodes: tuple[str, ...]
    most_nodes: int | None
    is_up: bool
    is_exclusive: bool
    tier: int = 1
    mode: str = ""
    qos: str = ""


def preempting(
    kind: str, partitions: Mapping[str, Partition], qos: Mapping[str, Qos] = MappingProxyType({})
) -> str:
    """How Slurm preempts jobs; empty if it does not.

    Parameters
    ----------
    kind
        `PreemptType` of Slurm's configuration; empty if a recording lacks it.
    partitions
        The partitions. A recording that lacks the type still has their modes.
    qos
        The QOS, if accounting tells them.
    """
    if kind == "preempt/none":
        return ""
    pairs = [
        (high, low)
        for high in partitions
        for low in partitions
        if outranks(partitions[high], partitions[low])
    ]
    if kind in {BY_TIER, ""}:
        told = (f"partition {high} before {low}" for high, low in pairs)
        return next(told, "")
    if kind == BY_QOS and qos:
        told = (f"QOS {high} before {low}" for high in qos for low in qos[high].preempts)
        return next((one for one in told), "")
    return f"PreemptType={kind}"


def outranks(high: Partition, low: Partition) -> bool:
    """Whether Slurm interrupts jobs of one partition to start those of another, on shared nodes."""
    return high.tier > low.tier and bool(low.mode) and bool({*high.nodes} & {*low.nodes})
