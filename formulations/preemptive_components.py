"""The components of `time-indexed-preemptive`: variables and constraints of one idea each.

`time_indexed_preemptive` explains the variables. Contention, speed and makespan are those of
`time-indexed`; a later component uses variables of earlier ones.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyomo.environ as pyo

from rarmodel.model.timing import restore_slots

from .caps import keep_caps, server_caps, tenant_caps
from .formulation import Scope
from .placements import Placement, own_placement, placements
from .ring_links import links_count, ways_by_link
from .time_indexed_components import TimeIndexedData, data_of, starts_and_ends

OWN = "own"
"""Label of the GPUs that a running job holds from slot 0 on; other labels have a colon."""
MOVED = "moved"
"""Marks what a job that ran at slot 0 holds elsewhere, or again."""


def preemptive_data(scope: Scope) -> TimeIndexedData:
    """The numbers of a scope whose jobs may be interrupted."""
    options: dict[str, dict[str, Placement]] = {}
    for j, ways in placements(scope, interrupted=True).items():
        options[j] = {} if _only_own(scope, j) else dict(ways)
        if scope.jobs[j].running is not None and (own := own_placement(scope, j)):
            options[j][OWN] = own
    return data_of(scope, options)


def _only_own(scope: Scope, job: str) -> bool:
    return scope.instance.preemption is None and scope.jobs[job].running is not None


def _pairs(data: TimeIndexedData, *, own: bool = True) -> list[tuple[str, str]]:
    """Jobs and their placements, with or without the GPUs of running jobs."""
    return [(j, k) for j, ways in data.options.items() for k in ways if own or k != OWN]


def holding(m: Any, data: TimeIndexedData) -> None:
    """A gang of one placement, or nothing, in each slot from the start to the completion, (1).

    Start and completion are those of `starts_and_ends`, and:

    ```
    Σ_k holds_jkt ≤ started[j,t] − ended[j,t]
    started[j,t] − started[j,t−1] ≤ Σ_k holds_jkt      jobs that do not run at slot 0
    holds_jkt ≤ holds_jk(t−1)          t > 0, k the GPUs that a running job has
    ```
    """
    scope = data.scope
    jobs, slots = list(scope.jobs), range(scope.horizon)
    starts_and_ends(m, data)
    m.holds = pyo.Var(_pairs(data), slots, domain=pyo.Binary)
    able = [j for j in jobs if data.options[j]]
    m.holds_one = pyo.Constraint(
        able,
        slots,
        rule=lambda m, j, t: sum(m.holds[j, k, t] for k in data.options[j]) <= m.running[j, t],
    )
    m.starts_with_gpus = pyo.Constraint(
        [j for j in able if scope.jobs[j].running is None],
        slots,
        rule=lambda m, j, t: (
            m.started[j, t] - (m.started[j, t - 1] if t else 0)
            <= sum(m.holds[j, k, t] for k in data.options[j])
        ),
    )
    if owners := [j for j in able if OWN in data.options[j]]:
        m.stays_own = pyo.Constraint(
            owners,
            slots[1:],
            rule=lambda m, j, t: m.holds[j, OWN, t] <= m.holds[j, OWN, t - 1],
        )


def restoration(m: Any, data: TimeIndexedData) -> None:
    """Segments begin with R slots of restoration, but for a job's first (section 11).

    A segment begins where a job has not held the placement before, and may begin anew where it
    has. A running job on its own GPUs began before slot 0.

    ```
    active_in_jkt ≤ holds_jkt          begins_jkt ≤ holds_jkt
    holds_jkt − holds_jk(t−1) ≤ begins_jkt
    first_jkt ≤ begins_jkt             Σ_k first_jkt = started[j,t] − started[j,t−1]
    active_in_jkt + begins_jku − first_jku ≤ 1                           t−R < u ≤ t
    active_in_jkt ≥ holds_jkt − Σ_{t−R < u ≤ t} (begins_jku − first_jku)
    Σ_kt begins_jkt ≤ 1                without preemption
    ```
    """
    scope = data.scope
    slots, wait = range(scope.horizon), restore_slots(scope.instance)
    pairs, moved = _pairs(data), _pairs(data, own=False)
    once = scope.instance.preemption is None
    m.active_in = pyo.Var(pairs, slots, domain=pyo.Binary)
    m.active_if_held = pyo.Constraint(
        pairs, slots, rule=lambda m, j, k, t: m.active_in[j, k, t] <= m.holds[j, k, t]
    )
    if wait or once:
        m.begins = pyo.Var(moved, slots, domain=pyo.Binary)
        m.begins_with_gpus = pyo.Constraint(
            moved, slots, rule=lambda m, j, k, t: m.begins[j, k, t] <= m.holds[j, k, t]
        )
        m.begins_if_new = pyo.Constraint(
            moved,
            slots,
            rule=lambda m, j, k, t: (
                m.holds[j, k, t] - (m.holds[j, k, t - 1] if t else 0) <= m.begins[j, k, t]
            ),
        )
    if once:
        m.begins_once = pyo.Constraint(
            sorted({j for j, _ in moved}),
            rule=lambda m, j: sum(m.begins[j, k, t] for k in data.options[j] for t in slots) <= 1,
        )
    fresh = [(j, k) for j, k in moved if scope.jobs[j].running is None]
    if wait:
        m.first = pyo.Var(fresh, slots, domain=pyo.Binary)
        m.first_if_begins = pyo.Constraint(
            fresh, slots, rule=lambda m, j, k, t: m.first[j, k, t] <= m.begins[j, k, t]
        )
        m.first_at_start = pyo.Constraint(
            sorted({j for j, _ in fresh}),
            slots,
            rule=lambda m, j, t: (
                sum(m.first[j, k, t] for k in data.options[j])
                == m.started[j, t] - (m.started[j, t - 1] if t else 0)
            ),
        )

    def restores(m: Any, j: str, k: str, t: int) -> Any:
        return m.begins[j, k, t] - (m.first[j, k, t] if scope.jobs[j].running is None else 0)

    windows = {t: range(max(0, t - wait + 1), t + 1) if wait else () for t in slots}
    if wait:
        m.not_while_restored = pyo.Constraint(
            [(j, k, t, u) for j, k in moved for t in slots for u in windows[t]],
            rule=lambda m, j, k, t, u: m.active_in[j, k, t] + restores(m, j, k, u) <= 1,
        )
    m.active_when_restored = pyo.Constraint(
        pairs,
        slots,
        rule=lambda m, j, k, t: (
            m.active_in[j, k, t]
            >= m.holds[j, k, t] - (0 if k == OWN else sum(restores(m, j, k, u) for u in windows[t]))
        ),
    )


def room(m: Any, data: TimeIndexedData) -> None:
    """Capacity and quotas, (2) and (4): of servers without what is reserved, and of tenants.

    ```
    held_jst = Σ_k y_js(k)·holds_jkt      Σ_j held_jst ≤ O_s − (reserved in slot t)
    Σ_{j of c} Σ_k w_j(k)·holds_jkt ≤ q_c
    ```

    A running job keeps its own GPUs whatever the cap, as long as it stays; `caps` says what holds
    then. What it holds elsewhere counts as that of other jobs.
    """
    scope, slots = data.scope, range(data.scope.horizon)
    m.held = pyo.Expression(
        list(scope.jobs),
        list(scope.servers),
        slots,
        rule=lambda m, j, s, t: sum(
            way.workers[s] * m.holds[j, k, t]
            for k, way in data.options[j].items()
            if s in way.workers
        ),
    )
    if links_count(scope):
        by_link = ways_by_link(data.options)
        m.linked_in = pyo.Expression(
            list(by_link),
            slots,
            rule=lambda m, j, l, t: sum(m.holds[j, k, t] for k in by_link[j, l]),
        )
    keepers = _keepers(data)

    def on_server(who: tuple[str, str], s: str, t: int) -> Any:
        return sum(way.workers.get(s, 0) * m.holds[j, k, t] for j, k, way in keepers[who])

    def of_tenant(who: tuple[str, str], _: str, t: int) -> Any:
        return sum(sum(way.workers.values()) * m.holds[j, k, t] for j, k, way in keepers[who])

    servers = {
        s: [who for who, ways in keepers.items() if any(s in way.workers for *_, way in ways)]
        for s in scope.servers
    }
    tenants = {
        c: [who for who, ways in keepers.items() if scope.jobs[ways[0][0]].tenant == c]
        for c in tenant_caps(scope)
    }
    for name, caps, users, held in (
        ("capacity", server_caps(scope), servers, on_server),
        ("quota", tenant_caps(scope), tenants, of_tenant),
    ):
        keep_caps(m, name, {c: cap for c, cap in caps.items() if users[c]}, users, held)


def _keepers(data: TimeIndexedData) -> dict[Any, list[tuple[str, str, Placement]]]:
    """Jobs by name, and apart from them what jobs that ran at slot 0 hold elsewhere."""
    found: dict[Any, list[tuple[str, str, Placement]]] = {}
    for j, ways in data.options.items():
        for k, way in ways.items():
            moved = data.scope.jobs[j].running is not None and k != OWN
            found.setdefault((MOVED, j) if moved else j, []).append((j, k, way))
    return found


def preemptive_work(m: Any, data: TimeIndexedData) -> None:
    """All iterations are done by the completion, (9): in whole numbers, slot by slot.

    ```
    Σ_t (Σ_{k on one server} φ_jk·active_in_jkt + Σ_i (φ_ji − φ_j(i−1))·reaches_jit) ≥ F_j
    ```
    """
    slots = range(data.scope.horizon)

    def done(m: Any, j: str) -> Any:
        packed = [(k, way.alone) for k, way in data.options[j].items() if not way.links]
        steps = [high - low for low, high in pairwise([0, *data.levels.get(j, ())])]
        progress = sum(speed * m.active_in[j, k, t] for k, speed in packed for t in slots)
        progress += sum(step * m.reaches[j, i, t] for i, step in enumerate(steps) for t in slots)
        if not data.options[j]:
            return m.ended[j, data.scope.horizon] <= 0  # It is 1: there is no solution.
        return progress >= data.scope.jobs[j].iterations_left

    m.work = pyo.Constraint(list(data.scope.jobs), rule=done)
