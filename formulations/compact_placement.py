"""Components of `time-indexed-compact`: where jobs are, what they hold, and which links they use.

`compact` explains the variables, and `compact_speeds` has the components of speed and work.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache, partial
from itertools import product
from typing import Any

import pyomo.environ as pyo

from .caps import Holder, capacity_of, limits_of
from .compact_coefficients import Label, coefficients
from .component import Component
from .outcome import ScheduleOutcome
from .placements import parts_of
from .ring_links import links_count, values_of_ring_links
from .scope import Scope, once_per_scope
from .sharing_forms import most_rings
from .values import Values, over


def placement(m: Any, scope: Scope) -> None:
    """Complete gangs, (1) and (5): the workers of a job add up to its ring, in one of its shapes.

    With w_h GPUs on n_h servers in shape h:

    ```
    Σ_s workers_js = Σ_h w_h·spans_jh      on_js ≤ workers_js ≤ min(O_s, w_j)·on_js
    Σ_h spans_jh = 1                       Σ_s on_js = Σ_h n_h·spans_jh
    on_js ≤ Σ_{h allowed on s} spans_jh    where not every shape is allowed
    workers_js ≤ Σ_h (w_h/n_h)·spans_jh    if each server has the same number of workers
    ```

    Bounds keep workers on the servers of a list, and those of running jobs where they are.
    """
    data, jobs, servers = coefficients(scope), list(scope.jobs), list(scope.servers)
    pairs = [(j, h) for j in jobs for h in data.shapes[j]]
    workers = data.workers
    m.workers = pyo.Var(
        jobs,
        servers,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda _, j, s: workers[j, s],
    )
    m.on = pyo.Var(
        jobs,
        servers,
        domain=pyo.Binary,
        bounds=lambda _, j, s: tuple(min(1, bound) for bound in workers[j, s]),
    )
    m.spans = pyo.Var(pairs, domain=pyo.Binary)
    m.servers_used = pyo.Expression(jobs, rule=lambda m, j: sum(m.on[j, s] for s in servers))

    def ring(m: Any, j: str) -> Any:
        if j in data.size:
            return data.size[j]
        return sum(shape.size * m.spans[j, h] for h, shape in data.shapes[j].items())

    m.gang = pyo.Constraint(
        jobs, rule=lambda m, j: sum(m.workers[j, s] for s in servers) == ring(m, j)
    )
    m.on_if_workers = pyo.Constraint(
        jobs,
        servers,
        rule=lambda m, j, s: m.workers[j, s] <= workers[j, s][1] * m.on[j, s],
    )
    m.workers_if_on = pyo.Constraint(
        jobs, servers, rule=lambda m, j, s: m.on[j, s] <= m.workers[j, s]
    )
    m.one_count = pyo.Constraint(
        jobs, rule=lambda m, j: sum(m.spans[j, h] for h in data.shapes[j]) == 1
    )
    m.count_servers = pyo.Constraint(
        jobs,
        rule=lambda m, j: (
            m.servers_used[j]
            == sum(shape.servers * m.spans[j, h] for h, shape in data.shapes[j].items())
        ),
    )
    if elsewhere := {
        (j, s): [h for h, shape in data.shapes[j].items() if s in shape.on]
        for j in jobs
        for s in servers
        if workers[j, s][1] > 0 and any(s not in shape.on for shape in data.shapes[j].values())
    }:
        m.shape_allows = pyo.Constraint(
            list(elsewhere),
            rule=lambda m, j, s: m.on[j, s] <= sum(m.spans[j, h] for h in elsewhere[j, s]),
        )
    if equal := [
        j
        for j, job in scope.jobs.items()
        if job.running is None and job.spread is not None and job.spread.equal and data.spread[j]
    ]:
        m.equal_workers = pyo.Constraint(
            equal,
            servers,
            rule=lambda m, j, s: (
                m.workers[j, s]
                <= sum(
                    shape.size // shape.servers * m.spans[j, h]
                    for h, shape in data.shapes[j].items()
                )
            ),
        )


def by_shape(
    outcome: ScheduleOutcome,
    at: Callable[..., float],
    labels: Callable[[str], Iterable[Label]],
    *sets: range,
) -> Values:
    """Values by job and shape, and perhaps slot; the shapes are found when they are needed."""
    jobs = outcome.scope.jobs
    return Values(
        at,
        lambda: ((j, h, *more) for j in jobs for h in labels(j) for more in product(*sets)),
        lambda j, h, *more: (
            j in jobs
            and h in labels(j)
            and len(more) == len(sets)
            and all(one in those for one, those in zip(more, sets, strict=True))
        ),
    )


def label_in(outcome: ScheduleOutcome, j: str) -> Label | None:
    """The shape of a job's ring in a schedule."""
    return coefficients(outcome.scope).label(j, outcome.workers[j])


