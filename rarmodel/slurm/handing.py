"""Hand a plan back: the changes of each job, as commands and as a script to review."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from rarmodel.errors import one_line
from rarmodel.schema import Schedule

from .queue import SlurmJob
from .requests import asked_type

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
    gpu_type
        Type of GPU that the job asked for; empty if any will do.
    even
        Whether to ask for the same number of tasks on each node, which only operators may do.
    """

    job: str
    nodes: tuple[str, ...]
    per_node: int
    start: datetime
    tasks: int | None
    gpu_type: str = ""
    even: bool = True

    def update(self) -> Command:
        """The command that tells Slurm where and when.

        `numnodes=2` would set only the least, and GPUs of the whole job beside those of each node
        can let it wait beside free ones: so both are written in full, or cleared.
        """
        kind = f"{self.gpu_type}:" if self.gpu_type else ""
        nodes, start = len(self.nodes), self.start.astimezone(UTC)
        tasks = () if self.tasks is None else (f"numtasks={self.tasks}",)
        each = (
            () if self.tasks is None or not self.even else (f"taskspernode={self.tasks // nodes}",)
        )
        return (
            *("scontrol", "update", f"jobid={self.job}"),
            *(f"numnodes={nodes}-{nodes}", f"nodelist={','.join(self.nodes)}"),
            *(*tasks, *each, f"gres=gpu:{kind}{self.per_node}", "TresPerJob="),
            f"starttime={start:%Y-%m-%dT%H:%M:%S}",
        )

    def release(self) -> Command:
        """The command that lets it start."""
        return "scontrol", "release", self.job


def handed(
    schedule: Schedule, jobs: Mapping[str, SlurmJob], starts: Mapping[str, datetime]
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
    """
    found = []
    for one in schedule.assignments:
        if one.job in jobs:
            counts = {server: len(gpus) for server, gpus in one.gpus.items() if gpus}
            (per_node,) = set(counts.values())
            asked = int(jobs[one.job].record.get("NumTasks", "0"))
            # Tasks are shared evenly, as the GPUs are; where that leaves a rest, Slurm decides.
            tasks = asked if asked > 1 and asked % len(counts) == 0 else None
            found.append(
                Handed(
                    job=one.job,
                    nodes=tuple(counts),
                    per_node=per_node,
                    start=starts[one.job],
                    tasks=tasks,
                    gpu_type=asked_type(jobs[one.job]),
                )
            )
    return sorted(found, key=lambda one: (one.start, one.job))


def script(plan: Iterable[Handed], about: Iterable[str] = ()) -> str:
    """A shell script with the commands, for people to read before they run it.

    Parameters
    ----------
    plan
        What to hand back.
    about
        Lines of comment for its head.
    """
    plan = [*plan]
    lines = ["#!/bin/sh", *(f"# {one_line(line)}" for line in about)]
    lines += ["# Times are in UTC.", "set -eu", "export TZ=UTC", ""]
    lines += [shlex.join(one.update()) for one in plan]
    lines += ["", *(shlex.join(one.release()) for one in plan)]
    return "\n".join(lines) + "\n"
