r"""Formulation `cheapest-mix`: which replicas of services to run, and when, at the least cost.

It has the services of an instance and none of its jobs (model, section 16). Jobs get their GPUs
afterwards, so the model has no schedule of theirs. Time is cut into pieces in which no demand and
no reservation changes.

Indices: kinds of replicas c = (service, variant, group of equal servers), and pieces k of d_k
slots. Data: the rate μ_c of a replica, its GPUs w_c, its price p_c for a slot, and its start-up of
σ_c slots; the requests R_k of its service.

======================= ============================================================================
`ready[c,k]`            whole: replicas that are ready in piece k
`begun[c,k]`            whole: those that were not ready before; only where a start-up takes slots
`shared[c,k]`           whole: GPUs on which replicas of slices are
======================= ============================================================================

Expressions for your own constraints and objectives:

======================= ============================================================================
`up[c,k]`               replicas that hold GPUs: those that are ready, and those that start up
`price`                 what all of them cost
======================= ============================================================================

Replicas of slices share GPUs with those of their own kind. Demand and accuracy are divided by the
requests, so that all right sides are 1; the entry `margin` of `data` is added to them. A solver
keeps them only nearly: `near_misses` rules out what falls short by little. Whoever reads a mix
checks it in exact numbers all the same, and asks for a margin if need be.

`cheapest_placed` has the same by single servers. It is larger, and each of its mixes finds room.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pyomo.environ as pyo

from rarmodel.errors import UsageError
from rarmodel.model.features import ALL, SERVICES
from rarmodel.model.services import why_unanswerable
from rarmodel.schema import Schedule
from rarmodel.schema.base import exactly

from .cheapest_mix_numbers import Key, Mix, Numbers, mix_of
from .component import Component
from .composition import OBJECTIVE
from .formulation import Formulation
from .near_misses import Row, rule_out
from .plan import Plan
from .scope import Scope

MOST_TERMS = 2_000_000
"""Most terms of a model."""


def replicas(m: Any, scope: Scope, numbers: Numbers = mix_of) -> None:
    """How many replicas of each kind are ready in each piece.

    ```
    ready_ck ∈ {0, …, as many as are of use}
    ```
    """
    mix = numbers(scope)
    if not mix.spans:
        raise UsageError("cheapest-mix: no service asks for anything (services)")
    indices = [(*c, k) for c in mix.kinds for k in range(len(mix.pieces)) if mix.asked(c, k)]
    most = {c: mix.most(c) for c in mix.kinds}
    m.ready = pyo.Var(
        indices, domain=pyo.NonNegativeIntegers, bounds=lambda m, *i: (0, most[i[:3]])
    )


def starts(m: Any, scope: Scope, numbers: Numbers = mix_of) -> None:
    """A replica that was not ready before has started up: it held its GPUs for σ_c slots.

    ```
    ready_ck ≤ ready_c,k−1 + begun_ck
    up_ck = ready_ck + Σ_k' begun_ck'    over k' > k whose start-up begins before the end of k
    ```

    One whose start-up would begin before slot 0 is up from slot 0 on. In the first piece replicas
    were up before.
    """
    mix = numbers(scope)
    pieces = range(len(mix.pieces))
    rises = [(*c, k) for c, kind in mix.kinds.items() if kind.startup for k in pieces[1:]]
    m.begun = pyo.Var(
        [i for i in rises if i in m.ready],
        domain=pyo.NonNegativeIntegers,
        bounds=lambda m, *i: (0, m.ready[i].ub),
    )

    def follow(m: Any, *i: Any) -> Any:
        *c, k = i
        last = (*c, k - 1)
        before = m.ready[last] if last in m.ready else 0  # noqa: SIM401 - a variable has no `get`
        return m.ready[i] <= before + m.begun[i]

    m.follow = pyo.Constraint(list(m.begun), rule=follow)

    def up(m: Any, *i: Any) -> Any:
        *c, k = i
        key, end = i[:3], mix.pieces[k].end
        coming = []
        for later in pieces[k + 1 :]:
            if mix.pieces[later].start - mix.kinds[key].startup >= end:
                break
            if (*c, later) in m.begun:
                coming.append(m.begun[(*c, later)])
        ready = m.ready[i] if i in m.ready else 0  # noqa: SIM401 - a variable has no `get`
        return sum(coming, start=ready)

    m.up = pyo.Expression([(*c, k) for c in mix.kinds for k in pieces], rule=up)


def demand(m: Any, scope: Scope, numbers: Numbers = mix_of) -> None:
    """In each piece replicas reach the demand of each service.

    ```
    Σ_c (μ_c/R_k)·ready_ck ≥ 1
    ```

    `near_misses` rules out what only seems to be enough.
    """
    mix, margin = numbers(scope), float(scope.read("margin", 0.0))

    def rule(m: Any, name: str, k: int) -> Any:
        asked = mix.pieces[k].rates[name]
        rates = [float(mix.kinds[c].rate / asked) * m.ready[(*c, k)] for c in _of(mix, name)]
        return sum(rates) >= 1 + margin

    m.demand = pyo.Constraint(_asking(mix), rule=rule)
    rates = {c: kind.rate for c, kind in mix.kinds.items()}
    rule_out(m, "demand", [_row(m, mix, name, k, rates) for name, k in _asking(mix)])


def accuracy(m: Any, scope: Scope, numbers: Numbers = mix_of) -> None:
    """In each piece the mean accuracy is enough, with rates filled from the most accurate on.

    For each accuracy y_u of a variant that is below what is asked for, y:

    ```
    Σ_c max(0, y_c − y_u)·(μ_c/R_k)·ready_ck ≥ y − y_u
    ```

    which is the dual of the linear program that fills the rates; see `bounds.cheapest_replicas`.
    Both sides are divided by y − y_u. `near_misses` rules out what only seems to be enough.
    """
    mix, margin = numbers(scope), float(scope.read("margin", 0.0))
    services = {service.name: service for service in scope.instance.services}
    m.accuracy = pyo.ConstraintList()
    rows = []
    for name, k in _asking(mix):
        least = services[name].min_accuracy
        own = {c: mix.kinds[c] for c in _of(mix, name)}
        for level in sorted({kind.accuracy for kind in own.values()} if least is not None else ()):
            lacking = exactly(least or 0.0) - level
            if lacking > 0:
                asked = lacking * mix.pieces[k].rates[name]
                gives = [
                    float((kind.accuracy - level) * kind.rate / asked) * m.ready[(*c, k)]
                    for c, kind in own.items()
                    if kind.accuracy > level
                ]
                m.accuracy.add(sum(gives) >= 1 + margin)
                beyond = {
                    c: (kind.accuracy - level) * kind.rate / lacking
                    for c, kind in own.items()
                    if kind.accuracy > level
                }
                rows.append(_row(m, mix, name, k, beyond))
    rule_out(m, "accuracy", rows)


def room(m: Any, scope: Scope) -> None:
    """Replicas fit the servers: those of each size w and more into what is left of groups.

    ```
    Σ_c ⌊w_c/w⌋·up_ck ≤ Σ_s ⌊left_sk/w⌋      over the kinds that use only some of these servers
    shared_ck ≥ up_ck / (replicas on a GPU)   and it counts as w = 1
    ```

    Where sizes divide one another, the replicas of each piece fit exactly then: pack the large ones
    first, and each leaves as many places for w as it does not take.
    """
    mix = mix_of(scope)
    pieces = range(len(mix.pieces))
    sliced = [(*c, k) for c, kind in mix.kinds.items() if kind.on_gpu for k in pieces]
    m.shared = pyo.Var(
        sliced,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda m, *i: (0, -(-mix.most(i[:3]) // mix.kinds[i[:3]].on_gpu)),
    )
    m.share = pyo.Constraint(
        sliced, rule=lambda m, *i: mix.kinds[i[:3]].on_gpu * m.shared[i] >= m.up[i]
    )
    m.room = pyo.ConstraintList()
    families = {kind.servers for kind in mix.kinds.values()}
    families.add(tuple(sorted({s for some in families for s in some})))
    for servers in sorted(families):
        inside = {c: kind for c, kind in mix.kinds.items() if set(kind.servers) <= set(servers)}
        sizes = {1 if kind.on_gpu else int(kind.gpus) for kind in inside.values()}
        for size in sorted(sizes):
            for k in pieces:
                taken = [
                    m.shared[(*c, k)] if kind.on_gpu else int(kind.gpus) // size * m.up[(*c, k)]
                    for c, kind in inside.items()
                    if (size == 1 if kind.on_gpu else kind.gpus >= size)
                ]
                left = sum(mix.pieces[k].left[s] // size for s in servers)
                m.room.add(pyo.inequality(None, sum(taken), left))


def quotas(m: Any, scope: Scope, numbers: Numbers = mix_of) -> None:
    """Replicas of a tenant, and of those below it, hold no more than the cap leaves.

    ```
    Σ_c w_c·up_ck ≤ cap − GPUs of jobs that run at slot 0
    ```
    """
    mix = numbers(scope)
    m.quotas = pyo.ConstraintList()
    for most, below in mix.caps.values():
        for k in range(len(mix.pieces)):
            held = [
                float(kind.gpus) * m.up[(*c, k)]
                for c, kind in mix.kinds.items()
                if kind.service.name in below
            ]
            m.quotas.add(pyo.inequality(None, sum(held), most))


def cost(m: Any, scope: Scope, numbers: Numbers = mix_of) -> None:
    """Minimise the price of what is held, in GPU-hours where there are no prices.

    ```
    Σ_ck p_c·(d_k·ready_ck + min(σ_c, start of k)·begun_ck)
    ```
    """
    mix = numbers(scope)
    m.price = pyo.Expression(
        expr=sum(
            float(mix.kinds[i[:3]].price * (mix.pieces[i[3]].end - mix.pieces[i[3]].start))
            * m.ready[i]
            for i in m.ready
        )
        + sum(float(mix.kinds[i[:3]].price * mix.before(i[:3], i[3])) * m.begun[i] for i in m.begun)
    )
    m.objective = pyo.Objective(expr=m.price)


REPLICAS = Component("replicas", replicas, gives=("ready",))
STARTS = Component("starts", starts, needs=("ready",), gives=("begun", "up"))
DEMAND = Component("demand", demand, needs=("ready",), gives=("demand_beyond",))
ACCURACY = Component(
    "accuracy",
    accuracy,
    needs=("ready",),
    gives=("accuracy_beyond",),
    when=lambda scope: any(one.min_accuracy is not None for one in scope.instance.services),
)
ROOM = Component("room", room, needs=("up",), gives=("shared",))
QUOTAS = Component("quotas", quotas, needs=("up",), when=lambda scope: bool(mix_of(scope).caps))
PRICE = Component(OBJECTIVE, cost, needs=("ready", "begun"), gives=("price",))


def _of(mix: Mix, service: str) -> list[Key]:
    return [c for c in mix.kinds if c[0] == service]


def _row(m: Any, mix: Mix, service: str, k: int, rates: Mapping[Key, Fraction]) -> Row:
    """What replicas give of what is asked for in a piece, from rates by kind."""
    asked = mix.pieces[k].rates[service]
    gives: dict[Fraction, list[Any]] = {}
    own = [c for c in _of(mix, service) if c in rates]
    for c in sorted(own, key=lambda c: -rates[c]):
        gives.setdefault(rates[c] / asked, []).append(m.ready[(*c, k)])
    return Row(service, k, gives)


def _asking(mix: Mix) -> list[tuple[str, int]]:
    """Service and piece, wherever something is asked."""
    return [
        (name, k)
        for k, piece in enumerate(mix.pieces)
        for name, rate in piece.rates.items()
        if rate
    ]


def _load(model: pyo.ConcreteModel, scope: Scope, schedule: Schedule) -> None:
    """No values: the model has no jobs."""


def _plan(model: pyo.ConcreteModel, scope: Scope) -> Plan | None:
    """None: the model has no jobs."""
    return None


def _size(scope: Scope) -> int:
    """Approximate number of terms in the constraints: 6 for each kind and piece."""
    mix = mix_of(scope)
    return 6 * len(mix.kinds) * len(mix.pieces)


def _unfit(scope: Scope) -> str | None:
    """Why the model is refused: nothing to decide, or too large."""
    if not scope.instance.services:
        return "the instance has no services"
    if reasons := why_unanswerable(scope.instance):
        return "; ".join(reasons)
    terms = _size(scope)
    if terms > MOST_TERMS:
        return f"the model, with about {terms:,} terms, is larger than {MOST_TERMS:,}"
    return None


ROOM_AND_QUOTAS = ("room", "quotas")
"""Components without which the optimum bounds what services cost, wherever there is room.

Within a piece nothing asks for a change: take the slot in which replicas cost least for all of it.
No more replicas begin between these slots than before, and none that begins earlier holds more.
"""

CHEAPEST_MIX = Formulation.composed(
    "cheapest-mix",
    REPLICAS,
    STARTS,
    DEMAND,
    ACCURACY,
    ROOM,
    QUOTAS,
    PRICE,
    description="the cheapest replicas of services, before the jobs",
    evaluates=False,
    load=_load,
    plan=_plan,
    size=_size,
    unfit=_unfit,
    model_class="integer",
    objective="cost of services",
    restricts=True,
    reads=frozenset({"margin"}),
    handles=ALL,
    meant_for=frozenset({SERVICES.name}),
)
