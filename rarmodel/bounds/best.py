"""The best of the bounds that take no search, and what it means if it exceeds the horizon."""

from __future__ import annotations

from rarmodel.errors import listed
from rarmodel.model import job_extremes
from rarmodel.model.caching import once_per_instance
from rarmodel.schema import Instance

from .bound import ENUMERATION, LowerBound
from .links import shared_links
from .simple import area, long_jobs, longest_job, wide_jobs


def all_bounds(instance: Instance) -> tuple[LowerBound, ...]:
    """Every bound that takes milliseconds; `cutting_stock` takes longer and proves more."""
    found = [bound(instance) for bound in (longest_job, area, wide_jobs, long_jobs)]
    links = shared_links(instance)
    return (*found, links) if links else tuple(found)


@once_per_instance
def best_bound(instance: Instance) -> LowerBound:
    """The greatest of `all_bounds`; of equal ones the first."""
    return max(all_bounds(instance), key=lambda bound: bound.slots)


def limit_bound(instance: Instance) -> LowerBound:
    """The greatest of those bounds that also hold for the limit θ_u on the work of each GPU.

    These look at GPUs one by one, as (14)–(16) do; that jobs run on all their GPUs at once, and
    what contention costs, is not in the estimates that a limit is about.
    """
    found = (bound(instance) for bound in (longest_job, area, long_jobs))
    return max(found, key=lambda bound: bound.slots)


def why_infeasible(instance: Instance, bound: LowerBound) -> tuple[str, ...]:
    """Why no schedule meets the horizon, in lines, if it is a bound of these that exceeds it."""
    horizon = instance.time.horizon
    if bound.name == "longest job":
        extremes = zip(instance.jobs, job_extremes(instance), strict=True)
        long = [job.name for job, extreme in extremes if extreme.least_slots > horizon]
        return (f"longer than the horizon of {horizon} slots even alone: jobs {listed(long)}",)
    need = f"all jobs together need at least {bound.slots} slots of the whole cluster"
    if bound.name == ENUMERATION:
        need = f"of all schedules none ends before slot {bound.slots}"
    return (f"{need} ({bound.name}); the horizon is {horizon}",)
