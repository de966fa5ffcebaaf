"""Components of `time-indexed-compact`: rings over servers with several network cards.

A ring with y workers on a server of n cards reaches `min(1, y/n)` of the rate of its link (section
20). Which rate a ring reaches depends on all of its workers, and no shape has these. But bandwidth
is the least over servers and links, and speed falls with it. So each server alone sets a limit to
the speed, by its workers there, and the least of the limits is the speed, floor included.

`compact` explains the variables.
"""

from __future__ import annotations

from functools import cache, partial
from itertools import pairwise
from typing import Any

import pyomo.environ as pyo

from .compact_coefficients import Label, coefficients
from .compact_placement import label_in
from .component import Component
from .outcome import ScheduleOutcome
from .scope import Scope, once_per_scope
from .sharing_forms import capped_speed, column_of
from .values import Values


def _has_cards(scope: Scope) -> bool:
    return bool(_most_fed(scope))


@once_per_scope
def _most_fed(scope: Scope) -> dict[tuple[str, str], int]:
    """By ring and server with several network cards: the most workers that feed more of them."""
    data = coefficients(scope)
    return {
        (j, s): min(server.network_cards, data.workers[j, s][1])
        for j in data.rings
        for s, server in scope.servers.items()
        if server.network_cards > 1 and data.workers[j, s][1] > 0
    }


def _rates(scope: Scope, j: str, s: str) -> tuple[float, ...]:
    """The rates that 1, 2, … workers of a ring reach on a server with several cards."""
    return coefficients(scope).card_rates(s, _most_fed(scope)[j, s])


def workers_at_cards(m: Any, scope: Scope) -> None:
    """How many workers a ring has on a server with n_s network cards, as far as cards are idle.

    For y = 2 … min(n_s, O_s, w_j):

    ```
    Σ_y has_jsy ≤ workers_js − on_js      has_js(y+1) ≤ has_jsy
    ```
    """
    most = _most_fed(scope)
    index = [(j, s, y) for (j, s), fed in most.items() for y in range(2, fed + 1)]
    m.has = pyo.Var(index, domain=pyo.Binary)
    m.has_workers = pyo.Constraint(
        [key for key, fed in most.items() if fed > 1],
        rule=lambda m, j, s: (
            sum(m.has[j, s, y] for y in range(2, most[j, s] + 1)) <= m.workers[j, s] - m.on[j, s]
        ),
    )
    m.has_in_order = pyo.Constraint(
        [(j, s, y) for j, s, y in index if y > 2],
        rule=lambda m, j, s, y: m.has[j, s, y] <= m.has[j, s, y - 1],
    )


def _values_of_has(outcome: ScheduleOutcome) -> dict[str, Values]:
    most = _most_fed(outcome.scope)
    return {
        "has": Values(
            lambda j, s, y: outcome.workers[j].get(s, 0) >= y,
            lambda: ((j, s, y) for (j, s), fed in most.items() for y in range(2, fed + 1)),
            lambda j, s, y: y in range(2, most.get((j, s), 0) + 1),
        )
    }


WORKERS_AT_CARDS = Component(
    "workers_at_cards",
    workers_at_cards,
    needs=("workers", "on"),
    gives=("has",),
    values=_values_of_has,
    when=_has_cards,
)


