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
`bandwidth[j,t]`        B_j[t] in Gbit/s
`tau[j,t]`              τ_j[t] in slots, an expression
`phi[j,t]`              whole: φ_j[t], the iterations done in slot t
`makespan`              whole: max_j T_j
======================= ============================================================================

Expressions for your own constraints and objectives: `start[j]`, a_j, and `completion[j]`, T_j.

A star with equal links has one link for each server, and `crosses` is the paper's indicator
1{0 < y_js[t] < G_j}. On any other tree reading 4 of the model applies: the bandwidth is the least
over the links that the ring uses. Some equations of the paper only slow a job down (contention, τ).
The program replaces them by inequalities that keep the job from being too fast. A solution with a
job that is slower than necessary is still a schedule, by the proof in `time_indexed`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pyomo.environ as pyo

from rarmodel.model import timing
from rarmodel.model.contention import linear_degradation, ring_share
from rarmodel.schema import Schedule

from .arithmetic import MAX_NONLINEAR_SPEED, greatest_speeds, too_fast
from .formulation import Formulation, Plan, Scope
from .placements import most_rings
from .values import Outcome, Values, model_of, over, placed_of, set_variables, shared

GUARD = 1e-9
"""The guard of φ's floor (reading 3)."""


def _rings(scope: Scope) -> list[str]:
    """Jobs that may have workers on several servers."""
    if len(scope.servers) == 1:
        return []
    return [j for j, job in scope.jobs.items() if job.size > 1]


def _bandwidths(scope: Scope) -> tuple[float, float]:
    """The least and the greatest bandwidth that a ring can have, in Gbit/s."""
    instance = scope.instance
    inner, most = instance.cluster.intra_server_gbps, most_rings(scope)
    rate = {l: scope.links[l].gbps for l in most}
    slowest = min([inner, *(ring_share(instance.contention, rate[l], most[l]) for l in rate)])
    return slowest, max([inner, *rate.values()])


def gang(m: Any, scope: Scope) -> None:
    """(1) An active job holds exactly G_j GPUs: Σ_s y_js[t] = G_j·x_j[t]."""
    jobs, slots = list(scope.jobs), range(scope.horizon)
    m.y = pyo.Var(
        jobs,
        list(scope.servers),
        slots,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda _, j, s, __: (0, min(scope.servers[s].gpus, scope.jobs[j].size)),
    )
    m.x = pyo.Var(jobs, slots, domain=pyo.Binary)
    m.gang = pyo.Constraint(
        jobs,
        slots,
        rule=lambda m, j, t: (
            sum(m.y[j, s, t] for s in scope.servers) == scope.jobs[j].size * m.x[j, t]
        ),
    )


def capacity(m: Any, scope: Scope) -> None:
    """(2) Σ_j y_js[t] ≤ O_s."""
    m.capacity = pyo.Constraint(
        list(scope.servers),
        range(scope.horizon),
        rule=lambda m, s, t: sum(m.y[j, s, t] for j in scope.jobs) <= scope.servers[s].gpus,
    )


