"""GPUs that are not for the planned jobs: drained nodes, Slurm's reservations, other jobs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from rarmodel.errors import NoScheduleError
from rarmodel.limits import Limits
from rarmodel.lists.dispatching_rules import Rule
from rarmodel.methods import attempt
from rarmodel.schema import Instance
from rarmodel.verifier import require_feasible

from .queue import Queue
from .queue_choices import Choices

SLURMS_ORDER = Rule(
    "slurm-order", "jobs as Slurm ranks them, each as soon as there is room", lambda _, job: job
)
"""Slurm's priority with backfilling: a job starts early only if none before it starts later."""


class _Away(NamedTuple):
    """GPUs of a node that are away from one slot to another; None is for ever."""

    gpus: int
    start: int
    end: int | None
    reason: str


def hidden(queue: Queue) -> dict[str, int]:
    """GPUs that are held by jobs which Slurm does not show, or which cannot be read, by node."""
    known: dict[str, set[int]] = defaultdict(set)
    for job in queue.jobs.values():
        for name, gpus in job.held.items():
            known[name].update(gpus)
    nodes = queue.nodes.values()
    return {node.name: n for node in nodes if (n := node.used - len(known[node.name])) > 0}


class Expected(NamedTuple):
    """Where and when Slurm is expected to run a waiting job: GPUs by node, and slots."""

    job: str
    gpus: Mapping[str, tuple[int, ...]]
    start: int
    end: int
    is_part: bool


def expected_by_slurm(around: Instance) -> tuple[Expected, ...]:
    """The waiting jobs of an instance where a list schedule in Slurm's order places them.

    Raises
    ------
    NoScheduleError
        If these jobs can never all run.
    """
    schedule = attempt(SLURMS_ORDER, around, Limits()).schedule
    if schedule is None:
        raise NoScheduleError(f"{around.name}: the jobs that are not held can never all run")
    ends = require_feasible(around, schedule).completion
    waiting = {job.name: job for job in around.jobs if job.running is None}
    return tuple(
        Expected(
            job=one.job,
            gpus=one.gpus,
            start=one.start,
            end=ends[one.job] or one.start + 1,
            is_part=waiting[one.job].slices is not None,
        )
        for one in schedule.assignments
        if one.job in waiting
    )


def away(
    queue: Queue, choices: Choices, origin: datetime, expected: Iterable[Expected] = ()
) -> list[dict[str, Any]]:
    """Reservations of the instance, as plain data.

    Parameters
    ----------
    queue
        The queue.
    choices
        Length of the slots, and of jobs about which nothing is known.
    origin
        When slot 0 begins.
    expected
        The waiting jobs to plan around.
    """

    def slots(moment: datetime) -> float:
        return (moment - origin).total_seconds() / choices.slot_seconds

    found: dict[str, list[_Away]] = defaultdict(list)
    for node in queue.nodes.values():
        if node.away:
            found[node.name].append(_Away(node.gpus, 0, None, node.away))
    until = math.ceil(slots(queue.now + timedelta(seconds=choices.default_seconds)))
    for name, gpus in hidden(queue).items():
        found[name].append(_Away(gpus, 0, until, "held by a job that Slurm does not show"))
    for one in queue.reserved:
        start = max(0, math.floor(slots(one.start)))
        end = None if one.end is None else math.ceil(slots(one.end))
        if end is None or end > start:
            for name in one.nodes:
                if name in queue.nodes:
                    gpus = queue.nodes[name].gpus
                    found[name].append(_Away(gpus, start, end, f"reservation {one.name}"))
    parts: dict[tuple[str, int], list[Expected]] = defaultdict(list)
    for job in expected:
        reason = f"job {job.job}, which Slurm places"
        for name, held in job.gpus.items():
            if job.is_part:
                for gpu in held:
                    parts[name, gpu].append(job)
            else:
                found[name].append(_Away(len(held), job.start, job.end, reason))
    for (name, _), several in parts.items():
        found[name] += _with_parts(several)
    return [
        {"server": name, "gpus": one.gpus, "from": one.start, "reason": one.reason}
        | ({} if one.end is None else {"to": one.end})
        for name, several in found.items()
        for one in _at_most(several, queue.nodes[name].gpus)
    ]


def _with_parts(several: Iterable[Expected]) -> list[_Away]:
    """A GPU that is away while jobs have parts of it: reservations know only whole ones."""
    spans: list[_Away] = []
    for job in sorted(several, key=lambda job: job.start):
        if spans and spans[-1].end is not None and spans[-1].end >= job.start:
            spans[-1] = spans[-1]._replace(end=max(spans[-1].end, job.end))
        else:
            spans.append(_Away(1, job.start, job.end, "jobs on parts of a GPU, which Slurm places"))
    return spans


def _at_most(several: list[_Away], gpus: int) -> list[_Away]:
    """The same, cut so that no more GPUs are away at once than the node has."""
    slots = sorted({one.start for one in several} | {e for one in several if (e := one.end)})
    cut: list[_Away] = []
    for start, end in zip(slots, [*slots[1:], None], strict=True):
        left = gpus
        for one in several:
            if one.start <= start and (one.end is None or one.end > start) and left:
                cut.append(_Away(min(left, one.gpus), start, end, one.reason))
                left -= cut[-1].gpus
    return _joined(cut)


def _joined(cut: list[_Away]) -> list[_Away]:
    """Neighbours with the same GPUs and reason as one."""
    joined: list[_Away] = []
    for one in sorted(cut, key=lambda one: (one.reason, one.gpus, one.start)):
        last = joined[-1] if joined else None
        if last and (last.reason, last.gpus, last.end) == (one.reason, one.gpus, one.start):
            joined[-1] = last._replace(end=one.end)
        else:
            joined.append(one)
    return sorted(joined, key=lambda one: (one.start, one.reason))