def weighs_by_cards(m: Any, scope: Scope) -> None:
    """Rings whose cards are idle exchange for longer, so they count more on links, with weights.

    With d_h(y) the weight in shape h of a ring with y workers on server s and enough elsewhere,
    for each sensitivity, if there are several, and D the greatest weight of all:

    ```
    weighs_j ≥ d_h(1) − Σ_{y ≥ 2} (d_h(y−1) − d_h(y))·has_jsy − d_h(1)·(2 − on_js − spans_jh)
    counts_jlt ≥ weighs_j − D·(2 − uses_jl − running_jt)
    ```

    Where all cards are in use, `loads_on_links` says what a ring counts.
    """
    data, slots, columns = coefficients(scope), range(scope.horizon), column_of(scope)
    most = {
        (j, *column): max(max(data.weights(j, h, to)) for h in data.spread[j])
        for j in data.rings
        for to, column in columns.items()
    }
    m.weighs = pyo.Var(list(most), bounds=lambda _, *key: (0, most[key]))

    def by_workers(m: Any, j: str, h: Label, s: str, to: int) -> Any:
        own = [data.weight(j, h, to, rate) for rate in _rates(scope, j, s)]
        if own[0] == data.weight(j, h, to):
            return pyo.Constraint.Skip
        less = sum(
            (before - after) * m.has[j, s, y]
            for y, (before, after) in enumerate(pairwise(own), 2)
            if after < before
        )
        return m.weighs[(j, *columns[to])] >= (
            own[0] - less - own[0] * (2 - m.on[j, s] - m.spans[j, h])
        )

    m.weighs_by_workers = pyo.Constraint(
        [
            (j, h, s, to)
            for j, s in _most_fed(scope)
            for h in data.spread[j]
            if s in data.shapes[j][h].on
            for to in columns
        ],
        rule=by_workers,
    )
    m.counts_by_cards = pyo.Constraint(
        [(j, l, *key) for j, *key in most for l in data.links],
        slots,
        rule=lambda m, j, l, *rest: (
            m.counts[j, l, *rest]
            >= m.weighs[(j, *rest[:-1])]
            - most[(j, *rest[:-1])] * (2 - m.uses[j, l] - m.running[j, rest[-1]])
        ),
    )


def _values_of_weights(outcome: ScheduleOutcome) -> dict[str, Values]:
    scope, data = outcome.scope, coefficients(outcome.scope)
    label = cache(partial(label_in, outcome))
    columns = {column: to for to, column in column_of(scope).items()}

    def weighs(j: str, *column: str) -> int:
        h = label(j)
        if h not in data.spread[j]:
            return 0
        return data.weight(j, h, columns[column], data.reached(outcome.workers[j]))

    def keys() -> Any:
        return ((j, *column) if column else j for j in data.rings for column in columns)

    return {
        "weighs": Values(weighs, keys, lambda j, *column: j in data.rings and column in columns)
    }


WEIGHS_BY_CARDS = Component(
    "weighs_by_cards",
    weighs_by_cards,
    needs=("has", "on", "spans", "uses", "running", "counts"),
    gives=("weighs",),
    inner=_values_of_weights,
    equal_weights=False,
    when=_has_cards,
)


def slowed_by_cards(m: Any, scope: Scope) -> None:
    """No ring is faster than the network cards that it feeds on each of its servers, (8).

    With a = active_on_jht, φ(y) = φ_j(h, ·) where y workers on server s set the bandwidth, and φ*
    as in `speed`:

    ```
    progress_jht ≤ φ*·a − (φ* − φ(1))·(a + on_js − 1) + Σ_{y ≥ 2} (φ(y) − φ(y−1))·has_jsy
    ```

    With y workers on the server this is φ(y) while the ring is active; without any it is φ*.
    """
    data = coefficients(scope)

    def by_workers(m: Any, j: str, h: Label, s: str, t: int) -> Any:
        shape, most = data.shapes[j][h], data.lone[j, h]
        speeds = [
            min(most, capped_speed(shape.pace, shape.servers, rate)) for rate in _rates(scope, j, s)
        ]
        if speeds[0] == most:
            return pyo.Constraint.Skip
        active = m.active_on[j, h, t]
        more = sum(
            (after - before) * m.has[j, s, y]
            for y, (before, after) in enumerate(pairwise(speeds), 2)
            if after > before
        )
        return m.progress[j, h, t] <= (
            most * active - (most - speeds[0]) * (active + m.on[j, s] - 1) + more
        )

    m.speed_by_cards = pyo.Constraint(
        [
            (j, h, s)
            for j, s in _most_fed(scope)
            for h in data.spread[j]
            if s in data.shapes[j][h].on
        ],
        range(scope.horizon),
        rule=by_workers,
    )


SLOWED_BY_CARDS = Component(
    "slowed_by_cards",
    slowed_by_cards,
    needs=("progress", "active_on", "on", "has"),
    when=_has_cards,
)
