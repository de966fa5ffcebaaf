"""Components of `time-indexed-compact`: rings on links, their speed, and the work they do.

`compact` explains the variables. Speed depends on the form of the sharing rule: links carry
numbers of rings, or loads. With loads the links have one rate, so that the weight of a ring is a
number of its shape.
"""

from __future__ import annotations

from functools import cache, partial
from itertools import pairwise
from typing import Any

import pyomo.environ as pyo

from .compact_coefficients import Label, coefficients, loads_of
from .compact_placement import by_shape, label_in, over_links
from .component import Component
from .outcome import ScheduleOutcome
from .scope import Scope, once_per_scope
from .sharing_forms import capped_speed, column_of, rings_of
from .time_indexed_components import count_rings
from .values import Values, reached


def on_links(m: Any, scope: Scope) -> None:
    """The links that active rings use, slot by slot: `on_link_jlt ≥ uses_jl + running_jt − 1`."""
    data, slots = coefficients(scope), range(scope.horizon)
    m.on_link = pyo.Var(data.rings, data.links, slots, bounds=(0, 1))
    m.on_link_if_active = pyo.Constraint(
        data.rings,
        data.links,
        slots,
        rule=lambda m, j, l, t: m.on_link[j, l, t] >= m.uses[j, l] + m.running[j, t] - 1,
    )


def _values_of_on_link(outcome: ScheduleOutcome) -> dict[str, Values]:
    def on_link(j: str, l: str, t: int) -> bool:
        return l in outcome.links[j] and outcome.runs(j, t)

    return {"on_link": over_links(outcome, on_link, range(outcome.scope.horizon))}


ON_LINKS = Component(
    "on_links", on_links, needs=("running", "uses"), gives=("on_link",), values=_values_of_on_link
)


def rings_on_links(m: Any, scope: Scope) -> None:
    """Rings on each link in each slot, (6), where all weigh alike; see `count_rings`.

    ```
    Σ_j on_link_jlt ≤ 1 + Σ_{p ≥ 2} at_least_lpt
    ```
    """
    data, sharing = coefficients(scope), rings_of(scope)
    most = {l: sharing.most[l] for l in data.links} if data.rings else {}
    count_rings(m, scope, most, lambda l, t: sum(m.on_link[j, l, t] for j in data.rings))


RINGS_ON_LINKS = Component(
    "rings_on_links", rings_on_links, needs=("on_link",), gives=("at_least",), equal_weights=True
)


def loads_on_links(m: Any, scope: Scope) -> None:
    """What each ring counts on each link in each slot, with weights (section 14).

    With d_h its weight in shape h, and D the greatest; for each sensitivity, if there are several:

    ```
    counts_jlt ≥ Σ_h d_h·active_on_jht − D·(1 − uses_jl)
    Σ_{s of the shape's slowest type} on_js ≥ spans_jh      where types of GPU make several shapes
    ```

    The last line is needed here alone: in the shape of a slower type a ring would count less.
    """
    data, slots = coefficients(scope), range(scope.horizon)
    columns = column_of(scope)
    weights = {
        (j, *column): {h: data.weight(j, h, to) for h in data.spread[j]}
        for j in data.rings
        for to, column in columns.items()
    }
    most = {
        (j, *column): max(max(data.weights(j, h, to)) for h in data.spread[j])
        for j in data.rings
        for to, column in columns.items()
    }
    counted = [
        (j, l, *column) for j in data.rings for l in data.links for column in columns.values()
    ]
    m.counts = pyo.Var(
        counted,
        slots,
        bounds=lambda _, j, l, *column: (0, most[j, *column[:-1]]),
    )

    def if_active(m: Any, j: str, l: str, *rest: Any) -> Any:
        *column, t = rest
        own = weights[j, *column]
        return m.counts[j, l, *rest] >= (
            sum(weight * m.active_on[j, h, t] for h, weight in own.items())
            - max(own.values()) * (1 - m.uses[j, l])
        )

    m.counts_if_active = pyo.Constraint(counted, slots, rule=if_active)
    slowest = {
        (j, h): data.slowest_on(j, data.shapes[j][h])
        for j in data.rings
        if scope.jobs[j].times is not None
        for h in data.spread[j]
    }
    m.shape_is_that_of_the_slowest = pyo.Constraint(
        list(slowest),
        rule=lambda m, j, h: sum(m.on[j, s] for s in slowest[j, h]) >= m.spans[j, h],
    )