def no_preemption(m: Any, scope: Scope) -> None:
    """(3) From start to completion the GPUs stay the same.

    ```
    started_j[t] ≥ started_j[t−1]      x_j[t] ≤ started_j[t]
    x_j[t] ≤ x_j[t−1] + started_j[t] − started_j[t−1]
    x_j[t] ≥ started_j[t] − started_j[t−1]
    y_js[t] − y_js[t−1] ≤ O·(1 − x_j[t−1])      y_js[t−1] − y_js[t] ≤ O·(1 − x_j[t])
    ```

    with O = min(O_s, G_j). An active job starts once, and keeps the GPUs of the slot before unless
    it was or becomes inactive.
    """
    h, least = scope.horizon, scope.least_slots
    jobs, slots = list(scope.jobs), range(h)
    m.started = pyo.Var(
        jobs,
        slots,
        domain=pyo.Binary,
        bounds=lambda _, j, t: (int(t >= h - least[j]), 1),
    )
    m.start = pyo.Expression(jobs, rule=lambda m, j: h - sum(m.started[j, t] for t in slots))
    m.completion = pyo.Expression(
        jobs, rule=lambda m, j: m.start[j] + sum(m.x[j, t] for t in slots)
    )
    m.starts_once = pyo.Constraint(
        jobs, slots[1:], rule=lambda m, j, t: m.started[j, t] >= m.started[j, t - 1]
    )
    m.active_if_started = pyo.Constraint(
        jobs, slots, rule=lambda m, j, t: m.x[j, t] <= m.started[j, t]
    )

    def before(m: Any, j: str, t: int, variable: Any) -> Any:
        return variable[j, t - 1] if t > 0 else 0

    m.no_restart = pyo.Constraint(
        jobs,
        slots,
        rule=lambda m, j, t: (
            m.x[j, t] <= before(m, j, t, m.x) + m.started[j, t] - before(m, j, t, m.started)
        ),
    )
    m.active_at_start = pyo.Constraint(
        jobs,
        slots,
        rule=lambda m, j, t: m.x[j, t] >= m.started[j, t] - before(m, j, t, m.started),
    )
    triples = [(j, s) for j in jobs for s in scope.servers]
    m.no_gain = pyo.Constraint(
        triples,
        slots[1:],
        rule=lambda m, j, s, t: (
            m.y[j, s, t] - m.y[j, s, t - 1] <= m.y[j, s, t].ub * (1 - m.x[j, t - 1])
        ),
    )
    m.no_loss = pyo.Constraint(
        triples,
        slots[1:],
        rule=lambda m, j, s, t: (
            m.y[j, s, t - 1] - m.y[j, s, t] <= m.y[j, s, t].ub * (1 - m.x[j, t])
        ),
    )
    m.takes_least_time = pyo.Constraint(
        jobs, rule=lambda m, j: sum(m.x[j, t] for t in slots) >= least[j]
    )


