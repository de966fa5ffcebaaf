"""The best of the bounds that need no search, and the reasons if it exceeds the horizon."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from rarmodel.errors import listed
from rarmodel.model import horizon_of, job_extremes, unhandled
from rarmodel.model.caching import once_per_instance
from rarmodel.model.features import CAPS, OBJECTIVES, PLACES, RING_SIZES, WINDOWS
from rarmodel.schema import Instance

from .bound import ENUMERATION, LowerBound
from .links import TYPELESS, shared_links
from .simple import area, long_jobs, longest_job, wide_jobs

FIXED_SIZES = WINDOWS | CAPS | (PLACES - {RING_SIZES.name})
"""Features with which each job has one ring size, and is not interrupted."""


class Bound(NamedTuple):
    """A lower bound on the makespan.

    Attributes
    ----------
    prove
        Gives the bound of an instance; None if it says nothing about it.
    handles
        Names of the features with which it holds; see `rarmodel.model.features`.
    of_limit
        Whether it also holds for the limit θ_u on the work of each GPU.
    """

    prove: Callable[[Instance], LowerBound | None]
    handles: frozenset[str]
    of_limit: bool = False


BOUNDS = (
    Bound(longest_job, WINDOWS | CAPS | PLACES, of_limit=True),
    Bound(area, WINDOWS | CAPS | PLACES, of_limit=True),
    Bound(wide_jobs, FIXED_SIZES),
    Bound(long_jobs, FIXED_SIZES, of_limit=True),
    Bound(shared_links, FIXED_SIZES & TYPELESS),
)
"""Every bound that takes milliseconds; `cutting_stock` takes longer and proves more."""


def all_bounds(instance: Instance) -> tuple[LowerBound, ...]:
    """What the bounds prove that hold for an instance."""
    return tuple(_proven(instance, BOUNDS))


def _proven(instance: Instance, bounds: Iterable[Bound]) -> Iterable[LowerBound]:
    for bound in bounds:
        if unhandled(instance, bound.handles | {OBJECTIVES.name}, "") is None:
            found = bound.prove(instance)
            if found is not None:
                yield found


@once_per_instance
def best_bound(instance: Instance) -> LowerBound:
    """The greatest of `all_bounds`; of equal bounds the first."""
    return max(all_bounds(instance), key=lambda bound: bound.slots, default=LowerBound(1, "a job"))


def limit_bound(instance: Instance) -> LowerBound:
    """The greatest of the bounds that also hold for the limit θ_u on the work of each GPU.

    These bounds look at single GPUs, as (14)–(16) do. A limit concerns estimates only: it ignores
    that a job runs on all its GPUs at once, and it ignores contention.
    """
    found = _proven(instance, (bound for bound in BOUNDS if bound.of_limit))
    return max(found, key=lambda bound: bound.slots)


def why_infeasible(instance: Instance, bound: LowerBound) -> tuple[str, ...]:
    """Why no schedule meets the horizon, as lines, if one of these bounds exceeds it."""
    horizon = horizon_of(instance)
    if bound.name == "longest job":
        extremes = zip(instance.jobs, job_extremes(instance), strict=True)
        long = [
            job.name
            for job, extreme in extremes
            if max(0, job.release) + extreme.least_slots > horizon
        ]
        return (f"longer than the horizon of {horizon} slots even alone: jobs {listed(long)}",)
    need = f"all jobs together need at least {bound.slots} slots of the whole cluster"
    if bound.name == ENUMERATION:
        need = f"of all schedules none ends before slot {bound.slots}"
    return (f"{need} ({bound.name}); the horizon is {horizon}",)
