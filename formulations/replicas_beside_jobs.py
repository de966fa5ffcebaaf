"""Replicas of services in `time-indexed`, beside the jobs (model, section 16).

They are those of `cheapest-mix`, by single servers and slots. Where GPUs are held as a whole, how
many of them a server holds is enough: intervals of which never more than O_s overlap find numbers.
Slices are by GPU: see `replicas_on_gpus`. Demand may last beyond the slots of the jobs. Replicas
are then alone there, in slots of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from math import ceil, lcm
from typing import Any

import pyomo.environ as pyo

from rarmodel.model.features import SERVICES
from rarmodel.model.held_parts import held_parts, parts_on
from rarmodel.model.objectives import Objective, Value, exact
from rarmodel.model.services import asks, ready_at, why_unanswerable
from rarmodel.schema import Instance
from rarmodel.schema.tenants import lineages

from .cheapest_mix import ACCURACY, DEMAND, REPLICAS, STARTS
from .cheapest_mix_numbers import Key, label_on, running_gpus, slots_of
from .component import Component
from .formulation import Formulation
from .gpu_placements import shares
from .outcome import ScheduleOutcome
from .plan import PlannedReplica
from .replica_stays import needed, stays
from .replicas_on_gpus import ROOM_OF_SLICES, at_most, kinds_on_gpus, whole_kinds
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
    return None


def unfit_beside(scope: Scope, formulation: Formulation) -> str | None:
    """Why the model has no place for the services of a scope, or none can answer; else None."""
    if why := why_apart(scope.instance, replace(formulation, restricts=False)):
        return f"services are not decided with the jobs: {why}"
    return "; ".join(why_unanswerable(scope.instance)) or None


def _asks(scope: Scope) -> bool:
    return asks(scope.instance)


def size_beside(scope: Scope) -> int:
    """Approximate number of terms: 8 for each kind of replica, server and slot."""
    mix = slots_of(scope)
    return 8 * len(mix.kinds) * len(mix.pieces)


def room_beside(m: Any, scope: Scope) -> None:
    """Replicas and jobs fit the servers together, also beside reservations.

    With w_c the GPUs of a replica, R_t the GPUs of server s that are not reserved, and Q those of
    jobs that run at slot 0:

    ```
    h_t = Σ_{c on s} w_c·up_ct + Σ_g sliced_gt                         what replicas hold
    Σ_j held_jst + h_t ≤ R_t                                           if Q ≤ R_t; otherwise
    Σ_j held_jst + h_t ≤ R_t + (Q − R_t)·yields_t
    Σ_{j not running at 0} held_jst + h_t ≤ R_t·(1 − yields_t)
    ```

    `sliced_gpu` are GPUs with replicas of slices, and w_c is 0 for these. `yields` is
    `capacity_yields[s,t]`. After the last slot of the jobs replicas are alone. Where jobs share
    GPUs, `room_on_gpus` has replicas, too.
    """
    mix, cluster, ran = slots_of(scope), scope.instance.cluster, running_gpus(scope.instance)
    whole, sliced = whole_kinds(scope), kinds_on_gpus(scope)
    m.room_beside = pyo.ConstraintList()
    for s in dict.fromkeys((*whole, *(name for name, _ in sliced))):
        gpus = [g for g in sliced if g[0] == s]
        jobs = {j: {(j, s): 1} for j in scope.jobs}
        for t in range(len(mix.pieces)):
            left = cluster.capacity(scope.server_index[s], t)
            yields = (m.component("capacity_yields"), (s, t))
            held = sum(n * m.up[(*c, t)] for n, c in whole.get(s, ()))
            held += sum(m.sliced_gpu[g, t] for g in gpus)
            _keep(m, m.room_beside, scope, t, (held, jobs), (left, ran[s]), yields)


def quotas_beside(m: Any, scope: Scope) -> None:
    """Jobs and replicas of a tenant, and of those below it, hold no more than its cap together.

    As `room_beside`, with the cap in the place of R_t, Q of the tenant's jobs, and `quota_yields`.
    Slices are parts of a GPU, so both sides are multiplied by what makes whole numbers of them.
    """
    mix, above = slots_of(scope), lineages(scope.instance.tenants)
    parts = lcm(
        held_parts(scope.instance).of_gpu, *(c.gpus.denominator for c in mix.kinds.values())
    )

    def part(j: str, s: str) -> int:
        return parts_on(scope.instance, scope.index[j], scope.server_index[s], parts)

    m.quotas_beside = pyo.ConstraintList()
    for tenant in scope.instance.tenants:
        if tenant.gpus is None or tenant.name not in mix.caps:
            continue
        _, services = mix.caps[tenant.name]
        kinds = {c: int(kind.gpus * parts) for c, kind in mix.kinds.items() if c[0] in services}
        mine = [
            j for j, job in scope.jobs.items() if job.tenant and tenant.name in above[job.tenant]
        ]
        jobs = {j: {(j, s): part(j, s) for s in scope.servers} for j in mine}
        ran = sum(
            part(j, s) * len(gpus)
            for j in mine
            if (one := scope.jobs[j].running) is not None
            for s, gpus in one.gpus.items()
        )
        for t in range(len(mix.pieces)):
            yields = (m.component("quota_yields"), (tenant.name, t))
            held = sum(n * m.up[(*c, t)] for c, n in kinds.items())
            _keep(m, m.quotas_beside, scope, t, (held, jobs), (tenant.gpus * parts, ran), yields)


def _keep(
    m: Any,
    constraints: Any,
    scope: Scope,
    t: int,
    users: tuple[Any, Mapping[str, Mapping[tuple[str, str], int]]],
    numbers: tuple[int, int],
    yields: tuple[Any, tuple[str, int]],
) -> None:
    """Add what keeps a cap in a slot.

    Parameters
    ----------
    m, constraints, scope, t
        The model, the list to which constraints are added, the scope, and the slot.
    users
        What replicas hold of the cap, and by job that counts what each of its GPUs does, by job
        and server.
    numbers
        The cap, and what jobs that run at slot 0 hold of it then.
    yields
        The binaries by which such jobs may hold more than the cap, if there are any; and which.
    """
    (replicas, jobs), (left, ran) = users, numbers
    if t >= scope.horizon:
        constraints.add(at_most(replicas, left))
        return
    held = {j: sum(n * m.held[j, s, t] for (j, s), n in on.items()) for j, on in jobs.items()}
    every = sum(held.values()) + replicas
    binaries, index = yields
    if ran <= left or binaries is None:  # It is None where no job has a placement in its window.
        constraints.add(at_most(every, left))
        return
    others = sum(held[j] for j in held if scope.jobs[j].running is None) + replicas
    constraints.add(every <= left + (ran - left) * binaries[index])
    constraints.add(others <= left * (1 - binaries[index]))


def price_of_replicas(scope: Scope, objective: Objective) -> dict[Key, Value]:
    """By kind: the price of a replica for a slot; none where prices do not count."""
    if objective.prices is None or not _asks(scope):
        return {}
    prices = objective.prices_of(scope.instance)
    return {
        c: exact(prices[kind.servers[0]] * kind.gpus) for c, kind in slots_of(scope).kinds.items()
    }


def replicas_of(m: Any, scope: Scope) -> tuple[PlannedReplica, ...]:
    """The replicas of a solution, without what nobody needs."""
    if not _asks(scope):
        return ()
    mix = slots_of(scope)
    counts = {c: [0] * len(mix.pieces) for c in mix.kinds}
    for index, variable in m.ready.items():
        counts[index[:3]][index[3]] = round(variable.value or 0)
    return tuple(
        PlannedReplica(
            *(one.kind[0], one.kind[1], mix.kinds[one.kind].servers[0]),
            *(ceil(mix.kinds[one.kind].gpus), one.start, one.end),
            gpu=mix.kinds[one.kind].gpu,
        )
        for one in needed(mix, stays(mix, counts))
    )


def _values(outcome: ScheduleOutcome) -> dict[str, Values]:
    """How many replicas are ready, as far as they are of use, and begin to be."""
    mix = slots_of(outcome.scope)
    ready: Counter[tuple[Any, ...]] = Counter()
    for one in outcome.replicas:
        ((server, gpus),) = ((name, gpus) for name, gpus in one.gpus.items() if gpus)
        ways = (label_on(server, None), label_on(server, gpus[0]))
        c = next((c for way in ways if (c := (one.service, one.variant, way)) in mix.kinds), None)
        if c is not None:
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
    return _asks(scope) and ACCURACY.when(scope)


def _capped(scope: Scope) -> bool:
    return _asks(scope) and bool(slots_of(scope).caps)


def _by_slots(component: Component, **changes: Any) -> Component:
    """A component of `cheapest-mix`, by single servers and slots."""
    build: Any = component.build
    return replace(component, build=partial(build, numbers=slots_of), **{"when": _asks} | changes)


READY = _by_slots(REPLICAS, inner=_values)
READY_AFTER_STARTUP = _by_slots(STARTS)
ANSWERED = _by_slots(DEMAND)
ANSWERED_WELL = _by_slots(ACCURACY, when=_accurate)
ROOM_BESIDE = Component(
    "room_beside",
    room_beside,
    needs=("up", "held", "sliced_gpu"),
    when=lambda scope: _asks(scope) and not shares(scope),
)
QUOTAS_BESIDE = Component("quotas_beside", quotas_beside, needs=("up", "held"), when=_capped)
REPLICAS_THERE = (READY, READY_AFTER_STARTUP)
"""Which replicas there are."""
REPLICAS_BESIDE_JOBS = (
    ANSWERED,
    ANSWERED_WELL,
    ROOM_OF_SLICES,  # where jobs share no GPU
    ROOM_BESIDE,  # where jobs share no GPU
    QUOTAS_BESIDE,
)
"""What they do; they come after those that say what jobs hold, and which of them yield."""
