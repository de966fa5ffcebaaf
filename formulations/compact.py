r"""Formulation `time-indexed-compact`: a mixed-integer linear program equivalent to RAR-DDLS.

Indices: jobs j, servers s, links ℓ, slots t = 0 … H−1, numbers of servers n, ring counts p.

Variables, by the names of their Pyomo components:

========================= ==========================================================================
`started[j,t]`            1 iff job j has started by slot t: a_j ≤ t
`ended[j,t]`              1 iff job j has completed before slot t: T_j ≤ t
`y[j,s]`                  workers of job j on server s
`on[j,s]`                 1 iff y_js ≥ 1
`servers_used[j,n]`       1 iff job j uses n servers
`held[j,s,t]`             workers of job j on server s if active in slot t, else 0
`active_on[j,n,t]`        1 iff job j is active in slot t and uses n servers
`below[j,l]`              1 if job j has a worker below link ℓ
`above[j,l]`              1 if job j has a worker that is not below link ℓ
`uses[j,l]`               1 if the ring of job j uses link ℓ
`on_link[j,l,t]`          1 if it does and is active in slot t
`at_least[l,t,p]`         1 if at least p rings use link ℓ in slot t, p ≥ 2
`progress[j,n,t]`         iterations of job j in slot t, if it uses n ≥ 2 servers
`makespan`                the latest completion
========================= ==========================================================================

Speeds are data: `φ_j(n, ℓ, p) = ⌊slot/τ⌋` of a ring on n servers whose bandwidth is what p rings on
link ℓ leave it. As B_j is the least over the links used (reading 4) and τ falls with B, the speed
of a ring is the least φ_j(n, ℓ, p_ℓ) over the links it uses, floor included.

Why it is equivalent. Every feasible schedule gives a solution of the same makespan: set all
variables to what they mean. Conversely take starts and workers of a solution. The model lets a ring
be slower than it is, or count more rings on a link than there are, never the reverse. More speed
and less contention only make jobs complete earlier, and that only takes rings off links, so by
induction over slots every job completes in reality no later than in the model, and holds its GPUs
no longer: the schedule is feasible and its makespan no greater.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pyomo.environ as pyo

from rarmodel.schema import Schedule
from rarmodel.verifier import Run, simulate

from .arithmetic import too_fast
from .compact_coefficients import Coefficients, most_rings
from .compact_components import (
    capacity,
    contention,
    link_use,
    makespan,
    placement,
    speed,
    starts_and_ends,
    work,
)
from .formulation import Formulation, Plan, Scope, put

Component = Callable[[Any, Coefficients], None]

COMPONENTS: tuple[Component, ...] = (
    starts_and_ends,
    placement,
    capacity,
    link_use,
    contention,
    speed,
    work,
)
"""What the model is made of, in order: a later one uses variables of earlier ones."""


def _size(scope: Scope) -> int:
    """Terms in the constraints, about: of order `H·J·(S + L·N·P)`.

    For H slots, J jobs, S servers, L links, rings on up to N servers, and P rings on a link.
    """
    jobs, servers = scope.instance.jobs, len(scope.instance.cluster.servers)
    wide = Counter(job.gpus for job in jobs if job.gpus > 1)
    rings = most_rings(scope)
    counts = sum(rings.values()) + 4 * len(rings)
    spread = sum(
        number * (5 * len(rings) + (min(size, servers) - 1) * counts)
        for size, number in wide.items()
    )
    return scope.horizon * (len(jobs) * (11 * servers + 12) + spread)


def _build(scope: Scope) -> pyo.ConcreteModel:
    """State the model; each component adds variables and constraints of one idea."""
    model = pyo.ConcreteModel("time-indexed-compact")
    data = Coefficients(scope)
    for component in COMPONENTS:
        component(model, data)
    makespan(model, data, scope.lower_bound)
    return model


def _load_schedule(model: pyo.ConcreteModel, scope: Scope, schedule: Schedule) -> None:
    """Set every variable to what it means in a feasible schedule."""
    _load(model, Coefficients(scope), scope, schedule)


def _plan(model: pyo.ConcreteModel, scope: Scope) -> Plan:
    """Read starts and workers."""
    jobs, servers = range(len(scope.instance.jobs)), range(len(scope.instance.cluster.servers))
    starts = tuple(
        next(t for t in range(scope.horizon) if model.started[j, t].value > 0.5) for j in jobs
    )
    workers = tuple({s: n for s in servers if (n := round(model.y[j, s].value)) > 0} for j in jobs)
    return Plan(starts, workers)


def _load(m: Any, data: Coefficients, scope: Scope, schedule: Schedule) -> None:
    """Set every variable to what it means in a feasible schedule."""
    instance, tree = scope.instance, scope.tree
    index = {server.name: s for s, server in enumerate(instance.cluster.servers)}
    by_job = {assignment.job: assignment for assignment in schedule.assignments}
    runs = [
        Run(job, a.start, {index[name]: len(gpus) for name, gpus in a.gpus.items() if gpus})
        for job in instance.jobs
        for a in [by_job[job.name]]
    ]
    course = simulate(instance, runs)
    ends = [end if end is not None else scope.horizon + 1 for end in course.completion]
    uses = {j: set(tree.links_used(runs[j].workers)) for j in data.jobs}
    for j in data.jobs:
        used = len(runs[j].workers)
        for t in data.slots:
            put(m.started[j, t], int(t >= runs[j].start))
        for t in range(data.horizon + 1):
            put(m.ended[j, t], int(t >= ends[j]))
        for s in data.servers:
            put(m.y[j, s], runs[j].workers.get(s, 0))
            put(m.on[j, s], int(s in runs[j].workers))
            for t in data.slots:
                active = runs[j].start <= t < ends[j]
                put(m.held[j, s, t], runs[j].workers.get(s, 0) if active else 0)
        for n in data.counts[j]:
            put(m.servers_used[j, n], int(n == used))
            for t in data.slots:
                put(m.active_on[j, n, t], int(n == used and runs[j].start <= t < ends[j]))
    for j in data.rings:
        for l in data.links:
            put(m.below[j, l], int(any(s in data.below[l] for s in runs[j].workers)))
            put(m.above[j, l], int(any(s not in data.below[l] for s in runs[j].workers)))
            put(m.uses[j, l], int(l in uses[j]))
    for t in data.slots:
        for j in data.rings:
            for n in data.spread[j]:
                put(m.progress[j, n, t], 0)
        for l in data.links:
            rings = 0
            for j in data.rings:
                on_link = l in uses[j] and runs[j].start <= t < ends[j]
                put(m.on_link[j, l, t], int(on_link))
                rings += on_link
            for p in range(2, data.most_rings[l] + 1):
                put(m.at_least[l, t, p], int(rings >= p))
    for period in course.periods:
        for j in data.rings:
            ring = period.rings.get(instance.jobs[j].name)
            if ring is not None and len(runs[j].workers) > 1:
                for t in range(period.start, min(period.end, data.horizon)):
                    m.progress[j, len(runs[j].workers), t] = min(ring.speed, data.iterations[j])
    put(m.makespan, max(ends))


COMPACT = Formulation(
    name="time-indexed-compact",
    description="a smaller and weaker program, where jobs have very many placements",
    build=_build,
    load=_load_schedule,
    plan=_plan,
    size=_size,
    unfit=too_fast,
    model_class="linear",
    reads=frozenset(),
)
