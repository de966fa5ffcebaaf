r"""Formulation `interval`: when jobs start, as intervals of a constraint solver.

A job is an interval from its start to its completion, which demands GPUs. Servers, quotas and the
cluster are cumulative constraints; CP-SAT reasons about them without a variable for each slot.

======================= ============================================================================
`start[j]`              start slot a_j
`completion[j]`         completion T_j
`placed[j,k]`           1 iff job j has a placement of class k
`extra[j,s]`            workers of job j on server s beyond the least of its class
`lasts[j]`              execution time, where it depends on the placement
`size[j]`               ring size, where there are several
`demands[j,s]`          workers of job j on server s as a variable
`makespan`              max_j T_j
======================= ============================================================================

`workers[j,s]` and `on[j,s]` are expressions. Where all jobs may be anywhere, there are none: starts
are enough, and servers follow.

Why it is equivalent without contention. The execution time of a job follows from its placement, and
nothing but capacities and windows relates jobs. Where all placements of each job take the same time
and all servers are open to all jobs, any starts that the number of GPUs allows are a schedule: when
a job starts, as many GPUs are idle as it needs, and it keeps them.

With contention it is a relaxation: a ring is never faster than alone in its placement. So from each
schedule follows a solution with the same starts, whose jobs complete no later. Its bound is true;
its solutions are no schedules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rarmodel.model.features import ALL_BUT_PREEMPTION, RESOURCES
from rarmodel.model.objectives import objectives_of

from .arithmetic import too_long
from .formulation import Formulation
from .interval_components import (
    CAPACITY,
    OBJECTIVES,
    ORDER,
    PLACEMENT,
    STARTS,
    running_jobs_exceed,
)
from .latest import LATEST_COMPLETION
from .placement_classes import are_all_anywhere, number_of_classes, too_many
from .plan import Plan, on_idle_servers
from .scope import Scope
from .sharing_forms import rings_are_slowed
from .symmetry import in_order
from .time_indexed_components import RING_LINKS

if TYPE_CHECKING:
    import pyomo.environ as pyo

COMPONENTS = (STARTS, PLACEMENT, CAPACITY, ORDER, LATEST_COMPLETION, RING_LINKS, OBJECTIVES)


def _unfit(scope: Scope) -> str | None:
    """Why the model is refused."""
    few = objectives_of(scope.instance)[: scope.stage + 1]
    if priced := [one.name for one in few if one.prices is not None]:
        return (
            f"interval states no objective of what jobs hold, such as {priced[0]!r}; time-indexed "
            "does"
        )
    if cap := running_jobs_exceed(scope):
        return (
            f"jobs that run at slot 0 may exceed what {cap} has left, which interval cannot state; "
            "time-indexed can"
        )
    return too_many(scope) or too_long(scope)


def _size(scope: Scope) -> int:
    """Approximate number of terms in the constraints: of order `Σ_j K_j·S_j`, whatever the slots.

    For K_j classes of placements of job j, on up to S_j servers.
    """
    return sum(
        8 + number * (4 + 3 * servers) for number, servers in number_of_classes(scope).values()
    )


def _plan(model: pyo.ConcreteModel, scope: Scope) -> Plan | None:
    """Read starts and workers; None with contention, as jobs then take longer than in the model."""
    import pyomo.environ as pyo  # noqa: PLC0415 - takes a while to load

    if rings_are_slowed(scope):
        return None
    m: Any = model
    starts = tuple(round(m.start[j].value) for j in scope.jobs)
    if are_all_anywhere(scope):
        ends = tuple(round(m.completion[j].value) for j in scope.jobs)
        return on_idle_servers(scope, starts, ends)
    workers = []
    for j in scope.jobs:
        counts = [round(pyo.value(m.workers[j, s])) for s in scope.servers]
        workers.append({s: count for s, count in enumerate(counts) if count > 0})
    return Plan(starts, tuple(workers))


INTERVAL = Formulation.composed(
    "interval",
    *COMPONENTS,
    description="intervals for CP-SAT: exact without contention, else a bound",
    in_order=in_order,
    plan=_plan,
    size=_size,
    unfit=_unfit,
    model_class="intervals",
    lists_placements=True,
    reads=frozenset(),
    handles=ALL_BUT_PREEMPTION - {RESOURCES.name},
)