def shapes_of(outcome: ScheduleOutcome, j: str) -> Iterable[Label]:
    """The shapes of a job."""
    return coefficients(outcome.scope).shapes[j]


def _values_of_placement(outcome: ScheduleOutcome) -> dict[str, Values]:
    shapes, label = partial(shapes_of, outcome), cache(partial(label_in, outcome))
    return {"spans": by_shape(outcome, lambda j, h: label(j) == h, shapes)}


PLACEMENT = Component(
    "placement",
    placement,
    gives=("workers", "on", "spans", "servers_used"),
    values=_values_of_placement,
)


@once_per_scope
def parts_of_rings(scope: Scope) -> dict[str, list[list[str]]]:
    """By job that must stay within one of several parts of the network: their servers."""
    found = {
        j: [[server.name for server in part] for part in parts_of(scope, job)]
        for j, job in scope.jobs.items()
        if job.running is None and job.spread is not None and job.spread.within is not None
    }
    return {j: parts for j, parts in found.items() if len(parts) > 1}


def nearness(m: Any, scope: Scope) -> None:
    """A ring that must stay within one node of a level is in one part of the network (section 18).

    ```
    Σ_g in_part_jg = 1      on_js ≤ in_part_jg      s a server of part g
    ```
    """
    parts = parts_of_rings(scope)
    pairs = [(j, g) for j, some in parts.items() for g in range(len(some))]
    m.in_part = pyo.Var(pairs, domain=pyo.Binary)
    m.in_one_part = pyo.Constraint(
        list(parts), rule=lambda m, j: sum(m.in_part[j, g] for g in range(len(parts[j]))) == 1
    )
    m.on_in_part = pyo.Constraint(
        [(j, g, s) for j, g in pairs for s in parts[j][g]],
        rule=lambda m, j, g, s: m.on[j, s] <= m.in_part[j, g],
    )


def _values_of_nearness(outcome: ScheduleOutcome) -> dict[str, Values]:
    parts = parts_of_rings(outcome.scope)
    return {
        "in_part": Values(
            lambda j, g: not outcome.workers[j].keys().isdisjoint(parts[j][g]),
            lambda: ((j, g) for j, some in parts.items() for g in range(len(some))),
            lambda j, g: j in parts and g in range(len(parts[j])),
        )
    }


NEARNESS = Component(
    "nearness",
    nearness,
    needs=("on",),
    gives=("in_part",),
    values=_values_of_nearness,
    when=lambda scope: bool(parts_of_rings(scope)),
)


def active_shapes(m: Any, scope: Scope) -> None:
    """In which shape a job is active, slot by slot.

    ```
    Σ_h active_on_jht = running_jt      active_on_jht ≤ spans_jh
    ```
    """
    data, slots = coefficients(scope), range(scope.horizon)
    pairs = [(j, h) for j in scope.jobs for h in data.shapes[j]]
    m.active_on = pyo.Var(pairs, slots, bounds=(0, 1))
    m.active_on_some = pyo.Constraint(
        list(scope.jobs),
        slots,
        rule=lambda m, j, t: sum(m.active_on[j, h, t] for h in data.shapes[j]) == m.running[j, t],
    )
    m.active_on_used = pyo.Constraint(
        pairs, slots, rule=lambda m, j, h, t: m.active_on[j, h, t] <= m.spans[j, h]
    )


def _values_of_shapes(outcome: ScheduleOutcome) -> dict[str, Values]:
    shapes, label = partial(shapes_of, outcome), cache(partial(label_in, outcome))

    def active(j: str, h: Label, t: int) -> bool:
        return label(j) == h and outcome.runs(j, t)

    return {"active_on": by_shape(outcome, active, shapes, range(outcome.scope.horizon))}


ACTIVE_SHAPES = Component(
    "active_shapes",
    active_shapes,
    needs=("running", "spans"),
    gives=("active_on",),
    values=_values_of_shapes,
)


def held(m: Any, scope: Scope) -> None:
    """Active jobs hold their GPUs, (4), all at once; other jobs hold none.

    With w_h the ring size in shape h:

    ```
    held_jst ≥ workers_js − min(O_s, w_j)·(1 − running_jt)      held_jst ≤ workers_js
    Σ_s held_jst = Σ_h w_h·active_on_jht, or w_j·running_jt for a job of one size
    ```
    """
    data, slots = coefficients(scope), range(scope.horizon)
    jobs, servers = list(scope.jobs), list(scope.servers)
    most = {index: high for index, (_, high) in data.workers.items()}
    m.held = pyo.Var(jobs, servers, slots, bounds=lambda _, j, s, __: (0, most[j, s]))
    m.held_if_active = pyo.Constraint(
        jobs,
        servers,
        slots,
        rule=lambda m, j, s, t: (
            m.held[j, s, t] >= m.workers[j, s] - most[j, s] * (1 - m.running[j, t])
        ),
    )
    m.held_is_placed = pyo.Constraint(
        jobs, servers, slots, rule=lambda m, j, s, t: m.held[j, s, t] <= m.workers[j, s]
    )
    m.all_held = pyo.Constraint(
        jobs,
        slots,
        rule=lambda m, j, t: (
            sum(m.held[j, s, t] for s in servers)
            == (data.size[j] * m.running[j, t] if j in data.size else _size_held(m, scope, j, t))
        ),
    )


