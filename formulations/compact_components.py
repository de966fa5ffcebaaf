"""The components of the compact formulation: variables and constraints of one idea each.

`compact` explains the variables. Each function adds to a Pyomo model the constraints in its
docstring; a later one uses variables of earlier ones.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from .caps import keep_caps, server_caps, tenant_caps
from .compact_by_duty import loads_on_links, speed_beside_loads
from .compact_coefficients import Coefficients, Label
from .formulation import Scope
from .placements import parts_of
from .ring_links import links_count
from .when import keep_windows, may_have_ended, may_have_started


def starts_and_ends(m: Any, data: Coefficients) -> None:
    """Gang and no preemption, (1) and (3): a job is active from its start to its completion.

    ```
    started[j,t] ≥ started[j,t−1]      ended[j,t] ≥ ended[j,t−1]
    ended[j,t+ρ] ≤ started[j,t]        with ρ = ρ_j^min, the least execution time
    ```

    `when` says how windows bound these variables, and what jobs wait for.
    """
    h, scope = data.horizon, data.scope
    m.started = pyo.Var(
        data.jobs,
        data.slots,
        domain=pyo.Binary,
        bounds=lambda _, j, t: may_have_started(scope, j, t),
    )
    m.ended = pyo.Var(
        data.jobs,
        range(h + 1),
        domain=pyo.Binary,
        bounds=lambda _, j, t: may_have_ended(scope, j, t),
    )
    m.running = pyo.Expression(
        data.jobs, data.slots, rule=lambda m, j, t: m.started[j, t] - m.ended[j, t]
    )
    m.start = pyo.Expression(
        data.jobs, rule=lambda m, j: h - sum(m.started[j, t] for t in data.slots)
    )
    m.completion = pyo.Expression(
        data.jobs, rule=lambda m, j: sum(1 - m.ended[j, t] for t in data.slots)
    )
    m.stays_started = pyo.Constraint(
        data.jobs, data.slots[1:], rule=lambda m, j, t: m.started[j, t] >= m.started[j, t - 1]
    )
    m.stays_ended = pyo.Constraint(
        data.jobs, range(1, h + 1), rule=lambda m, j, t: m.ended[j, t] >= m.ended[j, t - 1]
    )
    m.takes_least_time = pyo.Constraint(
        data.jobs,
        data.slots,
        rule=lambda m, j, t: (
            m.ended[j, t + data.least[j]] <= m.started[j, t]
            if t + data.least[j] <= h
            else pyo.Constraint.Skip
        ),
    )
    keep_windows(m, scope)


def placement(m: Any, data: Coefficients) -> None:
    """Complete gangs, (1) and (5): the workers of a job add up to its ring, in one of its shapes.

    With w_h GPUs on n_h servers in shape h:

    ```
    Σ_s workers_js = Σ_h w_h·spans_jh      on_js ≤ workers_js ≤ min(O_s, w_j)·on_js
    Σ_h spans_jh = 1                       Σ_s on_js = Σ_h n_h·spans_jh
    on_js ≤ Σ_{h allowed on s} spans_jh    where not every shape is allowed
    workers_js ≤ Σ_h (w_h/n_h)·spans_jh    if each server has the same number of workers
    ```

    Bounds keep workers on the servers of a list, and those of running jobs where they are.
    """
    pairs = [(j, h) for j in data.jobs for h in data.shapes[j]]
    workers = data.workers
    m.workers = pyo.Var(
        data.jobs,
        data.servers,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda _, j, s: workers[j, s],
    )
    m.on = pyo.Var(
        data.jobs,
        data.servers,
        domain=pyo.Binary,
        bounds=lambda _, j, s: tuple(min(1, bound) for bound in workers[j, s]),
    )
    m.spans = pyo.Var(pairs, domain=pyo.Binary)
    m.servers_used = pyo.Expression(
        data.jobs, rule=lambda m, j: sum(m.on[j, s] for s in data.servers)
    )

    def ring(m: Any, j: str) -> Any:
        if j in data.size:
            return data.size[j]
        return sum(shape.size * m.spans[j, h] for h, shape in data.shapes[j].items())

    m.gang = pyo.Constraint(
        data.jobs, rule=lambda m, j: sum(m.workers[j, s] for s in data.servers) == ring(m, j)
    )
    m.on_if_workers = pyo.Constraint(
        data.jobs,
        data.servers,
        rule=lambda m, j, s: m.workers[j, s] <= workers[j, s][1] * m.on[j, s],
    )
    m.workers_if_on = pyo.Constraint(
        data.jobs, data.servers, rule=lambda m, j, s: m.on[j, s] <= m.workers[j, s]
    )
    m.one_count = pyo.Constraint(
        data.jobs, rule=lambda m, j: sum(m.spans[j, h] for h in data.shapes[j]) == 1
    )
    m.count_servers = pyo.Constraint(
        data.jobs,
        rule=lambda m, j: (
            m.servers_used[j]
            == sum(shape.servers * m.spans[j, h] for h, shape in data.shapes[j].items())
        ),
    )
    if elsewhere := {
        (j, s): [h for h, shape in data.shapes[j].items() if s in shape.on]
        for j in data.jobs
        for s in data.servers
        if workers[j, s][1] > 0 and any(s not in shape.on for shape in data.shapes[j].values())
    }:
        m.shape_allows = pyo.Constraint(
            list(elsewhere),
            rule=lambda m, j, s: m.on[j, s] <= sum(m.spans[j, h] for h in elsewhere[j, s]),
        )
    if equal := [
        j
        for j, job in data.scope.jobs.items()
        if job.running is None and job.spread is not None and job.spread.equal and data.spread[j]
    ]:
        m.equal_workers = pyo.Constraint(
            equal,
            data.servers,
            rule=lambda m, j, s: (
                m.workers[j, s]
                <= sum(
                    shape.size // shape.servers * m.spans[j, h]
                    for h, shape in data.shapes[j].items()
                )
            ),
        )


def nearness(m: Any, data: Coefficients) -> None:
    """A ring that must stay within one node of a level is in one part of the network (section 18).

    ```
    Σ_g in_part_jg = 1      on_js ≤ in_part_jg      s a server of part g
    ```
    """
    parts = parts_of_rings(data.scope)
    pairs = [(j, g) for j, some in parts.items() for g in range(len(some))]
    if not pairs:
        return
    m.in_part = pyo.Var(pairs, domain=pyo.Binary)
    m.in_one_part = pyo.Constraint(
        list(parts), rule=lambda m, j: sum(m.in_part[j, g] for g in range(len(parts[j]))) == 1
    )
    m.on_in_part = pyo.Constraint(
        [(j, g, s) for j, g in pairs for s in parts[j][g]],
        rule=lambda m, j, g, s: m.on[j, s] <= m.in_part[j, g],
    )


def parts_of_rings(scope: Scope) -> dict[str, list[list[str]]]:
    """By job that must stay within one of several parts of the network: their servers."""
    found = {
        j: [[server.name for server in part] for part in parts_of(scope, job)]
        for j, job in scope.jobs.items()
        if job.running is None and job.spread is not None and job.spread.within is not None
    }
    return {j: parts for j, parts in found.items() if len(parts) > 1}


def capacity(m: Any, data: Coefficients) -> None:
    """Capacity, (2) and (4): active jobs hold at most O_s GPUs of server s; other jobs hold none.

    ```
    held_jst ≥ workers_js − min(O_s, w_j)·(1 − running_jt)      held_jst ≤ workers_js
    Σ_s held_jst = w_j·running_jt      Σ_j held_jst ≤ O_s − (reserved in slot t)
    ```

    `all_held_in_size` states the second line for jobs of several sizes. `caps` says what holds
    where jobs that run at slot 0 are in the way of a reservation.
    """
    most = {index: high for index, (_, high) in data.workers.items()}
    m.held = pyo.Var(
        data.jobs, data.servers, data.slots, bounds=lambda _, j, s, __: (0, most[j, s])
    )
    m.held_if_active = pyo.Constraint(
        data.jobs,
        data.servers,
        data.slots,
        rule=lambda m, j, s, t: (
            m.held[j, s, t] >= m.workers[j, s] - most[j, s] * (1 - m.running[j, t])
        ),
    )
    m.held_is_placed = pyo.Constraint(
        data.jobs,
        data.servers,
        data.slots,
        rule=lambda m, j, s, t: m.held[j, s, t] <= m.workers[j, s],
    )
    m.all_held = pyo.Constraint(
        list(data.size),
        data.slots,
        rule=lambda m, j, t: (
            sum(m.held[j, s, t] for s in data.servers) == data.size[j] * m.running[j, t]
        ),
    )
    users = {s: [j for j in data.jobs if most[j, s]] for s in data.servers}
    caps = {s: cap for s, cap in server_caps(data.scope).items() if users[s]}
    keep_caps(m, "capacity", caps, users, lambda j, s, t: m.held[j, s, t])


def link_use(m: Any, data: Coefficients) -> None:
    """The links that a ring uses, reading 4: those with workers of the ring below and above.

    ```
    below_jl ≥ on_js for s below ℓ      above_jl ≥ on_js for the other s
    uses_jl ≥ below_jl + above_jl − 1
    ```
    """
    m.below = pyo.Var(data.rings, data.links, bounds=(0, 1))
    m.above = pyo.Var(data.rings, data.links, bounds=(0, 1))
    m.uses = pyo.Var(data.rings, data.links, bounds=(0, 1))
    m.worker_below = pyo.Constraint(
        [(j, l, s) for j in data.rings for l in data.links for s in data.below[l]],
        rule=lambda m, j, l, s: m.below[j, l] >= m.on[j, s],
    )
    m.worker_above = pyo.Constraint(
        [
            (j, l, s)
            for j in data.rings
            for l in data.links
            for s in data.servers
            if s not in data.below[l]
        ],
        rule=lambda m, j, l, s: m.above[j, l] >= m.on[j, s],
    )
    m.use_if_both = pyo.Constraint(
        data.rings,
        data.links,
        rule=lambda m, j, l: m.uses[j, l] >= m.below[j, l] + m.above[j, l] - 1,
    )
    if links_count(data.scope):
        m.linked = pyo.Expression(data.rings, data.links, rule=lambda m, j, l: m.uses[j, l])
    # A ring on several servers uses the link of each: what `use_if_both` says of whole numbers,
    # said so that it holds back fractions too.
    server_links = {l: below[0] for l, below in data.below.items() if len(below) == 1}
    m.use_server_link = pyo.Constraint(
        [(j, l) for j in data.rings for l in server_links],
        rule=lambda m, j, l: (
            m.uses[j, l]
            >= m.on[j, server_links[l]]
            - sum(m.spans[j, h] for h, shape in data.shapes[j].items() if shape.servers == 1)
        ),
    )


def contention(m: Any, data: Coefficients) -> None:
    """Rings on each link in each slot, (6).

    ```
    on_link_jlt ≥ uses_jl + running_jt − 1
    Σ_j on_link_jlt ≤ 1 + Σ_{p ≥ 2} at_least_lpt      at_least_l(p+1)t ≤ at_least_lpt
    ```

    By duty, `loads_on_links` takes its place.
    """
    if data.loads is not None:
        return
    counts = [(l, p) for l in data.links for p in range(2, data.most_rings[l] + 1)]
    m.on_link = pyo.Var(data.rings, data.links, data.slots, bounds=(0, 1))
    m.at_least = pyo.Var(counts, data.slots, domain=pyo.Binary)
    m.on_link_if_active = pyo.Constraint(
        data.rings,
        data.links,
        data.slots,
        rule=lambda m, j, l, t: m.on_link[j, l, t] >= m.uses[j, l] + m.running[j, t] - 1,
    )
    m.count_rings = pyo.Constraint(
        data.links,
        data.slots,
        rule=lambda m, l, t: (
            (
                sum(m.on_link[j, l, t] for j in data.rings)
                <= 1 + sum(m.at_least[l, p, t] for p in range(2, data.most_rings[l] + 1))
            )
            if data.rings
            else pyo.Constraint.Skip
        ),
    )
    m.count_in_order = pyo.Constraint(
        [(l, p) for l, p in counts if p > 2],
        data.slots,
        rule=lambda m, l, p, t: m.at_least[l, p, t] <= m.at_least[l, p - 1, t],
    )


def speed(m: Any, data: Coefficients) -> None:
    """Speed of a ring under contention, (7)–(8) with their floor, in shapes h on n ≥ 2 servers.

    With v = on_link_jlt, a = active_on_jht, φ(p) = φ_j(h, ℓ, p), Δ(p) = φ(p−1) − φ(p), drop
    D = φ(1) − φ(most rings), and φ* the greatest φ_j(h, ·, 1):

    ```
    Σ_h active_on_jht = running_jt      active_on_jht ≤ spans_jh
    progress_jht ≤ φ*·a
    progress_jht ≤ φ(1)·a − Σ_{p ≥ 2} Δ(p)·at_least_lpt + D·(1 − a) + (φ* − φ(1) + D)·(1 − v)
    ```

    If the ring is on the link (v = a = 1), the last line is the speed with p_ℓ rings; otherwise it
    has no effect. By duty, `speed_beside_loads` takes the place of the last line.
    """
    pairs = [(j, h) for j in data.jobs for h in data.shapes[j]]
    spread = [(j, h) for j in data.rings for h in data.spread[j]]
    m.active_on = pyo.Var(pairs, data.slots, bounds=(0, 1))
    m.progress = pyo.Var(spread, data.slots, domain=pyo.NonNegativeReals)
    m.active_on_some = pyo.Constraint(
        data.jobs,
        data.slots,
        rule=lambda m, j, t: sum(m.active_on[j, h, t] for h in data.shapes[j]) == m.running[j, t],
    )
    m.active_on_used = pyo.Constraint(
        pairs, data.slots, rule=lambda m, j, h, t: m.active_on[j, h, t] <= m.spans[j, h]
    )
    m.speed_alone = pyo.Constraint(
        spread,
        data.slots,
        rule=lambda m, j, h, t: m.progress[j, h, t] <= data.lone[j, h] * m.active_on[j, h, t],
    )

    if data.loads is not None:
        loads_on_links(m, data)
        speed_beside_loads(m, data, data.loads)
        return

    def on_shared_link(m: Any, j: str, h: Label, l: str, t: int) -> Any:
        speeds = data.speeds[j, h, l]
        drop = speeds[1] - speeds[-1]
        slack = data.lone[j, h] - speeds[1] + drop
        if slack == 0:
            return pyo.Constraint.Skip
        active = m.active_on[j, h, t]
        drops = sum(
            (speeds[p - 1] - speeds[p]) * m.at_least[l, p, t]
            for p in range(2, len(speeds))
            if speeds[p] < speeds[p - 1]
        )
        return m.progress[j, h, t] <= (
            drop + (speeds[1] - drop) * active - drops + slack * (1 - m.on_link[j, l, t])
        )

    m.speed_on_link = pyo.Constraint(
        [(j, h, l) for j, h in spread for l in data.links], data.slots, rule=on_shared_link
    )


def sizes_held(m: Any, data: Coefficients) -> None:
    """Jobs of several ring sizes hold as many GPUs as their shape has.

    ```
    Σ_s held_jst = Σ_h w_h·active_on_jht
    ```
    """
    if several := [j for j in data.jobs if j not in data.size]:
        m.all_held_in_size = pyo.Constraint(
            several,
            data.slots,
            rule=lambda m, j, t: (
                sum(m.held[j, s, t] for s in data.servers)
                == sum(shape.size * m.active_on[j, h, t] for h, shape in data.shapes[j].items())
            ),
        )


def quotas(m: Any, data: Coefficients) -> None:
    """Quotas: jobs of tenant c hold at most its q_c GPUs at once, but for jobs that run at slot 0.

    ```
    Σ_{j of c} Σ_h w_h·active_on_jht ≤ q_c
    ```

    `caps` says what holds where running jobs exceed a quota.
    """
    jobs, caps = data.scope.jobs, tenant_caps(data.scope)
    users = {c: [j for j, job in jobs.items() if job.tenant == c] for c in caps}
    keep_caps(
        m,
        "quota",
        {c: cap for c, cap in caps.items() if users[c]},
        users,
        lambda j, _, t: sum(
            shape.size * m.active_on[j, h, t] for h, shape in data.shapes[j].items()
        ),
    )


def work(m: Any, data: Coefficients) -> None:
    """All iterations are done by the completion, (9).

    ```
    Σ_t (Σ_{h on one server} φ_j(h)·active_on_jht + Σ_{h on several} progress_jht) ≥ F_j
    ```
    """

    def done(m: Any, j: str) -> Any:
        together = sum(
            shape.together * m.active_on[j, h, t]
            for h, shape in data.shapes[j].items()
            if shape.servers == 1
            for t in data.slots
        )
        spread = sum(m.progress[j, h, t] for h in data.spread[j] for t in data.slots)
        return together + spread >= data.iterations[j]

    m.work = pyo.Constraint(data.jobs, rule=done)


def makespan(m: Any, data: Coefficients) -> None:
    """The latest completion: `makespan ≥ T_j = Σ_t (1 − ended_jt)`."""
    m.makespan = pyo.Var(
        domain=pyo.NonNegativeIntegers, bounds=(data.scope.lower_bound, data.horizon)
    )
    m.is_latest = pyo.Constraint(
        data.jobs,
        rule=lambda m, j: m.makespan >= m.completion[j],
    )
