"""The result of a simulation with the fields of a solve, for one table of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rarmodel.bounds import ValueBound
from rarmodel.methods import Result, goals_of, status_of
from rarmodel.model.objectives import MAKESPAN
from rarmodel.schema import Instance

if TYPE_CHECKING:
    from rarmodel.online import Simulation


def summary_of(instance: Instance, found: Simulation) -> dict[str, Any]:
    """The summary of a simulation, with what the summary of a solve has.

    Parameters
    ----------
    instance
        The instance, with the objectives that the run is about.
    found
        The simulation. If some job is never complete there is no schedule, and there are no
        figures: those of the other jobs could not be compared with anything.
    """
    bounds = {
        name: ValueBound(one.bound, one.assumes.partition(":")[0])
        for name, one in found.proven.items()
    }
    goals = goals_of(instance, found.report, [bounds.get(name) for name in instance.objectives])
    length = found.proven.get(MAKESPAN.name)
    solved = Result(
        instance=instance.name,
        time=instance.time,
        method=None,
        formulation=None,
        solver=None,
        solver_version=None,
        schedule_by=None if found.schedule is None else found.policy,
        status=status_of(goals, found=found.verified),
        schedule=found.schedule,
        report=found.report,
        lower_bound=None if length is None else int(length.bound),
        bound_name=None if length is None else length.assumes.partition(":")[0],
        seconds=found.seconds,
        stopped=found.stopped,
        objective=goals,
        reasons=found.reasons,
    )
    own = found.summary()
    if all(job.due is None for job in instance.jobs):  # Nothing can be late.
        own |= {"late_jobs": None, "total_tardiness": None}
    return (own if found.schedule is not None else {"bounds": own["bounds"]}) | solved.summary()
