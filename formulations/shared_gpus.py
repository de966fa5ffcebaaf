"""Jobs that share GPUs, in `time-indexed`: room on each GPU, and how jobs there slow each other.

A GPU is a resource as a link is one (section 15). A job meets the greatest load of its GPUs, which
is one of few numbers: sums of what others count that fit there beside it. So `pressed[j,n,t]`
counts the load in unary, and with it the passes of the job take so much longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import gcd
from typing import Any

import pyomo.environ as pyo

from rarmodel.model.gpu_sharing import losses, memory_units, slices_taken

from .component import Component
from .gpu_placements import shares
from .outcome import ScheduleOutcome
from .placements import Placement, alone_gbps
from .scope import Scope, once_per_scope
from .sharing_forms import MOST_LOADS, capped_speed, rings_of
from .time_indexed_components import (
    SLOWED_BY_LOADS,
    SLOWED_BY_RINGS,
    slowed_by_loads,
    slowed_by_rings,
)
from .time_indexed_numbers import able_ways, gpu_loads, loads_of, numbers_of
from .values import Values, over

Gpu = tuple[str, int]
"""Server and index of a GPU."""


def too_many_loads(scope: Scope) -> str | None:
    """The job whose GPUs may have too many different loads, in words; None if there is none."""
    if shares(scope):
        for j, loads in gpu_loads(scope).items():
            if len(loads) > MOST_LOADS:
                return (
                    f"others may slow job {j!r} down on its GPUs in more than {MOST_LOADS} ways, "
                    "too many for the model; fewer different sensitivities, pressures and measured "
                    "pairs make it smaller"
                )
    return None


@once_per_scope
def _users(scope: Scope) -> dict[Gpu, dict[str, list[str]]]:
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

    What is reserved of a server counts whole GPUs: see `keep_reservations`.
    """
    index, memory = scope.server_index, memory_units(scope.instance)
    cluster = scope.instance.cluster
    users = _users(scope)
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
    if cluster.reservations:
        keep_reservations(m, scope, users)


def keep_reservations(
    m: Any, scope: Scope, users: Mapping[Gpu, Mapping[str, Sequence[str]]]
) -> None:
    """Reservations count whole GPUs: those with a worker of jobs that do not run at slot 0.

    With R_t the GPUs of server s that are not reserved, r_gt whether a job that runs at slot 0 is
    on GPU g, o_gt whether only others are, and Q the GPUs with running jobs at slot 0:

    ```
    r_gt ≥ running_jt        r_gt ≤ Σ_j running_jt                     j running at slot 0 on g
    o_gt ≥ Σ_{k on g} active_in_jkt − r_gt                             j other
    Σ_g o_gt + Σ_g r_gt ≤ R_t + (Q − R_t)·yields_st      Σ_g o_gt ≤ R_t·(1 − yields_st)
    ```

    `yields` is there only where Q > R_t.
    """
    slots, cluster = range(scope.horizon), scope.instance.cluster
    names = {one.server for one in cluster.reservations}
    mine = {s: [g for g in users if g[0] == s] for s in scope.servers if s in names}
    left = {(s, t): cluster.capacity(scope.server_index[s], t) for s in mine for t in slots}
    gpus = [g for some in mine.values() for g in some]
    keeping = {g: [j for j in users[g] if scope.jobs[j].running is not None] for g in gpus}
    ran = [g for g in gpus if keeping[g]]
    others = [(*g, j) for g in gpus for j in users[g] if scope.jobs[j].running is None]
    m.keeps_gpu = pyo.Var(ran, slots, domain=pyo.Binary)
    m.takes_gpu = pyo.Var(gpus, slots, domain=pyo.Binary)
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
    most = {s: sum(bool(keeping[g]) for g in some) for s, some in mine.items()}
    tight = [(s, t) for s, t in left if most[s] > left[s, t]]
    m.gpus_yield = pyo.Var(tight, domain=pyo.Binary)

    def unreserved(m: Any, s: str, t: int) -> Any:
        held = sum(m.takes_gpu[g, t] for g in mine[s])
        held += sum(m.keeps_gpu[g, t] for g in mine[s] if keeping[g])
        beyond = (most[s] - left[s, t]) * m.gpus_yield[s, t] if (s, t) in tight else 0
        return held <= left[s, t] + beyond if mine[s] else pyo.Constraint.Skip

    m.unreserved = pyo.Constraint(list(left), rule=unreserved)
    m.unreserved_of_others = pyo.Constraint(
        tight,
        rule=lambda m, s, t: (
            sum(m.takes_gpu[g, t] for g in mine[s]) <= left[s, t] * (1 - m.gpus_yield[s, t])
        ),
    )


