"""How a job stands: it runs on GPUs, waits for them, or is over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from .gpus import Demand, demand_of
from .objects import Key
from .schema import Pod

_OVER = {"Succeeded", "Failed"}


class Standing(NamedTuple):
    """The pods of a job that have GPUs.

    Attributes
    ----------
    held
        GPUs that its pods hold, by node.
    ending
        GPUs that pods hold which are being deleted, by node.
    started
        When the last of them started; None if that is not told.
    placed, waiting, over
        Pods with GPUs: on a node, on none, and at their end.
    always
        Whether every pod with GPUs starts again whenever it ends, as in a service.
    aside
        A node of whose GPUs a pod has a part that the instance does not have; empty if none is.
    """

    held: Mapping[str, int]
    ending: Mapping[str, int]
    started: datetime | None
    placed: int
    waiting: int
    over: int
    always: bool
    aside: str = ""


def standing_of(pods: Mapping[Key, Pod], resources: Mapping[str, str]) -> Standing:
    """How the pods of a job stand; those without GPUs, or parts of them, do not count.

    Parameters
    ----------
    pods
        The pods.
    resources
        The resource that the GPUs of each node are, or their equal parts.
    """
    held, ending = Counter[str](), Counter[str]()
    moments, restarts = list[datetime](), list[str]()
    placed = waiting = over = 0
    aside = ""
    for pod in pods.values():
        demand = demand_or_none(pod)
        if demand is None or not demand.gpus:
            continue
        node = pod.spec.node_name if pod.status.phase not in _OVER else ""
        if demand.is_part and node and resources.get(node) != demand.resource:
            aside = aside or node
            continue
        restarts.append(pod.spec.restart_policy)
        if pod.status.phase in _OVER:
            over += 1
        elif not pod.spec.node_name:
            waiting += pod.metadata.deletion_timestamp is None
        elif pod.metadata.deletion_timestamp is not None:
            ending[pod.spec.node_name] += demand.gpus
        else:
            placed += 1
            held[pod.spec.node_name] += demand.gpus
            if moment := pod.status.start_time or pod.metadata.creation_timestamp:
                moments.append(moment)
    return Standing(
        held=dict(sorted(held.items())),
        ending=dict(sorted(ending.items())),
        started=max(moments, default=None),
        placed=placed,
        waiting=waiting,
        over=over,
        always=bool(restarts) and set(restarts) == {"Always"},
        aside=aside,
    )


def demand_or_none(pod: Pod) -> Demand | None:
    """What a pod asks for; None if that cannot be read, or is parts of GPUs."""
    try:
        demand = demand_of(pod.spec)
    except ValueError:
        return None
    return None if demand.part else demand


def why_no_gpus(pods: Sequence[Pod]) -> str:
    """Why some pods hold none of the GPUs that the instance has."""
    for pod in pods:
        try:
            demand = demand_of(pod.spec)
        except ValueError as error:
            return str(error)
        if demand.part:
            return f"asks for parts of GPUs ({demand.part})"
    return "asks for no GPUs"
