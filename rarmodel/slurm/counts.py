"""Processors and memory, which the model does not know: a plan is checked against their counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from rarmodel.errors import listed
from rarmodel.methods import Result, gap_of
from rarmodel.schema import Instance, Schedule

from .queue import Queue
from .slurm_jobs import counted_by_slurm, cpus_per_node, memory_per_node

ROUNDS = 4
"""Most further schedules that are made to respect processors and memory."""


class Conflict(NamedTuple):
    """Jobs that a plan has on a node at once, though it lacks processors or memory for them.

    Attributes
    ----------
    job
        The waiting job that starts last.
    others
        The greatest of those that are on the node then: their ends make room for it.
    """

    job: str
    others: tuple[str, ...]
    message: str


class _Held(NamedTuple):
    """What a job takes of a node, in order of start, running jobs and early deadlines first."""

    start: int
    waits: bool
    deadline: float
    end: int
    job: str
    cpus: int
    memory_mb: int


def conflicts(
    queue: Queue, schedule: Schedule, ends: Mapping[str, int | None]
) -> Iterator[Conflict]:
    """Where a plan asks too much of a node.

    Parameters
    ----------
    queue
        Nodes and jobs.
    schedule, ends
        The plan, and the slot after the last of each job.
    """
    on_nodes: dict[str, list[_Held]] = defaultdict(list)
    for assigned in schedule.assignments:
        job = queue.jobs[assigned.job]
        nodes = [name for name, gpus in assigned.gpus.items() if gpus]
        end, waits = ends[assigned.job] or assigned.start + 1, job.state == "PENDING"
        due = job.moment("Deadline")
        deadline = float("inf") if due is None else due.timestamp()
        for name in nodes:
            shape = job, len(nodes), counted_by_slurm(job, len(assigned.gpus[name]))
            asked = cpus_per_node(*shape), memory_per_node(*shape)
            one = _Held(assigned.start, waits, deadline, end, assigned.job, *asked)
            on_nodes[name].append(one)
    for name, several in on_nodes.items():
        node = queue.nodes[name]
        active: list[_Held] = []
        for one in sorted(several):
            active = [other for other in active if other.end > one.start]
            cpus = one.cpus + sum(other.cpus for other in active)
            memory = one.memory_mb + sum(other.memory_mb for other in active)
            if one.waits and active and (cpus > node.cpus or memory > node.memory_mb):
                yield Conflict(
                    one.job,
                    tuple(_in_the_way(active, cpus - node.cpus, memory - node.memory_mb)),
                    f"job {one.job} would start on {name} beside "
                    f"{listed([other.job for other in active])}: {cpus} CPUs of {node.cpus}, "
                    f"{memory} MB of {node.memory_mb}",
                )
            active.append(one)


def _in_the_way(active: list[_Held], cpus: int, memory_mb: int) -> Iterator[str]:
    """Jobs, the greatest first, that together have as many processors and as much memory."""
    for one in sorted(active, key=lambda one: (-one.cpus, -one.memory_mb)):
        if cpus > 0 or memory_mb > 0:
            yield one.job
            cpus, memory_mb = cpus - one.cpus, memory_mb - one.memory_mb


def within_counts(
    instance: Instance, queue: Queue | None, made: Callable[[Instance], Result]
) -> tuple[Result, tuple[str, ...]]:
    """A schedule that asks no more of a node than it has, and where it does all the same.

    Where jobs ask for too much of a node, the later one comes after the others in a new schedule.

    Parameters
    ----------
    instance
        The problem.
    queue
        Nodes and jobs; None if they are not known, and not respected.
    made
        Makes a schedule.
    """
    first = result = made(instance)
    found, ordered = [*_found(queue, result)], instance
    for _ in range(ROUNDS):
        if not found:
            break
        ordered = _with_order(ordered, found)
        result = _with_bound(made(ordered), first)
        found = [*_found(queue, result)]
    return result, tuple(one.message for one in found)


def _found(queue: Queue | None, result: Result) -> Iterator[Conflict]:
    if queue is None or result.schedule is None or result.report is None:
        return iter(())
    return conflicts(queue, result.schedule, result.report.completion)


def _with_order(instance: Instance, found: Iterable[Conflict]) -> Instance:
    """The same, where each job in conflict comes after those in its way.

    Such orders have no cycle: each is that of the starts in a schedule that keeps those before.
    """
    before: dict[str, set[str]] = defaultdict(set)
    for one in found:
        before[one.job] |= {*one.others}
    jobs = tuple(
        job.model_copy(update={"after": tuple(sorted({*job.after} | before[job.name]))})
        if job.name in before
        else job
        for job in instance.jobs
    )
    return instance.model_copy(update={"jobs": jobs})


def _with_bound(result: Result, proven: Result) -> Result:
    """A result with the bound of another: what holds in an order of jobs need not hold without."""
    goals = tuple(
        replace(goal, bound=proven.objective[0].bound if i == 0 else None)
        for i, goal in enumerate(result.objective)
    )
    status = result.status
    if result.schedule is not None:
        status = "optimal" if gap_of(goals) == 0 else "feasible"
    return replace(
        result,
        objective=goals,
        lower_bound=proven.lower_bound,
        bound_name=proven.bound_name,
        status=status,
    )
