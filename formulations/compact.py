r"""Formulation `time-indexed-compact`: a mixed-integer linear program equivalent to RAR-DDLS.

Indices: jobs j, servers s, links ℓ, slots t = 0 … H−1, shapes h, ring counts p. A shape is a number
of servers n, and where jobs differ in more, also a ring size and the slowest type of GPU allowed;
within one server it is the speed there.

Variables, by the names of their Pyomo components:

========================= ==========================================================================
`started[j,t]`            1 iff job j has started by slot t: a_j ≤ t
`ended[j,t]`              1 iff job j has completed before slot t: T_j ≤ t
`workers[j,s]`            workers of job j on server s, y_js
`on[j,s]`                 1 iff y_js ≥ 1
`spans[j,h]`              1 iff the ring of job j has shape h
`held[j,s,t]`             workers of job j on server s if active in slot t, else 0
`active_on[j,h,t]`        1 iff job j is active in slot t, in shape h
`below[j,l]`              1 if job j has a worker below link ℓ
`above[j,l]`              1 if job j has a worker that is not below link ℓ
`uses[j,l]`               1 if the ring of job j uses link ℓ
`on_link[j,l,t]`          1 if job j uses link ℓ and is active in slot t
`at_least[l,p,t]`         1 if at least p rings use link ℓ in slot t, p ≥ 2; by the count
`counts[j,l,t]`           what job j counts on link ℓ in slot t; by duty
`reaches[j,i,t]`          1 if ring j does at least φ_ji iterations in slot t; by duty
`progress[j,h,t]`         iterations of job j in slot t, in shape h on n ≥ 2 servers
`makespan`                max_j T_j
========================= ==========================================================================

Expressions for your own constraints and objectives, as in `time_indexed`:

========================= ==========================================================================
`running[j,t]`            1 iff job j is active in slot t
`servers_used[j]`         number of servers that job j uses
`start[j]`                start slot a_j
`completion[j]`           completion T_j
========================= ==========================================================================

Speeds are data: `φ_j(h, ℓ, p) = ⌊slot/τ⌋` is the speed of a ring of shape h whose bandwidth is that
of p rings on link ℓ. B_j is the least over the links used (reading 4), and τ falls with B. So the
speed of a ring is the least φ_j(h, ℓ, p_ℓ) over the links it uses, floor included. By duty the
speeds have limits on the load of others instead (`compact_by_duty`), where all links have one rate.

Why it is equivalent. Every feasible schedule gives a solution of the same makespan: give each
variable the value of its meaning. Conversely take starts and workers of a solution. The model lets
a ring be slower than it is (by the count in the shape of a slower type, for one), or see more rings
on a link than there are, never the reverse. More speed and less contention only make jobs complete
earlier, and completions only take rings off links. By induction over slots, every job completes in
the simulation no later than in the model, and holds its GPUs no longer. So the schedule is
feasible, and its makespan is no greater; nor is any other objective.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from itertools import product
from typing import Any

import pyomo.environ as pyo

from rarmodel.model.features import ALL_BUT_PREEMPTION
from rarmodel.schema import Schedule

from .aims import add_objectives, needs_makespan, values_of_aims
from .arithmetic import too_fast
from .caps import server_caps, tenant_caps, yields
from .compact_by_duty import levels_of
from .compact_coefficients import Coefficients, Label
from .compact_components import (
    capacity,
    contention,
    link_use,
    makespan,
    nearness,
    parts_of_rings,
    placement,
    quotas,
    sizes_held,
    speed,
    starts_and_ends,
    work,
)
from .formulation import Formulation, Plan, Scope
from .loads import several_rates
from .placements import most_rings
from .values import Outcome, Values, model_of, over, placed_of, set_variables, shared

Component = Callable[[Any, Coefficients], None]

COMPONENTS: tuple[Component, ...] = (
    starts_and_ends,
    placement,
    nearness,
    capacity,
    link_use,
    contention,
    speed,
    sizes_held,
    quotas,
    work,
)
"""The components of the model, in order: a later one uses variables of earlier ones."""


def _size(scope: Scope) -> int:
    """Approximate number of terms in the constraints: of order `H·J·(S + L·N·P)`.

    For H slots, J jobs, S servers, L links, rings of up to N shapes, and P rings on a link.
    """
    jobs, servers = scope.instance.jobs, len(scope.instance.cluster.servers)
    wide = Counter((job.sizes, len(job.times or "-")) for job in jobs if job.sizes[-1] > 1)
    rings = most_rings(scope)
    counts = sum(rings.values()) + 4 * len(rings)
    spread = 0
    for (sizes, types), number in wide.items():
        shapes = types * sum(min(size, servers) - 1 for size in sizes)
        spread += number * (5 * len(rings) + shapes * counts)
    return scope.horizon * (len(jobs) * (11 * servers + 12) + spread)


def _build(scope: Scope) -> pyo.ConcreteModel:
    """Build the model; each component adds the variables and constraints of one idea."""
    model = pyo.ConcreteModel("time-indexed-compact")
    data = Coefficients(scope)
    for component in COMPONENTS:
        component(model, data)
    if needs_makespan(scope):
        makespan(model, data)
    add_objectives(model, scope)
    return model


def _values(outcome: Outcome) -> dict[str, Values]:
    """The value of each component in a schedule, as a function."""
    o, scope = outcome, outcome.scope
    jobs, links, slots = scope.jobs, most_rings(scope), range(scope.horizon)
    rings = range(2, max(links.values(), default=1) + 1)
    below = {l: frozenset(scope.below[l]) for l in links}
    parts = parts_of_rings(scope)

    @cache
    def data() -> Coefficients:
        return Coefficients(scope)

    @cache
    def label(j: str) -> Label | None:
        return data().label(j, o.workers[j])

    def by_shape(
        at: Callable[..., float], labels: Callable[[str], Iterable[Label]], *sets: range
    ) -> Values:
        """Values by job and shape, and perhaps slot; the shapes are found when they are needed."""
        return Values(
            at,
            lambda: ((j, h, *more) for j in jobs for h in labels(j) for more in product(*sets)),
            lambda j, h, *more: (
                j in jobs
                and h in labels(j)
                and len(more) == len(sets)
                and all(one in those for one, those in zip(more, sets, strict=True))
            ),
        )

    def can_ring(j: str, *_: str | int) -> bool:
        return bool(data().spread[j])

    def progress(j: str, h: Label, t: int) -> int:
        ring = o.ring(j, t) if label(j) == h else None
        return min(ring.speed, jobs[j].iterations_left) if ring else 0

    def counts(j: str, l: str, t: int) -> int:
        h = label(j)
        return data().duty[j, h] if h is not None and l in o.links[j] and o.runs(j, t) else 0

    def shapes(j: str) -> Iterable[Label]:
        return data().shapes[j]

    return {
        **shared(o),
        "spans": by_shape(lambda j, h: label(j) == h, shapes),
        "active_on": by_shape(lambda j, h, t: label(j) == h and o.runs(j, t), shapes, slots),
        "below": over(
            lambda j, l: not below[l].isdisjoint(o.workers[j]), jobs, links, where=can_ring
        ),
        "above": over(
            lambda j, l: not below[l].issuperset(o.workers[j]), jobs, links, where=can_ring
        ),
        "uses": over(lambda j, l: l in o.links[j], jobs, links, where=can_ring),
        "on_link": over(
            lambda j, l, t: l in o.links[j] and o.runs(j, t), jobs, links, slots, where=can_ring
        ),
        "at_least": over(
            lambda l, p, t: o.rings_on(l, t) >= p,
            links,
            rings,
            slots,
            where=lambda l, p, t: p <= links[l],
        ),
        "counts": over(counts, jobs, links, slots, where=can_ring),
        "in_part": Values(
            lambda j, g: not o.workers[j].keys().isdisjoint(parts[j][g]),
            lambda: ((j, g) for j, some in parts.items() for g in range(len(some))),
            lambda j, g: j in parts and g < len(parts[j]),
        ),
        "progress": by_shape(progress, lambda j: data().spread[j], slots),
        "capacity_yields": yields(server_caps(scope), slots, o.runs),
        "quota_yields": yields(tenant_caps(scope), slots, o.runs),
    }


def _outcome(scope: Scope, schedule: Schedule) -> Outcome:
    return Outcome(scope, *placed_of(schedule))


def _evaluate(scope: Scope, schedule: Schedule) -> pyo.ConcreteModel:
    """The values of the components in a schedule."""
    outcome = _outcome(scope, schedule)
    return model_of(outcome, _values(outcome))


def _load(model: pyo.ConcreteModel, scope: Scope, schedule: Schedule) -> None:
    """Set every variable to its value in a feasible schedule."""
    outcome = _outcome(scope, schedule)
    values = _values(outcome) | values_of_aims(outcome)
    if model.component("reaches") is not None:
        values["reaches"] = _reached(outcome)
    set_variables(model, outcome, values)


def _reached(outcome: Outcome) -> Values:
    """The value of `reaches` in a schedule."""
    data = Coefficients(outcome.scope)
    levels = {} if data.loads is None else levels_of(data, data.loads)

    def reaches(j: str, i: int, t: int) -> bool:
        ring = outcome.ring(j, t) if outcome.links[j] else None
        return ring is not None and ring.speed >= levels[j][i]

    return over(
        reaches,
        levels,
        range(max(map(len, levels.values()), default=0)),
        range(outcome.scope.horizon),
        where=lambda j, i, _: i < len(levels[j]),
    )


def _plan(model: pyo.ConcreteModel, scope: Scope) -> Plan:
    """Read starts and workers."""
    m: Any = model
    starts, workers = [], []
    for j in scope.jobs:
        begun = (t for t in range(scope.horizon) if (m.started[j, t].value or 0) > 0.5)
        starts.append(next(begun, -1))
        placed = [round(m.workers[j, s].value or 0) for s in scope.servers]
        workers.append({s: count for s, count in enumerate(placed) if count > 0})
    return Plan(tuple(starts), tuple(workers))


COMPACT = Formulation(
    name="time-indexed-compact",
    description="a smaller and weaker program, where jobs have very many placements",
    build=_build,
    load=_load,
    plan=_plan,
    size=_size,
    unfit=lambda scope: too_fast(scope) or several_rates(scope, "time-indexed-compact"),
    model_class="linear",
    evaluate=_evaluate,
    reads=frozenset(),
    handles=ALL_BUT_PREEMPTION,
)
