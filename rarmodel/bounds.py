"""Lower bounds on the optimal makespan that need no search; each true for every schedule."""

from __future__ import annotations

from typing import NamedTuple

from rarmodel.errors import listed
from rarmodel.model import job_extremes
from rarmodel.schema import Instance


class LowerBound(NamedTuple):
    """A lower bound on the makespan.

    Attributes
    ----------
    slots
        The bound in slots.
    name
        What gave it.
    """

    slots: int
    name: str


def longest_job(instance: Instance) -> LowerBound:
    """The greatest of the jobs' least execution times: every job must run."""
    return LowerBound(max(e.least_slots for e in job_extremes(instance)), "longest job")


def area(instance: Instance) -> LowerBound:
    """GPU slots needed over GPUs: job j holds `G_j` GPUs for at least its least execution time."""
    needed = sum(
        job.gpus * extreme.least_slots
        for job, extreme in zip(instance.jobs, job_extremes(instance), strict=True)
    )
    return LowerBound(-(-needed // instance.cluster.total_gpus), "area")


def best_bound(instance: Instance) -> LowerBound:
    """The greatest of all bounds here; of equal ones the first."""
    return max(longest_job(instance), area(instance), key=lambda bound: bound.slots)


def why_infeasible(instance: Instance, bound: LowerBound) -> tuple[str, ...]:
    """Why no schedule meets the horizon, in lines, if it is a bound of these that exceeds it."""
    horizon = instance.time.horizon
    if bound.name == "longest job":
        extremes = zip(instance.jobs, job_extremes(instance), strict=True)
        long = [job.name for job, extreme in extremes if extreme.least_slots > horizon]
        return (f"longer than the horizon of {horizon} slots even alone: jobs {listed(long)}",)
    need = f"all jobs together need at least {bound.slots} slots of the whole cluster"
    return (f"{need} ({bound.name}); the horizon is {horizon}",)
