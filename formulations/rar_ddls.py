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
`counts[j,l,t]`         by duty: what ring j counts on link ℓ; p is then the sum of the others
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
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from rarmodel.model.features import (
    BY_DUTY,
    CAPS,
    OBJECTIVES,
    RUNNING_JOBS,
    SERVER_LISTS,
    SERVER_RATES,
    WINDOWS,
)
from rarmodel.schema import Schedule

from .aims import values_of_aims
from .arithmetic import MAX_NONLINEAR_SPEED, greatest_speeds, too_fast
from .caps import server_caps, tenant_caps, yields
from .formulation import Formulation, Plan, Scope
from .loads import several_rates
from .placements import most_rings
from .rar_ddls_by_duty import duties_of, loads
from .rar_ddls_components import (
    bandwidth,
    bandwidths,
    by_count,
    capacity,
    completion,
    contention,
    exchange_of,
    gang,
    inner_gbps,
    iteration_time,
    no_preemption,
    rings_of,
    seconds_of,
)
from .values import Outcome, Values, model_of, over, placed_of, set_variables, shared

COMPONENTS = (
    gang,
    capacity,
    no_preemption,
    contention,
    bandwidth,
    iteration_time,
    completion,
)
"""The components of the program, in the order of the equations."""


def _build(scope: Scope) -> pyo.ConcreteModel:
    model = pyo.ConcreteModel("rar-ddls")
    for component in COMPONENTS:
        component(model, scope)
    if not by_count(scope):
        loads(model, scope)
    return model


def _size(scope: Scope) -> int:
    """Approximate number of terms in the constraints: of order `H·J·(S·L + J·L)`."""
    jobs, servers = len(scope.jobs), len(scope.servers)
    rings = len(rings_of(scope))
    links = len(most_rings(scope))
    return scope.horizon * (jobs * (8 * servers + 20) + rings * links * (servers + rings + 8))


def _load(model: pyo.ConcreteModel, scope: Scope, schedule: Schedule) -> None:
    """Set every variable to its value in a feasible schedule."""
    outcome = Outcome(scope, *placed_of(schedule))
    set_variables(model, outcome, _values(outcome) | values_of_aims(outcome))


def _evaluate(scope: Scope, schedule: Schedule) -> pyo.ConcreteModel:
    """The values of the components in a schedule."""
    outcome = Outcome(scope, *placed_of(schedule))
    return model_of(outcome, _values(outcome))


def _values(outcome: Outcome) -> dict[str, Values]:
    """The value of each component in a schedule, as a function.

    The bandwidth of an inactive ring may have any value; here it is the least.
    """
    o, scope = outcome, outcome.scope
    jobs, links, slots = scope.jobs, most_rings(scope), range(scope.horizon)
    rings = rings_of(scope)
    most = greatest_speeds(scope)
    low, _ = bandwidths(scope)
    inner = inner_gbps(scope)

    def crosses(j: str, l: str, t: int) -> bool:
        return l in o.links[j] and o.runs(j, t)

    def bandwidth(j: str, t: int) -> float:
        if len(o.workers[j]) == 1:
            return inner[next(iter(o.workers[j]))]
        ring = o.ring(j, t)
        return ring.bandwidth_gbps if ring else low

    def seconds(j: str) -> float:
        return float(seconds_of(scope, j, len(o.workers[j])))

    def phi(j: str, t: int) -> int:
        ring = o.ring(j, t)
        return min(ring.speed, most[j]) if ring else 0

    def counts(j: str, l: str, t: int) -> float:
        return duties_of(scope, j)[len(o.workers[j])] if crosses(j, l, t) else 0.0

    def beside(j: str, l: str, t: int) -> float:
        if not crosses(j, l, t):
            return 0.0
        if by_count(scope):
            return o.rings_on(l, t)
        return sum(counts(other, l, t) for other in rings if other != j)

    one = shared(o)
    return {
        "started": one["started"],
        "start": one["start"],
        "completion": one["completion"],
        "ended": one["ended"],
        "held": one["held"],
        "x": one["running"],
        "y": one["held"],
        "crosses": over(crosses, rings, links, slots),
        "p": over(beside, rings, links, slots),
        "counts": over(counts, rings, links, slots),
        "spans": over(lambda j, n: n == len(o.workers[j]), rings, range(1, 1 + len(scope.servers))),
        "uses_server": over(lambda j, s: s in o.workers[j], rings, scope.servers),
        "spread": over(lambda j: len(o.workers[j]) > 1, rings),
        "bandwidth": over(bandwidth, rings, slots),
        "seconds": over(seconds, jobs),
        "tau": over(
            lambda j, t: exchange_of(scope, j) / bandwidth(j, t) + seconds(j), rings, slots
        ),
        "phi": over(phi, jobs, slots),
        "capacity_yields": yields(server_caps(scope), slots, o.runs),
        "quota_yields": yields(tenant_caps(scope), slots, o.runs),
    }


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


RAR_DDLS = Formulation(
    name="rar-ddls",
    description="the paper's program (1)-(9), for tiny instances",
    build=_build,
    load=_load,
    plan=_plan,
    size=_size,
    unfit=lambda scope: too_fast(scope, MAX_NONLINEAR_SPEED) or several_rates(scope, "rar-ddls"),
    model_class="nonlinear",
    evaluate=_evaluate,
    reads=frozenset(),
    handles=(
        WINDOWS
        | CAPS
        | BY_DUTY
        | {SERVER_LISTS.name, RUNNING_JOBS.name, SERVER_RATES.name, OBJECTIVES.name}
    ),
)
