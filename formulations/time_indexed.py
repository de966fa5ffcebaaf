r"""Formulation `time-indexed`: an integer linear program equivalent to RAR-DDLS, made strong.

A job's placement is one choice among all ways to put its workers on servers, so that the links its
ring uses, its speed for each contention, and its least execution time are data. Indices: jobs j,
servers s, links ℓ, slots t = 0 … H−1, placements k of job j, speed levels i, ring counts p.

Variables, all binary, by the names of their Pyomo components:

======================= ============================================================================
`started[j,t]`          1 iff job j has started by slot t: a_j ≤ t
`ended[j,t]`            1 iff job j has completed before slot t: T_j ≤ t
`placed[j,k]`           1 iff job j has placement k
`active_in[j,k,t]`      1 iff job j is active in slot t, in placement k
`at_least[l,p,t]`       1 if at least p rings use link ℓ in slot t, p ≥ 2
`reaches[j,i,t]`        1 if ring j does at least φ_ji iterations in slot t: its i-th speed
`done[t]`               1 if all jobs have completed before slot t
======================= ============================================================================

Expressions, for constraints and objectives of one's own:

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

Why it is equivalent. Every feasible schedule gives a solution of the same makespan: set all
variables to what they mean. Conversely take the starts and placements of a solution. The model lets
a ring be slower than it is, end later, or count more rings on a link than there are, never the
reverse. More speed and less contention only make jobs complete earlier, and that only takes rings
off links, so by induction over slots every job completes in reality no later than in the model, and
holds its GPUs no longer: the schedule is feasible and its makespan no greater.

Unless the scope asks for every schedule, equal jobs start in input order, and equal servers are
ordered by the workers of the longest jobs on them: exchanging equals changes nothing else.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pyomo.environ as pyo

from rarmodel.schema import Schedule
from rarmodel.verifier import Run, simulate

from .arithmetic import too_fast
from .formulation import Formulation, Plan, Scope, put
from .placements import Placement, most_rings, number_of_placements, placements
from .symmetry import canonical, equal_jobs, server_order


@dataclass(frozen=True)
class TimeIndexedData:
    """A scope's numbers as the constraints use them.

    Attributes
    ----------
    scope
        What the model covers.
    options
        By job: its placements by label.
    rings
        By job with placements on several servers: those, by label.
    levels
        By such a job: the speeds above 0 that contention can leave it, ascending.
    most_rings
        By link: the most rings on it that some job can be among.
    """

    scope: Scope
    options: dict[str, dict[str, Placement]]
    rings: dict[str, dict[str, Placement]]
    levels: dict[str, list[int]]
    most_rings: dict[str, int]


def _data(scope: Scope) -> TimeIndexedData:
    options = placements(scope)
    rings = {
        j: spread
        for j, ways in options.items()
        if (spread := {k: placement for k, placement in ways.items() if placement.links})
    }
    levels = {
        j: sorted(
            {
                speed
                for placement in spread.values()
                for speeds in placement.speeds.values()
                for speed in speeds[1:]
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
        scope, options, rings, levels, {l: most for l, most in most.items() if most > 0}
    )


def starts_and_ends(m: Any, data: TimeIndexedData) -> None:
    """Gang and no preemption, (1) and (3): a job is active from its start to its completion.

    ```
    started[j,t] ≥ started[j,t−1]      ended[j,t+1] ≥ ended[j,t]
    ended[j,t+ρ] ≤ started[j,t]        with ρ = ρ_j^min, the least execution time
    ```
    """
    h, least = data.scope.horizon, data.scope.least_slots
    jobs, slots = list(data.scope.jobs), range(h)
    m.started = pyo.Var(
        jobs,
        slots,
        domain=pyo.Binary,
        bounds=lambda _, j, t: (int(t >= h - least[j]), 1),
    )
    m.ended = pyo.Var(
        jobs,
        range(h + 1),
        domain=pyo.Binary,
        bounds=lambda _, j, t: (int(t == h), int(t >= least[j])),
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


def placement(m: Any, data: TimeIndexedData) -> None:
    """One placement for each job, (1), (3) and (5), which it has whenever it is active.

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
            else pyo.Constraint.Infeasible
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
    """Capacity, (2) and (4): active jobs hold at most O_s GPUs of server s, others hold none.

    ```
    held_jst = Σ_k y_js(k)·active_in_jkt      Σ_j held_jst ≤ O_s
    ```
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
    fill = {
        s: sum(max((c for _, c in using[j, s]), default=0) for j in scope.jobs)
        for s in scope.servers
    }
    m.capacity = pyo.Constraint(
        [s for s, server in scope.servers.items() if fill[s] > server.gpus],
        slots,
        rule=lambda m, s, t: sum(m.held[j, s, t] for j in scope.jobs) <= scope.servers[s].gpus,
    )


def contention(m: Any, data: TimeIndexedData) -> None:
    """Rings on each link in each slot, (6).

    ```
    Σ_{j, k using ℓ} active_in_jkt ≤ 1 + Σ_{p ≥ 2} at_least_lpt
    at_least_l(p+1)t ≤ at_least_lpt
    ```
    """
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
    and with p or more rings on ℓ no longer do:

    ```
    reaches_j(i+1)t ≤ reaches_jit
    reaches_jit ≤ Σ_{k reaching φ_ji alone} active_in_jkt
    reaches_jit + at_least_lpt + Σ_k active_in_jkt ≤ 2
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
        return progress >= data.scope.jobs[j].iterations * spread

    m.work = pyo.Constraint(list(data.rings), rule=done)


def symmetry(m: Any, data: TimeIndexedData) -> None:
    """Equal jobs start in input order; equal servers are ordered by what longest jobs put there.

    ```
    started_jt ≥ started_j't                              j before j', equal
    Σ_j W_j·workers_js ≥ Σ_j W_j·workers_js'              s before s', equal
    ```

    with weights W_j that make it the lexicographic order of a few jobs' workers.
    """
    scope = data.scope
    pairs = [pair for group in equal_jobs(scope) for pair in pairwise(group)]
    m.equal_jobs_in_order = pyo.Constraint(
        pairs,
        range(scope.horizon),
        rule=lambda m, j, later, t: m.started[j, t] >= m.started[later, t],
    )
    order = server_order(scope)
    neighbours = [pair for group in order.groups for pair in pairwise(group)]
    m.equal_servers_in_order = pyo.Constraint(
        neighbours,
        rule=lambda m, s, later: (
            sum(
                weight * (m.workers[j, s] - m.workers[j, later])
                for j, weight in order.weights.items()
            )
            >= 0
        ),
    )


def makespan(m: Any, data: TimeIndexedData) -> None:
    """The objective: minimise the makespan.

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
    m.objective = pyo.Objective(expr=m.makespan)


