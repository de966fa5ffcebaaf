"""The schedule of what was played, with GPUs numbered."""

from __future__ import annotations

from collections.abc import Sequence

from rarmodel.model import gpu_assignment
from rarmodel.schema import Instance, Schedule
from rarmodel.schema.schedule import AnyAssignment, Assignment, InterruptedAssignment, Segment

from .cluster import Stay
from .jobs import Jobs


def schedule_of(instance: Instance, jobs: Jobs, stays: Sequence[Stay], method: str) -> Schedule:
    """The schedule of stays in which every job has completed."""
    numbered = gpu_assignment.number_gpus(
        instance.cluster, [_with_gpus(instance, jobs, one) for one in stays]
    )
    segments: list[list[Segment]] = [[] for _ in instance.jobs]
    for i in sorted(range(len(stays)), key=lambda i: stays[i].start):
        one = Segment.model_construct(start=stays[i].start, end=stays[i].end, gpus=numbered[i])
        segments[jobs.index[stays[i].job]].append(one)
    return Schedule.model_construct(
        schema_version=1,
        instance=instance.name,
        method=method,
        time=None,
        bound=None,
        assignments=tuple(
            _assignment(job.name, own) for job, own in zip(instance.jobs, segments, strict=True)
        ),
    ).timed(instance.time)


def _with_gpus(instance: Instance, jobs: Jobs, stay: Stay) -> gpu_assignment.Stay:
    running = instance.jobs[jobs.index[stay.job]].running
    kept = running.gpus if stay.kept and running is not None else None
    return gpu_assignment.Stay(stay.start, stay.end, stay.ring, kept)


def _assignment(job: str, segments: list[Segment]) -> AnyAssignment:
    *before, last = segments
    if not before:
        return Assignment.model_construct(job=job, start=last.start, gpus=last.gpus)
    open_end = last.model_copy(update={"end": None})
    return InterruptedAssignment.model_construct(job=job, segments=(*before, open_end))
