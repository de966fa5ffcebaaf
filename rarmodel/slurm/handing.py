"""Hand a plan back: the changes of each job, as commands and as a script to review."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from rarmodel.errors import one_line
from rarmodel.schema import Schedule

from .jobs import SlurmJob
from .requests import asked_type
from .values import whole_number

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
    per_node
        GPUs on each of them.
    start
        When it shall start.
    tasks
        Tasks to ask for; None to leave them as they are.
    tasks_per_node
        Tasks on each node, which only operators may set; None to leave them to Slurm.
    gpu_type
        Type of GPU that the job asked for; empty if any will do.
    """

    job: str
    nodes: tuple[str, ...]
    per_node: int
    start: datetime
    tasks: int | None = None
    tasks_per_node: int | None = None
    gpu_type: str = ""

    def update(self) -> Command:
        """The command that tells Slurm where and when.

        `numnodes=2` would set only the least, and GPUs of the whole job beside those of each node
        can let it wait beside free ones: so both are written in full, or cleared.
        """
        kind = f"{self.gpu_type}:" if self.gpu_type else ""
        nodes, start = len(self.nodes), self.start.astimezone(UTC)
        return (
            *("scontrol", "update", f"jobid={self.job}"),
            *(f"numnodes={nodes}-{nodes}", f"nodelist={','.join(self.nodes)}"),
            *(() if self.tasks is None else (f"numtasks={self.tasks}",)),
            *(() if self.tasks_per_node is None else (f"taskspernode={self.tasks_per_node}",)),
            *(f"gres=gpu:{kind}{self.per_node}", "TresPerJob="),
            f"starttime={start:%Y-%m-%dT%H:%M:%S}",
        )

    def release(self) -> Command:
        """The command that lets it start."""
        return "scontrol", "release", self.job


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
        The plan; every job has the same number of GPUs on each of its servers.
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
            (per_node,) = set(counts.values())
            tasks = _tasks(job, len(counts))
            even = operator and tasks is not None and not job.tasks_per_node
            found.append(
                Handed(
                    job=one.job,
                    nodes=tuple(counts),
                    per_node=per_node,
                    start=starts[one.job],
                    tasks=tasks,
                    tasks_per_node=tasks // len(counts) if tasks and even else None,
                    gpu_type=asked_type(job),
                )
            )
    return sorted(found, key=lambda one: (one.start, one.job))


def _tasks(job: SlurmJob, nodes: int) -> int | None:
    """Tasks on so many nodes, shared evenly as the GPUs are; None where that leaves a rest."""
    if job.tasks_per_node:
        return job.tasks_per_node * nodes
    asked = whole_number(job.record, "NumTasks")
    return asked if asked > 1 and asked % nodes == 0 else None


def take_back(job: str, nodes: Sequence[str]) -> tuple[Command, Command]:
    """The commands that hold a job again and forget the plan of it.

    Parameters
    ----------
    job
        Its id. It is held as by its own user, also if an operator does this.
    nodes
        Nodes that it asked for by name before it was handed back.
    """
    forget = (f"nodelist={','.join(nodes)}", "starttime=now")
    return ("scontrol", "uhold", job), ("scontrol", "update", f"jobid={job}", *forget)


def script(plan: Iterable[Handed], about: Iterable[str] = ()) -> str:
    """A shell script with the commands, for people to read before they run it.

    A job whose update Slurm refuses is not released; the script goes on, and fails in the end.

    Parameters
    ----------
    plan
        What to hand back.
    about
        Lines of comment for its head.
    """
    lines = ["#!/bin/sh", *(f"# {one_line(line)}" for line in about)]
    lines += ["# Times are in UTC.", "export TZ=UTC", "refused=0", ""]
    for one in plan:
        lines += [f"{shlex.join(one.update())} &&", f"  {shlex.join(one.release())} || refused=1"]
    return "\n".join([*lines, "", "exit $refused"]) + "\n"