def _values_of_room(outcome: ScheduleOutcome) -> dict[str, Values]:
    scope = outcome.scope
    slots, servers = range(scope.horizon), list(scope.servers)
    gpus = range(max(server.gpus for server in scope.servers.values()))

    def on(s: str, g: int, t: int) -> tuple[bool, bool]:
        """Whether running jobs, and others, are on a GPU."""
        here = [scope.jobs[j].running is not None for j in outcome.on_gpu(s, g, t)]
        return any(here), not all(here)

    def keeps(s: str, g: int, t: int) -> bool:
        return on(s, g, t)[0]

    def takes(s: str, g: int, t: int) -> bool:
        kept, taken = on(s, g, t)
        return taken and not kept

    def yields(s: str, t: int) -> bool:
        left = scope.instance.cluster.capacity(scope.server_index[s], t)
        return sum(keeps(s, g, t) for g in range(scope.servers[s].gpus)) > left

    return {
        "keeps_gpu": over(keeps, servers, gpus, slots),
        "takes_gpu": over(takes, servers, gpus, slots),
        "gpus_yield": over(yields, servers, slots),
    }


ROOM_ON_GPUS = Component(
    "room_on_gpus",
    room_on_gpus,
    needs=("active_in", "running"),
    gives=("keeps_gpu", "takes_gpu", "gpus_yield"),
    values=_values_of_room,
    when=shares,
)


