"""Replicas of services in `time-indexed`, beside the jobs (model, section 16).

They are those of `cheapest-mix`, by single servers and slots. Replicas hold whole GPUs here, so
how many of them a server holds is enough: intervals of which never more than O_s overlap find
numbers. Demand may last beyond the slots of the jobs. Replicas are then alone there, in slots of
their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pyomo.environ as pyo

from rarmodel.model.features import SERVICES, SHARED_GPUS
from rarmodel.model.gpu_sharing import shares_gpus
from rarmodel.model.objectives import Objective, Value, exact
from rarmodel.model.services import ready_at, why_unanswerable
from rarmodel.schema import Instance
from rarmodel.schema.tenants import lineages

from .cheapest_mix import ACCURACY, DEMAND, REPLICAS, STARTS
from .cheapest_mix_numbers import Key, running_gpus, slots_of
from .component import Component
from .formulation import Formulation
from .outcome import ScheduleOutcome
from .plan import PlannedReplica
from .replica_stays import needed, stays
from .scope import Scope
from .values import Values


def why_apart(instance: Instance, formulation: Formulation) -> str | None:
    """Why a formulation does not decide the services with the jobs; None if it does, or if none."""
    if not instance.services:
        return None
    name = f"formulation {formulation.name!r}"
    if SERVICES.name not in formulation.handles:
        return f"{name} has no services"
    if formulation.restricts:
        return f"{name} has additions, which know jobs alone"
    if shares_gpus(instance):
        return f"jobs share GPUs ({SHARED_GPUS.place(instance)})"
    for i, service in enumerate(instance.services):
        for k, variant in enumerate(service.variants):
            if variant.slices is not None:
                return f"replicas take slices of GPUs (services[{i}].variants[{k}].slices)"
    return None


def unfit_beside(scope: Scope, formulation: Formulation) -> str | None:
    """Why the model has no place for the services of a scope, or none can answer; else None."""
    if why := why_apart(scope.instance, replace(formulation, restricts=False)):
        return f"services are not decided with the jobs: {why}"
    return "; ".join(why_unanswerable(scope.instance)) or None


def asks(scope: Scope) -> bool:
    """Whether some service asks for something."""
    return any(entry.requests_per_second for one in scope.instance.services for entry in one.demand)


def size_beside(scope: Scope) -> int:
    """Approximate number of terms: 8 for each kind of replica, server and slot."""
    mix = slots_of(scope)
    return 8 * len(mix.kinds) * len(mix.pieces)


def room_beside(m: Any, scope: Scope) -> None:
    """Replicas and jobs fit the servers together, also beside reservations.

    With w_c the GPUs of a replica, R_t the GPUs of server s that are not reserved, and Q those of
    jobs that run at slot 0:

    ```
    Σ_j held_jst + Σ_{c on s} w_c·up_ct ≤ R_t                          if Q ≤ R_t; otherwise
    Σ_j held_jst + Σ_{c on s} w_c·up_ct ≤ R_t + (Q − R_t)·yields_t
    Σ_{j not running at 0} held_jst + Σ_{c on s} w_c·up_ct ≤ R_t·(1 − yields_t)
    ```

    `yields` is `capacity_yields[s,t]`. After the last slot of the jobs replicas are alone.
    """
    mix, cluster, ran = slots_of(scope), scope.instance.cluster, running_gpus(scope.instance)
    on: dict[str, list[Key]] = {}
    for c in mix.kinds:
        on.setdefault(c[2], []).append(c)
    m.room_beside = pyo.ConstraintList()
    for s, kinds in on.items():
        jobs = {j: [(j, s)] for j in scope.jobs}
        for t in range(len(mix.pieces)):
            left = cluster.capacity(scope.server_index[s], t)
            yields = (m.component("capacity_yields"), (s, t))
            _keep(m, m.room_beside, scope, t, (kinds, jobs), (left, ran[s]), yields)


def quotas_beside(m: Any, scope: Scope) -> None:
    """Jobs and replicas of a tenant, and of those below it, hold no more than its cap together.

    As `room_beside`, with the cap in the place of R_t, Q of the tenant's jobs, and `quota_yields`.
    """
    mix, above = slots_of(scope), lineages(scope.instance.tenants)
    m.quotas_beside = pyo.ConstraintList()
    for tenant in scope.instance.tenants:
        if tenant.gpus is None or tenant.name not in mix.caps:
            continue
        _, services = mix.caps[tenant.name]
        kinds = [c for c in mix.kinds if c[0] in services]
        mine = [
            j for j, job in scope.jobs.items() if job.tenant and tenant.name in above[job.tenant]
        ]
        jobs = {j: [(j, s) for s in scope.servers] for j in mine}
        running = (scope.jobs[j].running for j in mine)
        ran = sum(sum(map(len, one.gpus.values())) for one in running if one is not None)
        for t in range(len(mix.pieces)):
            yields = (m.component("quota_yields"), (tenant.name, t))
            _keep(m, m.quotas_beside, scope, t, (kinds, jobs), (tenant.gpus, ran), yields)


def _keep(
    m: Any,
    constraints: Any,
    scope: Scope,
    t: int,
    users: tuple[list[Key], Mapping[str, list[tuple[str, str]]]],
    numbers: tuple[int, int],
    yields: tuple[Any, tuple[str, int]],
) -> None:
    """Add what keeps a cap in a slot.

    Parameters
    ----------
    m, constraints, scope, t
        The model, the list to which constraints are added, the scope, and the slot.
    users
        The kinds of replicas that count, and by job that counts where what it holds does.
    numbers
        The cap, and what jobs that run at slot 0 hold of it then.
    yields
        The binaries by which such jobs may hold more than the cap, if there are any; and which.
    """
    (kinds, jobs), (left, ran) = users, numbers
    mix = slots_of(scope)
    replicas = sum(int(mix.kinds[c].gpus) * m.up[(*c, t)] for c in kinds)
    if t >= scope.horizon:
        constraints.add(pyo.inequality(None, replicas, left))
        return
    held = {j: sum(m.held[j, s, t] for j, s in where) for j, where in jobs.items()}
    every = sum(held.values()) + replicas
    if ran <= left:
        constraints.add(pyo.inequality(None, every, left))
        return
    binaries, index = yields
    others = sum(held[j] for j in held if scope.jobs[j].running is None) + replicas
    constraints.add(every <= left + (ran - left) * binaries[index])
    constraints.add(others <= left * (1 - binaries[index]))


def price_of_replicas(scope: Scope, objective: Objective) -> dict[Key, Value]:
    """By kind: the price of a replica for a slot; none where prices do not count."""
    if objective.prices is None or not asks(scope):
        return {}
    prices = objective.prices_of(scope.instance)
    return {
        c: exact(prices[kind.servers[0]] * kind.gpus) for c, kind in slots_of(scope).kinds.items()
    }


def replicas_of(m: Any, scope: Scope) -> tuple[PlannedReplica, ...]:
    """The replicas of a solution, without what nobody needs."""
    if not asks(scope):
        return ()
    mix = slots_of(scope)
    counts = {c: [0] * len(mix.pieces) for c in mix.kinds}
    for index, variable in m.ready.items():
        counts[index[:3]][index[3]] = round(variable.value or 0)
    return tuple(
        PlannedReplica(
            *(one.kind[0], one.kind[1], mix.kinds[one.kind].servers[0]),
            *(int(mix.kinds[one.kind].gpus), one.start, one.end),
        )
        for one in needed(mix, stays(mix, counts))
    )


def _values(outcome: ScheduleOutcome) -> dict[str, Values]:
    """How many replicas are ready, as far as they are of use, and begin to be."""
    mix = slots_of(outcome.scope)
    ready: Counter[tuple[Any, ...]] = Counter()
    for one in outcome.replicas:
        (server,) = (name for name, gpus in one.gpus.items() if gpus)
        c = one.service, one.variant, server
        if c in mix.kinds:
            first = ready_at(one.start, mix.kinds[c].startup)
            ready.update((*c, t) for t in range(first, min(one.end, len(mix.pieces))))

    def count(*i: Any) -> int:
        return min(ready[i], mix.most(i[:3])) if mix.asked(i[:3], i[3]) else 0

    def begun(*i: Any) -> int:
        return max(0, count(*i) - count(*i[:3], i[3] - 1))

    def keys() -> Iterator[Any]:
        return ((*c, t) for c in mix.kinds for t in range(len(mix.pieces)))

    def has(*i: Any) -> bool:
        return i[:3] in mix.kinds and i[3] in range(len(mix.pieces))

    return {"ready": Values(count, keys, has), "begun": Values(begun, keys, has)}


def _accurate(scope: Scope) -> bool:
    return asks(scope) and ACCURACY.when(scope)


def _capped(scope: Scope) -> bool:
    return asks(scope) and bool(slots_of(scope).caps)


def _by_slots(component: Component, **changes: Any) -> Component:
    """A component of `cheapest-mix`, by single servers and slots."""
    build: Any = component.build
    return replace(component, build=partial(build, numbers=slots_of), **{"when": asks} | changes)


READY = _by_slots(REPLICAS, inner=_values)
READY_AFTER_STARTUP = _by_slots(STARTS)
ANSWERED = _by_slots(DEMAND)
ANSWERED_WELL = _by_slots(ACCURACY, when=_accurate)
ROOM_BESIDE = Component("room_beside", room_beside, needs=("up", "held"), when=asks)
QUOTAS_BESIDE = Component("quotas_beside", quotas_beside, needs=("up", "held"), when=_capped)
REPLICAS_BESIDE_JOBS = (
    READY,
    READY_AFTER_STARTUP,
    ANSWERED,
    ANSWERED_WELL,
    ROOM_BESIDE,
    QUOTAS_BESIDE,
)
"""All of them; they come after those that say what jobs hold, and which of them yield."""