def _size_held(m: Any, scope: Scope, j: str, t: int, amount: Callable[[int], int] = int) -> Any:
    """GPUs that a job holds in a slot, by its shape; or another amount that depends on these."""
    shapes = coefficients(scope).shapes[j]
    return sum(amount(shape.size) * m.active_on[j, h, t] for h, shape in shapes.items())


HELD = Component("held", held, needs=("running", "workers", "active_on"), gives=("held",))


def holders(m: Any, scope: Scope) -> Iterator[Holder]:
    """Each job holds its GPUs."""
    workers = coefficients(scope).workers
    for j, job in scope.jobs.items():
        yield Holder(
            j,
            job.running is not None,
            {s: workers[j, s][1] for s in scope.servers},
            lambda s, t, j=j: m.held[j, s, t],  # type: ignore[misc]
            lambda amount, t, j=j: _size_held(m, scope, j, t, amount),  # type: ignore[misc]
        )


CAPACITY = capacity_of(holders, "held")
LIMITS = limits_of(holders, "active_on")


def link_use(m: Any, scope: Scope) -> None:
    """The links that a ring uses, reading 4: those with workers of the ring below and above.

    ```
    below_jl ≥ on_js for s below ℓ      above_jl ≥ on_js for the other s
    uses_jl ≥ below_jl + above_jl − 1
    ```
    """
    data = coefficients(scope)
    m.below = pyo.Var(data.rings, data.links, bounds=(0, 1))
    m.above = pyo.Var(data.rings, data.links, bounds=(0, 1))
    m.uses = pyo.Var(data.rings, data.links, bounds=(0, 1))
    m.worker_below = pyo.Constraint(
        [(j, l, s) for j in data.rings for l in data.links for s in scope.below[l]],
        rule=lambda m, j, l, s: m.below[j, l] >= m.on[j, s],
    )
    m.worker_above = pyo.Constraint(
        [
            (j, l, s)
            for j in data.rings
            for l in data.links
            for s in scope.servers
            if s not in scope.below[l]
        ],
        rule=lambda m, j, l, s: m.above[j, l] >= m.on[j, s],
    )
    m.use_if_both = pyo.Constraint(
        data.rings,
        data.links,
        rule=lambda m, j, l: m.uses[j, l] >= m.below[j, l] + m.above[j, l] - 1,
    )
    # A ring on several servers uses the link of each: what `use_if_both` says of whole numbers,
    # said so that it holds back fractions too.
    server_links = {l: below[0] for l in data.links if len(below := scope.below[l]) == 1}
    m.use_server_link = pyo.Constraint(
        [(j, l) for j in data.rings for l in server_links],
        rule=lambda m, j, l: (
            m.uses[j, l]
            >= m.on[j, server_links[l]]
            - sum(m.spans[j, h] for h, shape in data.shapes[j].items() if shape.servers == 1)
        ),
    )


def over_links(
    outcome: ScheduleOutcome, at: Callable[..., float], *sets: Collection[str | int]
) -> Values:
    """Values by job that may use several servers, and link, and perhaps slot and more."""
    scope = outcome.scope

    def can_ring(j: str, *_: str | int) -> bool:
        return bool(coefficients(scope).spread[j])

    return over(at, scope.jobs, most_rings(scope), *sets, where=can_ring)


def _values_of_links(outcome: ScheduleOutcome) -> dict[str, Values]:
    o = outcome
    below = {l: frozenset(o.scope.below[l]) for l in most_rings(o.scope)}
    return {
        "below": over_links(o, lambda j, l: not below[l].isdisjoint(o.workers[j])),
        "above": over_links(o, lambda j, l: not below[l].issuperset(o.workers[j])),
        "uses": over_links(o, lambda j, l: l in o.links[j]),
    }


LINK_USE = Component(
    "link_use",
    link_use,
    needs=("on", "spans"),
    gives=("below", "above", "uses"),
    values=_values_of_links,
)


def ring_links(m: Any, scope: Scope) -> None:
    """The links that a ring uses, for objectives in which links count (section 18).

    ```
    linked_jl = uses_jl
    ```
    """
    data = coefficients(scope)
    m.linked = pyo.Expression(data.rings, data.links, rule=lambda m, j, l: m.uses[j, l])


RING_LINKS = Component(
    "ring_links",
    ring_links,
    needs=("uses",),
    gives=("linked",),
    values=values_of_ring_links,
    when=links_count,
)
