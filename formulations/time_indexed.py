r"""Formulation `time-indexed`: a mixed-integer linear program equivalent to RAR-DDLS.

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
`uses[j,l]`               1 iff the ring of job j uses link ℓ
`on_link[j,l,t]`          1 iff it does and is active in slot t
`at_least[l,t,p]`         1 iff at least p rings use link ℓ in slot t, p ≥ 2
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

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rarmodel.model import timing
from rarmodel.model.contention import ring_share
from rarmodel.schema import Schedule
from rarmodel.verifier import Run, simulate

from .formulation import Plan, Scope

if TYPE_CHECKING:
    import pyomo.environ as pyo

Speeds = dict[tuple[int, int, int], list[int]]


class _Data:
    """The scope's numbers as the constraints use them."""

    def __init__(self, scope: Scope) -> None:
        instance, tree = scope.instance, scope.tree
        cluster = instance.cluster
        total = cluster.total_gpus
        self.horizon = scope.horizon
        self.jobs = range(len(instance.jobs))
        self.servers = range(len(cluster.servers))
        self.slots = range(scope.horizon)
        self.size = [job.gpus for job in instance.jobs]
        self.capacity = [server.gpus for server in cluster.servers]
        self.iterations = [job.iterations for job in instance.jobs]
        self.least = [extreme.least_slots for extreme in scope.extremes]
        wide = sum(size > 1 for size in self.size)
        self.links = [l for l, below in enumerate(tree.gpus_below) if 0 < below < total and wide]
        self.most_rings = {
            l: min(tree.gpus_below[l], total - tree.gpus_below[l], wide) for l in self.links
        }
        self.below = {l: [s for s in self.servers if l in tree.paths[s]] for l in self.links}
        self.counts: list[list[int]] = []
        self.together: dict[int, int] = {}
        self.speeds: Speeds = {}
        for j in self.jobs:
            self._rate(scope, j)
        self.spread = [[n for n in self.counts[j] if n > 1] for j in self.jobs]
        self.rings = [j for j in self.jobs if self.spread[j]]
        self.lone = {
            (j, n): max(self.speeds[j, n, l][1] for l in self.links)
            for j in self.rings
            for n in self.spread[j]
        }

    def _rate(self, scope: Scope, j: int) -> None:
        """Speeds of job j by number of servers, link, and rings on it; none without progress."""
        instance, job = scope.instance, scope.instance.jobs[j]

        def speed(servers: int, gbps: float) -> int:
            contention = instance.contention
            seconds = timing.iteration_seconds(
                timing.exchange_bits(job.gradient_mb, job.gpus),
                gbps,
                timing.reduction_seconds(
                    job.gradient_mb, job.gpus, instance.cluster.reduction_gbps
                ),
                timing.overhead_seconds(contention.overhead_ms_per_server, servers),
                timing.compute_seconds(job),
            )
            # A slot cannot do more than all iterations; without the cap coefficients are wild.
            return min(timing.speed(instance.time.slot_seconds, seconds), job.iterations)

        counts = []
        if job.gpus <= max(self.capacity):
            self.together[j] = speed(1, instance.cluster.intra_server_gbps)
            if self.together[j] > 0:
                counts.append(1)
        largest = sorted(self.capacity, reverse=True)
        for n in range(2, min(job.gpus, len(self.capacity)) + 1):
            if sum(largest[:n]) < job.gpus:
                continue
            for l in self.links:
                gbps = scope.tree.links[l].gbps
                self.speeds[j, n, l] = [
                    speed(n, ring_share(instance.contention, gbps, p))
                    for p in range(self.most_rings[l] + 1)
                ]
            if max(self.speeds[j, n, l][1] for l in self.links) > 0:
                counts.append(n)
        self.counts.append(counts)


