"""The components of `time-indexed`: variables and constraints of one idea each.

`time_indexed` explains the variables. Each function adds to a Pyomo model the constraints in its
docstring; a later one uses variables of earlier ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pyomo.environ as pyo

from rarmodel.model.sharing_rule import sharing_rule

from .caps import keep_caps, server_caps, tenant_caps
from .formulation import Scope
from .loads import Loads
from .placements import Placement, most_rings, placements
from .symmetry import equal_jobs, server_order
from .time_indexed_by_duty import loads_of, slowed_by_load, speeds_on_links
from .when import keep_windows, may_have_ended, may_have_started


@dataclass(frozen=True)
class TimeIndexedData:
    """The numbers of a scope that the constraints use.

    Attributes
    ----------
    scope
        The scope of the model.
    options
        By job: its placements by label.
    rings
        By job: its placements on several servers, by label; only jobs that have some.
    levels
        By such a job: its possible speeds above 0 under contention, ascending.
    most_rings
        By link: the most rings on it at once.
    loads
        What rings may count by duty; None by the count.
    """

    scope: Scope
    options: dict[str, dict[str, Placement]]
    rings: dict[str, dict[str, Placement]]
    levels: dict[str, list[int]]
    most_rings: dict[str, int]
    loads: Loads | None


def data_of(
    scope: Scope, options: dict[str, dict[str, Placement]] | None = None
) -> TimeIndexedData:
    """The numbers of a scope, where jobs have their usual placements or others."""
    options = placements(scope) if options is None else options
    rings = {
        j: spread
        for j, ways in options.items()
        if (spread := {k: placement for k, placement in ways.items() if placement.links})
    }
    equal_weights = sharing_rule(scope.instance.contention).equal_weights
    loads = None if equal_weights else loads_of(scope, rings)
    levels = {
        j: sorted(
            {
                speed
                for placement in spread.values()
                for speeds in speeds_on_links(placement, loads)
                for speed in speeds
                if 0 < speed <= placement.alone
            }
        )
        for j, spread in rings.items()
    }
    users = {
        link: sum(any(link in p.links for p in spread.values()) for spread in rings.values())
        for link in scope.links
    }
    most = {link: min(most, users[link]) for link, most in most_rings(scope).items()}
    return TimeIndexedData(
        scope, options, rings, levels, {l: most for l, most in most.items() if most > 0}, loads
    )


def starts_and_ends(m: Any, data: TimeIndexedData) -> None:
    """Gang and no preemption, (1) and (3): a job is active from its start to its completion.

    ```
    started[j,t] ≥ started[j,t−1]      ended[j,t+1] ≥ ended[j,t]
    ended[j,t+ρ] ≤ started[j,t]        with ρ = ρ_j^min, the least execution time
    ```

    `when` says how windows bound these variables, and what jobs wait for.
    """
    scope = data.scope
    h, least = scope.horizon, scope.least_slots
    jobs, slots = list(scope.jobs), range(h)
    m.started = pyo.Var(
        jobs, slots, domain=pyo.Binary, bounds=lambda _, j, t: may_have_started(scope, j, t)
    )
    m.ended = pyo.Var(
        jobs, range(h + 1), domain=pyo.Binary, bounds=lambda _, j, t: may_have_ended(scope, j, t)
    )
    m.running = pyo.Expression(jobs, slots, rule=lambda m, j, t: m.started[j, t] - m.ended[j, t])
    m.start = pyo.Expression(jobs, rule=lambda m, j: h - sum(m.started[j, t] for t in slots))
    m.completion = pyo.Expression(
        jobs, rule=lambda m, j: h + 1 - sum(m.ended[j, t] for t in range(h + 1))
    )
    m.stays_started = pyo.Constraint(
        jobs, slots[1:], rule=lambda m, j, t: m.started[j, t] >= m.started[j, t - 1]
    )
    m.stays_ended = pyo.Constraint(
        jobs, slots, rule=lambda m, j, t: m.ended[j, t + 1] >= m.ended[j, t]
    )
    m.takes_least_time = pyo.Constraint(
        [(j, t) for j in jobs for t in range(h - least[j] + 1)],
        rule=lambda m, j, t: m.ended[j, t + least[j]] <= m.started[j, t],
    )
    keep_windows(m, scope)


def placement(m: Any, data: TimeIndexedData) -> None:
    """One placement for each job, (1), (3) and (5); the job has it whenever it is active.

    With ρ_jk the execution time of job j alone in placement k:

    ```
    Σ_k placed_jk = 1      Σ_k active_in_jkt = running_jt      active_in_jkt ≤ placed_jk
    Σ_t active_in_jkt = ρ_jk·placed_jk    in one server
    Σ_t active_in_jkt ≥ ρ_jk·placed_jk    in several
    ```
    """
    scope, options = data.scope, data.options
    pairs = [(j, k) for j, ways in options.items() for k in ways]
    slots = range(scope.horizon)
    m.placed = pyo.Var(pairs, domain=pyo.Binary)
    m.active_in = pyo.Var(pairs, slots, domain=pyo.Binary)
    m.one_placement = pyo.Constraint(
        list(scope.jobs),
        rule=lambda m, j: (
            sum(m.placed[j, k] for k in options[j]) == 1
            if options[j]
            else m.ended[j, scope.horizon] <= 0  # It is 1: there is no solution.
        ),
    )
    m.active_in_one = pyo.Constraint(
        [j for j in scope.jobs if options[j]],
        slots,
        rule=lambda m, j, t: sum(m.active_in[j, k, t] for k in options[j]) == m.running[j, t],
    )
    m.active_in_placed = pyo.Constraint(
        pairs, slots, rule=lambda m, j, k, t: m.active_in[j, k, t] <= m.placed[j, k]
    )

    def duration(m: Any, j: str, k: str) -> Any:
        way = options[j][k]
        slots_active = sum(m.active_in[j, k, t] for t in slots)
        if way.links:
            return slots_active >= way.least_slots * m.placed[j, k]
        return slots_active == way.least_slots * m.placed[j, k]

    m.duration = pyo.Constraint(pairs, rule=duration)
    m.workers = pyo.Expression(
        list(scope.jobs),
        list(scope.servers),
        rule=lambda m, j, s: sum(
            way.workers[s] * m.placed[j, k] for k, way in options[j].items() if s in way.workers
        ),
    )
    m.on = pyo.Expression(
        list(scope.jobs),
        list(scope.servers),
        rule=lambda m, j, s: sum(
            m.placed[j, k] for k, way in options[j].items() if s in way.workers
        ),
    )
    m.servers_used = pyo.Expression(
        list(scope.jobs),
        rule=lambda m, j: sum(len(way.workers) * m.placed[j, k] for k, way in options[j].items()),
    )


def capacity(m: Any, data: TimeIndexedData) -> None:
    """Capacity, (2) and (4): active jobs hold at most O_s GPUs of server s; other jobs hold none.

    ```
    held_jst = Σ_k y_js(k)·active_in_jkt      Σ_j held_jst ≤ O_s − (reserved in slot t)
    ```

    `caps` says what holds where jobs that run at slot 0 are in the way of a reservation.
    """
    scope = data.scope
    slots = range(scope.horizon)
    using = {
        (j, s): [(k, way.workers[s]) for k, way in ways.items() if s in way.workers]
        for j, ways in data.options.items()
        for s in scope.servers
    }
    m.held = pyo.Expression(
        list(scope.jobs),
        list(scope.servers),
        slots,
        rule=lambda m, j, s, t: sum(count * m.active_in[j, k, t] for k, count in using[j, s]),
    )
    users = {s: [j for j in scope.jobs if using[j, s]] for s in scope.servers}
    caps = {
        s: cap
        for s, cap in server_caps(scope).items()
        if sum(max(count for _, count in using[j, s]) for j in users[s]) > min(cap.room)
    }
    keep_caps(m, "capacity", caps, users, lambda j, s, t: m.held[j, s, t])


def quotas(m: Any, data: TimeIndexedData) -> None:
    """Quotas: jobs of tenant c hold at most its q_c GPUs at once, but for jobs that run at slot 0.

    ```
    Σ_{j of c} Σ_k w_j(k)·active_in_jkt ≤ q_c
    ```

    `caps` says what holds where running jobs exceed a quota.
    """
    scope = data.scope
    size = {
        j: [(k, sum(way.workers.values())) for k, way in ways.items()]
        for j, ways in data.options.items()
    }
    users = {
        c: [j for j, job in scope.jobs.items() if job.tenant == c and size[j]]
        for c in tenant_caps(scope)
    }
    caps = {c: cap for c, cap in tenant_caps(scope).items() if users[c]}
    keep_caps(
        m, "quota", caps, users, lambda j, _, t: sum(w * m.active_in[j, k, t] for k, w in size[j])
    )


def contention(m: Any, data: TimeIndexedData) -> None:
    """Rings on each link in each slot, (6).

    ```
    Σ_{j, k using ℓ} active_in_jkt ≤ 1 + Σ_{p ≥ 2} at_least_lpt
    at_least_l(p+1)t ≤ at_least_lpt
    ```

    By duty no rings are counted.
    """
    if data.loads is not None:
        return
    slots = range(data.scope.horizon)
    counts = [(l, p) for l, most in data.most_rings.items() for p in range(2, most + 1)]
    m.at_least = pyo.Var(counts, slots, domain=pyo.Binary)
    users = {
        l: [
            (j, k)
            for j, spread in data.rings.items()
            for k, way in spread.items()
            if l in way.links
        ]
        for l in data.most_rings
    }
    m.count_rings = pyo.Constraint(
        list(users),
        slots,
        rule=lambda m, l, t: (
            sum(m.active_in[j, k, t] for j, k in users[l])
            <= 1 + sum(m.at_least[l, p, t] for p in range(2, data.most_rings[l] + 1))
        ),
    )
    m.count_in_order = pyo.Constraint(
        [(l, p) for l, p in counts if p > 2],
        slots,
        rule=lambda m, l, p, t: m.at_least[l, p, t] <= m.at_least[l, p - 1, t],
    )


def speed(m: Any, data: TimeIndexedData) -> None:
    """Speed of a ring under contention, (7)–(8) with their floor, by levels φ_j1 < φ_j2 < ….

    For each level i, link ℓ and ring count p, over the placements k that use ℓ, reach φ_ji alone,
    and do not reach it with p or more rings on ℓ:

    ```
    reaches_j(i+1)t ≤ reaches_jit
    reaches_jit ≤ Σ_{k reaching φ_ji alone} active_in_jkt
    reaches_jit + at_least_lpt + Σ_k active_in_jkt ≤ 2
    ```

    By duty, with d_k what a ring counts in placement k, M the greatest load of ℓ by other jobs, and
    over the placements k of job j that reach φ_ji up to a load λ < M of others on ℓ:

    ```
    Σ_{other jobs on ℓ} d_k·active_in_kt ≤ λ + (M − λ)·(2 − reaches_jit − Σ_k active_in_jkt)
    ```
    """
    slots = range(data.scope.horizon)
    pairs = [(j, i) for j, levels in data.levels.items() for i in range(len(levels))]
    m.reaches = pyo.Var(pairs, slots, domain=pyo.Binary)
    able = {
        (j, i): [k for k, way in data.rings[j].items() if way.alone >= data.levels[j][i]]
        for j, i in pairs
    }
    m.reaches_in_order = pyo.Constraint(
        [(j, i) for j, i in pairs if i > 0],
        slots,
        rule=lambda m, j, i, t: m.reaches[j, i, t] <= m.reaches[j, i - 1, t],
    )
    m.reaches_alone = pyo.Constraint(
        pairs,
        slots,
        rule=lambda m, j, i, t: m.reaches[j, i, t] <= sum(m.active_in[j, k, t] for k in able[j, i]),
    )
    if data.loads is not None:
        slowed_by_load(m, data, data.loads, able)
        return
    slowed: dict[tuple[str, int, str, int], list[str]] = {}
    for j, i in pairs:
        level = data.levels[j][i]
        for l, most in data.most_rings.items():
            ways = [k for k in able[j, i] if l in data.rings[j][k].links]
            before: list[str] = []
            for p in range(2, most + 1):
                slow = [k for k in ways if data.rings[j][k].speeds[l][p] < level]
                # The same placements at p + 1 would add nothing: at_least falls with p.
                if len(slow) > len(before):
                    slowed[j, i, l, p] = slow
                before = slow
    m.slowed = pyo.Constraint(
        list(slowed),
        slots,
        rule=lambda m, j, i, l, p, t: (
            m.reaches[j, i, t]
            + m.at_least[l, p, t]
            + sum(m.active_in[j, k, t] for k in slowed[j, i, l, p])
            <= 2
        ),
    )


def work(m: Any, data: TimeIndexedData) -> None:
    """All iterations are done by the completion, (9), for rings on several servers.

    ```
    Σ_t Σ_i (φ_ji − φ_j(i−1))·reaches_jit ≥ F_j·Σ_{k on several servers} placed_jk
    ```
    """
    slots = range(data.scope.horizon)

    def done(m: Any, j: str) -> Any:
        steps = [high - low for low, high in pairwise([0, *data.levels[j]])]
        progress = sum(step * m.reaches[j, i, t] for i, step in enumerate(steps) for t in slots)
        spread = sum(m.placed[j, k] for k in data.rings[j])
        return progress >= data.scope.jobs[j].iterations_left * spread

    m.work = pyo.Constraint(list(data.rings), rule=done)


def symmetry(m: Any, data: TimeIndexedData) -> None:
    """Equal jobs start in input order; equal servers are ordered by the longest jobs' workers.

    ```
    started_jt ≥ started_j't                              j before j', equal
    Σ_js W_j·workers_js ≥ Σ_js' W_j·workers_js'           s in B, s' in B', B before B', equal
    ```

    where B is a server, or all servers below a node, such as a rack; with weights W_j that make
    this the lexicographic order of a few jobs' workers.
    """
    scope = data.scope
    pairs = [pair for group in equal_jobs(scope) for pair in pairwise(group)]
    m.equal_jobs_in_order = pyo.Constraint(
        pairs,
        range(scope.horizon),
        rule=lambda m, j, later, t: m.started[j, t] >= m.started[later, t],
    )
    order = server_order(scope)
    neighbours = {
        (block[0], later[0]): (block, later)
        for group in order.groups
        for block, later in pairwise(group)
    }
    m.equal_servers_in_order = pyo.Constraint(
        list(neighbours),
        rule=lambda m, *pair: (
            sum(
                weight * (m.workers[j, s] - m.workers[j, later])
                for j, weight in order.weights.items()
                for s, later in zip(*neighbours[pair], strict=True)
            )
            >= 0
        ),
    )


def makespan(m: Any, data: TimeIndexedData) -> None:
    """The makespan: the first slot before which all jobs have completed.

    ```
    done_t ≤ ended_jt      done_t ≥ done_(t−1)      makespan = H − Σ_t done_t
    ```
    """
    scope = data.scope
    low, h = min(scope.lower_bound, scope.horizon), scope.horizon
    slots = range(low, h)
    m.done = pyo.Var(slots, domain=pyo.Binary)
    m.done_if_ended = pyo.Constraint(
        list(scope.jobs), slots, rule=lambda m, j, t: m.done[t] <= m.ended[j, t]
    )
    m.stays_done = pyo.Constraint(slots[1:], rule=lambda m, t: m.done[t] >= m.done[t - 1])
    m.makespan = pyo.Expression(expr=h - sum(m.done[t] for t in slots))
