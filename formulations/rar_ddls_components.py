"""The components of `rar-ddls`: the equations of one number each.

`rar_ddls` explains the variables. Each function adds to a Pyomo model the constraints in its
docstring; a later one uses variables of earlier ones.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from rarmodel.model import timing
from rarmodel.model.contention import linear_degradation
from rarmodel.model.lone import allowed_servers, within_gbps
from rarmodel.model.sharing import worst_share
from rarmodel.model.sharing_rule import sharing_rule

from .aims import add_objectives, needs_makespan
from .arithmetic import greatest_speeds
from .caps import keep_caps, server_caps, tenant_caps
from .formulation import Scope
from .placements import most_rings
from .when import keep_windows, may_have_started

GUARD = 1e-9
"""The guard of φ's floor (reading 3)."""


def rings_of(scope: Scope) -> list[str]:
    """Jobs that may have workers on several servers."""
    if len(scope.servers) == 1:
        return []
    return [j for j, job in scope.jobs.items() if job.size > 1]


def by_count(scope: Scope) -> bool:
    """Whether other rings count by their number, and not by their duties."""
    return sharing_rule(scope.instance.contention).equal_weights


def inner_gbps(scope: Scope) -> dict[str, float]:
    """By server: the bandwidth of rings within it, b^i, in Gbit/s."""
    return {
        name: within_gbps(scope.instance.cluster, s) for s, name in enumerate(scope.server_index)
    }


def bandwidths(scope: Scope) -> tuple[float, float]:
    """The least and the greatest bandwidth that a ring can have, in Gbit/s."""
    instance = scope.instance
    inner, most = inner_gbps(scope).values(), most_rings(scope)
    rate = {l: scope.links[l].gbps for l in most}
    slowest = min([*inner, *(worst_share(instance, rate[l], most[l]) for l in rate)])
    return slowest, max([*inner, *rate.values()])


def _most(scope: Scope, j: str, s: str) -> int:
    """The most workers that a job can have on a server; of a running job those that it has."""
    job = scope.jobs[j]
    if job.running is not None:
        return len(job.running.gpus.get(s, ()))
    allowed = allowed_servers(scope.instance)[scope.index[j]]
    return min(scope.servers[s].gpus, job.size) * (scope.server_index[s] in allowed)


def gang(m: Any, scope: Scope) -> None:
    """(1) An active job holds exactly G_j GPUs: Σ_s y_js[t] = G_j·x_j[t].

    It is inactive outside of its window, and holds nothing on servers that it may not use.
    """
    jobs, slots = list(scope.jobs), range(scope.horizon)
    most = {(j, s): _most(scope, j, s) for j in jobs for s in scope.servers}
    windows = scope.windows
    m.y = pyo.Var(
        jobs,
        list(scope.servers),
        slots,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda _, j, s, __: (0, most[j, s]),
    )
    m.x = pyo.Var(
        jobs,
        slots,
        domain=pyo.Binary,
        bounds=lambda _, j, t: (0, int(windows[j].start <= t < windows[j].end)),
    )
    m.held = pyo.Expression(jobs, list(scope.servers), slots, rule=lambda m, j, s, t: m.y[j, s, t])
    m.gang = pyo.Constraint(
        jobs,
        slots,
        rule=lambda m, j, t: (
            sum(m.y[j, s, t] for s in scope.servers) == scope.jobs[j].size * m.x[j, t]
        ),
    )


def capacity(m: Any, scope: Scope) -> None:
    """(2) Σ_j y_js[t] ≤ O_s − (reserved in slot t), and Σ_{j of tenant c} G_j·x_j[t] ≤ q_c.

    `caps` says what holds where jobs that run at slot 0 are in the way.
    """
    users = {s: list(scope.jobs) for s in scope.servers}
    keep_caps(m, "capacity", server_caps(scope), users, lambda j, s, t: m.y[j, s, t])
    caps = tenant_caps(scope)
    users = {c: [j for j, job in scope.jobs.items() if job.tenant == c] for c in caps}
    caps = {c: cap for c, cap in caps.items() if users[c]}
    keep_caps(m, "quota", caps, users, lambda j, _, t: scope.jobs[j].size * m.x[j, t])


