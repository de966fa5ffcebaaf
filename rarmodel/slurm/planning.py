"""Plan a queue, and place it in Slurm's own order under the same model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from rarmodel.api.solving import solve
from rarmodel.api.sources import Source, load_instance, with_objective
from rarmodel.errors import one_line

from .caveats import caveats_of, remarks_of, without_bound
from .counts import within_counts
from .deadlines import missed, within_deadlines, without_deadlines
from .end_times import overruns
from .planned_jobs import planned_jobs, schedule_of
from .plans import Plan
from .queue import Queue
from .unavailable_gpus import SLURMS_ORDER


def plan(
    instance: Source,
    *,
    objective: str | Sequence[str] | None = None,
    method: str | None = None,
    formulation: str | None = None,
    queue: Queue | None = None,
    assumed: Sequence[str] = (),
    **limits: Any,
) -> Plan:
    """Plan a queue, and place it in Slurm's own order for comparison.

    Parameters
    ----------
    instance
        An instance of `read`, or any other.
    objective, method, formulation, limits
        As for `solve`.
    queue
        The queue of the instance, if the plan shall respect its processors and memory.
    assumed
        Its jobs without a profile.

    Raises
    ------
    InputError
        If the instance is malformed.
    UsageError
        If a name is unknown, or options exclude each other.
    NoScheduleError
        If no plan was found.
    """
    problem = with_objective(load_instance(instance), objective)
    asked = partial(solve, method=method, formulation=formulation, **limits)
    problem, (result, conflicts), left = within_deadlines(
        problem,
        partial(within_counts, queue=queue, made=asked),
        lambda some, rule: within_counts(some, queue, partial(solve, method=rule)),
    )
    schedule_of(result)
    # Slurm's order knows no deadlines: a job that it starts too late just ends.
    in_order = partial(solve, method=SLURMS_ORDER)
    by_slurm, _ = within_counts(without_deadlines(problem), queue, in_order)
    ended = missed(problem, by_slurm.report.completion) if by_slurm.report else []
    ends = result.report.completion if result.report else {}
    too_long = overruns(problem, schedule_of(result), ends, queue) if queue else ()
    caveats = caveats_of(problem)
    known = queue.jobs if queue else {}
    names = {
        job.name: one_line(known[job.name].record.get("JobName", ""))
        for job in problem.jobs
        if job.name in known
    }
    if caveats:
        result, by_slurm = without_bound(result), without_bound(by_slurm)
    return Plan(
        problem,
        result,
        by_slurm,
        tuple(planned_jobs(problem, result, by_slurm, names)),
        (*conflicts, *(told for _, told in too_long)),
        left,
        tuple(ended),
        caveats,
        names,
        tuple(job.name for job in problem.jobs if job.name in assumed),
        remarks_of(problem),
    )
