"""The best of the bounds that need no search, and the reasons if it exceeds the horizon."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from rarmodel.errors import listed
from rarmodel.model import horizon_of, unhandled
from rarmodel.model.caching import once_per_instance
from rarmodel.model.features import CAPS, OBJECTIVES, PLACES, RING_SIZES, WINDOWS
from rarmodel.model.objectives import Objective, Value
from rarmodel.schema import Instance

from .bound import ENUMERATION, LowerBound
from .links import TYPELESS, shared_links
from .relaxations import (
    cheapest_placements,
    earliest_due_sets,
    intervals_overfull,
    jobs_alone,
    late_by_area,
    mean_busy_times,
    shortest_first,
    works,
)
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


class ValueBound(NamedTuple):
    """A lower bound on the value of an objective, and what gave it."""

    value: Value
    name: str


class Relaxation(NamedTuple):
    """A lower bound on values of objectives.

    Attributes
    ----------
    name
        What it is called.
    prove
        Gives the bound; None for objectives that it is not for.
    handles
        Names of the features with which it holds.
    """

    name: str
    prove: Callable[[Instance, Objective], Value | None]
    handles: frozenset[str] = WINDOWS | CAPS | PLACES


def _last_job(instance: Instance, objective: Objective) -> Value | None:
    """Some job completes no earlier than the bound on the makespan, and its term counts."""
    terms = objective.terms(instance)
    if not objective.greatest or not terms:
        return None
    slots = best_bound(instance).slots
    values = [term.at(slots) for term in terms if term is not None]
    return min(values) if len(values) == len(terms) else None


RELAXATIONS = (
    Relaxation("each job alone", jobs_alone),
    Relaxation("makespan", _last_job),
    Relaxation("overfull intervals", intervals_overfull),
    Relaxation("shortest remaining area", shortest_first),
    Relaxation("mean busy times", mean_busy_times),
    Relaxation("earliest due jobs", earliest_due_sets),
    Relaxation("room before due slots", late_by_area),
    Relaxation("cheapest placements", cheapest_placements),
)
"""Every bound on objectives; each says by itself which ones it is for."""


def objective_bounds(instance: Instance, objective: Objective) -> tuple[ValueBound, ...]:
    """What the relaxations prove of an objective that hold for an instance."""
    found = []
    for one in RELAXATIONS:
        if unhandled(instance, one.handles | {OBJECTIVES.name}, "") is None:
            value = one.prove(instance, objective)
            if value is not None:
                found.append(ValueBound(value, one.name))
    return tuple(found)


def objective_bound(instance: Instance, objective: Objective) -> ValueBound | None:
    """The greatest of `objective_bounds`, of equal ones the first; None if there is none."""
    found = objective_bounds(instance, objective)
    return max(found, key=lambda bound: bound.value, default=None)


def conflicts(instance: Instance) -> tuple[str, ...]:
    """Why no schedule keeps the deadlines and quotas, in lines; empty if that is not known.

    A job completes no earlier than its release and the jobs that it waits for allow, and holds as
    many GPUs as its smallest ring at least.
    """
    if unhandled(instance, WINDOWS | CAPS | PLACES | {OBJECTIVES.name}, "") is not None:
        return ()
    caps = {tenant.name: tenant.gpus for tenant in instance.tenants}
    lines = []
    for job, work in zip(instance.jobs, works(instance), strict=True):
        end = work.head + work.slots
        if job.deadline is not None and end > job.deadline:
            lines.append(
                f"job {job.name!r} cannot complete before slot {end}, even alone; its deadline is "
                f"{job.deadline}"
            )
        cap = caps.get(job.tenant or "")
        if cap is not None and job.running is None and job.sizes[0] > cap:
            lines.append(
                f"job {job.name!r} needs {job.sizes[0]} GPUs; its tenant {job.tenant!r} may hold "
                f"{cap}"
            )
    return tuple(lines)


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
        late = zip(instance.jobs, works(instance), strict=True)
        long = [job.name for job, work in late if work.head + work.slots > horizon]
        return (f"longer than the horizon of {horizon} slots even alone: jobs {listed(long)}",)
    need = f"all jobs together need at least {bound.slots} slots of the whole cluster"
    if bound.name == ENUMERATION:
        need = f"of all schedules none ends before slot {bound.slots}"
    return (f"{need} ({bound.name}); the horizon is {horizon}",)