def no_preemption(m: Any, scope: Scope) -> None:
    """(3) From start to completion the GPUs stay the same.

    ```
    started_j[t] ≥ started_j[t−1]      x_j[t] ≤ started_j[t]
    x_j[t] ≤ x_j[t−1] + started_j[t] − started_j[t−1]
    x_j[t] ≥ started_j[t] − started_j[t−1]
    y_js[t] − y_js[t−1] ≤ O·(1 − x_j[t−1])      y_js[t−1] − y_js[t] ≤ O·(1 − x_j[t])
    ```

    with O = min(O_s, G_j). An active job starts once, and keeps the GPUs of the slot before unless
    it was or becomes inactive. `when` says how windows bound starts, and what jobs wait for.
    """
    h, least = scope.horizon, scope.least_slots
    jobs, slots = list(scope.jobs), range(h)
    m.started = pyo.Var(
        jobs, slots, domain=pyo.Binary, bounds=lambda _, j, t: may_have_started(scope, j, t)
    )
    m.start = pyo.Expression(jobs, rule=lambda m, j: h - sum(m.started[j, t] for t in slots))
    m.completion = pyo.Expression(
        jobs, rule=lambda m, j: m.start[j] + sum(m.x[j, t] for t in slots)
    )
    m.ended = pyo.Expression(
        jobs,
        range(h + 1),
        rule=lambda m, j, t: m.started[j, t] - m.x[j, t] if t < h else m.started[j, h - 1],
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
    keep_windows(m, scope)


def contention(m: Any, scope: Scope) -> None:
    """(6) The rings on each link that a ring uses.

    ```
    crosses_jℓ[t] = 1  iff  0 < Σ_{s below ℓ} y_js[t] < G_j
    p_jℓ[t] ≥ crosses_jℓ[t] · Σ_j' crosses_j'ℓ[t]
    ```

    As crosses_jℓ[t] = 0 is faster, one direction of the indicator suffices: with
    w = Σ_{s below ℓ} y_js[t] and v = G_j·x_j[t] − w, the workers above, the product w·v is above 0
    iff the ring uses the link, and then at most G_j²/4: w·v ≤ (G_j²/4)·crosses_jℓ[t].

    By duty, p_jℓ[t] is the load of the other rings: see `rar_ddls_by_duty`.
    """
    slots = range(scope.horizon)
    most = most_rings(scope)
    rings = rings_of(scope)
    m.crosses = pyo.Var(rings, list(most), slots, domain=pyo.Binary)
    m.p = pyo.Var(rings, list(most), slots, bounds=lambda _, j, l, t: (0, len(rings)))

    def indicator(m: Any, j: str, l: str, t: int) -> Any:
        size = scope.jobs[j].size
        below = sum(m.y[j, s, t] for s in scope.below[l])
        above = sum(m.y[j, s, t] for s in scope.servers if s not in scope.below[l])
        return below * above <= (size * size // 4) * m.crosses[j, l, t]

    m.indicator = pyo.Constraint(rings, list(most), slots, rule=indicator)
    if not by_count(scope):
        return
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
    there. If servers differ, b^i is the greatest, and slower ones have lines of their own. By duty
    k = 1 + ξ1·p, with p the load of the others.
    """
    slots = range(scope.horizon)
    instance = scope.instance
    rate = {l: scope.links[l].gbps for l in most_rings(scope)}
    own = inner_gbps(scope)
    inner = max(own.values())
    xi, alpha = instance.contention.concurrency, instance.contention.degradation.alpha
    rings = rings_of(scope)
    most = most_rings(scope)
    slowest, fastest = bandwidths(scope)
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
    if slower := [s for s, gbps in own.items() if gbps < inner]:
        m.within_slower_server = pyo.Constraint(
            rings,
            slower,
            slots,
            rule=lambda m, j, s, t: (
                m.bandwidth[j, t]
                <= own[s] + (fastest - own[s]) * (1 - m.uses_server[j, s] + m.spread[j])
            ),
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
        level = xi * m.p[j, l, t]
        if not by_count(scope):
            level += m.crosses[j, l, t]  # A ring that is not on the link has no limit there.
        elif linear_degradation(alpha, xi * most[l]) <= 1.0:
            return pyo.Constraint.Skip
        return m.bandwidth[j, t] * (level + alpha * (level - 1)) <= rate[l]

    m.link_shared = pyo.Constraint(rings, list(rate), slots, rule=shared)


def exchange_of(scope: Scope, j: str) -> float:
    """The exchange of one iteration, in slots times Gbit/s."""
    pace = scope.pace(j)
    return pace.bits / 1e9 / pace.slot_seconds


def seconds_of(scope: Scope, j: str, servers: Any) -> Any:
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
    exchange = {j: exchange_of(scope, j) for j in scope.jobs}
    m.seconds = pyo.Expression(
        list(scope.jobs),
        rule=lambda m, j: seconds_of(
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
        # One GPU, or the only server: the first one's rate will do.
        inner = next(iter(inner_gbps(scope).values()))
        return (m.phi[j, t] - GUARD) * (exchange[j] / inner + m.seconds[j]) <= 1

    m.floor = pyo.Constraint(list(scope.jobs), slots, rule=floor)


def completion(m: Any, scope: Scope) -> None:
    """(9) The job is active until its iterations reach F_j: Σ_t φ_j[t] ≥ F_j; T_j ≤ makespan.

    Of a running job, F_j counts what is left at slot 0.
    """
    slots = range(scope.horizon)
    m.work = pyo.Constraint(
        list(scope.jobs),
        rule=lambda m, j: sum(m.phi[j, t] for t in slots) >= scope.jobs[j].iterations_left,
    )
    if needs_makespan(scope):
        low = min(scope.lower_bound, scope.horizon)
        m.makespan = pyo.Var(domain=pyo.NonNegativeIntegers, bounds=(low, scope.horizon))
        m.is_latest = pyo.Constraint(
            list(scope.jobs),
            slots[low:],
            rule=lambda m, j, t: m.makespan >= (t + 1) * m.x[j, t],
        )
    add_objectives(m, scope)