def _starts_and_ends(m: Any, data: _Data) -> None:
    """Gang and no preemption, (1) and (3): a job is active from its start to its completion.

    ```
    started[j,t] ≥ started[j,t−1]      ended[j,t] ≥ ended[j,t−1]
    ended[j,t+ρ] ≤ started[j,t]        with ρ = ρ_j^min, the least execution time
    ```
    """
    import pyomo.environ as pyo  # noqa: PLC0415

    h = data.horizon
    m.started = pyo.Var(
        data.jobs,
        data.slots,
        domain=pyo.Binary,
        bounds=lambda _, j, t: (int(t >= h - data.least[j]), 1),
    )
    m.ended = pyo.Var(
        data.jobs,
        range(h + 1),
        domain=pyo.Binary,
        bounds=lambda _, j, t: (int(t == h), int(t >= data.least[j])),
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


def _active(m: Any, j: int, t: int) -> Any:
    """1 iff job j is active in slot t."""
    return m.started[j, t] - m.ended[j, t]


def _placement(m: Any, data: _Data) -> None:
    """Complete gangs, (1) and (5): the workers of a job add up to its ring.

    ```
    Σ_s y_js = G_j      on_js ≤ y_js ≤ min(O_s, G_j)·on_js
    Σ_n servers_used_jn = 1      Σ_s on_js = Σ_n n·servers_used_jn
    ```
    """
    import pyomo.environ as pyo  # noqa: PLC0415

    pairs = [(j, n) for j in data.jobs for n in data.counts[j]]
    most = {(j, s): min(data.capacity[s], data.size[j]) for j in data.jobs for s in data.servers}
    m.y = pyo.Var(
        data.jobs,
        data.servers,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda _, j, s: (0, most[j, s]),
    )
    m.on = pyo.Var(data.jobs, data.servers, domain=pyo.Binary)
    m.servers_used = pyo.Var(pairs, domain=pyo.Binary)
    m.gang = pyo.Constraint(
        data.jobs, rule=lambda m, j: sum(m.y[j, s] for s in data.servers) == data.size[j]
    )
    m.on_if_workers = pyo.Constraint(
        data.jobs, data.servers, rule=lambda m, j, s: m.y[j, s] <= most[j, s] * m.on[j, s]
    )
    m.workers_if_on = pyo.Constraint(
        data.jobs, data.servers, rule=lambda m, j, s: m.on[j, s] <= m.y[j, s]
    )
    m.one_count = pyo.Constraint(
        data.jobs, rule=lambda m, j: sum(m.servers_used[j, n] for n in data.counts[j]) == 1
    )
    m.count_servers = pyo.Constraint(
        data.jobs,
        rule=lambda m, j: (
            sum(m.on[j, s] for s in data.servers)
            == sum(n * m.servers_used[j, n] for n in data.counts[j])
        ),
    )


def _capacity(m: Any, data: _Data) -> None:
    """Capacity, (2) and (4): active jobs hold at most O_s GPUs of server s, others hold none.

    ```
    held_jst ≥ y_js − min(O_s, G_j)·(1 − active_jt)      held_jst ≤ y_js
    Σ_s held_jst = G_j·active_jt      Σ_j held_jst ≤ O_s
    ```
    """
    import pyomo.environ as pyo  # noqa: PLC0415

    most = {(j, s): min(data.capacity[s], data.size[j]) for j in data.jobs for s in data.servers}
    m.held = pyo.Var(
        data.jobs, data.servers, data.slots, bounds=lambda _, j, s, __: (0, most[j, s])
    )
    m.held_if_active = pyo.Constraint(
        data.jobs,
        data.servers,
        data.slots,
        rule=lambda m, j, s, t: m.held[j, s, t] >= m.y[j, s] - most[j, s] * (1 - _active(m, j, t)),
    )
    m.held_is_placed = pyo.Constraint(
        data.jobs,
        data.servers,
        data.slots,
        rule=lambda m, j, s, t: m.held[j, s, t] <= m.y[j, s],
    )
    m.all_held = pyo.Constraint(
        data.jobs,
        data.slots,
        rule=lambda m, j, t: (
            sum(m.held[j, s, t] for s in data.servers) == data.size[j] * _active(m, j, t)
        ),
    )
    m.capacity = pyo.Constraint(
        data.servers,
        data.slots,
        rule=lambda m, s, t: sum(m.held[j, s, t] for j in data.jobs) <= data.capacity[s],
    )


def _link_use(m: Any, data: _Data) -> None:
    """Which links a ring uses, reading 4: those with workers of it below and above.

    ```
    below_jl ≥ on_js for s below ℓ      above_jl ≥ on_js for the other s
    uses_jl ≥ below_jl + above_jl − 1
    ```
    """
    import pyomo.environ as pyo  # noqa: PLC0415

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
    # A ring on several servers uses the link of each: what `use_if_both` says of whole numbers,
    # said so that it holds back fractions too.
    server_links = {l: below[0] for l, below in data.below.items() if len(below) == 1}
    m.use_server_link = pyo.Constraint(
        [(j, l) for j in data.rings for l in server_links],
        rule=lambda m, j, l: (
            m.uses[j, l]
            >= m.on[j, server_links[l]] - (m.servers_used[j, 1] if 1 in data.counts[j] else 0)
        ),
    )


def _contention(m: Any, data: _Data) -> None:
    """Rings on each link in each slot, (6).

    ```
    on_link_jlt ≥ uses_jl + active_jt − 1
    Σ_j on_link_jlt ≤ 1 + Σ_{p ≥ 2} at_least_ltp      at_least_lt(p+1) ≤ at_least_ltp
    ```
    """
    import pyomo.environ as pyo  # noqa: PLC0415

    counts = [
        (l, t, p) for l in data.links for t in data.slots for p in range(2, data.most_rings[l] + 1)
    ]
    m.on_link = pyo.Var(data.rings, data.links, data.slots, bounds=(0, 1))
    m.at_least = pyo.Var(counts, domain=pyo.Binary)
    m.on_link_if_active = pyo.Constraint(
        data.rings,
        data.links,
        data.slots,
        rule=lambda m, j, l, t: m.on_link[j, l, t] >= m.uses[j, l] + _active(m, j, t) - 1,
    )
    m.count_rings = pyo.Constraint(
        data.links,
        data.slots,
        rule=lambda m, l, t: (
            (
                sum(m.on_link[j, l, t] for j in data.rings)
                <= 1 + sum(m.at_least[l, t, p] for p in range(2, data.most_rings[l] + 1))
            )
            if data.rings
            else pyo.Constraint.Skip
        ),
    )
    m.count_in_order = pyo.Constraint(
        [(l, t, p) for l, t, p in counts if p > 2],
        rule=lambda m, l, t, p: m.at_least[l, t, p] <= m.at_least[l, t, p - 1],
    )


def _speed(m: Any, data: _Data) -> None:
    """Speed of a ring under contention, (7)–(8) with their floor, for rings on n ≥ 2 servers.

    With v = on_link_jlt, a = active_on_jnt, φ(p) = φ_j(n, ℓ, p), Δ(p) = φ(p−1) − φ(p), drop
    D = φ(1) − φ(most rings), and φ* the greatest φ_j(n, ·, 1):

    ```
    Σ_n active_on_jnt = active_jt      active_on_jnt ≤ servers_used_jn
    progress_jnt ≤ φ*·a
    progress_jnt ≤ φ(1)·a − Σ_{p ≥ 2} Δ(p)·at_least_ltp + D·(1 − a) + (φ* − φ(1) + D)·(1 − v)
    ```

    The last line is the speed that p_ℓ rings leave if the ring is on the link (v = a = 1), and
    says nothing otherwise.
    """
    import pyomo.environ as pyo  # noqa: PLC0415

    pairs = [(j, n) for j in data.jobs for n in data.counts[j]]
    spread = [(j, n) for j in data.rings for n in data.spread[j]]
    m.active_on = pyo.Var(pairs, data.slots, bounds=(0, 1))
    m.progress = pyo.Var(spread, data.slots, domain=pyo.NonNegativeReals)
    m.active_on_some = pyo.Constraint(
        data.jobs,
        data.slots,
        rule=lambda m, j, t: sum(m.active_on[j, n, t] for n in data.counts[j]) == _active(m, j, t),
    )
    m.active_on_used = pyo.Constraint(
        pairs, data.slots, rule=lambda m, j, n, t: m.active_on[j, n, t] <= m.servers_used[j, n]
    )
    m.speed_alone = pyo.Constraint(
        spread,
        data.slots,
        rule=lambda m, j, n, t: m.progress[j, n, t] <= data.lone[j, n] * m.active_on[j, n, t],
    )

    def on_shared_link(m: Any, j: int, n: int, l: int, t: int) -> Any:
        speeds = data.speeds[j, n, l]
        drop = speeds[1] - speeds[-1]
        slack = data.lone[j, n] - speeds[1] + drop
        if slack == 0:
            return pyo.Constraint.Skip
        active = m.active_on[j, n, t]
        return m.progress[j, n, t] <= (
            speeds[1] * active
            - sum((speeds[p - 1] - speeds[p]) * m.at_least[l, t, p] for p in range(2, len(speeds)))
            + drop * (1 - active)
            + slack * (1 - m.on_link[j, l, t])
        )

    m.speed_on_link = pyo.Constraint(
        [(j, n, l) for j, n in spread for l in data.links], data.slots, rule=on_shared_link
    )


def _work(m: Any, data: _Data) -> None:
    """All iterations are done by the completion, (9).

    ```
    Σ_t (φ_j(1)·active_on_j1t + Σ_{n ≥ 2} progress_jnt) ≥ F_j
    ```
    """
    import pyomo.environ as pyo  # noqa: PLC0415

    def done(m: Any, j: int) -> Any:
        together = (
            sum(data.together[j] * m.active_on[j, 1, t] for t in data.slots)
            if 1 in data.counts[j]
            else 0
        )
        spread = sum(m.progress[j, n, t] for n in data.spread[j] for t in data.slots)
        return together + spread >= data.iterations[j]

    m.work = pyo.Constraint(data.jobs, rule=done)


def _makespan(m: Any, data: _Data, lower_bound: int) -> None:
    """The objective: minimise `makespan ≥ T_j = Σ_t (1 − ended_jt)`."""
    import pyomo.environ as pyo  # noqa: PLC0415

    m.makespan = pyo.Var(domain=pyo.NonNegativeIntegers, bounds=(lower_bound, data.horizon))
    m.is_latest = pyo.Constraint(
        data.jobs,
        rule=lambda m, j: m.makespan >= sum(1 - m.ended[j, t] for t in data.slots),
    )
    m.objective = pyo.Objective(expr=m.makespan)


Component = Callable[[Any, _Data], None]

COMPONENTS: tuple[Component, ...] = (
    _starts_and_ends,
    _placement,
    _capacity,
    _link_use,
    _contention,
    _speed,
    _work,
)
"""What the model is made of, in order: a later one uses variables of earlier ones."""


def _load(m: Any, data: _Data, scope: Scope, schedule: Schedule) -> None:
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
            m.started[j, t] = int(t >= runs[j].start)
        for t in range(data.horizon + 1):
            m.ended[j, t] = int(t >= ends[j])
        for s in data.servers:
            m.y[j, s] = runs[j].workers.get(s, 0)
            m.on[j, s] = int(s in runs[j].workers)
            for t in data.slots:
                active = runs[j].start <= t < ends[j]
                m.held[j, s, t] = runs[j].workers.get(s, 0) if active else 0
        for n in data.counts[j]:
            m.servers_used[j, n] = int(n == used)
            for t in data.slots:
                m.active_on[j, n, t] = int(n == used and runs[j].start <= t < ends[j])
    for j in data.rings:
        for l in data.links:
            m.below[j, l] = int(any(s in data.below[l] for s in runs[j].workers))
            m.above[j, l] = int(any(s not in data.below[l] for s in runs[j].workers))
            m.uses[j, l] = int(l in uses[j])
    for t in data.slots:
        for j in data.rings:
            for n in data.spread[j]:
                m.progress[j, n, t] = 0
        for l in data.links:
            rings = 0
            for j in data.rings:
                on_link = l in uses[j] and runs[j].start <= t < ends[j]
                m.on_link[j, l, t] = int(on_link)
                rings += on_link
            for p in range(2, data.most_rings[l] + 1):
                m.at_least[l, t, p] = int(rings >= p)
    for period in course.periods:
        for j in data.rings:
            ring = period.rings.get(instance.jobs[j].name)
            if ring is not None and len(runs[j].workers) > 1:
                for t in range(period.start, min(period.end, data.horizon)):
                    m.progress[j, len(runs[j].workers), t] = min(ring.speed, data.iterations[j])
    m.makespan = max(ends)


class TimeIndexed:
    """The formulation; see `Formulation`."""

    name = "time-indexed"

    def size(self, scope: Scope) -> int:
        """Terms in the constraints, about."""
        data = _Data(scope)
        per_slot = sum(3 * len(data.servers) + 4 for _ in data.jobs)
        for j in data.rings:
            for l in data.links:
                per_slot += 5 + len(data.spread[j]) * (data.most_rings[l] + 4)
        return per_slot * scope.horizon

    def build(self, scope: Scope) -> pyo.ConcreteModel:
        """State the model; each component below adds variables and constraints of one idea."""
        import pyomo.environ as pyo  # noqa: PLC0415

        model = pyo.ConcreteModel(self.name)
        data = _Data(scope)
        for component in COMPONENTS:
            component(model, data)
        _makespan(model, data, scope.lower_bound)
        return model

    def load(self, model: pyo.ConcreteModel, scope: Scope, schedule: Schedule) -> None:
        """Set every variable to what it means in a feasible schedule."""
        _load(model, _Data(scope), scope, schedule)

    def plan(self, model: pyo.ConcreteModel, scope: Scope) -> Plan:
        """Read starts and workers."""
        jobs, servers = range(len(scope.instance.jobs)), range(len(scope.instance.cluster.servers))
        starts = tuple(
            next(t for t in range(scope.horizon) if model.started[j, t].value > 0.5) for j in jobs
        )
        workers = tuple(
            {s: n for s in servers if (n := round(model.y[j, s].value)) > 0} for j in jobs
        )
        return Plan(starts, workers)


TIME_INDEXED = TimeIndexed()