COMPONENTS = (starts_and_ends, placement, capacity, contention, speed, work)
"""What the model is made of, in order: a later one uses variables of earlier ones."""


def _build(scope: Scope) -> pyo.ConcreteModel:
    """State the model; each component adds variables and constraints of one idea."""
    model = pyo.ConcreteModel("time-indexed")
    data = _data(scope)
    for component in COMPONENTS:
        component(model, data)
    if not scope.every_schedule:
        symmetry(model, data)
    makespan(model, data)
    return model


MAX_PLACEMENTS = 20_000
"""Placements of one job that are worth a list: each has a variable in every slot."""


def _unfit(scope: Scope) -> str | None:
    """Why not: a job with very many placements, or too great a speed."""
    ways = number_of_placements(scope)
    for j, job in scope.jobs.items():
        if ways[job.gpus] > MAX_PLACEMENTS:
            return (
                f"job {j!r} can be placed in {ways[job.gpus]:.3g} ways, and up to "
                f"{MAX_PLACEMENTS:,} are listed; time-indexed-compact lists none"
            )
    return too_fast(scope)


def _size(scope: Scope) -> int:
    """Terms in the constraints, about: of order `H·Σ_j K_j·(S_j + L_j·N_j·P)`.

    For H slots and K_j placements of job j, on up to S_j servers and L_j links, with up to N_j
    numbers of servers and P rings on a link.
    """
    ways = number_of_placements(scope)
    rings = most_rings(scope)
    most = max(rings.values(), default=1)
    terms = 0
    for job in scope.instance.jobs:
        spread = min(job.gpus, len(scope.servers))
        levels = (spread - 1) * (most if rings else 0)
        terms += 8 + ways[job.gpus] * (5 + 2 * spread + levels * (1 + spread))
    return scope.horizon * terms


def _load(model: pyo.ConcreteModel, scope: Scope, schedule: Schedule) -> None:
    """Set every variable to what it means in a feasible schedule.

    Where the model has one order of equal jobs and servers, they are exchanged into that order.
    """
    m: Any = model
    data, instance, h = _data(scope), scope.instance, scope.horizon
    starts, workers = canonical(scope, schedule)
    index = {name: s for s, name in enumerate(scope.servers)}
    runs = [
        Run(job, starts[j], {index[s]: count for s, count in workers[j].items()})
        for j, job in scope.jobs.items()
    ]
    course = simulate(instance, runs)
    ends = {
        j: h + 1 if end is None else end
        for j, end in zip(scope.jobs, course.completion, strict=True)
    }
    for j, ways in data.options.items():
        for t in range(h):
            put(m.started[j, t], int(t >= starts[j]))
        for t in range(h + 1):
            put(m.ended[j, t], int(t >= ends[j]))
        for k, way in ways.items():
            chosen = way.workers == workers[j]
            put(m.placed[j, k], int(chosen))
            for t in range(h):
                put(m.active_in[j, k, t], int(chosen and starts[j] <= t < ends[j]))
    for variable in (*m.at_least.values(), *m.reaches.values()):
        put(variable, 0)
    for period in course.periods:
        rings: defaultdict[str, int] = defaultdict(int)
        for run in runs:
            if run.job.name in period.rings:
                for link in scope.tree.links_used(run.workers):
                    rings[scope.tree.links[link].node] += 1
        for t in range(period.start, min(period.end, h)):
            for l, count in rings.items():
                for p in range(2, min(count, data.most_rings.get(l, 0)) + 1):
                    put(m.at_least[l, p, t], 1)
            for j, ring in period.rings.items():
                if len(workers[j]) > 1:
                    for i, level in enumerate(data.levels.get(j, ())):
                        put(m.reaches[j, i, t], int(ring.speed >= level))
    latest = max(ends.values())
    for t in m.done:
        put(m.done[t], int(t >= latest))


def _plan(model: pyo.ConcreteModel, scope: Scope) -> Plan:
    """Read starts and workers."""
    m: Any = model
    index = {name: s for s, name in enumerate(scope.servers)}
    options = placements(scope)
    starts, workers = [], []
    for j in scope.jobs:
        starts.append(next((t for t in range(scope.horizon) if _is_set(m.started[j, t])), -1))
        chosen = next((way for k, way in options[j].items() if _is_set(m.placed[j, k])), None)
        workers.append({index[s]: n for s, n in chosen.workers.items()} if chosen else {})
    return Plan(tuple(starts), tuple(workers))


def _is_set(variable: Any) -> bool:
    return variable.value is not None and variable.value > 0.5


TIME_INDEXED = Formulation(
    name="time-indexed",
    build=_build,
    load=_load,
    plan=_plan,
    size=_size,
    unfit=_unfit,
    model_class="integer",
)
