"""The way back of jobs that were handed back: held again, with the request of before."""

from __future__ import annotations

from typing import NamedTuple

from .plan_changes import Command, Handed
from .queue import Queue
from .slurm_jobs import GPU_KEYS, SlurmJob
from .slurm_values import hosts, value, whole_number

MEANWHILE = "starttime=now+1hour"
"""A job that is taken back must not start while it is; and must not wait for ever if that fails."""


class Former(NamedTuple):
    """What a job asked for before it was handed back, as Slurm's `update` takes it.

    Attributes
    ----------
    job
        Its id.
    hold
        The word that holds it again: `uhold` as its user does, `hold` as an operator.
    request
        The settings, in an order that Slurm takes.
    processors
        The setting that must come after them.
    """

    job: str
    hold: str
    request: tuple[str, ...]
    processors: str

    def commands(self) -> tuple[Command, ...]:
        """The commands; if Slurm refuses one, the next must not run.

        Slurm refuses the first for a job that no longer waits. It would not refuse to hold a job
        that runs, which then would not start again if it were requeued, nor to shrink it.
        """
        update = ("scontrol", "update", f"jobid={self.job}")
        return (
            (*update, MEANWHILE),
            ("scontrol", self.hold, self.job),
            (*update, *self.request),
            (*update, self.processors),
        )


def former_of(job: SlurmJob, one: Handed, queue: Queue) -> Former:
    """The way back of a job.

    Parameters
    ----------
    job
        The job as it is before it is handed back.
    one
        How it is handed back.
    queue
        The queue, which knows how many nodes a job can have.
    """
    record = job.record
    nodes = record["NumNodes"]
    if "-" not in nodes:  # A greatest number can be raised, but never cleared again.
        nodes = f"{nodes}-{_most_nodes(job, queue)}"
    eligible = job.moment("EligibleTime")
    begin = "now"
    if eligible is not None and eligible > queue.now:
        begin = f"{eligible:%Y-%m-%dT%H:%M:%S}"
    tasks = whole_number(record, "NumTasks")
    return Former(
        job=job.id,
        hold="hold" if job.is_held_by_operator else "uhold",
        request=(
            f"numnodes={nodes}",
            *(() if one.tasks is None else (f"numtasks={tasks}",)),
            *(() if one.tasks_per_node is None else (f"taskspernode={job.tasks_per_node}",)),
            *(f"{key}={value(record, key)}" for key in GPU_KEYS),
            f"nodelist={','.join(hosts(value(record, 'ReqNodeList')))}",
            f"starttime={begin}",
        ),
        processors=f"numcpus={record['NumCPUs']}",
    )


def _most_nodes(job: SlurmJob, queue: Queue) -> int:
    """The most nodes that a job of no greatest number can have."""
    known = [queue.partitions[name] for name in job.partitions if name in queue.partitions]
    return max(
        (min(len(one.nodes), one.most_nodes or len(one.nodes)) for one in known),
        default=len(queue.nodes),
    )
