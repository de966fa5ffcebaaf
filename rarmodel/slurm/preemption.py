"""Preemption by Slurm: which jobs it may interrupt to start others, and which plans make it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from rarmodel.errors import listed

from .partitions import outranks
from .plan_changes import Handed
from .queue import Queue
from .slurm_jobs import SlurmJob


def outranked(queue: Queue, jobs: Iterable[SlurmJob]) -> set[str]:
    """Partitions whose jobs Slurm may interrupt to start some of these jobs."""
    known = queue.partitions
    high = {name for job in jobs for name in job.partitions if name in known}
    if not queue.preempts:
        return set()
    return {low for low in known for name in high if outranks(known[name], known[low])}


def interrupting(plan: Sequence[Handed], queue: Queue) -> Iterator[tuple[str, str]]:
    """Jobs that Slurm would start by interrupting others, which may still run on their nodes.

    A job is bound to its nodes when it is handed back, so Slurm cannot take free ones instead. A
    job of a lower tier may run until its time limit, whatever its estimate.

    Parameters
    ----------
    plan
        What is to be handed back, in order of start.
    queue
        The queue.
    """
    if not queue.preempts:
        return
    there = [
        _There(job, {name: len(gpus) for name, gpus in job.held.items()}, job.moment("StartTime"))
        for job in queue.jobs.values()
        if job.held
    ]
    for one in plan:
        job = queue.jobs[one.job]
        low = outranked(queue, [job])
        still = [other for other in there if other.may_run_at(one.start)]
        for name, gpus in zip(one.nodes, one.gpus, strict=True):
            held = sum(other.gpus.get(name, 0) for other in still)
            in_the_way = [
                other.job.id
                for other in still
                if name in other.gpus and low & {*other.job.partitions}
            ]
            if in_the_way and held + gpus > queue.nodes[name].gpus:
                told = f"{listed(in_the_way)} may still run on {name}, and Slurm would preempt it"
                yield one.job, f"job {one.job} would start at {one.start:%H:%M:%S} UTC: {told}"
                break
        else:
            there.append(_There(job, dict(zip(one.nodes, one.gpus, strict=True)), one.start))


class _There(NamedTuple):
    """A job on its nodes from some moment on."""

    job: SlurmJob
    gpus: Mapping[str, int]
    start: datetime | None

    def may_run_at(self, moment: datetime) -> bool:
        """Whether its time limit is not over by then."""
        limit = self.job.seconds("TimeLimit")
        if self.start is None or limit is None:
            return True
        return self.start + timedelta(seconds=limit) > moment