def contention(m: Any, scope: Scope) -> None:
    """(6) The rings on each link that a ring uses.

    ```
    crosses_jℓ[t] = 1  iff  0 < Σ_{s below ℓ} y_js[t] < G_j
    p_jℓ[t] ≥ crosses_jℓ[t] · Σ_j' crosses_j'ℓ[t]
    ```

    As crosses_jℓ[t] = 0 is faster, one direction of the indicator suffices: with
    w = Σ_{s below ℓ} y_js[t] and v = G_j·x_j[t] − w, the workers above, the product w·v is above 0
    iff the ring uses the link, and then at most G_j²/4: w·v ≤ (G_j²/4)·crosses_jℓ[t].
    """
    slots = range(scope.horizon)
    most = most_rings(scope)
    rings = _rings(scope)
    m.crosses = pyo.Var(rings, list(most), slots, domain=pyo.Binary)
    m.p = pyo.Var(rings, list(most), slots, bounds=lambda _, j, l, t: (0, len(rings)))

    def indicator(m: Any, j: str, l: str, t: int) -> Any:
        size = scope.jobs[j].size
        below = sum(m.y[j, s, t] for s in scope.below[l])
        above = sum(m.y[j, s, t] for s in scope.servers if s not in scope.below[l])
        return below * above <= (size * size // 4) * m.crosses[j, l, t]

    m.indicator = pyo.Constraint(rings, list(most), slots, rule=indicator)
    m.rings_on_link = pyo.Constraint(
        rings,
        list(most),
        slots,
        rule=lambda m, j, l, t: (
            m.p[j, l, t] >= m.crosses[j, l, t] * sum(m.crosses[k, l, t] for k in rings)
        ),
    )


def bandwidth(m: Any, scope: Scope) -> None:
    """Bandwidth, with (7): k = ξ1·p and f = max(1, k + α(k−1)).

    ```
    B_j[t] ≤ b^i                            within one server
    B_j[t] ≤ b_ℓ / f(α, ξ1·p_jℓ[t])         on each link that the ring uses
    ```

    The second line becomes B_j·(k + α(k−1)) ≤ b_ℓ and B_j ≤ b_ℓ. If the ring does not use ℓ, both
    right sides are greater by b^i − b_ℓ, and p_jℓ is 0. `uses_server` is 1 iff the job has workers
    there.
    """
    slots = range(scope.horizon)
    instance = scope.instance
    rate = {l: scope.links[l].gbps for l in most_rings(scope)}
    inner = instance.cluster.intra_server_gbps
    xi, alpha = instance.contention.concurrency, instance.contention.degradation.alpha
    rings = _rings(scope)
    most = most_rings(scope)
    slowest, fastest = _bandwidths(scope)
    m.bandwidth = pyo.Var(rings, slots, bounds=(slowest, fastest))
    m.spread = pyo.Var(rings, domain=pyo.Binary)
    m.uses_server = pyo.Var(rings, list(scope.servers), domain=pyo.Binary)
    m.uses_server_if = pyo.Constraint(
        rings,
        list(scope.servers),
        slots,
        rule=lambda m, j, s, t: m.y[j, s, t] <= m.y[j, s, t].ub * m.uses_server[j, s],
    )
    m.uses_server_only_if = pyo.Constraint(
        rings,
        list(scope.servers),
        rule=lambda m, j, s: m.uses_server[j, s] <= sum(m.y[j, s, t] for t in slots),
    )
    m.spread_if = pyo.Constraint(
        rings,
        rule=lambda m, j: (
            sum(m.uses_server[j, s] for s in scope.servers)
            <= 1 + (len(scope.servers) - 1) * m.spread[j]
        ),
    )
    m.spread_only_if = pyo.Constraint(
        rings,
        rule=lambda m, j: sum(m.uses_server[j, s] for s in scope.servers) >= 1 + m.spread[j],
    )
    m.within_server = pyo.Constraint(
        rings,
        slots,
        rule=lambda m, j, t: m.bandwidth[j, t] <= inner + max(0.0, fastest - inner) * m.spread[j],
    )
    m.link_rate = pyo.Constraint(
        rings,
        list(rate),
        slots,
        rule=lambda m, j, l, t: (
            m.bandwidth[j, t] <= rate[l] + (fastest - rate[l]) * (1 - m.crosses[j, l, t])
        ),
    )

    def shared(m: Any, j: str, l: str, t: int) -> Any:
        if linear_degradation(alpha, xi * most[l]) <= 1.0:
            return pyo.Constraint.Skip
        level = xi * m.p[j, l, t]
        return m.bandwidth[j, t] * (level + alpha * (level - 1)) <= rate[l]

    m.link_shared = pyo.Constraint(rings, list(rate), slots, rule=shared)


def _exchange(scope: Scope, j: str) -> float:
    """The exchange of one iteration, in slots times Gbit/s."""
    pace = scope.pace(j)
    return pace.bits / 1e9 / pace.slot_seconds


def _seconds(scope: Scope, j: str, servers: Any) -> Any:
    """τ_j without the exchange, in slots, on a number of servers."""
    pace = scope.pace(j)
    overhead = timing.overhead_seconds(pace.overhead_ms_per_server, 1)
    return (pace.reduction + pace.compute + overhead * servers) / pace.slot_seconds


def iteration_time(m: Any, scope: Scope) -> None:
    """(8) Time of one iteration in slots, and the floor: φ_j[t] = ⌊1/τ_j[t]⌋.

    ```
    τ_j[t] = 2·m_j·(w−1)/w / B_j[t] + m_j·(w−1)/w / C + ξ2·(servers used) + Δf·M + Δb
    (φ_j[t] − 1e-9)·τ_j[t] ≤ 1      φ_j[t] ≤ φ^max·x_j[t]
    ```

    `seconds` is τ without the exchange. The floor is multiplied by B_j[t], because solvers handle
    division by a variable badly: (φ − 1e-9)·(bits + seconds·B) ≤ slot·B.
    """
    slots = range(scope.horizon)
    cap = greatest_speeds(scope)
    m.phi = pyo.Var(
        list(scope.jobs),
        slots,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda _, j, t: (0, cap[j]),
    )
    m.no_progress_if_inactive = pyo.Constraint(
        list(scope.jobs), slots, rule=lambda m, j, t: m.phi[j, t] <= cap[j] * m.x[j, t]
    )
    exchange = {j: _exchange(scope, j) for j in scope.jobs}
    m.seconds = pyo.Expression(
        list(scope.jobs),
        rule=lambda m, j: _seconds(
            scope, j, sum(m.uses_server[j, s] for s in scope.servers) if j in m.spread else 1
        ),
    )
    m.tau = pyo.Expression(
        list(m.spread),
        slots,
        rule=lambda m, j, t: exchange[j] / m.bandwidth[j, t] + m.seconds[j],
    )

    def floor(m: Any, j: str, t: int) -> Any:
        if j in m.spread:
            return (m.phi[j, t] - GUARD) * (
                exchange[j] + m.seconds[j] * m.bandwidth[j, t]
            ) <= m.bandwidth[j, t]
        inner = scope.instance.cluster.intra_server_gbps
        return (m.phi[j, t] - GUARD) * (exchange[j] / inner + m.seconds[j]) <= 1

    m.floor = pyo.Constraint(list(scope.jobs), slots, rule=floor)


def completion(m: Any, scope: Scope) -> None:
    """(9) The job is active until its iterations reach F_j: Σ_t φ_j[t] ≥ F_j; T_j ≤ makespan."""
    slots = range(scope.horizon)
    m.work = pyo.Constraint(
        list(scope.jobs),
        rule=lambda m, j: sum(m.phi[j, t] for t in slots) >= scope.jobs[j].iterations,
    )
    low = min(scope.lower_bound, scope.horizon)
    m.makespan = pyo.Var(domain=pyo.NonNegativeIntegers, bounds=(low, scope.horizon))
    m.is_latest = pyo.Constraint(
        list(scope.jobs),
        slots[low:],
        rule=lambda m, j, t: m.makespan >= (t + 1) * m.x[j, t],
    )
    m.objective = pyo.Objective(expr=m.makespan)


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
    return model


def _size(scope: Scope) -> int:
    """Approximate number of terms in the constraints: of order `H·J·(S·L + J·L)`."""
    jobs, servers = len(scope.jobs), len(scope.servers)
    rings = len(_rings(scope))
    links = len(most_rings(scope))
    return scope.horizon * (jobs * (8 * servers + 20) + rings * links * (servers + rings + 8))


def _load(model: pyo.ConcreteModel, scope: Scope, schedule: Schedule) -> None:
    """Set every variable to its value in a feasible schedule."""
    outcome = Outcome(scope, *placed_of(schedule))
    set_variables(model, outcome, _values(outcome))


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
    rings = _rings(scope)
    most = greatest_speeds(scope)
    low, _ = _bandwidths(scope)
    inner = scope.instance.cluster.intra_server_gbps

    def crosses(j: str, l: str, t: int) -> bool:
        return l in o.links[j] and o.runs(j, t)

    def bandwidth(j: str, t: int) -> float:
        if len(o.workers[j]) == 1:
            return inner
        ring = o.ring(j, t)
        return ring.bandwidth_gbps if ring else low

    def seconds(j: str) -> float:
        return float(_seconds(scope, j, len(o.workers[j])))

    def phi(j: str, t: int) -> int:
        ring = o.ring(j, t)
        return min(ring.speed, most[j]) if ring else 0

    one = shared(o)
    return {
        "started": one["started"],
        "start": one["start"],
        "completion": one["completion"],
        "x": one["running"],
        "y": one["held"],
        "crosses": over(crosses, rings, links, slots),
        "p": over(lambda j, l, t: o.rings_on(l, t) if crosses(j, l, t) else 0, rings, links, slots),
        "uses_server": over(lambda j, s: s in o.workers[j], rings, scope.servers),
        "spread": over(lambda j: len(o.workers[j]) > 1, rings),
        "bandwidth": over(bandwidth, rings, slots),
        "seconds": over(seconds, jobs),
        "tau": over(lambda j, t: _exchange(scope, j) / bandwidth(j, t) + seconds(j), rings, slots),
        "phi": over(phi, jobs, slots),
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
    unfit=partial(too_fast, most=MAX_NONLINEAR_SPEED),
    model_class="nonlinear",
    evaluate=_evaluate,
    reads=frozenset(),
)