def _values_of_counts(outcome: ScheduleOutcome) -> dict[str, Values]:
    scope, label = outcome.scope, cache(partial(label_in, outcome))
    columns = {column: to for to, column in column_of(scope).items()}

    def counts(j: str, l: str, *rest: Any) -> int:
        *column, t = rest
        h = label(j)
        if h is None or l not in outcome.links[j] or not outcome.runs(j, t):
            return 0
        reached = coefficients(scope).reached(outcome.workers[j])
        return coefficients(scope).weight(j, h, columns[(*column,)], reached)

    names = [[name for (name,) in columns]] if len(columns) > 1 else []
    return {"counts": over_links(outcome, counts, *names, range(scope.horizon))}


LOADS_ON_LINKS = Component(
    "loads_on_links",
    loads_on_links,
    needs=("on", "spans", "active_on", "uses"),
    gives=("counts",),
    values=_values_of_counts,
    equal_weights=False,
)


def speed(m: Any, scope: Scope) -> None:
    """Speed of a ring in its shape, (7)–(8) with their floor, as if it were alone.

    With φ* the greatest φ_j(h, ℓ, 1) over all links, in shapes h on n ≥ 2 servers:

    ```
    progress_jht ≤ φ*·active_on_jht
    ```
    """
    data, slots = coefficients(scope), range(scope.horizon)
    m.progress = pyo.Var(data.spread_shapes, slots, domain=pyo.NonNegativeReals)
    m.speed_alone = pyo.Constraint(
        data.spread_shapes,
        slots,
        rule=lambda m, j, h, t: m.progress[j, h, t] <= data.lone[j, h] * m.active_on[j, h, t],
    )


def _values_of_progress(outcome: ScheduleOutcome) -> dict[str, Values]:
    scope, label = outcome.scope, cache(partial(label_in, outcome))

    def progress(j: str, h: Label, t: int) -> int:
        ring = outcome.ring(j, t) if label(j) == h else None
        return min(ring.speed, scope.jobs[j].iterations_left) if ring else 0

    spread = by_shape(
        outcome, progress, lambda j: coefficients(scope).spread[j], range(scope.horizon)
    )
    return {"progress": spread}


SPEED = Component(
    "speed", speed, needs=("active_on",), gives=("progress",), values=_values_of_progress
)


def slowed_by_rings(m: Any, scope: Scope) -> None:
    """No ring is faster than the number of rings on its links allows, (7)–(8).

    All of them weigh alike.

    With v = on_link_jlt, a = active_on_jht, φ(p) = φ_j(h, ℓ, p), Δ(p) = φ(p−1) − φ(p), drop
    D = φ(1) − φ(most rings), and φ* the greatest φ_j(h, ·, 1):

    ```
    progress_jht ≤ φ(1)·a − Σ_{p ≥ 2} Δ(p)·at_least_lpt + D·(1 − a) + (φ* − φ(1) + D)·(1 − v)
    ```

    If the ring is on the link (v = a = 1), this is the speed with p_ℓ rings; otherwise it has no
    effect.
    """
    data = coefficients(scope)

    def on_shared_link(m: Any, j: str, h: Label, l: str, t: int) -> Any:
        speeds = data.speeds(j, h, l)
        drop = speeds[0] - speeds[-1]
        slack = data.lone[j, h] - speeds[0] + drop
        if slack == 0:
            return pyo.Constraint.Skip
        active = m.active_on[j, h, t]
        drops = sum(
            (before - after) * m.at_least[l, p, t]
            for p, (before, after) in enumerate(pairwise(speeds), 2)
            if after < before
        )
        return m.progress[j, h, t] <= (
            drop + (speeds[0] - drop) * active - drops + slack * (1 - m.on_link[j, l, t])
        )

    m.speed_on_link = pyo.Constraint(
        [(j, h, l) for j, h in data.spread_shapes for l in data.links],
        range(scope.horizon),
        rule=on_shared_link,
    )


SLOWED_BY_RINGS = Component(
    "slowed",
    slowed_by_rings,
    needs=("progress", "active_on", "at_least", "on_link"),
    equal_weights=True,
)


