"""Number the GPUs of jobs and replicas anew, so that no two hold one at once.

Methods reserve a number of GPUs for replicas, and name those of jobs. A GPU that workers hold from
one slot until before another is one interval, whoever is on it; those that overlap on one GPU go
together, so who shares a GPU with whom stays as it is. Where never more than O_s intervals of a
server overlap, O_s numbers are enough: in the order of their begins each finds a free one. Which
one makes no ring faster or slower.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rarmodel.errors import VerificationError
from rarmodel.model.gpu_assignment import overlapping
from rarmodel.schema import Instance, Replica, Schedule
from rarmodel.schema.schedule import AnyAssignment, Held
from rarmodel.verifier import Report

from .placing import Unit


@dataclass
class Interval:
    """Slots in which a GPU is held without a break.

    Attributes
    ----------
    start, end
        The slots.
    gpu
        The number that it has so far; None for one of replicas.
    fixed
        Whether it keeps this number: a job that runs at slot 0 is there.
    held
        What is on it: assignment and segment of a job, by index.
    unit
        Index of the replicas' GPU; None for one of jobs.
    """

    start: int
    end: int
    gpu: int | None
    fixed: bool = False
    held: list[tuple[int, int]] = field(default_factory=list)
    unit: int | None = None


def with_replicas(
    instance: Instance,
    schedule: Schedule,
    report: Report,
    units: Sequence[Unit],
    replicas: Sequence[Replica],
) -> Schedule:
    """A schedule of the jobs, with replicas beside them.

    Parameters
    ----------
    instance
        The problem, with its services.
    schedule, report
        A feasible schedule of the jobs beside reservations of the replicas' GPUs, and the
        verifier's report on it.
    units, replicas
        GPUs that replicas hold, and the replicas, without GPUs so far.

    Raises
    ------
    VerificationError
        If more GPUs of a server are held at once than it has.
    """
    names = [server.name for server in instance.cluster.servers]
    by_server: dict[str, list[Interval]] = {name: [] for name in names}
    for u, unit in enumerate(units):
        by_server[names[unit.server]].append(Interval(unit.start, unit.end, None, unit=u))
    for name, gpu, some in _of_jobs(instance, schedule, report):
        by_server[name] += _merged(gpu, some)
    number: dict[tuple[int, int, str, int], int] = {}
    of_unit: dict[int, int] = {}
    for server in instance.cluster.servers:
        for one, gpu in _numbered(server.name, server.gpus, by_server[server.name]):
            if one.unit is not None:
                of_unit[one.unit] = gpu
            for a, s in one.held:
                number[a, s, server.name, one.gpu if one.gpu is not None else gpu] = gpu
    gpus_of: list[dict[str, list[int]]] = [{} for _ in replicas]
    for u, unit in enumerate(units):
        for r in unit.replicas:
            gpus_of[r].setdefault(names[unit.server], []).append(of_unit[u])
    placed = tuple(
        one.model_copy(
            update={"gpus": {name: tuple(sorted(gpus)) for name, gpus in gpus_of[r].items()}}
        )
        for r, one in enumerate(replicas)
    )
    assignments: list[AnyAssignment] = []
    for a, assignment in enumerate(schedule.assignments):
        renumbered = [
            {
                name: tuple(number[a, s, name, gpu] for gpu in gpus)
                for name, gpus in segment.gpus.items()
            }
            for s, segment in enumerate(assignment.segments)
        ]
        if len(assignment.segments) == 1 and assignment.segments[0] is assignment:
            assignments.append(assignment.model_copy(update={"gpus": renumbered[0]}))
        else:
            segments = tuple(
                segment.model_copy(update={"gpus": gpus})
                for segment, gpus in zip(assignment.segments, renumbered, strict=True)
            )
            assignments.append(assignment.model_copy(update={"segments": segments}))
    update = {"assignments": tuple(assignments), "services": placed, "bound": None}
    return schedule.model_copy(update=update)


def _of_jobs(
    instance: Instance, schedule: Schedule, report: Report
) -> Iterator[tuple[str, int, list[Interval]]]:
    """By server and GPU, when which segments of jobs hold it."""
    jobs = {job.name: job for job in instance.jobs}
    found: dict[tuple[str, int], list[Interval]] = {}
    for a, assignment in enumerate(schedule.assignments):
        running = jobs[assignment.job].running
        for s, segment in enumerate(assignment.segments):
            end = segment.end if segment.end is not None else report.completion[assignment.job]
            assert end is not None  # noqa: S101 - the schedule is feasible
            fixed = running is not None and running.goes_on(segment.start, segment.gpus)
            for name, gpu in _gpus(segment):
                one = Interval(segment.start, end, gpu, fixed, [(a, s)])
                found.setdefault((name, gpu), []).append(one)
    for (name, gpu), some in found.items():
        yield name, gpu, some


def _gpus(segment: Held) -> Iterator[tuple[str, int]]:
    for name, gpus in segment.gpus.items():
        for gpu in gpus:
            yield name, gpu


def _merged(gpu: int, some: list[Interval]) -> list[Interval]:
    """Intervals on one GPU, those that overlap as one."""
    return [
        Interval(
            here[0].start,
            max(one.end for one in here),
            gpu,
            any(one.fixed for one in here),
            [held for one in here for held in one.held],
        )
        for here in overlapping(some, lambda one: (one.start, one.end))
    ]


def _numbered(name: str, gpus: int, intervals: list[Interval]) -> Iterator[tuple[Interval, int]]:
    """A number for each interval of a server: its own if it is free, or else the lowest free one.

    Replicas take the highest ones.
    """
    free_from = [0] * gpus
    for one in sorted(intervals, key=lambda one: (one.start, not one.fixed, one.unit is None)):
        free = [gpu for gpu in range(gpus) if free_from[gpu] <= one.start]
        if not free or (one.fixed and one.gpu not in free):
            raise VerificationError(f"more GPUs of server {name!r} are held at once than it has")
        gpu = free[-1] if one.gpu is None else one.gpu if one.gpu in free else free[0]
        free_from[gpu] = one.end
        yield one, gpu
