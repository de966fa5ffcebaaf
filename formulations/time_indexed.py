r"""Formulation `time-indexed`: an integer linear program equivalent to RAR-DDLS, made strong.

A job's placement is one choice among all ways to put its workers on servers. So the links of its
ring, its speed for each contention, and its least execution time are data. Indices: jobs j,
servers s, links ℓ, slots t = 0 … H−1, placements k of job j, speed levels i, ring counts p.

Variables, all binary, by the names of their Pyomo components:

======================= ============================================================================
`started[j,t]`          1 iff job j has started by slot t: a_j ≤ t
`ended[j,t]`            1 iff job j has completed before slot t: T_j ≤ t
`placed[j,k]`           1 iff job j has placement k
`active_in[j,k,t]`      1 iff job j is active in slot t, in placement k
`at_least[l,p,t]`       1 if at least p rings use link ℓ in slot t, p ≥ 2; not by duty
`reaches[j,i,t]`        1 if ring j does at least φ_ji iterations in slot t: its i-th speed
`done[t]`               1 if all jobs have completed before slot t
======================= ============================================================================

Expressions for your own constraints and objectives:

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

Why it is equivalent. Every feasible schedule gives a solution of the same makespan: give each
variable the value of its meaning. Conversely take the starts and placements of a solution. The
model lets a ring be slower than it is, end later, or see more rings on a link than there are, never
the reverse. More speed and less contention only make jobs complete earlier, and completions only
take rings off links. By induction over slots, every job completes in the simulation no later than
in the model, and holds its GPUs no longer. So the schedule is feasible, and its makespan is no
greater. By duty the same holds: a ring counts on its links with a number that its placement gives,
and only by the rings that are there.

Unless the scope asks for every schedule, equal jobs start in input order, and equal servers are
ordered by the workers of the longest jobs on them. Exchanging equals changes nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyomo.environ as pyo

from rarmodel.model.features import ALL_BUT_PREEMPTION
from rarmodel.schema import Schedule

from .aims import add_objectives, needs_makespan, values_of_aims
from .arithmetic import too_fast
from .caps import server_caps, tenant_caps, yields
from .formulation import Formulation, Plan, Scope, is_set
from .placements import MAX_PLACEMENTS, label_of, most_rings, number_of_placements, placements
from .symmetry import canonical
from .time_indexed_components import (
    capacity,
    contention,
    data_of,
    makespan,
    placement,
    quotas,
    speed,
    starts_and_ends,
    symmetry,
    work,
)
from .values import Outcome, Values, model_of, over, placed_of, set_variables, shared

COMPONENTS = (starts_and_ends, placement, capacity, quotas, contention, speed, work)
"""The components of the model, in order: a later one uses variables of earlier ones."""


def _build(scope: Scope) -> pyo.ConcreteModel:
    """Build the model; each component adds the variables and constraints of one idea."""
    model = pyo.ConcreteModel("time-indexed")
    data = data_of(scope)
    for component in COMPONENTS:
        component(model, data)
    if not scope.every_schedule:
        symmetry(model, data)
    if needs_makespan(scope):
        makespan(model, data)
    add_objectives(model, scope)
    return model


def _unfit(scope: Scope) -> str | None:
    """Why the model is refused: a job with too many placements, or with too great a speed."""
    ways = number_of_placements(scope)
    for j, (number, _) in ways.items():
        if number > MAX_PLACEMENTS:
            return (
                f"job {j!r} can be placed in {number:.3g} ways{' or more' * bool(scope.allowed)}, "
                f"and up to {MAX_PLACEMENTS:,} are listed; time-indexed-compact lists none"
            )
    return too_fast(scope)


def _size(scope: Scope) -> int:
    """Approximate number of terms in the constraints: of order `H·Σ_j K_j·(S_j + L_j·N_j·P)`.

    For H slots and K_j placements of job j, on up to S_j servers and L_j links, with up to N_j
    numbers of servers and P rings on a link.
    """
    ways = number_of_placements(scope)
    rings = most_rings(scope)
    most = max(rings.values(), default=1)
    terms = 0
    for number, servers in ways.values():
        levels = max(0, servers - 1) * (most if rings else 0)
        terms += 8 + number * (5 + 2 * servers + levels * (1 + servers))
    return scope.horizon * terms


def _load(model: pyo.ConcreteModel, scope: Scope, schedule: Schedule) -> None:
    """Set every variable to its value in a feasible schedule.

    If the model has one order of equal jobs and servers, they are exchanged into that order.
    """
    data = data_of(scope)
    outcome = Outcome(scope, *canonical(scope, schedule))
    placed = {
        j: next((k for k, way in ways.items() if way.workers == outcome.workers[j]), None)
        for j, ways in data.options.items()
    }

    def reaches(j: str, i: int, t: int) -> bool:
        ring = outcome.ring(j, t) if len(outcome.workers[j]) > 1 else None
        return ring is not None and ring.speed >= data.levels[j][i]

    values = _values(outcome, placed) | values_of_aims(outcome)
    most = max(map(len, data.levels.values()), default=0)
    values["reaches"] = over(
        reaches,
        data.levels,
        range(most),
        range(scope.horizon),
        where=lambda j, i, _: i < len(data.levels[j]),
    )
    set_variables(model, outcome, values)


def _evaluate(scope: Scope, schedule: Schedule) -> pyo.ConcreteModel:
    """The values of the components in a schedule, except `reaches`, which needs all placements."""
    outcome = Outcome(scope, *placed_of(schedule))
    placed = {j: label_of(workers) for j, workers in outcome.workers.items()}
    return model_of(outcome, _values(outcome, placed))


def _values(outcome: Outcome, placed: Mapping[str, str | None]) -> dict[str, Values]:
    """The value of each component in a schedule, as a function; placements are known."""
    o, scope = outcome, outcome.scope
    links, slots = most_rings(scope), range(scope.horizon)
    low = min(scope.lower_bound, scope.horizon)

    def known(j: str, k: str, *_: int) -> bool:
        return k == placed[j]

    return {
        **shared(o),
        "placed": Values(known, lambda: list(placed.items()), lambda j, k: j in placed),
        "active_in": Values(
            lambda j, k, t: known(j, k) and o.runs(j, t),
            lambda: ((j, k, t) for j, k in placed.items() for t in slots),
            lambda j, k, t: j in placed and t in slots,
        ),
        "at_least": over(
            lambda l, p, t: o.rings_on(l, t) >= p,
            links,
            range(2, max(links.values(), default=1) + 1),
            slots,
            where=lambda l, p, t: p <= links[l],
        ),
        "done": over(lambda t: t >= o.latest, range(low, scope.horizon)),
        "capacity_yields": yields(server_caps(scope), slots, o.runs),
        "quota_yields": yields(tenant_caps(scope), slots, o.runs),
    }


def _plan(model: pyo.ConcreteModel, scope: Scope) -> Plan:
    """Read starts and workers."""
    m: Any = model
    index = {name: s for s, name in enumerate(scope.servers)}
    options = placements(scope)
    starts, workers = [], []
    for j in scope.jobs:
        starts.append(next((t for t in range(scope.horizon) if is_set(m.started[j, t])), -1))
        chosen = next((way for k, way in options[j].items() if is_set(m.placed[j, k])), None)
        workers.append({index[s]: n for s, n in chosen.workers.items()} if chosen else {})
    return Plan(tuple(starts), tuple(workers))


TIME_INDEXED = Formulation(
    name="time-indexed",
    description="a strong program over slots and placements: use it first",
    build=_build,
    load=_load,
    plan=_plan,
    size=_size,
    unfit=_unfit,
    model_class="integer",
    evaluate=_evaluate,
    lists_placements=True,
    reads=frozenset(),
    handles=ALL_BUT_PREEMPTION,
)