def beside(m: Any, scope: Scope) -> None:
    """The greatest load of others on a job's GPUs, in unary (section 15).

    With s_ji what job i counts to job j on a GPU, v_j0 = 0 < v_j1 < … the loads that the GPUs of
    job j may have, and M_j the greatest load of a GPU on which job j is not:

    ```
    pressed_j(n+1)t ≤ pressed_jnt
    Σ_{i≠j} s_ji·Σ_{k on g} active_in_ikt
        ≤ Σ_n (v_j(n+1) − v_jn)·pressed_jnt + M_j·(1 − Σ_{k on g} active_in_jkt)      each GPU g
    ```
    """
    lost, slots = losses(scope.instance), range(scope.horizon)
    loads, users = gpu_loads(scope), _users(scope)
    steps = {j: [high - low for low, high in pairwise(some)] for j, some in loads.items()}
    m.pressed = pyo.Var(
        [(j, n) for j, some in steps.items() for n in range(len(some))], slots, domain=pyo.Binary
    )
    m.pressed_in_order = pyo.Constraint(
        [(j, n) for j, some in steps.items() for n in range(1, len(some))],
        slots,
        rule=lambda m, j, n, t: m.pressed[j, n, t] <= m.pressed[j, n - 1, t],
    )
    counts = {
        (*g, j): {
            i: lost.of(scope.index[j], scope.index[i])
            for i in jobs
            if i != j and scope.jobs[i].slices is not None
        }
        for g, jobs in users.items()
        for j in jobs
        if steps[j]
    }

    def load(m: Any, s: str, g: int, j: str, t: int) -> Any:
        others = counts[s, g, j]
        unit = gcd(*others.values(), *steps[j])  # Small coefficients suit solvers.
        met = sum(
            units // unit * m.active_in[i, k, t]
            for i, units in others.items()
            if units
            for k in users[s, g][i]
        )
        here = sum(m.active_in[j, k, t] for k in users[s, g][j])
        felt = sum(step // unit * m.pressed[j, n, t] for n, step in enumerate(steps[j]))
        return met <= felt + sum(others.values()) // unit * (1 - here)

    m.pressed_by_others = pyo.Constraint(
        [key for key, others in counts.items() if any(others.values())], slots, rule=load
    )


def _values_of_beside(outcome: ScheduleOutcome) -> dict[str, Values]:
    loads = gpu_loads(outcome.scope)
    most = max(map(len, loads.values()))
    return {
        "pressed": over(
            lambda j, n, t: outcome.load_beside(j, t) > loads[j][n],
            loads,
            range(most),
            range(outcome.scope.horizon),
            where=lambda j, n, _: n < len(loads[j]) - 1,
        )
    }


BESIDE = Component(
    "beside",
    beside,
    needs=("active_in",),
    gives=("pressed",),
    inner=_values_of_beside,
    when=shares,
)


def slowed_beside(m: Any, scope: Scope) -> None:
    """No ring is faster than others on its GPUs allow, (8), alone on its links.

    For each level i and load v_j(n+1), over the placements k that reach φ_ji with a load of v_jn,
    but not with this one:

    ```
    reaches_jit + pressed_jnt + Σ_k active_in_jkt ≤ 2
    ```
    """
    slowed = _slowed_alone(scope)
    m.slowed_beside = pyo.Constraint(
        list(slowed),
        range(scope.horizon),
        rule=lambda m, j, i, n, t: (
            m.reaches[j, i, t]
            + m.pressed[j, n, t]
            + sum(m.active_in[j, k, t] for k in slowed[j, i, n])
            <= 2
        ),
    )


SLOWED_BESIDE = Component(
    "slowed_beside",
    slowed_beside,
    needs=("active_in", "reaches", "pressed"),
    when=shares,
)


def slowed_beside_rings(m: Any, scope: Scope) -> None:
    """No ring is faster than others on its GPUs and rings on its links together allow, (7)–(8).

    All rings weigh alike. For each level i, load v_j(n+1), link ℓ and ring count p, over the
    placements k that use ℓ, and reach φ_ji with a load of v_jn or fewer rings, but not with both:

    ```
    reaches_jit + pressed_jnt + at_least_lpt + Σ_k active_in_jkt ≤ 3
    ```
    """
    sharing, most = rings_of(scope), numbers_of(scope).most_rings
    slowed: dict[tuple[str, int, int, str, int], list[str]] = {}
    for j, i, n, k, way, level in _still_fast(scope):
        before, pace = (way.pace.beside(load) for load in gpu_loads(scope)[j][n : n + 2])
        for l in way.links:
            speeds = sharing.speeds(pace, len(way.workers), l)
            p = next((p for p in range(2, most.get(l, 1) + 1) if speeds[p - 1] < level), None)
            if p is not None and sharing.speeds(before, len(way.workers), l)[p - 1] >= level:
                slowed.setdefault((j, i, n, l, p), []).append(k)
    m.slowed_together = pyo.Constraint(
        list(slowed),
        range(scope.horizon),
        rule=lambda m, j, i, n, l, p, t: (
            m.reaches[j, i, t]
            + m.pressed[j, n, t]
            + m.at_least[l, p, t]
            + sum(m.active_in[j, k, t] for k in slowed[j, i, n, l, p])
            <= 3
        ),
    )


def slowed_beside_loads(m: Any, scope: Scope) -> None:
    """The same with weights (section 14): the load of a link that leaves a ring its speed.

    With d_k what a ring counts in placement k to those of job j's sensitivity, M the greatest load
    of ℓ by other jobs, and over the placements k of job j that reach φ_ji with a load of v_j(n+1)
    on their GPUs up to a load λ < M of others on ℓ, less than with a load of v_jn:

    ```
    Σ_{other jobs on ℓ} d_k·active_in_kt
        ≤ λ + (M − λ)·(3 − reaches_jit − pressed_jnt − Σ_k active_in_jkt)
    ```
    """
    numbers, loads = numbers_of(scope), loads_of(scope)
    slowed: dict[tuple[str, int, int, str, int], list[str]] = {}
    for j, i, n, k, way, level in _still_fast(scope):
        beside_ring = loads[scope.sensitivity(j)]
        before, pace = (way.pace.beside(load) for load in gpu_loads(scope)[j][n : n + 2])
        for l in way.links:
            limit = beside_ring.limit(pace, len(way.workers), l, level)
            alone_there = beside_ring.limit(before, len(way.workers), l, level)
            if limit < min(alone_there, beside_ring.most_beside(j, l)):
                slowed.setdefault((j, i, n, l, limit), []).append(k)
    users = {l: numbers.users(l) for l in dict.fromkeys(l for _, _, _, l, _ in slowed)}

    def rule(m: Any, j: str, i: int, n: int, l: str, limit: int, t: int) -> Any:
        to = scope.sensitivity(j)
        load = sum(
            numbers.options[o][k].weights[to] * m.active_in[o, k, t] for o, k in users[l] if o != j
        )
        here = sum(m.active_in[j, k, t] for k in slowed[j, i, n, l, limit])
        slack = loads[to].most_beside(j, l) - limit
        return load <= limit + slack * (3 - m.reaches[j, i, t] - m.pressed[j, n, t] - here)

    m.slowed_together = pyo.Constraint(list(slowed), range(scope.horizon), rule=rule)


def slowed_on_links_by_rings(m: Any, scope: Scope) -> None:
    """No ring is faster than the rings on its links allow, nor than these and others on its GPUs.

    See `slowed_by_rings`; where GPUs are shared, also `slowed_beside_rings`.
    """
    slowed_by_rings(m, scope)
    if shares(scope):
        slowed_beside_rings(m, scope)


def slowed_on_links_by_loads(m: Any, scope: Scope) -> None:
    """The same with weights: see `slowed_by_loads` and `slowed_beside_loads`."""
    slowed_by_loads(m, scope)
    if shares(scope):
        slowed_beside_loads(m, scope)


SLOWED_ON_LINKS_BY_RINGS = replace(
    SLOWED_BY_RINGS,
    build=slowed_on_links_by_rings,
    needs=(*SLOWED_BY_RINGS.needs, "pressed"),
)
SLOWED_ON_LINKS_BY_LOADS = replace(
    SLOWED_BY_LOADS,
    build=slowed_on_links_by_loads,
    needs=(*SLOWED_BY_LOADS.needs, "pressed"),
)


@once_per_scope
def _first_load(scope: Scope) -> dict[tuple[str, int, str], int]:
    """By job, level and placement that reaches it alone: the number of loads that leave it so."""
    loads, found = gpu_loads(scope), {}
    levels = numbers_of(scope).levels
    for (j, i), ways in able_ways(scope).items():
        for k, way in ways.items():
            gbps = alone_gbps(scope, way.workers, way.links)
            found[j, i, k] = next(
                (
                    n
                    for n, load in enumerate(loads[j])
                    if capped_speed(way.pace.beside(load), len(way.workers), gbps) < levels[j][i]
                ),
                len(loads[j]),
            )
    return found


def _slowed_alone(scope: Scope) -> dict[tuple[str, int, int], list[str]]:
    """By job, level and load: the placements that keep the level up to this load, not beyond."""
    slowed: dict[tuple[str, int, int], list[str]] = {}
    for (j, i, k), first in _first_load(scope).items():
        if first < len(gpu_loads(scope)[j]):
            slowed.setdefault((j, i, first - 1), []).append(k)
    return slowed


def _still_fast(scope: Scope) -> Iterator[tuple[str, int, int, str, Placement, int]]:
    """Job, level, load, placement on links and the level's speed: with the next load it reaches it.

    So the links decide.
    """
    levels = numbers_of(scope).levels
    for (j, i), ways in able_ways(scope).items():
        for k, way in ways.items():
            if way.links:
                for n in range(_first_load(scope)[j, i, k] - 1):
                    yield j, i, n, k, way, levels[j][i]
