"""Preemption by Slurm: whether it interrupts jobs to start others, and which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from rarmodel.errors import listed

from .slurm_jobs import SlurmJob

if TYPE_CHECKING:
    from .plan_changes import Handed
    from .queue import Partition, Queue

_HARMLESS = {"OFF", "GANG", "WITHIN", "(null)", ""}
"""Words of a `PreemptMode` that interrupt no job for one of a higher tier."""
BY_TIER = "preempt/partition_prio"
"""The `PreemptType` by which jobs of partitions of higher tiers interrupt others."""


def mode_of(text: str) -> str:
    """What Slurm does to jobs that it preempts, such as `REQUEUE`; empty if it does nothing."""
    return ",".join(word for word in text.upper().split(",") if word not in _HARMLESS)


def preempting(kind: str, partitions: Mapping[str, Partition]) -> str:
    """How Slurm preempts jobs; empty if it does not.

    Parameters
    ----------
    kind
        `PreemptType` of Slurm's configuration; empty if a recording lacks it.
    partitions
        The partitions. A recording that lacks the type still has their modes.
    """
    if kind == "preempt/none":
        return ""
    pairs = [
        (high, low)
        for high in partitions
        for low in partitions
        if outranks(partitions[high], partitions[low])
    ]
    if kind in {BY_TIER, ""}:
        told = (f"partition {high} before {low}" for high, low in pairs)
        return next(told, "")
    return f"PreemptType={kind}"


def outranks(high: Partition, low: Partition) -> bool:
    """Whether Slurm interrupts jobs of one partition to start those of another, on shared nodes."""
    return high.tier > low.tier and bool(low.mode) and bool({*high.nodes} & {*low.nodes})


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
        for name in one.nodes:
            held = sum(other.gpus.get(name, 0) for other in still)
            in_the_way = [
                other.job.id
                for other in still
                if name in other.gpus and low & {*other.job.partitions}
            ]
            if in_the_way and held + one.per_node > queue.nodes[name].gpus:
                told = f"{listed(in_the_way)} may still run on {name}, and Slurm would preempt it"
                yield one.job, f"job {one.job} would start at {one.start:%H:%M:%S} UTC: {told}"
                break
        else:
            there.append(_There(job, dict.fromkeys(one.nodes, one.per_node), one.start))


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
