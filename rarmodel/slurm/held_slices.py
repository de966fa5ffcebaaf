"""Running jobs on parts of GPUs, as jobs that hold slices of GPUs.

Slurm tells of which GPU a job's shards are. Its slices (MIG) are all alike, and a job may get any
that are free; so which GPU they are of does not matter, and they are numbered to fill few.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from rarmodel.workloads.gres import SHARD

from .gpu_parts import HeldPart
from .nodes import Node
from .slurm_jobs import HOLDING, SlurmJob


def with_held_slices(
    nodes: Mapping[str, Node], jobs: Sequence[SlurmJob]
) -> tuple[dict[str, Node], list[SlurmJob]]:
    """The nodes, and the jobs with the slices that they hold.

    Where it cannot be told what some job holds of a GPU, no job counts as a holder of a part of
    this GPU, and it is taken. On a node with slices that holds for all its GPUs.
    """
    counts = {
        job.id: count
        for job in jobs
        if job.state in HOLDING and (count := _slices_of_each(job, nodes))
    }
    there: dict[str, list[SlurmJob]] = defaultdict(list)
    for job in jobs:
        for name in _divided(job, nodes) if job.state in HOLDING else ():
            there[name].append(job)
    places = _places(nodes, there, counts)
    while lost := {
        job.id for name in there if places[name] is None for job in there[name]
    } & counts.keys() or _beside_unknown(nodes, there, counts):
        counts = {name: count for name, count in counts.items() if name not in lost}
        places = _places(nodes, there, counts)
    found = dict(nodes)
    for name, node in nodes.items():
        if node.part not in {"", SHARD}:
            place = places[name] if name in there or not node.used_slices else None
            taken = node.gpus if place is None else len({*place.values()})
            found[name] = node._replace(used=taken)
    return found, [_as_holder(job, counts, places, nodes) for job in jobs]


def _divided(job: SlurmJob, nodes: Mapping[str, Node]) -> dict[str, HeldPart]:
    """What a job holds of nodes with equal parts of GPUs."""
    return {name: one for name, one in job.parts.items() if name in nodes and nodes[name].part}


def _slices_of_each(job: SlurmJob, nodes: Mapping[str, Node]) -> int:
    """How many slices of one GPU a job holds on each of its nodes; 0 if it holds none so."""
    parts = _divided(job, nodes)
    counts = {one.number for one in parts.values()}
    if job.held or len(counts) != 1:
        return 0
    for name, one in parts.items():
        node = nodes[name]
        on_one = one.part != SHARD or len(one.gpus) == 1
        if one.part != node.part or one.number > node.slices or not on_one:
            return 0
    return counts.pop()


Place = dict[str, int]
"""The GPU of each job on a node."""


def _places(
    nodes: Mapping[str, Node],
    there: Mapping[str, Sequence[SlurmJob]],
    counts: Mapping[str, int],
) -> dict[str, Place | None]:
    """The GPUs of the jobs on each node that counts as holders; None where they cannot be told."""
    found: dict[str, Place | None] = defaultdict(dict)
    for name, several in there.items():
        node, known = nodes[name], [job for job in several if job.id in counts]
        if node.part == SHARD:
            found[name] = {job.id: job.parts[name].gpus[0] for job in known}
        else:
            held = sum(counts[job.id] for job in known)
            complete = len(known) == len(several) and held == node.used_slices
            found[name] = _filled(known, counts, node) if complete else None
    return found


def _filled(jobs: Iterable[SlurmJob], counts: Mapping[str, int], node: Node) -> Place | None:
    """A GPU for each job, the greatest first, on the first with room; None if that fails."""
    left, found = [node.slices] * node.gpus, Place()
    for job in sorted(jobs, key=lambda job: -counts[job.id]):
        gpu = next((gpu for gpu, room in enumerate(left) if room >= counts[job.id]), None)
        if gpu is None:
            return None
        left[gpu] -= counts[job.id]
        found[job.id] = gpu
    return found


def _beside_unknown(
    nodes: Mapping[str, Node],
    there: Mapping[str, Sequence[SlurmJob]],
    counts: Mapping[str, int],
) -> set[str]:
    """The holders of shards of a GPU of which a job holds some that cannot be told."""
    found = set[str]()
    for name, several in there.items():
        if nodes[name].part == SHARD:
            unknown = {
                gpu for job in several if job.id not in counts for gpu in job.parts[name].gpus
            }
            found |= {job.id for job in several if {*job.parts[name].gpus} & unknown}
    return found & counts.keys()


def _as_holder(
    job: SlurmJob,
    counts: Mapping[str, int],
    places: Mapping[str, Place | None],
    nodes: Mapping[str, Node],
) -> SlurmJob:
    if job.id not in counts:
        return job
    held = {
        name: (place[job.id],)
        for name in _divided(job, nodes)
        if (place := places[name]) is not None
    }
    part = next(nodes[name].part for name in held)
    return job._replace(held=held, part=part, slices=counts[job.id])
