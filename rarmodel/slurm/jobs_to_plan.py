"""Which jobs of a queue are planned, which are planned around, and which give way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from .giving_way import Given, giving_way, rank, verb_of, without_given
from .permission import why_not
from .queue import Queue
from .queue_choices import Choices
from .slurm_jobs import HOLDING, SlurmJob, holds_parts

Notes = Mapping[str, list[str]]
"""Jobs by what is said of them in the account; a missing key is an empty list."""


class JobsToPlan(NamedTuple):
    """The jobs of a queue by what is done with them.

    Attributes
    ----------
    queue
        The queue as it is when running jobs have given way to urgent ones.
    given
        The jobs that give way.
    running
        The jobs that hold whole GPUs.
    mine
        The waiting jobs that rarmodel may touch, as Slurm ranks them.
    planned, others
        The waiting jobs that are planned, and those that only Slurm places.
    """

    queue: Queue
    given: Mapping[str, Given]
    running: list[SlurmJob]
    mine: list[SlurmJob]
    planned: list[SlurmJob]
    others: list[SlurmJob]


def jobs_to_plan(queue: Queue, choices: Choices, notes: Notes) -> JobsToPlan:
    """The jobs of a queue by what is done with them.

    Parameters
    ----------
    queue
        The queue, or a partition of it.
    choices
        Which jobs are asked for.
    notes
        Gets the jobs that give way, and those that are left out.
    """
    given = _given(queue, choices)
    for name, one in given.items():
        notes[f"give way: Slurm {verb_of(one.mode)} them to start urgent jobs"].append(name)
    queue = without_given(queue, given)
    _note_left_out(queue, notes)
    jobs = queue.jobs.values()
    waiting = _ranked(queue)
    mine = _mine(waiting, queue, choices, given)
    for name in sorted(choices.named - {job.id for job in mine}):
        job = queue.jobs.get(name)
        why = why_not(job, queue, choices) if job else "not in the queue"
        notes[f"named, but {why}"].append(name)
    planned, others = waiting, list[SlurmJob]()
    if _only_mine(choices, mine):
        planned = [job for job in waiting if job in mine or job.id in given]
        others = [job for job in waiting if not job.is_held and job.id not in given]
        for job in waiting:
            if job.is_held and (why := why_not(job, queue, choices)):
                notes[f"left out: {why}"].append(job.id)
    running = [job for job in jobs if job.state in HOLDING and job.held]
    return JobsToPlan(queue, given, running, mine, planned, others)


def _given(queue: Queue, choices: Choices) -> dict[str, Given]:
    """Running jobs that give way to the urgent ones that are planned, as Slurm will have it."""
    waiting = _ranked(queue)
    mine = _mine(waiting, queue, choices, {})
    return giving_way(queue, mine if _only_mine(choices, mine) else waiting)


def _only_mine(choices: Choices, mine: list[SlurmJob]) -> bool:
    """Whether only the jobs are planned that rarmodel may touch."""
    return choices.whose == "mine" or (choices.whose is None and bool(mine))


def _mine(
    waiting: Iterable[SlurmJob], queue: Queue, choices: Choices, given: Mapping[str, Given]
) -> list[SlurmJob]:
    """The waiting jobs that rarmodel may touch."""
    return [job for job in waiting if job.id not in given and not why_not(job, queue, choices)]


def _ranked(queue: Queue) -> list[SlurmJob]:
    """The waiting jobs in Slurm's order."""
    return sorted(
        (job for job in queue.jobs.values() if job.state == "PENDING"),
        key=lambda job: (
            *(-one for one in rank(queue, job)),
            -job.priority,
            job.record["SubmitTime"],
            tuple(map(int, job.id.split("_"))),
        ),
    )


def _note_left_out(queue: Queue, notes: Notes) -> None:
    """Note the jobs that neither wait nor hold whole GPUs."""
    jobs = queue.jobs.values()
    idle = [job for job in jobs if job.state in HOLDING and not job.held]
    of_parts = [job.id for job in idle if holds_parts(job)]
    left = [job.id for job in jobs if job.state not in {*HOLDING, "PENDING"}]
    unreadable = "cannot be read: Slurm's output does not say what they are"
    notes[unreadable].extend(sorted(queue.unreadable))
    notes["running on parts of GPUs (slices, shards), left out"].extend(of_parts)
    without = [job.id for job in idle if job.id not in of_parts]
    notes["running without GPUs, left out"].extend(without)
    notes["neither waiting nor running, left out"].extend(left)
