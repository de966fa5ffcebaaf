"""Hand a plan back: the changes of each job, as commands and as a script to review."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from typing import NamedTuple

from rarmodel.errors import one_line
from rarmodel.schema import Schedule

from .slurm_jobs import SlurmJob, holds_parts
from .slurm_values import value, whole_number

Command = tuple[str, ...]
"""A program with its arguments."""


class Handed(NamedTuple):
    """Where and when a job shall run.

    Attributes
    ----------
    job
        Its id.
    nodes
        Nodes, in the order of the cluster.
    gpus
        GPUs on each of them. Where they differ, Slurm divides the job's GPUs by what is free.
    start
        When it shall start.
    tasks
        Tasks to ask for; None to leave them as they are. Said anew, the number that Slurm has
        chosen by the nodes would be fixed for good.
    tasks_per_node
        Tasks on each node, which only operators may set; None to leave them to Slurm.
    gpu_type
        Type of GPU that the job asked for; empty if any will do.
    is_divided
        Whether Slurm divides its tasks among the nodes, as the user may not say how.
    by_task
        Whether its GPUs go with its tasks, and the user may not say how many a node has.
    is_part
        Whether it has parts of GPUs, for which it asks as before.
    latest
        When it may be released at the latest, as Slurm ends it otherwise; None without a deadline.
    """

    job: str
    nodes: tuple[str, ...]
    gpus: tuple[int, ...]
    start: datetime
    tasks: int | None = None
    tasks_per_node: int | None = None
    gpu_type: str = ""
    is_divided: bool = False
    by_task: bool = False
    is_part: bool = False
    latest: datetime | None = None

    @property
    def per_node(self) -> int | None:
        """GPUs on each node; None where they differ."""
        return self.gpus[0] if len({*self.gpus}) == 1 else None

    def wait(self) -> Command:
        """The command that tells Slurm when, which it refuses for a job that no longer waits.

        It comes first and alone: with `numnodes=` Slurm would shrink a job that runs, also where
        it refuses the rest of the command.
        """
        start = self.start.astimezone(UTC)
        return "scontrol", "update", f"jobid={self.job}", f"starttime={start:%Y-%m-%dT%H:%M:%S}"

    def update(self) -> Command:
        """The command that tells Slurm where.

        `numnodes=2` would set only the least, and GPUs of the whole job beside those of each node
        can let it wait beside free ones: so both are written in full, or cleared.
        """
        kind = f"{self.gpu_type}:" if self.gpu_type else ""
        nodes = len(self.nodes)
        by_node = self.per_node is not None and not (self.by_task or self.is_part)
        return (
            *("scontrol", "update", f"jobid={self.job}"),
            *(f"numnodes={nodes}-{nodes}", f"nodelist={','.join(self.nodes)}"),
            *(() if self.tasks is None else (f"numtasks={self.tasks}",)),
            *(() if self.tasks_per_node is None else (f"taskspernode={self.tasks_per_node}",)),
            *((f"gres=gpu:{kind}{self.per_node}", "TresPerJob=") if by_node else ()),
        )

    def release(self) -> Command:
        """The command that lets it start."""
        return "scontrol", "release", self.job

    def commands(self) -> tuple[Command, ...]:
        """All commands, in order; if Slurm refuses one, the next must not run."""
        return self.wait(), self.update(), self.release()


def handed(
    schedule: Schedule,
    jobs: Mapping[str, SlurmJob],
    starts: Mapping[str, datetime],
    *,
    operator: bool,
) -> list[Handed]:
    """What to hand back of a schedule, in order of start.

    Parameters
    ----------
    schedule
        The plan.
    jobs
        Slurm's jobs that rarmodel touches, by id.
    starts
        When each of them shall start.
    operator
        Whether the user may set the tasks on each node.
    """
    found = []
    for one in schedule.assignments:
        if (job := jobs.get(one.job)) is not None:
            counts = {server: len(gpus) for server, gpus in one.gpus.items() if gpus}
            tasks = _tasks(job, len(counts))
            free = tasks is not None and not job.tasks_per_node
            found.append(
                Handed(
                    job=one.job,
                    nodes=tuple(counts),
                    gpus=tuple(counts.values()),
                    start=starts[one.job],
                    tasks=None if tasks == whole_number(job.record, "NumTasks") else tasks,
                    tasks_per_node=tasks // len(counts) if tasks and free and operator else None,
                    gpu_type=job.gpu_type,
                    is_divided=free and not operator and len(counts) > 1,
                    by_task=free and not operator and bool(value(job.record, "TresPerTask")),
                    is_part=holds_parts(job),
                )
            )
    return sorted(found, key=lambda one: (one.start, one.job))


def _tasks(job: SlurmJob, nodes: int) -> int | None:
    """Tasks on so many nodes, shared evenly as the GPUs are; None where that leaves a rest."""
    if job.tasks_per_node:
        return job.tasks_per_node * nodes
    asked = whole_number(job.record, "NumTasks")
    return asked if asked > 1 and asked % nodes == 0 else None


def script(
    plan: Iterable[Sequence[Command]],
    about: Iterable[str] = (),
    latest: Iterable[datetime | None] = (),
) -> str:
    """A shell script with commands, for people to read before they run it.

    If Slurm refuses a command of a job, the job's others do not run; the script goes on, and fails
    in the end.

    Parameters
    ----------
    plan
        The commands of each job, in order.
    about
        Lines of comment for its head.
    latest
        When the commands of each job may run at the latest: people may run the script any day.
    """
    lines = ["#!/bin/sh", *(f"# {one_line(line)}" for line in about)]
    lines += ["# Times are in UTC.", "export TZ=UTC", "refused=0", ""]
    for commands, last in zip_longest(plan, latest):
        if last is not None:
            told = f"{last:%Y-%m-%d %H:%M:%S} has passed: too late for the deadline of the next job"
            within = f'[ "$(date +%s)" -le {last.timestamp():.0f} ]'
            lines.append(f"{{ {within} || {{ echo '{told}' >&2; false; }}; }} &&")
        lines.append(" &&\n  ".join(map(shlex.join, commands)) + " || refused=1")
    return "\n".join([*lines, "", "exit $refused"]) + "\n"
