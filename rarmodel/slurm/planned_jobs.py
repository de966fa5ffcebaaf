"""The waiting jobs of a plan: where and when each runs, how long it waits, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rarmodel.errors import NoScheduleError
from rarmodel.methods import Result
from rarmodel.schema import Instance, Schedule

from .why_jobs_wait import Reasons


@dataclass(frozen=True)
class Planned:
    """One job of a plan.

    Attributes
    ----------
    job
        Its id.
    user
        Whose it is; empty if that is not told.
    gpus
        Number of GPUs on each node.
    start, end
        First slot, and the slot after the last.
    wait_seconds
        Time from its submission to its start in seconds.
    why
        Why it waits; empty if it does not.
    by_slurm
        Start in Slurm's own order; None if that places it nowhere.
    name
        Its name in Slurm; empty if that is not told.
    gpu_types
        Types of its GPUs, as far as they are known.
    slices
        Slices that it has of each of these GPUs; None if it has them whole.
    told
        Its GPUs on each node for people, such as `2/4` of one.
    """

    job: str
    user: str
    gpus: Mapping[str, int]
    start: int
    end: int
    wait_seconds: float
    why: str
    by_slurm: int | None
    name: str = ""
    gpu_types: tuple[str, ...] = ()
    slices: int | None = None
    told: Mapping[str, str] = field(default_factory=dict)


def planned_jobs(
    instance: Instance, result: Result, by_slurm: Result, names: Mapping[str, str]
) -> list[Planned]:
    """The waiting jobs of a plan in order of start.

    Parameters
    ----------
    instance, result, by_slurm
        What was planned, the plan, and Slurm's own order.
    names
        Names of jobs in Slurm, by id.
    """
    schedule = schedule_of(result)
    ends = result.report.completion if result.report else {}
    jobs = {job.name: job for job in instance.jobs}
    others = {a.job: a.start for a in by_slurm.schedule.assignments} if by_slurm.schedule else {}
    waits, reasons = waits_of(instance, result), Reasons(instance, schedule, ends)
    servers = instance.cluster.servers
    types = {server.name: server.gpu_type for server in servers}
    divided = {server.name: instance.cluster.slices_of(server) for server in servers}
    found = [
        Planned(
            job=one.job,
            name=names.get(one.job, ""),
            gpu_types=tuple(sorted({kind for name in one.gpus if (kind := types[name])})),
            user=jobs[one.job].tenant or "",
            gpus={server: len(gpus) for server, gpus in one.gpus.items()},
            slices=(slices := jobs[one.job].slices),
            told={
                server: str(len(gpus)) if slices is None else f"{slices}/{divided[server]}"
                for server, gpus in one.gpus.items()
            },
            start=one.start,
            end=ends[one.job] or one.start,
            wait_seconds=waits[one.job],
            why=reasons.of(jobs[one.job], one),
            by_slurm=others.get(one.job),
        )
        for one in schedule.assignments
        if jobs[one.job].running is None
    ]
    return sorted(found, key=lambda one: (one.start, one.job))


def waits_of(instance: Instance, result: Result) -> dict[str, float]:
    """Seconds that each waiting job waits, from its submission."""
    if result.schedule is None:
        return {}
    waiting = {job.name: job.release for job in instance.jobs if job.running is None}
    return {
        one.job: instance.time.seconds(one.start - waiting[one.job])
        for one in result.schedule.assignments
        if one.job in waiting
    }


def schedule_of(result: Result) -> Schedule:
    """The schedule of a result.

    Raises
    ------
    NoScheduleError
        If it has none.
    """
    if result.schedule is None:
        reasons = "; ".join([result.stopped, *result.reasons])
        raise NoScheduleError(f"{result.instance}: no plan: {result.status} ({reasons})")
    return result.schedule
