r"""Formulation `time-indexed`: an integer linear program equivalent to RAR-DDLS, made strong.

A job's placement is one choice among all ways to put its workers on servers. So the links of its
ring, its speed for each contention, and its least execution time are data. Indices: jobs j,
servers s, links ℓ, slots t = 0 … H−1, placements k of job j, speed levels i, ring counts p.

Variables, all binary, by the names of their Pyomo components:

======================= ============================================================================
`started[j,t]`          1 iff job j has started by slot t: a_j ≤ t
`ended[j,t]`            1 iff job j has completed before slot t: T_j ≤ t
`placed[j,k]`           1 iff job j has placement k
`active_in[j,k,t]`      1 iff job j is active in slot t, in placement k
`at_least[l,p,t]`       1 if at least p rings use link ℓ in slot t, p ≥ 2; not by duty
`pressed[j,n,t]`        1 if others count more than v_jn on a GPU of job j; where GPUs are shared
`reaches[j,i,t]`        1 if ring j does at least φ_ji iterations in slot t: its i-th speed
`done[t]`               1 if all jobs have completed before slot t
======================= ============================================================================

Expressions for your own constraints and objectives:

======================= ============================================================================
`running[j,t]`          1 iff job j is active in slot t
`workers[j,s]`          workers of job j on server s, y_js
`on[j,s]`               1 iff job j uses server s
`servers_used[j]`       number of servers that job j uses
`held[j,s,t]`           GPUs of server s that job j holds in slot t, y_js[t]
`start[j]`              start slot a_j
`completion[j]`         completion T_j
`makespan`              max_j T_j
======================= ============================================================================

Why it is equivalent. Every feasible schedule gives a solution of the same makespan: give each
variable the value of its meaning. Conversely take the starts and placements of a solution. The
model lets a ring be slower than it is, end later, or see more rings on a link than there are, never
the reverse. More speed and less contention only make jobs complete earlier, and completions only
take rings off links. By induction over slots, every job completes in the simulation no later than
in the model, and holds its GPUs no longer. So the schedule is feasible, and its makespan is no
greater. By duty the same holds: a ring counts on its links with a number that its placement gives,
and only by the rings that are there.

Unless the scope asks for every schedule, equal jobs start in input order, and equal servers are
ordered by the workers of the longest jobs on them. Exchanging equals changes nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rarmodel.model.features import ALL_BUT_PREEMPTION, SERVICES, SHARING
from rarmodel.model.objectives import objectives_of
from rarmodel.model.services import asks
from rarmodel.schema import Schedule

from .aims import OBJECTIVES
from .arithmetic import too_fast
from .formulation import Formulation
from .gpu_placements import numbered_in_order, shares
from .gpu_room import ROOM_ON_GPUS
from .latest import MAKESPAN_BY_SLOTS
from .placement_classes import are_all_anywhere, number_of_classes, too_many
from .plan import Plan, is_set, on_idle_servers, plan_of_starts
from .replicas_beside_jobs import (
    REPLICAS_BESIDE_JOBS,
    REPLICAS_THERE,
    replicas_of,
    size_beside,
    unfit_beside,
)
from .scope import Scope
from .shared_gpus import (
    BESIDE,
    SLOWED_BESIDE,
    SLOWED_ON_LINKS_BY_LOADS,
    SLOWED_ON_LINKS_BY_RINGS,
    too_many_loads,
)
from .sharing_forms import most_rings, rings_are_slowed
from .starts_and_ends import STARTS_AND_ENDS
from .symmetry import SYMMETRY, in_order
from .time_indexed_components import (
    CAPACITY,
    LIMITS,
    PLACEMENT,
    RING_LINKS,
    RINGS_ON_LINKS,
    SPEED,
    WHERE_THEY_ARE,
    WORK,
)
from .time_indexed_numbers import gpu_loads, numbers_of

if TYPE_CHECKING:
    import pyomo.environ as pyo

COMPONENTS = (
    STARTS_AND_ENDS,
    PLACEMENT,
    WHERE_THEY_ARE,
    *REPLICAS_THERE,  # where there are services
    CAPACITY,  # where no GPU is shared
    ROOM_ON_GPUS,  # where GPUs are shared
    LIMITS,
    *REPLICAS_BESIDE_JOBS,  # where there are services
    RINGS_ON_LINKS,  # where rings weigh alike
    BESIDE,  # where GPUs are shared
    SPEED,
    SLOWED_BESIDE,  # where GPUs are shared
    SLOWED_ON_LINKS_BY_RINGS,  # where rings weigh alike
    SLOWED_ON_LINKS_BY_LOADS,  # with weights
    WORK,
    SYMMETRY,
    MAKESPAN_BY_SLOTS,
    RING_LINKS,  # where links count
    OBJECTIVES,
)


def _unfit(scope: Scope) -> str | None:
    """Why the model is refused: a job with too many placements, or with too great a speed."""
    return (
        unfit_beside(scope, TIME_INDEXED)
        or too_many(scope)
        or too_many_loads(scope)
        or too_fast(scope)
    )


def _size(scope: Scope) -> int:
    """Approximate number of terms in the constraints: of order `H·Σ_j K_j·S_j·P`.

    For H slots and K_j classes of placements of job j, on up to S_j servers, with up to P rings on
    a link. By weights, a ring has about S_j·P levels, each with a constraint for every link. Where
    GPUs are shared, each load of a job's GPUs has levels of its own.
    """
    rings = most_rings(scope) if rings_are_slowed(scope) else {}
    most = max(rings.values(), default=0)
    terms = 0
    beside = size_beside(scope) if asks(scope.instance) else 0
    if are_all_anywhere(scope):
        return 12 * len(scope.jobs) * scope.horizon
    for name, (number, servers) in number_of_classes(scope).items():
        levels = most if servers > 1 else 0
        if not scope.sharing.equal_weights:
            levels *= servers - 1
        levels = (levels + 1) * len(gpu_loads(scope)[name]) - 1
        terms += 8 + number * (6 + 2 * servers + levels * (1 + servers))
    return scope.horizon * terms + beside


def _plan(model: pyo.ConcreteModel, scope: Scope) -> Plan:
    """Read starts, workers, and shared GPUs; take idle servers where all jobs may be anywhere."""
    m: Any = model
    if not are_all_anywhere(scope):
        plan = plan_of_starts(model, scope)
        plan = plan._replace(replicas=replicas_of(m, scope))
        return plan._replace(gpus=_gpus(m, scope)) if shares(scope) else plan
    slots = range(scope.horizon)
    starts = [next((t for t in slots if is_set(m.started[j, t])), -1) for j in scope.jobs]
    ends = [start + least for start, least in zip(starts, scope.least_slots.values(), strict=True)]
    return on_idle_servers(scope, starts, ends)


def _gpus(m: Any, scope: Scope) -> tuple[dict[int, tuple[int, ...]], ...]:
    """The GPUs of each job by server, by index."""
    ways = numbers_of(scope).options
    chosen = (next((k for k in ways[j] if is_set(m.placed[j, k])), None) for j in scope.jobs)
    return tuple(
        {} if k is None else {scope.server_index[s]: some for s, some in ways[j][k].gpus.items()}
        for j, k in zip(scope.jobs, chosen, strict=True)
    )


def _in_order(scope: Scope, schedule: Schedule) -> Schedule:
    """The schedule, with equal jobs, servers and GPUs exchanged into the model's order."""
    return numbered_in_order(scope, in_order(scope, schedule))


def _is_tight(scope: Scope) -> bool:
    """Whether there are only jobs, GPUs and slots, and a sum of completions to minimise."""
    one = objectives_of(scope.instance)[scope.stage]
    return are_all_anywhere(scope) and one.of_completions and not one.greatest


TIME_INDEXED = Formulation.composed(
    "time-indexed",
    *COMPONENTS,
    description="a strong program over slots and placements: use it first",
    in_order=_in_order,
    plan=_plan,
    size=_size,
    unfit=_unfit,
    model_class="integer",
    tight=_is_tight,
    lists_placements=True,
    reads=frozenset(),
    handles=ALL_BUT_PREEMPTION | SHARING | {SERVICES.name},
)
