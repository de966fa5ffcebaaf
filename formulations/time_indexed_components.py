"""The components of `time-indexed`: variables and constraints of one idea each.

`time_indexed` explains the variables. `time-indexed-preemptive` shares those of contention and
speed. The last word on a ring's speed depends on the form of the sharing rule: numbers of rings, or
loads of links.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pyomo.environ as pyo

from .caps import Cap, capacity_of, keep_caps, keep_servers, limits_of
from .component import Component
from .gpu_placements import shares
from .outcome import ScheduleOutcome
from .placement_classes import are_all_anywhere, class_of
from .placements import refused_slots
from .ring_links import links_count, values_of_ring_links
from .scope import Scope
from .sharing_forms import Rings, rings_of
from .time_indexed_numbers import (
    Numbers,
    able_ways,
    gpu_loads,
    holders,
    loads_of,
    numbers_of,
)
from .values import Values, over, reached


def placement(m: Any, scope: Scope) -> None:
    """One placement for each job, (1), (3) and (5); the job has it whenever it is active.

    With ρ_jk the execution time of job j alone in placement k:

    ```
    Σ_k placed_jk = 1      Σ_k active_in_jkt = running_jt      active_in_jkt ≤ placed_jk
    Σ_t active_in_jkt = ρ_jk·placed_jk    where nobody can
    Σ_t active_in_jkt ≥ ρ_jk·placed_jk    where others can slow the ring
    ```

    Placements that are alike are one class: see `workers_beyond_the_least`.
    """
    numbers, slots = numbers_of(scope), range(scope.horizon)
    options, pairs = numbers.options, numbers.pairs
    m.placed = pyo.Var(pairs, domain=pyo.Binary)
    m.active_in = pyo.Var(pairs, slots, domain=pyo.Binary)
    for refused in refused_slots(scope):
        m.active_in[refused].fix(0)
    m.one_placement = pyo.Constraint(
        list(scope.jobs),
        rule=lambda m, j: (
            sum(m.placed[j, k] for k in options[j]) == 1
            if options[j]
            else m.ended[j, scope.horizon] <= 0  # It is 1: there is no solution.
        ),
    )
    m.active_in_one = pyo.Constraint(
        [j for j in scope.jobs if options[j]],
        slots,
        rule=lambda m, j, t: sum(m.active_in[j, k, t] for k in options[j]) == m.running[j, t],
    )
    m.active_in_placed = pyo.Constraint(
        pairs, slots, rule=lambda m, j, k, t: m.active_in[j, k, t] <= m.placed[j, k]
    )

    def duration(m: Any, j: str, k: str) -> Any:
        way = options[j][k]
        slots_active = sum(m.active_in[j, k, t] for t in slots)
        if k in numbers.rings.get(j, ()):
            return slots_active >= way.least_slots * m.placed[j, k]
        return slots_active == way.least_slots * m.placed[j, k]

    m.duration = pyo.Constraint(pairs, rule=duration)
    if numbers.room:
        workers_beyond_the_least(m, scope)


def workers_beyond_the_least(m: Any, scope: Scope) -> None:
    """Which placement of a class a job has: the workers beyond the least on each server.

    With more_ks the most of them on server s in class k, and left_k all of them:

    ```
    extra_js ≤ Σ_k more_ks·placed_jk           Σ_s extra_js = Σ_k left_k·placed_jk
    extra_in_jst ≤ Σ_k more_ks·active_in_jkt   Σ_s extra_in_jst = Σ_k left_k·active_in_jkt
    extra_in_jst ≤ extra_js
    ```

    So a job that is active holds all that it has: the sums over its servers are equal.
    """
    numbers, slots = numbers_of(scope), range(scope.horizon)
    room, options = numbers.room, numbers.options
    where: dict[str, list[str]] = {}
    for j, s in room:
        where.setdefault(j, []).append(s)
    more = {
        (j, s): [(k, n) for k, way in options[j].items() if (n := way.more.get(s))] for j, s in room
    }
    left = {j: [(k, way.left) for k, way in options[j].items() if way.left] for j in where}
    m.extra = pyo.Var(
        list(room), domain=pyo.NonNegativeIntegers, bounds=lambda _, j, s: (0, room[j, s])
    )
    m.extra_in = pyo.Var(
        list(room), slots, domain=pyo.NonNegativeIntegers, bounds=lambda _, j, s, t: (0, room[j, s])
    )
    m.extra_fits = pyo.Constraint(
        list(room),
        rule=lambda m, j, s: m.extra[j, s] <= sum(n * m.placed[j, k] for k, n in more[j, s]),
    )
    m.extra_together = pyo.Constraint(
        list(where),
        rule=lambda m, j: (
            sum(m.extra[j, s] for s in where[j]) == sum(n * m.placed[j, k] for k, n in left[j])
        ),
    )
    m.extra_in_fits = pyo.Constraint(
        list(room),
        slots,
        rule=lambda m, j, s, t: (
            m.extra_in[j, s, t] <= sum(n * m.active_in[j, k, t] for k, n in more[j, s])
        ),
    )
    m.extra_in_together = pyo.Constraint(
        list(where),
        slots,
        rule=lambda m, j, t: (
            sum(m.extra_in[j, s, t] for s in where[j])
            == sum(n * m.active_in[j, k, t] for k, n in left[j])
        ),
    )
    m.extra_in_extra = pyo.Constraint(
        list(room), slots, rule=lambda m, j, s, t: m.extra_in[j, s, t] <= m.extra[j, s]
    )


def _placed(
    outcome: ScheduleOutcome,
    labels: Mapping[str, str | None],
    least: Mapping[str, Mapping[str, int]],
) -> dict[str, Values]:
    """Values of the placements that jobs have; the others, which may be very many, are 0.

    Parameters
    ----------
    outcome
        The schedule.
    labels, least
        By job: the label of its class of placements, and the least workers by server in this class.
    """
    scope = outcome.scope
    jobs, servers, slots = scope.jobs, scope.servers, range(scope.horizon)

    def known(j: str, k: str, *_: int) -> bool:
        return k == labels[j]

    def extra(j: str, s: str) -> int:
        return 0 if labels[j] is None else outcome.workers[j].get(s, 0) - least[j].get(s, 0)

    return {
        "placed": Values(known, lambda: list(labels.items()), lambda j, k: j in labels),
        "active_in": Values(
            lambda j, k, t: known(j, k) and outcome.runs(j, t),
            lambda: ((j, k, t) for j, k in labels.items() for t in slots),
            lambda j, k, t: j in labels and t in slots,
        ),
        "extra": over(extra, jobs, servers),
        "extra_in": over(lambda j, s, t: extra(j, s) * outcome.runs(j, t), jobs, servers, slots),
    }


def _values_of_placement(outcome: ScheduleOutcome) -> dict[str, Values]:
    classes = {j: class_of(outcome.scope, j, workers) for j, workers in outcome.workers.items()}
    labels = {j: one.label for j, one in classes.items()}
    return _placed(outcome, labels, {j: one.least for j, one in classes.items()})


def _listed_placement(outcome: ScheduleOutcome) -> dict[str, Values]:
    """The same by the labels of the model: servers may have names that read like labels."""
    numbers = numbers_of(outcome.scope)
    labels = {j: numbers.label(j, one[0]) for j, one in outcome.segments.items()}
    least = {j: {} if k is None else numbers.options[j][k].workers for j, k in labels.items()}
    return _placed(outcome, labels, least)


PLACEMENT = Component(
    "placement",
    placement,
    needs=("ended", "running"),
    gives=("placed", "active_in", "extra", "extra_in"),
    values=_values_of_placement,
    inner=_listed_placement,
)


def where_they_are(m: Any, scope: Scope) -> None:
    """Workers by server as expressions, for other components and for your own.

    ```
    workers_js = Σ_k y_js(k)·placed_jk + extra_js      on_js = Σ_{k on s} placed_jk
    held_jst = Σ_k y_js(k)·active_in_jkt + extra_in_jst      servers_used_j = Σ_s on_js
    ```

    with y_js(k) the least workers in class k. Where a job may be anywhere, `on` and `servers_used`
    are not those of its servers; where all jobs may be, servers follow from the starts, and there
    is nothing to say. No model that must have every schedule has such jobs.
    """
    if are_all_anywhere(scope):
        return
    numbers, jobs, servers = numbers_of(scope), list(scope.jobs), list(scope.servers)
    options, room = numbers.options, numbers.room
    using = {
        (j, s): [(k, way.workers[s]) for k, way in options[j].items() if s in way.workers]
        for j in jobs
        for s in servers
    }

    def workers(m: Any, j: str, s: str) -> Any:
        least = sum(n * m.placed[j, k] for k, n in using[j, s])
        return least + m.extra[j, s] if (j, s) in room else least

    def held(m: Any, j: str, s: str, t: int) -> Any:
        least = sum(n * m.active_in[j, k, t] for k, n in using[j, s])
        return least + m.extra_in[j, s, t] if (j, s) in room else least

    m.workers = pyo.Expression(jobs, servers, rule=workers)
    m.on = pyo.Expression(
        jobs, servers, rule=lambda m, j, s: sum(m.placed[j, k] for k, _ in using[j, s])
    )
    m.servers_used = pyo.Expression(
        jobs,
        rule=lambda m, j: sum(len(way.workers) * m.placed[j, k] for k, way in options[j].items()),
    )
    m.held = pyo.Expression(jobs, servers, range(scope.horizon), rule=held)


WHERE_THEY_ARE = Component(
    "where_they_are",
    where_they_are,
    needs=("placed", "active_in", "extra", "extra_in"),
    gives=("workers", "on", "servers_used", "held"),
)


def ring_links(m: Any, scope: Scope) -> None:
    """The links that a ring uses, for objectives in which links count (section 18).

    ```
    linked_jl = Σ_{k using ℓ} placed_jk
    ```
    """
    by_link = numbers_of(scope).by_link
    m.linked = pyo.Expression(
        list(by_link), rule=lambda m, j, l: sum(m.placed[j, k] for k in by_link[j, l])
    )


RING_LINKS = Component(
    "ring_links",
    ring_links,
    needs=("placed",),
    gives=("linked",),
    values=values_of_ring_links,
    when=links_count,
)


def capacity(m: Any, scope: Scope) -> None:
    """Capacity, (2) and (4): active jobs hold at most O_s GPUs of server s; other jobs hold none.

    ```
    Σ_j held_jst ≤ O_s − (reserved in slot t)
    Σ_j G_j·active_in_jkt ≤ Σ_s O_s              where all jobs may be anywhere
    ```

    In the second case a job finds as many GPUs idle when it starts as it needs, and keeps them.
    Otherwise see `rarmodel.formulations.caps`.
    """
    if not are_all_anywhere(scope):
        keep_servers(holders, m, scope)
        return
    total = Cap([scope.instance.cluster.total_gpus] * scope.horizon, {})
    if jobs := list(holders(m, scope)):  # There are none if no job meets its window.
        keep_caps(
            m, "capacity", {"all": total}, {"all": jobs}, lambda one, _, t: one.amount(int, t)
        )


def _alone_on_gpus(scope: Scope) -> bool:
    return not shares(scope)


CAPACITY = replace(
    capacity_of(holders, "active_in", "extra_in"), build=capacity, when=_alone_on_gpus
)
LIMITS = limits_of(holders, "active_in")


def count_rings(
    m: Any, scope: Scope, most: Mapping[str, int], rings: Callable[[str, int], Any]
) -> None:
    """Count the rings on links in unary.

    ```
    (rings on ℓ in slot t) ≤ 1 + Σ_{p ≥ 2} at_least_lpt      at_least_l(p+1)t ≤ at_least_lpt
    ```

    Parameters
    ----------
    m, scope
        The model.
    most
        By link: the most rings on it at once.
    rings
        The rings on a link in a slot, as an expression of the model.
    """
    slots = range(scope.horizon)
    counts = [(l, p) for l, high in most.items() for p in range(2, high + 1)]
    m.at_least = pyo.Var(counts, slots, domain=pyo.Binary)
    m.count_rings = pyo.Constraint(
        list(most),
        slots,
        rule=lambda m, l, t: (
            rings(l, t) <= 1 + sum(m.at_least[l, p, t] for p in range(2, most[l] + 1))
        ),
    )
    m.count_in_order = pyo.Constraint(
        [(l, p) for l, p in counts if p > 2],
        slots,
        rule=lambda m, l, p, t: m.at_least[l, p, t] <= m.at_least[l, p - 1, t],
    )


def rings_on_links(m: Any, scope: Scope) -> None:
    """Rings on each link in each slot, (6), where all weigh alike; see `count_rings`.

    ```
    Σ_{j, k using ℓ} active_in_jkt ≤ 1 + Σ_{p ≥ 2} at_least_lpt
    ```
    """
    numbers = numbers_of(scope)
    users = {l: numbers.users(l) for l in numbers.most_rings}
    count_rings(
        m, scope, numbers.most_rings, lambda l, t: sum(m.active_in[j, k, t] for j, k in users[l])
    )


RINGS_ON_LINKS = Component(
    "rings_on_links", rings_on_links, needs=("active_in",), gives=("at_least",), equal_weights=True
)


def speed(m: Any, scope: Scope) -> None:
    """Speed of a ring by levels φ_j1 < φ_j2 < …, (7)–(8) with their floor, as if it were alone.

    ```
    reaches_j(i+1)t ≤ reaches_jit
    reaches_jit ≤ Σ_{k reaching φ_ji alone} active_in_jkt
    ```

    The second is left out where the placements are those of the level below, which implies it.
    """
    slots, able = range(scope.horizon), _able(scope)
    m.reaches = pyo.Var(list(able), slots, domain=pyo.Binary)
    m.reaches_in_order = pyo.Constraint(
        [(j, i) for j, i in able if i > 0],
        slots,
        rule=lambda m, j, i, t: m.reaches[j, i, t] <= m.reaches[j, i - 1, t],
    )
    m.reaches_alone = pyo.Constraint(
        [(j, i) for j, i in able if i == 0 or able[j, i] != able[j, i - 1]],
        slots,
        rule=lambda m, j, i, t: m.reaches[j, i, t] <= sum(m.active_in[j, k, t] for k in able[j, i]),
    )


def _able(scope: Scope) -> dict[tuple[str, int], list[str]]:
    """By job and level: the placements that reach it alone."""
    return {key: list(ways) for key, ways in able_ways(scope).items()}


def _levels_reached(outcome: ScheduleOutcome) -> dict[str, Values]:
    levels, pressed = numbers_of(outcome.scope).levels, gpu_loads(outcome.scope)

    def reaches(j: str, i: int, t: int) -> bool:
        segment, ring = outcome.at(j, t), outcome.ring(j, t)
        if segment is None or ring is None or t < segment.up:
            return False
        if len(segment.workers) == 1 and len(pressed[j]) == 1:
            return False
        return ring.speed >= levels[j][i]

    return {"reaches": reached(outcome, levels, reaches)}


SPEED = Component("speed", speed, needs=("active_in",), gives=("reaches",), inner=_levels_reached)


def slowed_by_rings(m: Any, scope: Scope) -> None:
    """No ring is faster than the number of rings on its links allows, (7)–(8).

    All of them weigh alike.

    For each level i, link ℓ and ring count p, over the placements k that use ℓ, reach φ_ji alone,
    and do not reach it with p or more rings on ℓ:

    ```
    reaches_jit + at_least_lpt + Σ_k active_in_jkt ≤ 2
    ```
    """
    numbers, sharing = numbers_of(scope), rings_of(scope)
    slowed = _slowed(numbers, sharing, _able(scope))
    m.slowed = pyo.Constraint(
        list(slowed),
        range(scope.horizon),
        rule=lambda m, j, i, l, p, t: (
            m.reaches[j, i, t]
            + m.at_least[l, p, t]
            + sum(m.active_in[j, k, t] for k in slowed[j, i, l, p])
            <= 2
        ),
    )


def _slowed(
    numbers: Numbers, sharing: Rings, able: Mapping[tuple[str, int], list[str]]
) -> dict[tuple[str, int, str, int], list[str]]:
    """By job, level, link and number of rings: the placements that such rings keep below the level.

    Clauses that others imply are left out: `reaches` falls with the level and `at_least` with the
    number, so a clause implies those of higher levels and more rings with no other placement.
    """
    slowed: dict[tuple[str, int, str, int], list[str]] = {}
    for j, rings in numbers.rings.items():
        levels = numbers.levels[j]
        for l, most in numbers.most_rings.items():
            speeds = {
                k: sharing.speeds(way.pace, len(way.workers), l)
                for k, way in rings.items()
                if l in way.links
            }
            known: list[tuple[int, set[str]]] = []
            for p in range(2, most + 1):
                # A placement is first too slow for the level above its speed.
                first = {bisect_right(levels, by_rings[p - 1]) for by_rings in speeds.values()}
                for i in sorted(first):
                    able_here = able.get((j, i), ())
                    slow = [k for k in able_here if k in speeds and speeds[k][p - 1] < levels[i]]
                    if slow and not any(at <= i and some.issuperset(slow) for at, some in known):
                        slowed[j, i, l, p] = slow
                        known.append((i, set(slow)))
    return slowed


def slowed_by_loads(m: Any, scope: Scope) -> None:
    """No ring is faster than the load of its links allows, (7)–(8), with weights (section 14).

    With d_k what a ring counts in placement k to those of job j's sensitivity, M the greatest load
    of ℓ by other jobs, and over the placements k of job j that reach φ_ji up to a load λ < M of
    others on ℓ:

    ```
    Σ_{other jobs on ℓ} d_k·active_in_kt ≤ λ + (M − λ)·(2 − reaches_jit − Σ_k active_in_jkt)
    ```
    """
    numbers, loads = numbers_of(scope), loads_of(scope)
    weights = {
        (l, to): [(j, k, numbers.options[j][k].weights[to]) for j, k in numbers.users(l)]
        for l in numbers.most_rings
        for to in scope.sensitivities
    }
    slowed: dict[tuple[str, int, str, int], list[str]] = {}
    for (j, i), able in _able(scope).items():
        beside = loads[scope.sensitivity(j)]
        for k in able:
            way = numbers.rings[j][k]
            for l in way.links:
                limit = beside.limit(way.pace, len(way.workers), l, numbers.levels[j][i])
                if limit < beside.most_beside(j, l):
                    slowed.setdefault((j, i, l, limit), []).append(k)

    def rule(m: Any, j: str, i: int, l: str, limit: int, t: int) -> Any:
        to = scope.sensitivity(j)
        load = sum(n * m.active_in[o, k, t] for o, k, n in weights[l, to] if o != j)
        here = sum(m.active_in[j, k, t] for k in slowed[j, i, l, limit])
        slack = loads[to].most_beside(j, l) - limit
        return load <= limit + slack * (2 - m.reaches[j, i, t] - here)

    m.slowed = pyo.Constraint(list(slowed), range(scope.horizon), rule=rule)


SLOWED_BY_RINGS = Component(
    "slowed", slowed_by_rings, needs=("active_in", "at_least", "reaches"), equal_weights=True
)
SLOWED_BY_LOADS = Component(
    "slowed", slowed_by_loads, needs=("active_in", "reaches"), equal_weights=False
)


def work(m: Any, scope: Scope) -> None:
    """All iterations are done by the completion, (9), for rings on several servers.

    ```
    Σ_t Σ_i (φ_ji − φ_j(i−1))·reaches_jit ≥ F_j·Σ_{k on several servers} placed_jk
    ```
    """
    numbers, slots = numbers_of(scope), range(scope.horizon)

    def done(m: Any, j: str) -> Any:
        steps = [high - low for low, high in pairwise([0, *numbers.levels[j]])]
        progress = sum(step * m.reaches[j, i, t] for i, step in enumerate(steps) for t in slots)
        spread = sum(m.placed[j, k] for k in numbers.rings[j])
        return progress >= scope.jobs[j].iterations_left * spread

    m.work = pyo.Constraint(list(numbers.rings), rule=done)


WORK = Component("work", work, needs=("placed", "reaches"))
