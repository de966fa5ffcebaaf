"""Components of the compact formulation by duty, in place of `contention` and `speed`.

The links have one rate, so that the duty of a ring is a number of its shape.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyomo.environ as pyo

from .compact_coefficients import Coefficients, Label
from .loads import Loads


def loads_on_links(m: Any, data: Coefficients) -> None:
    """What each ring counts on each link in each slot; d_h is its duty in shape h, D the greatest.

    ```
    on_link_jlt ≥ uses_jl + running_jt − 1
    counts_jlt ≥ Σ_h d_h·active_on_jht − D·(1 − uses_jl)
    Σ_{s of the shape's slowest type} on_js ≥ spans_jh      where types of GPU make several shapes
    ```

    The last line is needed here alone: in the shape of a slower type a ring would count less.
    """
    most = {j: max(data.duty[j, h] for h in data.spread[j]) for j in data.rings}
    m.on_link = pyo.Var(data.rings, data.links, data.slots, bounds=(0, 1))
    m.counts = pyo.Var(data.rings, data.links, data.slots, bounds=lambda _, j, *__: (0, most[j]))
    m.on_link_if_active = pyo.Constraint(
        data.rings,
        data.links,
        data.slots,
        rule=lambda m, j, l, t: m.on_link[j, l, t] >= m.uses[j, l] + m.running[j, t] - 1,
    )
    m.counts_if_active = pyo.Constraint(
        data.rings,
        data.links,
        data.slots,
        rule=lambda m, j, l, t: (
            m.counts[j, l, t]
            >= sum(data.duty[j, h] * m.active_on[j, h, t] for h in data.spread[j])
            - most[j] * (1 - m.uses[j, l])
        ),
    )
    slowest = {
        (j, h): data.slowest_on(j, data.shapes[j][h])
        for j in data.rings
        if data.scope.jobs[j].times is not None
        for h in data.spread[j]
    }
    m.shape_is_that_of_the_slowest = pyo.Constraint(
        list(slowest),
        rule=lambda m, j, h: sum(m.on[j, s] for s in slowest[j, h]) >= m.spans[j, h],
    )


def levels_of(data: Coefficients, loads: Loads) -> dict[str, list[int]]:
    """By job: its possible speeds above 0 between servers, ascending."""
    return {
        j: sorted(
            {
                speed
                for h in data.spread[j]
                for l in data.links
                for speed in loads.speeds(data.shapes[j][h].pace, data.shapes[j][h].servers, l)
                if speed > 0
            }
        )
        for j in data.rings
    }


def speed_beside_loads(m: Any, data: Coefficients, loads: Loads) -> None:
    """Speed of a ring beside the loads of others, (8) with its floor, by levels φ_j1 < φ_j2 < ….

    For each level i, shape h and link ℓ, with λ the greatest load of others that leaves φ_ji, M
    the greatest load of other jobs, and φ* the speed alone in the shape:

    ```
    Σ_h active_on_jht = running_jt      active_on_jht ≤ spans_jh
    progress_jht ≤ φ*·active_on_jht
    Σ_h progress_jht ≤ Σ_i (φ_ji − φ_j(i−1))·reaches_jit      reaches_j(i+1)t ≤ reaches_jit
    Σ_{others} counts_lt ≤ λ + (M − λ)·(3 − reaches_jit − active_on_jht − on_link_jlt)
    ```
    """
    spread = [(j, h) for j in data.rings for h in data.spread[j]]
    levels = levels_of(data, loads)
    pairs = [(j, i) for j in data.rings for i in range(len(levels[j]))]
    m.reaches = pyo.Var(pairs, data.slots, domain=pyo.Binary)
    m.reaches_in_order = pyo.Constraint(
        [(j, i) for j, i in pairs if i > 0],
        data.slots,
        rule=lambda m, j, i, t: m.reaches[j, i, t] <= m.reaches[j, i - 1, t],
    )
    m.progress_as_reached = pyo.Constraint(
        data.rings,
        data.slots,
        rule=lambda m, j, t: (
            sum(m.progress[j, h, t] for h in data.spread[j])
            <= sum(
                (high - low) * m.reaches[j, i, t]
                for i, (low, high) in enumerate(pairwise([0, *levels[j]]))
            )
        ),
    )
    limits: dict[tuple[str, int, Label, str], int] = {}
    for j, h in spread:
        shape = data.shapes[j][h]
        for i, level in enumerate(levels[j]):
            if level > data.lone[j, h]:
                break
            for l in data.links:
                limit = loads.limit(shape.pace, shape.servers, l, level)
                if limit < loads.most_beside(j, l):
                    limits[j, i, h, l] = limit

    def beside(m: Any, j: str, i: int, h: Label, l: str, t: int) -> Any:
        others = sum(m.counts[o, l, t] for o in data.rings if o != j)
        limit = limits[j, i, h, l]
        misses = 3 - m.reaches[j, i, t] - m.active_on[j, h, t] - m.on_link[j, l, t]
        return others <= limit + (loads.most_beside(j, l) - limit) * misses

    m.slowed = pyo.Constraint(list(limits), data.slots, rule=beside)
