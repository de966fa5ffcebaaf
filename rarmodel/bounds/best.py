"""The best of the bounds that need no search, and the reasons if it exceeds the horizon."""

from __future__ import annotations

from rarmodel.errors import listed
from rarmodel.model import job_extremes
from rarmodel.model.caching import once_per_instance
from rarmodel.schema import Instance

from .bound import ENUMERATION, LowerBound
from .links import shared_links
from .simple import area, long_jobs, longest_job, wide_jobs


def all_bounds(instance: Instance) -> tuple[LowerBound, ...]:
    """All bounds that take milliseconds; `cutting_stock` is a stronger bound that takes longer."""
    found = [bound(instance) for bound in (longest_job, area, wide_jobs, long_jobs)]
    links = shared_links(instance)
    return (*found, links) if links else tuple(found)


@once_per_instance
def best_bound(instance: Instance) -> LowerBound:
    """The greatest of `all_bounds`; of equal bounds the first."""
    return max(all_bounds(instance), key=lambda bound: bound.slots)


def limit_bound(instance: Instance) -> LowerBound:
    """The greatest of the bounds that also hold for the limit θ_u on the work of each GPU.

    These bounds look at single GPUs, as (14)–(16) do. A limit concerns estimates only: it ignores
    that a job runs on all its GPUs at once, and it ignores contention.
    """
    found = (bound(instance) for bound in (longest_job, area, long_jobs))
    return max(found, key=lambda bound: bound.slots)


def why_infeasible(instance: Instance, bound: LowerBound) -> tuple[str, ...]:
    """Why no schedule meets the horizon, as lines, if one of these bounds exceeds it."""
    horizon = instance.time.horizon
    if bound.name == "longest job":
        extremes = zip(instance.jobs, job_extremes(instance), strict=True)
        long = [job.name for job, extreme in extremes if extreme.least_slots > horizon]
        return (f"longer than the horizon of {horizon} slots even alone: jobs {listed(long)}",)
    need = f"all jobs together need at least {bound.slots} slots of the whole cluster"
    if bound.name == ENUMERATION:
        need = f"of all schedules none ends before slot {bound.slots}"
    return (f"{need} ({bound.name}); the horizon is {horizon}",)
