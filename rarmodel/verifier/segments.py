"""Jobs that are interrupted: whether they may be, and what they keep (sections 11 and 18)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rarmodel.model.interruptions import left_if_moved, may_stop
from rarmodel.schema import Held, Instance, Job, Schedule

from .report import Violation
from .simulation_result import Gpu, Run, SimulationResult


def interrupted_in_vain(
    instance: Instance, jobs: Mapping[str, Job], schedule: Schedule
) -> Iterator[Violation]:
    """Jobs have one segment each where instance or job do not allow more (3)."""
    for assignment in schedule.assignments:
        if len(assignment.segments) == 1:
            continue
        job = jobs.get(assignment.job)
        if not (may_stop(instance, job) if job else instance.preemption):
            slot = assignment.segments[1].start
            why = "the instance allows none" if instance.preemption is None else "it allows none"
            message = f"job {assignment.job!r} goes on at slot {slot} after an interruption; {why}"
            yield Violation("preemption", assignment.job, None, slot, message)


def runs_on(job: Job, segment: Held) -> bool:
    """Whether a segment is where a running job is at slot 0, from slot 0 on."""
    return job.running is not None and job.running.goes_on(segment.start, segment.gpus)


def run_of(
    instance: Instance,
    job: Job,
    segment: Held,
    workers: Mapping[int, int],
    restore: int,
    follows: int | None,
) -> Run:
    """The run of a segment; it begins with a restoration unless the job begins, or stays.

    Parameters
    ----------
    instance
        The problem.
    job, segment, workers
        The job, and what it holds; the workers by index of their servers, in the segment's order.
    restore
        Slots that a restoration takes.
    follows
        Index of the run of the segment before; None for the first one.
    """
    moved = job.running is not None and not runs_on(job, segment)
    return Run(
        job,
        segment.start,
        workers,
        segment.end,
        restore if moved or follows is not None else 0,
        follows,
        left_if_moved(instance, job) if moved and follows is None else None,
        () if job.slices is None else _gpus_of(segment, workers),
    )


def _gpus_of(segment: Held, workers: Mapping[int, int]) -> tuple[Gpu, ...]:
    """The GPUs of a segment; its workers are by server in the same order."""
    held = (gpus for gpus in segment.gpus.values() if gpus)
    pairs = zip(workers, held, strict=True)
    return tuple((server, gpu) for server, gpus in pairs for gpu in gpus)


def stays_where_it_runs(instance: Instance, job: Job, segment: Held) -> Iterator[Violation]:
    """A running job keeps its GPUs from slot 0 on, unless it may be interrupted."""
    if job.running is not None and not may_stop(instance, job) and not runs_on(job, segment):
        message = f"job {job.name!r} runs at slot 0 already; it stays on the GPUs it holds"
        yield Violation("running", job.name, None, segment.start, message)


def ends_with_completion(runs: Sequence[Run], result: SimulationResult) -> Iterator[Violation]:
    """No segment starts after its job has completed."""
    completed: dict[int, int | None] = {}
    for i, run in enumerate(runs):
        if run.follows is None:
            continue
        before = completed.get(run.follows, result.completion[run.follows])
        if before is not None:
            message = (
                f"job {run.job.name!r} has a segment from slot {run.start} on; "
                f"it completed at slot {before}"
            )
            yield Violation("completed", run.job.name, None, run.start, message)
        completed[i] = result.completion[i] if before is None else before
