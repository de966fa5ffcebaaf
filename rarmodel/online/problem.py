"""What is known at a slot, as an instance that begins then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from rarmodel.engine.arrays import Ints
from rarmodel.model.gpu_assignment import Stay, number_gpus
from rarmodel.schema import CapacityWindow, Instance, Job, Resource
from rarmodel.schema.cluster import Reservation
from rarmodel.schema.job import Running

from .cluster_at_work import WorkingCluster

T = TypeVar("T", Reservation, CapacityWindow)


def known_problem(cluster: WorkingCluster, active: Ints) -> Instance:
    """The jobs that are there, with what is left of them, from now on.

    Slots are counted from now. Running jobs go on where they are, as if jobs could not be
    interrupted; a restoration that is not over counts as done. Due slots that are past stay, below
    0; deadlines that are past are due slots here, as nothing can keep them.
    """
    instance, now = cluster.instance, cluster.now
    kept = [cluster.stays[k] for k in active.tolist() if cluster.holds[k]]
    numbered = number_gpus(instance.cluster, [Stay(0, 1, one.ring) for one in kept])
    gpus = {stay.job: own for stay, own in zip(kept, numbered, strict=True)}
    left = cluster.left(active).tolist()
    jobs = [
        _job(cluster, k, iterations, gpus.get(k))
        for k, iterations in zip(active.tolist(), left, strict=True)
    ]
    reservations = tuple(_reservations(instance, now))
    return instance.model_copy(
        update={
            "name": f"{instance.name} from slot {now}",
            "jobs": tuple(jobs),
            "preemption": None,
            "time": instance.time.model_copy(update={"horizon": None, "origin": None}),
            "cluster": instance.cluster.model_copy(update={"reservations": reservations}),
            "resources": tuple(_from(one, now) for one in instance.resources),
        }
    )


def _job(
    cluster: WorkingCluster, k: int, iterations: int, gpus: dict[str, tuple[int, ...]] | None
) -> Job:
    job, now = cluster.instance.jobs[cluster.jobs.index[k]], cluster.now
    deadline = None if job.deadline is None else job.deadline - now
    in_time = deadline is None or deadline >= cluster.jobs.length[k]
    due = deadline if job.due is None else job.due - now
    running = None
    if gpus is not None:
        running = Running.model_construct(gpus=gpus, iterations_done=0)
    known: Job = job.model_copy(
        update={
            "iterations": iterations,
            "release": job.release - now,
            "due": due,
            "deadline": deadline if in_time else None,
            "after": (),
            "running": running,
        }
    )
    return known


def _reservations(instance: Instance, now: int) -> Iterator[Reservation]:
    """What is reserved from now on."""
    return _later(instance.cluster.reservations, now)


def _from(resource: Resource, now: int) -> Resource:
    """A resource, with the windows of its capacity that are not over."""
    if not isinstance(resource.capacity, tuple):
        return resource
    return resource.model_copy(update={"capacity": tuple(_later(resource.capacity, now))})


def _later(some: Iterable[T], now: int) -> Iterator[T]:
    """What is not over by a slot, in slots counted from then."""
    for one in some:
        if one.end is None or one.end > now:
            end = None if one.end is None else one.end - now
            yield one.model_copy(update={"start": max(0, one.start - now), "end": end})