@once_per_scope
def levels_of(scope: Scope) -> dict[str, list[int]]:
    """By job: its possible speeds above 0 between servers beside loads, ascending.

    Beside few others a ring has the speed that its network cards leave it, so these belong to them.
    """
    data, found = coefficients(scope), {}
    for j in data.rings:
        loads = loads_of(scope)[scope.sensitivity(j)]
        speeds: set[int] = set()
        for h in data.spread[j]:
            own, servers = data.shapes[j][h].pace, data.shapes[j][h].servers
            speeds.update(*(loads.speeds(own, servers, l) for l in data.links))
            speeds.update(capped_speed(own, servers, rate) for rate in data.rates_below(j, h))
        found[j] = sorted(speed for speed in speeds if speed > 0)
    return found


def slowed_by_loads(m: Any, scope: Scope) -> None:
    """No ring is faster than the load of its links allows, (8), by levels φ_j1 < φ_j2 < ….

    For each level i, shape h and link ℓ, with λ the greatest load of others that leaves φ_ji, and
    M the greatest load of other jobs, both to those of job j's sensitivity:

    ```
    Σ_h progress_jht ≤ Σ_i (φ_ji − φ_j(i−1))·reaches_jit      reaches_j(i+1)t ≤ reaches_jit
    Σ_{others} counts_lt ≤ λ + (M − λ)·(3 − reaches_jit − active_on_jht − on_link_jlt)
    ```
    """
    data, loads, levels = coefficients(scope), loads_of(scope), levels_of(scope)
    slots = range(scope.horizon)
    pairs = [(j, i) for j in data.rings for i in range(len(levels[j]))]
    m.reaches = pyo.Var(pairs, slots, domain=pyo.Binary)
    m.reaches_in_order = pyo.Constraint(
        [(j, i) for j, i in pairs if i > 0],
        slots,
        rule=lambda m, j, i, t: m.reaches[j, i, t] <= m.reaches[j, i - 1, t],
    )
    m.progress_as_reached = pyo.Constraint(
        data.rings,
        slots,
        rule=lambda m, j, t: (
            sum(m.progress[j, h, t] for h in data.spread[j])
            <= sum(
                (high - low) * m.reaches[j, i, t]
                for i, (low, high) in enumerate(pairwise([0, *levels[j]]))
            )
        ),
    )
    limits: dict[tuple[str, int, Label, str], int] = {}
    for j, h in data.spread_shapes:
        shape, own = data.shapes[j][h], loads[scope.sensitivity(j)]
        for i, level in enumerate(levels[j]):
            if level > data.lone[j, h]:
                break
            for l in data.links:
                limit = own.limit(shape.pace, shape.servers, l, level)
                if limit < own.most_beside(j, l):
                    limits[j, i, h, l] = limit
    columns = column_of(scope)

    def beside(m: Any, j: str, i: int, h: Label, l: str, t: int) -> Any:
        to = scope.sensitivity(j)
        others = sum(m.counts[o, l, *columns[to], t] for o in data.rings if o != j)
        limit = limits[j, i, h, l]
        misses = 3 - m.reaches[j, i, t] - m.active_on[j, h, t] - m.on_link[j, l, t]
        return others <= limit + (loads[to].most_beside(j, l) - limit) * misses

    m.slowed = pyo.Constraint(list(limits), slots, rule=beside)


def _levels_reached(outcome: ScheduleOutcome) -> dict[str, Values]:
    levels = levels_of(outcome.scope)

    def reaches(j: str, i: int, t: int) -> bool:
        ring = outcome.ring(j, t) if outcome.links[j] else None
        return ring is not None and ring.speed >= levels[j][i]

    return {"reaches": reached(outcome, levels, reaches)}


SLOWED_BY_LOADS = Component(
    "slowed",
    slowed_by_loads,
    needs=("progress", "counts", "active_on", "on_link"),
    gives=("reaches",),
    inner=_levels_reached,
    equal_weights=False,
)


def work(m: Any, scope: Scope) -> None:
    """All iterations are done by the completion, (9).

    ```
    Σ_t (Σ_{h on one server} φ_j(h)·active_on_jht + Σ_{h on several} progress_jht) ≥ F_j
    ```
    """
    data, slots = coefficients(scope), range(scope.horizon)

    def done(m: Any, j: str) -> Any:
        together = sum(
            shape.together * m.active_on[j, h, t]
            for h, shape in data.shapes[j].items()
            if shape.servers == 1
            for t in slots
        )
        spread = sum(m.progress[j, h, t] for h in data.spread[j] for t in slots)
        return together + spread >= scope.jobs[j].iterations_left

    m.work = pyo.Constraint(list(scope.jobs), rule=done)


WORK = Component("work", work, needs=("active_on", "progress"))
