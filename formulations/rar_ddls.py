r"""Formulation `rar-ddls`: the paper's own program (1)–(9), integer and non-convex.

Indices: jobs j, servers s, links ℓ, slots t = 0 … H−1. Components are numbered as the equations.

======================= ============================================================================
`y[j,s,t]`              whole: GPUs of server s that job j holds in slot t, y_js[t]
`x[j,t]`                binary: 1 iff job j is active in slot t
`started[j,t]`          binary: 1 iff a_j ≤ t
`crosses[j,l,t]`        binary: the indicator 1{0 < Σ_{s below ℓ} y_js[t] < G_j}
`uses_server[j,s]`      binary: 1 iff job j has workers on server s
`spread[j]`             binary: 1 iff job j has workers on several servers
`p[j,l,t]`              rings on link ℓ if job j is one of them, else 0: an entry of the max of (6)
`counts[j,l,t]`         by duty: what ring j counts on link ℓ; p is then the sum of the others.
                        With several sensitivities it is `counts[j,l,k,t]`: to rings of sensitivity
                        k, such as `0.5`
`spans[j,n]`            by duty, binary: 1 iff job j has workers on n servers
`bandwidth[j,t]`        B_j[t] in Gbit/s
`tau[j,t]`              τ_j[t] in slots, an expression
`phi[j,t]`              whole: φ_j[t], the iterations done in slot t
`makespan`              whole: max_j T_j
======================= ============================================================================

Expressions for your own constraints and objectives: `start[j]`, a_j; `completion[j]`, T_j;
`ended[j,t]`, 1 iff T_j ≤ t; and `held[j,s,t]`, another name of `y[j,s,t]`.

A star with equal links has one link for each server, and `crosses` is the paper's indicator
1{0 < y_js[t] < G_j}. On any other tree reading 4 of the model applies: the bandwidth is the least
over the links that the ring uses. Some equations of the paper only slow a job down (contention, τ).
The program replaces them by inequalities that keep the job from being too fast. A solution with a
job that is slower than necessary is still a schedule, by the proof in `time_indexed`.

Of wider instances the program takes what leaves the equations as they are: windows, lists of
servers and running jobs are bounds of variables, reservations and quotas other right sides of (2).
Several ring sizes, types and spreads would make G_j, M_j and Δf_j variables; it refuses them.
It refuses overlap (section 20), too. There (8) has powers γ of times, and a solver keeps a product
up to 1e-6: at γ = 10 a time of a quarter of a slot is below this, and so would be its limit on φ.
Network cards are one line more, by count. By duty the weight of a ring would become a product of
its workers and its servers; `time-indexed` takes both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rarmodel.model.features import (
    BY_DUTY,
    CAPS,
    CARDS,
    GPU_MEMORY,
    OBJECTIVES,
    OVERLAP,
    RUNNING_JOBS,
    SERVER_LISTS,
    SERVER_RATES,
    WINDOWS,
)

from . import aims
from .arithmetic import MAX_NONLINEAR_SPEED, too_fast
from .formulation import Formulation
from .plan import Plan
from .rar_ddls_contention import (
    BANDWIDTH,
    CONTENTION,
    LOADS_ON_LINKS,
    NETWORK_CARDS,
    RING_LINKS,
    RINGS_ON_LINKS,
    SHARED_BY_LOADS,
    SHARED_BY_RINGS,
    wide_jobs,
)
from .rar_ddls_placement import CAPACITY, GANG, LIMITS, NO_PREEMPTION
from .rar_ddls_work import ITERATION_TIME, MAKESPAN, WORK
from .scope import Scope
from .sharing_forms import most_rings, several_rates

if TYPE_CHECKING:
    import pyomo.environ as pyo

COMPONENTS = (
    GANG,
    CAPACITY,
    LIMITS,
    NO_PREEMPTION,
    CONTENTION,
    RINGS_ON_LINKS,  # where rings weigh alike
    BANDWIDTH,
    NETWORK_CARDS,  # where servers have several network cards
    LOADS_ON_LINKS,  # with weights
    SHARED_BY_RINGS,  # where rings weigh alike
    SHARED_BY_LOADS,  # with weights
    ITERATION_TIME,
    WORK,
    MAKESPAN,
    RING_LINKS,  # where links count
    aims.OBJECTIVES,
)
"""In the order of the equations."""


def _size(scope: Scope) -> int:
    """Approximate number of terms in the constraints: of order `H·J·(S·L + J·L)`."""
    jobs, servers = len(scope.jobs), len(scope.servers)
    rings = len(wide_jobs(scope))
    links = len(most_rings(scope))
    each = servers * len(scope.sensitivities) + rings + 8
    return scope.horizon * (jobs * (8 * servers + 20) + rings * links * each)


def _plan(model: pyo.ConcreteModel, scope: Scope) -> Plan:
    """Read starts, and workers in the start slot."""
    m: Any = model
    starts, workers = [], []
    for j in scope.jobs:
        active = [t for t in range(scope.horizon) if (m.x[j, t].value or 0) > 0.5]
        starts.append(active[0] if active else -1)
        held = [round(m.y[j, s, active[0]].value or 0) if active else 0 for s in scope.servers]
        workers.append({s: count for s, count in enumerate(held) if count > 0})
    return Plan(tuple(starts), tuple(workers))


def _unfit(scope: Scope) -> str | None:
    """Why the model is refused: too fast a job, or with weights several rates, or several cards."""
    if scope.tree.has_cards and not scope.sharing.equal_weights:
        return (
            f"rar-ddls takes contention by {scope.sharing.name} without network cards; "
            "time-indexed takes both"
        )
    return too_fast(scope, MAX_NONLINEAR_SPEED) or several_rates(scope, "rar-ddls")


RAR_DDLS = Formulation.composed(
    "rar-ddls",
    *COMPONENTS,
    description="the paper's program (1)-(9), for tiny instances",
    plan=_plan,
    size=_size,
    unfit=_unfit,
    model_class="nonlinear",
    reads=frozenset(),
    handles=(
        WINDOWS
        | CAPS
        | (BY_DUTY - {OVERLAP.name})
        | {
            SERVER_LISTS.name,
            RUNNING_JOBS.name,
            SERVER_RATES.name,
            CARDS.name,
            GPU_MEMORY.name,
            OBJECTIVES.name,
        }
    ),
)
