"""Turn starts and workers into a schedule with GPU indices."""

from __future__ import annotations

from collections.abc import Sequence

from rarmodel.errors import InputError, VerificationError
from rarmodel.formulations import Plan
from rarmodel.model.gpu_assignment import Stay, number_gpus
from rarmodel.model.interruptions import left_if_moved
from rarmodel.model.timing import restore_slots
from rarmodel.schema import (
    AnyAssignment,
    Assignment,
    Instance,
    InterruptedAssignment,
    Replica,
    Schedule,
    Segment,
)
from rarmodel.verifier import Run, simulate

from .numbered_replicas import ends_of, numbered_by_gpu, with_gpus


def schedule_of(instance: Instance, plan: Plan, method: str) -> Schedule:
    """A schedule with GPU indices from starts and workers, and from the plan's GPUs if given.

    Raises
    ------
    VerificationError
        If the plan places a job wrongly, or some server would hold more workers than it has GPUs.
    """
    if plan.stays is not None:
        return _in_segments(instance, plan.stays, method)
    capacities = [server.gpus for server in instance.cluster.servers]
    if len(plan.starts) != len(instance.jobs) or len(plan.workers) != len(instance.jobs):
        raise VerificationError(f"{method}: a plan needs a start and workers for every job")
    for job, start, workers in zip(instance.jobs, plan.starts, plan.workers, strict=True):
        placed = all(
            0 <= server < len(capacities) and 1 <= count <= capacities[server]
            for server, count in workers.items()
        )
        if start < 0 or not placed or sum(workers.values()) not in job.sizes:
            raise VerificationError(
                f"{method}: job {job.name!r} starts at slot {start} with workers "
                f"{dict(workers)} by server, and needs {' or '.join(map(str, job.sizes))} GPUs"
            )
    found: dict[str, tuple[Replica, ...]] = {}
    if any(one.gpu is not None for one in plan.replicas) or (plan.gpus and plan.replicas):
        assignments, found["services"] = numbered_by_gpu(instance, plan, method)
    elif plan.gpus is not None:
        names = [server.name for server in instance.cluster.servers]
        assignments = tuple(
            Assignment(job=job.name, start=start, gpus={names[s]: g for s, g in held.items()})
            for job, start, held in zip(instance.jobs, plan.starts, plan.gpus, strict=True)
        )
    else:
        assignments, replicas = _numbered(instance, plan, method)
        found = {"services": replicas} if replicas else {}
    return Schedule(
        schema_version=1, instance=instance.name, method=method, assignments=assignments, **found
    )


def _in_segments(instance: Instance, stays: Sequence[Sequence[Stay]], method: str) -> Schedule:
    """A schedule from what jobs hold and when, up to their completions."""
    restore = restore_slots(instance)
    runs, first = list[Run](), list[int]()
    for job, own in zip(instance.jobs, stays, strict=True):
        if not own:
            raise VerificationError(f"{method}: a plan needs a segment of every job")
        first.append(len(runs))
        for i, stay in enumerate(own):
            begins = i == 0 and (job.running is None or stay.gpus is not None)
            follows = len(runs) - 1 if i else None
            wait = 0 if begins else restore
            end = None if stay is own[-1] else stay.end
            left = None if begins or i else left_if_moved(instance, job)
            runs.append(Run(job, stay.start, stay.workers, end, wait, follows, left))
    ends = simulate(instance, runs).ends
    # A job that never completes keeps its GPUs; the verifier says so.
    never = 1 + max([*(run.start for run in runs), *(end for end in ends if end is not None)])
    kept: list[list[Stay]] = []
    for own, at in zip(stays, first, strict=True):
        until = [never if end is None else end for end in ends[at : at + len(own)]]
        pairs = zip(own, until, strict=True)
        kept.append([stay._replace(end=end) for stay, end in pairs if end > stay.start])
    try:
        numbered = iter(number_gpus(instance.cluster, [stay for own in kept for stay in own]))
    except InputError as error:
        raise VerificationError(f"{method}: {error}") from error
    assignments: list[AnyAssignment] = []
    for job, own in zip(instance.jobs, kept, strict=True):
        *before, (last, gpus) = [(stay, next(numbered)) for stay in own]
        segments = [Segment(start=one.start, end=one.end, gpus=held) for one, held in before]
        if not segments:
            assignments.append(Assignment(job=job.name, start=last.start, gpus=gpus))
            continue
        segments.append(Segment(start=last.start, gpus=gpus))
        assignments.append(InterruptedAssignment(job=job.name, segments=tuple(segments)))
    return Schedule(
        schema_version=1, instance=instance.name, method=method, assignments=tuple(assignments)
    )


def _numbered(
    instance: Instance, plan: Plan, method: str
) -> tuple[tuple[Assignment, ...], tuple[Replica, ...]]:
    """Jobs with GPU indices, and the replicas of services among them."""
    held = [job.running.gpus if job.running else None for job in instance.jobs]
    jobs = zip(plan.starts, ends_of(instance, plan), plan.workers, held, strict=True)
    stays = [Stay(*one) for one in jobs]
    stays += [Stay(one.start, one.end, {one.server: one.gpus}) for one in plan.replicas]
    try:
        gpus = number_gpus(instance.cluster, stays)
    except InputError as error:
        raise VerificationError(f"{method}: {error}") from error
    return with_gpus(instance, plan, gpus)
