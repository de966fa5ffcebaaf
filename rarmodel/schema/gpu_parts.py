"""What a worker takes of its GPU: slices and memory, and whether GPUs have them (section 15)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from rarmodel.errors import Problem

from .base import MAX_INTEGER, common_unit, exactly
from .cluster import MAX_SLICES, Cluster, Server
from .job import Job


class PartOfGpu(NamedTuple):
    """What each worker of a job takes of its own GPU.

    Attributes
    ----------
    slices
        Slices; None for the whole GPU.
    memory_gb
        Memory in GB; None if it needs none.
    """

    slices: int | None
    memory_gb: float | None


WHOLE_GPU = PartOfGpu(None, None)
"""What a worker takes of which nothing else is said."""


def holds(cluster: Cluster, server: Server, part: PartOfGpu) -> bool:
    """Whether a GPU of a server has slices and memory for a worker, when it is alone there."""
    return part == WHOLE_GPU or lacking(cluster, server, part) is None


def lacking(cluster: Cluster, server: Server, part: PartOfGpu) -> str | None:
    """What the GPUs of a server have too little of for a worker; None if nothing."""
    slices, memory_gb = cluster.slices_of(server), cluster.memory_gb_of(server)
    if part.slices is not None and part.slices > slices:
        several = f"{slices} slice{'s' * (slices > 1)}"
        return f"its GPUs have {several} (gpu_slices), and a worker of the job takes {part.slices}"
    if None not in {part.memory_gb, memory_gb} and (part.memory_gb or 0) > (memory_gb or 0):
        return (
            f"its GPUs have {memory_gb:.15g} GB (gpu_memory_gb), and a worker of the job needs "
            f"{part.memory_gb:.15g}"
        )
    return None


def none_holds(
    i: int, part: PartOfGpu, cluster: Cluster, groups: Iterable[Sequence[Server]]
) -> Iterator[Problem]:
    """That no server which a job may use has enough slices, or enough memory.

    Parameters
    ----------
    i
        Index of the job.
    part
        What each of its workers takes.
    cluster
        The cluster.
    groups
        The servers that the job may use.
    """
    servers = [server for group in groups for server in group]
    if part == WHOLE_GPU or not servers:
        return
    most = max(map(cluster.slices_of, servers))
    if part.slices is not None and part.slices > most:
        message = (
            f"{part.slices} slices; the GPUs of the servers that the job may use have {most} at "
            "most (gpu_slices)"
        )
        yield Problem(f"[{i}].slices", message)
    sizes = [one for server in servers if (one := cluster.memory_gb_of(server)) is not None]
    if part.memory_gb is not None and len(sizes) == len(servers) and part.memory_gb > max(sizes):
        message = (
            f"{part.memory_gb:.15g} GB; the GPUs of the servers that the job may use have "
            f"{max(sizes):.15g} at most (gpu_memory_gb)"
        )
        yield Problem(f"[{i}].memory_gb", message)


def problems_with_memory(jobs: Sequence[Job]) -> Iterator[Problem]:
    """Memory in numbers so unlike that it cannot be added up in whole numbers."""
    needs = [(i, job.memory_gb) for i, job in enumerate(jobs) if job.memory_gb]
    if not needs:
        return
    unit = common_unit(memory_gb for _, memory_gb in needs)
    if MAX_SLICES * max(exactly(memory_gb) for _, memory_gb in needs) > MAX_INTEGER * unit:
        i, memory_gb = max(needs, key=lambda one: exactly(one[1]).denominator)
        message = (
            f"{memory_gb:g}, beside what other jobs need; the greatest need must be below 2^47 "
            f"times the greatest number of which each is a multiple, {float(unit):g}"
        )
        yield Problem(f"[{i}].memory_gb", message)


class RunningOnGpus:
    """The jobs that run on each GPU at slot 0.

    Parameters
    ----------
    cluster
        The cluster.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._on: dict[tuple[str, int], list[Job]] = {}

    def put(self, server: Server, gpu: int, job: Job) -> str | None:
        """Put a job on a GPU; or say, in place of that, why it cannot be there with the others."""
        others = self._on.setdefault((server.name, gpu), [])
        here = f"GPU {gpu} of {server.name!r}"
        if any(other.name == job.name for other in others):
            return f"{here}; it is listed twice"
        if whole := [other for other in others if None in {other.slices, job.slices}]:
            return f"{here}; running job {whole[0].name!r} holds it already"
        together = [*others, job]
        slices = sum(one.slices or 0 for one in together)
        there = self._cluster.slices_of(server)
        if others and slices > there:
            return f"{here}; running jobs take {slices} slices of it, and it has {there}"
        memory = sum((exactly(one.memory_gb or 0) for one in together), Fraction(0))
        most = self._cluster.memory_gb_of(server)
        if others and most is not None and memory > exactly(most):
            needed = f"{float(memory):.15g}"
            return f"{here}; running jobs need {needed} GB of its memory, and it has {most:.15g}"
        others.append(job)
        return None
