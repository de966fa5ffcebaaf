"""Processors and memory, which the model does not know: a plan is checked against their counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rarmodel.errors import listed
from rarmodel.schema import Schedule

from .jobs import cpus_per_node, memory_per_node
from .queue import Queue


class Conflict(NamedTuple):
    """Jobs that a plan has on a node at once, though it lacks processors or memory for them.

    Attributes
    ----------
    job
        The waiting job that starts last.
    others
        The greatest of those that are on the node then: their ends make room for it.
    """

    job: str
    others: tuple[str, ...]
    message: str


class _Held(NamedTuple):
    """What a job takes of a node, in order of start, running jobs first."""

    start: int
    waits: bool
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
        end, waits = ends[assigned.job] or assigned.start + 1, job.state == "PENDING"
        for name in nodes:
            shape = job, len(nodes), len(assigned.gpus[name])
            asked = cpus_per_node(*shape), memory_per_node(*shape)
            on_nodes[name].append(_Held(assigned.start, waits, end, assigned.job, *asked))
    for name, several in on_nodes.items():
        node = queue.nodes[name]
        active: list[_Held] = []
        for one in sorted(several):
            active = [other for other in active if other.end > one.start]
            cpus = one.cpus + sum(other.cpus for other in active)
            memory = one.memory_mb + sum(other.memory_mb for other in active)
            if one.waits and active and (cpus > node.cpus or memory > node.memory_mb):
                yield Conflict(
                    one.job,
                    tuple(_in_the_way(active, cpus - node.cpus, memory - node.memory_mb)),
                    f"job {one.job} would start on {name} beside "
                    f"{listed([other.job for other in active])}: {cpus} CPUs of {node.cpus}, "
                    f"{memory} MB of {node.memory_mb}",
                )
            active.append(one)


def _in_the_way(active: list[_Held], cpus: int, memory_mb: int) -> Iterator[str]:
    """Jobs, the greatest first, that together have as many processors and as much memory."""
    for one in sorted(active, key=lambda one: (-one.cpus, -one.memory_mb)):
        if cpus > 0 or memory_mb > 0:
            yield one.job
            cpus, memory_mb = cpus - one.cpus, memory_mb - one.memory_mb
