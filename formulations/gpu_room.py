"""Room on GPUs that jobs share: slices, memory, and reservations of whole GPUs (section 15).

Replicas of services that are decided with the jobs take part in reservations here, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyomo.environ as pyo

from rarmodel.model.gpu_sharing import memory_units, slices_taken
from rarmodel.model.services import asks, last_demand

from .cheapest_mix_numbers import Key, slots_of
from .component import Component
from .gpu_placements import Gpu, shares
from .outcome import ScheduleOutcome
from .replicas_on_gpus import Room, keep_on_gpus, kinds_on_gpus, whole_kinds
from .scope import Scope, once_per_scope
from .time_indexed_numbers import numbers_of
from .values import Values, over


@once_per_scope
def users_of_gpus(scope: Scope) -> dict[Gpu, dict[str, list[str]]]:
    """By GPU and job: the placements in which the job has a worker there."""
    found: dict[Gpu, dict[str, list[str]]] = {}
    for j, ways in numbers_of(scope).options.items():
        for k, way in ways.items():
            for server, gpus in way.gpus.items():
                for gpu in gpus:
                    found.setdefault((server, gpu), {}).setdefault(j, []).append(k)
    return found


def room_on_gpus(m: Any, scope: Scope) -> None:
    """Capacity, (2), by GPU: slices and memory of the active jobs that have a worker there.

    With q_js the slices that a worker of job j takes on server s, and b_j its memory:

    ```
    Σ_j q_js·Σ_{k on g} active_in_jkt ≤ Q_s      Σ_j b_j·Σ_{k on g} active_in_jkt ≤ memory of g
    ```

    What is reserved of a server counts whole GPUs: see `keep_reservations`. With q_c and b_c what
    replicas of kind c take, where they are decided with the jobs:

    ```
    Σ_j q_js·Σ_{k on g} active_in_jkt + Σ_{c on g} q_c·up_ct ≤ Q_s
    Σ_j b_j·Σ_{k on g} active_in_jkt + Σ_{c on g} b_c·up_ct ≤ memory of g
    ```
    """
    index, memory = scope.server_index, memory_units(scope.instance)
    cluster = scope.instance.cluster
    users = users_of_gpus(scope)
    slots = range(scope.horizon)

    def keep(name: str, room: Mapping[Gpu, int | None], need: Mapping[Gpu, dict[str, int]]) -> None:
        tight = [g for g, most in room.items() if most is not None and sum(need[g].values()) > most]
        m.add_component(
            name,
            pyo.Constraint(
                tight,
                slots,
                rule=lambda m, s, g, t: (
                    sum(
                        amount * sum(m.active_in[j, k, t] for k in users[s, g][j])
                        for j, amount in need[s, g].items()
                    )
                    <= room[s, g]
                ),
            ),
        )

    keep(
        "slices",
        {(s, g): cluster.slices_of(scope.servers[s]) for s, g in users},
        {
            (s, g): {j: slices_taken(scope.instance, scope.index[j], index[s]) for j in jobs}
            for (s, g), jobs in users.items()
        },
    )
    keep(
        "memory",
        {(s, g): memory.of_server[index[s]] for s, g in users},
        {
            g: {j: need for j in jobs if (need := memory.of_job[scope.index[j]])}
            for g, jobs in users.items()
        },
    )
    if asks(scope.instance):
        keep_reservations(m, scope, users, _room_beside(m, scope, users))
    elif cluster.reservations:
        keep_reservations(m, scope, users)


class Beside(NamedTuple):
    """Replicas of services, as they count where whole GPUs count.

    Attributes
    ----------
    sliced
        By GPU: the slices and the kind of each kind of replicas that may be there.
    whole
        By server: the GPUs and the kind of each kind of replicas that may hold whole GPUs of it.
    slots
        Slots in which there may be some.
    """

    sliced: Mapping[Gpu, Sequence[tuple[int, Key]]]
    whole: Mapping[str, Sequence[tuple[int, Key]]]
    slots: int


def _room_beside(m: Any, scope: Scope, users: Mapping[Gpu, Mapping[str, Sequence[str]]]) -> Beside:
    """Keep slices and memory of GPUs with replicas beside jobs; and these replicas.

    After the last slot of the jobs replicas are alone.
    """
    on, slots = kinds_on_gpus(scope), range(len(slots_of(scope).pieces))

    def left(one: Room, s: str, g: int, t: int) -> Any:
        jobs = users.get((s, g), {}) if t < scope.horizon else {}
        held = (one.of_job(j, s) * m.active_in[j, k, t] for j, ways in jobs.items() for k in ways)
        return one.room[s] - sum(held)

    keep_on_gpus(m, scope, on, slots, left)
    slices = {
        (service.name, one.name): one.slices or 0
        for service in scope.instance.services
        for one in service.variants
    }
    sliced = {g: [(slices[c[:2]], c) for c in kinds] for g, kinds in on.items()}
    return Beside(sliced, whole_kinds(scope), len(slots))


def keep_reservations(
    m: Any,
    scope: Scope,
    users: Mapping[Gpu, Mapping[str, Sequence[str]]],
    beside: Beside | None = None,
) -> None:
    """Reservations count whole GPUs: those with a worker of jobs that do not run at slot 0.

    With R_t the GPUs of server s that are not reserved, r_gt whether a job that runs at slot 0 is
    on GPU g, o_gt whether only others are, and Q the GPUs with running jobs at slot 0:

    ```
    r_gt ≥ running_jt        r_gt ≤ Σ_j running_jt                     j running at slot 0 on g
    o_gt ≥ Σ_{k on g} active_in_jkt − r_gt                             j other
    Σ_g o_gt + Σ_g r_gt + W_st ≤ R_t + (Q − R_t)·yields_st
    Σ_g o_gt + W_st ≤ R_t·(1 − yields_st)
    ```

    `yields` is there only where Q > R_t. Replicas with whole GPUs hold W_st of them, and those with
    q_c of the Q_s slices of a GPU are others on it; without services there are none:

    ```
    W_st = Σ_{c on s} w_c·up_ct      Σ_{c on g} q_c·up_ct ≤ Q_s·(o_gt + r_gt)
    ```

    Servers that replicas with whole GPUs may use are counted also where nothing is reserved. So as
    many GPUs are left to such replicas as they hold, and then these find numbers.
    """
    slots, cluster = range(scope.horizon), scope.instance.cluster
    beside = beside or Beside({}, {}, 0)
    every = range(max(scope.horizon, beside.slots))
    names = {one.server for one in cluster.reservations} | beside.whole.keys()
    all_gpus = dict.fromkeys((*users, *beside.sliced))
    mine = {s: [g for g in all_gpus if g[0] == s] for s in scope.servers if s in names}
    left = {(s, t): cluster.capacity(scope.server_index[s], t) for s in mine for t in every}
    gpus = [g for some in mine.values() for g in some]
    keeping = {g: [j for j in users.get(g, ()) if scope.jobs[j].running is not None] for g in gpus}
    ran = [g for g in gpus if keeping[g]]
    others = [(*g, j) for g in gpus for j in users.get(g, ()) if scope.jobs[j].running is None]
    m.keeps_gpu = pyo.Var(ran, slots, domain=pyo.Binary)
    m.takes_gpu = pyo.Var(gpus, every, domain=pyo.Binary)
    m.kept_while_running = pyo.Constraint(
        [(*g, j) for g in ran for j in keeping[g]],
        slots,
        rule=lambda m, s, g, j, t: m.keeps_gpu[s, g, t] >= m.running[j, t],
    )
    m.kept_by_some = pyo.Constraint(
        ran,
        slots,
        rule=lambda m, s, g, t: m.keeps_gpu[s, g, t] <= sum(m.running[j, t] for j in keeping[s, g]),
    )
    m.taken_by_others = pyo.Constraint(
        others,
        slots,
        rule=lambda m, s, g, j, t: (
            m.takes_gpu[s, g, t] + (m.keeps_gpu[s, g, t] if keeping[s, g] else 0)
            >= sum(m.active_in[j, k, t] for k in users[s, g][j])
        ),
    )

    def kept_in(s: str, g: int, t: int) -> bool:
        return bool(keeping[s, g]) and t < scope.horizon

    if beside.slots:
        m.taken_by_replicas = pyo.Constraint(
            [g for g in beside.sliced if g in keeping],
            range(beside.slots),
            rule=lambda m, s, g, t: (
                sum(q * m.up[(*c, t)] for q, c in beside.sliced[s, g])
                <= cluster.slices_of(scope.servers[s])
                * (m.takes_gpu[s, g, t] + (m.keeps_gpu[s, g, t] if kept_in(s, g, t) else 0))
            ),
        )

    def taken(m: Any, s: str, t: int) -> Any:
        here = beside.whole.get(s, ()) if t < beside.slots else ()
        whole = sum(w * m.up[(*c, t)] for w, c in here)
        return sum(m.takes_gpu[g, t] for g in mine[s]) + whole

    most = {s: sum(bool(keeping[g]) for g in some) for s, some in mine.items()}
    tight = [(s, t) for s, t in left if t < scope.horizon and most[s] > left[s, t]]
    m.gpus_yield = pyo.Var(tight, domain=pyo.Binary)

    def unreserved(m: Any, s: str, t: int) -> Any:
        held = taken(m, s, t)
        held += sum(m.keeps_gpu[g, t] for g in mine[s] if kept_in(*g, t))
        beyond = (most[s] - left[s, t]) * m.gpus_yield[s, t] if (s, t) in tight else 0
        return pyo.Constraint.Skip if isinstance(held, int) else held <= left[s, t] + beyond

    m.unreserved = pyo.Constraint(list(left), rule=unreserved)
    m.unreserved_of_others = pyo.Constraint(
        tight,
        rule=lambda m, s, t: taken(m, s, t) <= left[s, t] * (1 - m.gpus_yield[s, t]),
    )


def _values_of_room(outcome: ScheduleOutcome) -> dict[str, Values]:
    scope = outcome.scope
    slots, servers = range(scope.horizon), list(scope.servers)
    every = range(max(scope.horizon, last_demand(scope.instance)))
    gpus = range(max(server.gpus for server in scope.servers.values()))

    def on(s: str, g: int, t: int) -> tuple[bool, bool]:
        """Whether running jobs, and others, are on a GPU."""
        here = [scope.jobs[j].running is not None for j in outcome.on_gpu(s, g, t)]
        return any(here), not all(here)

    def keeps(s: str, g: int, t: int) -> bool:
        return on(s, g, t)[0]

    def takes(s: str, g: int, t: int) -> bool:
        kept, taken = on(s, g, t)
        return (taken or outcome.replicas_of_slices(s, g, t)) and not kept

    def yields(s: str, t: int) -> bool:
        left = scope.instance.cluster.capacity(scope.server_index[s], t)
        return sum(keeps(s, g, t) for g in range(scope.servers[s].gpus)) > left

    return {
        "keeps_gpu": over(keeps, servers, gpus, slots),
        "takes_gpu": over(takes, servers, gpus, every),
        "gpus_yield": over(yields, servers, slots),
    }


ROOM_ON_GPUS = Component(
    "room_on_gpus",
    room_on_gpus,
    needs=("active_in", "running", "up"),
    gives=("keeps_gpu", "takes_gpu", "gpus_yield"),
    values=_values_of_room,
    when=shares,
)
