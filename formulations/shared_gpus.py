"""Jobs that share GPUs, in `time-indexed`: how those on a GPU slow each other.

A GPU is a resource as a link is one (section 15). A job meets the greatest load of its GPUs, which
is one of few numbers: sums of what others count that fit there beside it. So `pressed[j,n,t]`
counts the load in unary, and with it the passes of the job take so much longer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from math import gcd
from typing import Any

import pyomo.environ as pyo

from rarmodel.model.gpu_sharing import losses

from .component import Component
from .gpu_placements import shares
from .gpu_room import users_of_gpus
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
    loads, users = gpu_loads(scope), users_of_gpus(scope)
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
