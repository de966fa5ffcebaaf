"""Processors and memory, which the model does not know: a plan is checked against their counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rarmodel.schema import Schedule

from .queue import Queue, cpus_per_node, memory_per_node


class Conflict(NamedTuple):
    """Jobs that a plan has on a node at once, though it lacks processors or memory for them.

    Attributes
    ----------
    job, others
        The job that starts last, and those that are on the node then, the greatest first.
    """

    job: str
    others: tuple[str, ...]
    message: str


class _Held(NamedTuple):
    start: int
    end: int
    job: str
    cpus: int
    memory_mb: int


def conflicts(
    queue: Queue, schedule: Schedule, ends: Mapping[str, int | None]
) -> Iterator[Conflict]:
    """Where a plan asks too much of a node.

    Parameters
    ----------
    queue
        Nodes and jobs.
    schedule, ends
        The plan, and the slot after the last of each job.
    """
    on_nodes: dict[str, list[_Held]] = defaultdict(list)
    for assigned in schedule.assignments:
        job = queue.jobs[assigned.job]
        nodes = [name for name, gpus in assigned.gpus.items() if gpus]
        asked = cpus_per_node(job, len(nodes)), memory_per_node(job, len(nodes))
        end = ends[assigned.job] or assigned.start + 1
        for name in nodes:
            on_nodes[name].append(_Held(assigned.start, end, assigned.job, *asked))
    for name, several in on_nodes.items():
        node = queue.nodes[name]
        active: list[_Held] = []
        for one in sorted(several):
            active = [other for other in active if other.end > one.start]
            cpus = one.cpus + sum(other.cpus for other in active)
            memory = one.memory_mb + sum(other.memory_mb for other in active)
            if active and (cpus > node.cpus or memory > node.memory_mb):
                greatest = sorted(active, key=lambda other: (-other.cpus, -other.memory_mb))
                yield Conflict(
                    one.job,
                    tuple(other.job for other in greatest),
                    f"job {one.job} would start on {name} beside "
                    f"{', '.join(other.job for other in greatest)}: {cpus} CPUs of {node.cpus}, "
                    f"{memory} MB of {node.memory_mb}",
                )
            active.append(one)
