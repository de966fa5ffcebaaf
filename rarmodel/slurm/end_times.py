"""Times at which Slurm ends jobs: deadlines, and time limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from rarmodel.model.extremes import job_extremes
from rarmodel.schema import Instance, Schedule

from .queue import Queue
from .slurm_jobs import SlurmJob

SLACK = timedelta(seconds=60)
"""How much later than told Slurm may start a job: by default it looks at its queue each minute."""


def latest_start(job: SlurmJob, seconds: float) -> datetime | None:
    """The last moment at which a job may be told to start; None without a deadline.

    A job whose time limit would end after its deadline Slurm ends at its start, without having run
    (`DEADLINE`). One without a limit runs till then.

    Parameters
    ----------
    job
        The job.
    seconds
        How long it is expected to run, which counts if it has no time limit.
    """
    deadline = job.moment("Deadline")
    if deadline is None:
        return None
    limit = job.seconds("TimeLimit")
    return deadline - timedelta(seconds=seconds if limit is None else limit) - SLACK


def past_deadline(job: SlurmJob, start: datetime, seconds: float) -> str:
    """Why a job must not be told to start so late; empty if it may.

    Parameters
    ----------
    job, seconds
        As for `latest_start`.
    start
        When it would start.
    """
    latest, deadline = latest_start(job, seconds), job.moment("Deadline")
    if latest is None or deadline is None or start <= latest:
        return ""
    return (
        f"would start at {_told(start)}; for its deadline {_told(deadline)} it must by "
        f"{_told(latest)}, with its time limit and a minute to spare, or else Slurm ends it"
    )


def overruns(
    instance: Instance, schedule: Schedule, ends: Mapping[str, int | None], queue: Queue
) -> Iterator[tuple[str, str]]:
    """Waiting jobs that run longer in a plan than Slurm lets them, though alone they need not.

    Parameters
    ----------
    instance, schedule, ends
        The problem, its plan, and the slot after the last of each job.
    queue
        The queue.
    """
    least = {
        job.name: one.least_slots
        for job, one in zip(instance.jobs, job_extremes(instance), strict=True)
    }
    for one in schedule.assignments:
        job, end = queue.jobs[one.job], ends.get(one.job)
        limit = job.seconds("TimeLimit")
        if job.state != "PENDING" or end is None or limit is None:
            continue
        run = instance.time.seconds(end - one.start - 1)  # Less than a slot is only rounding.
        if instance.time.seconds(least[one.job]) < limit < run:
            told = f"would run {run:,.0f} s in this plan, and Slurm ends it after {limit:,.0f} s"
            yield one.job, f"job {one.job} {told}"


def _told(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
