"""The components of `time-indexed-preemptive`: variables and constraints of one idea each.

`time_indexed_preemptive` explains the variables. Contention, speed and makespan are those of
`time-indexed`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pyomo.environ as pyo

from rarmodel.model.interruptions import (
    checkpoint_interval,
    kept_iterations,
    loses_work,
    may_stop,
)
from rarmodel.model.timing import restore_slots

from .caps import capacity_of, limits_of
from .component import Component
from .outcome import ScheduleOutcome, SimulatedSegment
from .placements import OWN, refused_slots
from .ring_links import links_count
from .scope import Scope
from .time_indexed_numbers import Numbers, holders, numbers_of
from .values import Values, over


def _moved(numbers: Numbers) -> list[tuple[str, str]]:
    """Jobs and their placements, without the GPUs of running jobs."""
    return [(j, k) for j, k in numbers.pairs if k != OWN]


def holding(m: Any, scope: Scope) -> None:
    """A gang of one placement, or nothing, in each slot from the start to the completion, (1).

    ```
    Σ_k holds_jkt ≤ started[j,t] − ended[j,t]
    started[j,t] − started[j,t−1] ≤ Σ_k holds_jkt      jobs that do not run at slot 0
    holds_jkt ≤ holds_jk(t−1)          t > 0, k the GPUs that a running job has
    ```
    """
    numbers, slots = numbers_of(scope), range(scope.horizon)
    options = numbers.options
    m.holds = pyo.Var(numbers.pairs, slots, domain=pyo.Binary)
    for refused in refused_slots(scope):
        m.holds[refused].fix(0)
    able = [j for j in scope.jobs if options[j]]
    m.holds_one = pyo.Constraint(
        able,
        slots,
        rule=lambda m, j, t: sum(m.holds[j, k, t] for k in options[j]) <= m.running[j, t],
    )
    m.starts_with_gpus = pyo.Constraint(
        [j for j in able if scope.jobs[j].running is None],
        slots,
        rule=lambda m, j, t: (
            m.started[j, t] - (m.started[j, t - 1] if t else 0)
            <= sum(m.holds[j, k, t] for k in options[j])
        ),
    )
    if owners := [j for j in able if OWN in options[j]]:
        m.stays_own = pyo.Constraint(
            owners,
            slots[1:],
            rule=lambda m, j, t: m.holds[j, OWN, t] <= m.holds[j, OWN, t - 1],
        )
    m.held = pyo.Expression(
        list(scope.jobs),
        list(scope.servers),
        slots,
        rule=lambda m, j, s, t: sum(
            way.workers[s] * m.holds[j, k, t] for k, way in options[j].items() if s in way.workers
        ),
    )


def _placed(outcome: ScheduleOutcome, j: str, k: str, t: int) -> SimulatedSegment | None:
    """The segment that a job holds in a placement in a slot."""
    segment = outcome.at(j, t)
    if segment is None or numbers_of(outcome.scope).label(j, segment) != k:
        return None
    return segment


def _values_of_holding(outcome: ScheduleOutcome) -> dict[str, Values]:
    return {"holds": _over_placements(outcome, lambda j, k, t: bool(_placed(outcome, j, k, t)))}


def _over_placements(outcome: ScheduleOutcome, at: Callable[[str, str, int], bool]) -> Values:
    options, slots = numbers_of(outcome.scope).options, range(outcome.scope.horizon)
    labels = {k for ways in options.values() for k in ways}
    return over(at, options, labels, slots, where=lambda j, k, _: k in options[j])


HOLDING = Component(
    "holding",
    holding,
    needs=("started", "running"),
    gives=("holds", "held"),
    inner=_values_of_holding,
)


def ring_links(m: Any, scope: Scope) -> None:
    """The links that a ring uses in a slot, for objectives in which links count (section 18).

    ```
    linked_jlt = Σ_{k using ℓ} holds_jkt
    ```
    """
    by_link = numbers_of(scope).by_link
    m.linked = pyo.Expression(
        list(by_link),
        range(scope.horizon),
        rule=lambda m, j, l, t: sum(m.holds[j, k, t] for k in by_link[j, l]),
    )


RING_LINKS = Component(
    "ring_links", ring_links, needs=("holds",), gives=("linked",), when=links_count
)
CAPACITY = capacity_of(holders, "holds")
LIMITS = limits_of(holders, "holds")


def restoration(m: Any, scope: Scope) -> None:
    """Segments begin with R slots of restoration, but for a job's first (section 11).

    A segment begins where a job has not held the placement before, and may begin anew where it
    has. A running job on its own GPUs began before slot 0.

    ```
    active_in_jkt ≤ holds_jkt          begins_jkt ≤ holds_jkt
    holds_jkt − holds_jk(t−1) ≤ begins_jkt
    first_jkt ≤ begins_jkt             Σ_k first_jkt = started[j,t] − started[j,t−1]
    active_in_jkt + begins_jku − first_jku ≤ 1                           t−R < u ≤ t
    active_in_jkt ≥ holds_jkt − Σ_{t−R < u ≤ t} (begins_jku − first_jku)
    Σ_kt begins_jkt ≤ 1                jobs that may not be interrupted
    ```
    """
    numbers, slots, wait = numbers_of(scope), range(scope.horizon), restore_slots(scope.instance)
    pairs, moved = numbers.pairs, _moved(numbers)
    once = {j for j, job in scope.jobs.items() if not may_stop(scope.instance, job)}
    m.active_in = pyo.Var(pairs, slots, domain=pyo.Binary)
    m.active_if_held = pyo.Constraint(
        pairs, slots, rule=lambda m, j, k, t: m.active_in[j, k, t] <= m.holds[j, k, t]
    )
    if wait or once:
        m.begins = pyo.Var(moved, slots, domain=pyo.Binary)
        m.begins_with_gpus = pyo.Constraint(
            moved, slots, rule=lambda m, j, k, t: m.begins[j, k, t] <= m.holds[j, k, t]
        )
        m.begins_if_new = pyo.Constraint(
            moved,
            slots,
            rule=lambda m, j, k, t: (
                m.holds[j, k, t] - (m.holds[j, k, t - 1] if t else 0) <= m.begins[j, k, t]
            ),
        )
    if once:
        m.begins_once = pyo.Constraint(
            sorted(once.intersection(j for j, _ in moved)),
            rule=lambda m, j: (
                sum(m.begins[j, k, t] for k in numbers.options[j] for t in slots) <= 1
            ),
        )
    fresh = [(j, k) for j, k in moved if scope.jobs[j].running is None]
    if wait:
        m.first = pyo.Var(fresh, slots, domain=pyo.Binary)
        m.first_if_begins = pyo.Constraint(
            fresh, slots, rule=lambda m, j, k, t: m.first[j, k, t] <= m.begins[j, k, t]
        )
        m.first_at_start = pyo.Constraint(
            sorted({j for j, _ in fresh}),
            slots,
            rule=lambda m, j, t: (
                sum(m.first[j, k, t] for k in numbers.options[j])
                == m.started[j, t] - (m.started[j, t - 1] if t else 0)
            ),
        )

    def restores(m: Any, j: str, k: str, t: int) -> Any:
        return m.begins[j, k, t] - (m.first[j, k, t] if scope.jobs[j].running is None else 0)

    windows = {t: range(max(0, t - wait + 1), t + 1) if wait else () for t in slots}
    if wait:
        m.not_while_restored = pyo.Constraint(
            [(j, k, t, u) for j, k in moved for t in slots for u in windows[t]],
            rule=lambda m, j, k, t, u: m.active_in[j, k, t] + restores(m, j, k, u) <= 1,
        )
    m.active_when_restored = pyo.Constraint(
        pairs,
        slots,
        rule=lambda m, j, k, t: (
            m.active_in[j, k, t]
            >= m.holds[j, k, t] - (0 if k == OWN else sum(restores(m, j, k, u) for u in windows[t]))
        ),
    )


def _values_of_restoration(outcome: ScheduleOutcome) -> dict[str, Values]:
    def active(j: str, k: str, t: int) -> bool:
        segment = _placed(outcome, j, k, t)
        return segment is not None and t >= segment.up

    def begins(j: str, k: str, t: int) -> bool:
        segment = _placed(outcome, j, k, t)
        return segment is not None and segment.start == t

    def first(j: str, k: str, t: int) -> bool:
        segment = _placed(outcome, j, k, t)
        return segment is not None and segment.start == t and segment.first

    found = {"active_in": active, "begins": begins, "first": first}
    return {name: _over_placements(outcome, at) for name, at in found.items()}


RESTORATION = Component(
    "restoration",
    restoration,
    needs=("started", "holds"),
    gives=("active_in", "begins", "first"),
    inner=_values_of_restoration,
)


def _progress(m: Any, numbers: Numbers, j: str, t: int) -> Any:
    """Iterations that a job does in a slot."""
    packed = [(k, way.alone) for k, way in numbers.options[j].items() if not way.links]
    steps = [high - low for low, high in pairwise([0, *numbers.levels.get(j, ())])]
    return sum(speed * m.active_in[j, k, t] for k, speed in packed) + sum(
        step * m.reaches[j, i, t] for i, step in enumerate(steps)
    )


def work(m: Any, scope: Scope) -> None:
    """All iterations are done by the completion, (9): in whole numbers, slot by slot.

    ```
    Σ_t (Σ_{k on one server} φ_jk·active_in_jkt + Σ_i (φ_ji − φ_j(i−1))·reaches_jit) ≥ F_j
    ```
    """
    numbers, slots = numbers_of(scope), range(scope.horizon)

    def done(m: Any, j: str) -> Any:
        if not numbers.options[j]:
            return m.ended[j, scope.horizon] <= 0  # It is 1: there is no solution.
        return sum(_progress(m, numbers, j, t) for t in slots) >= scope.jobs[j].iterations_left

    m.work = pyo.Constraint(list(scope.jobs), rule=done)


WORK = Component("work", work, needs=("ended", "active_in", "reaches"))


def _losers(scope: Scope) -> list[str]:
    """Jobs with a placement that lose work when they are interrupted."""
    options = numbers_of(scope).options
    return [j for j, job in scope.jobs.items() if loses_work(scope.instance, job) and options[j]]


def lost_work(m: Any, scope: Scope) -> None:
    """An interruption keeps whole intervals of C_j iterations, all of a job's counted (section 18).

    With `progress_jt` the iterations of slot t, as `work` has them, and n_j those behind a job that
    runs at slot 0, of which it keeps n'_j if it does not stay there:

    ```
    kept_j0 = n'_j + (n_j − n'_j)·holds_j(own)0
    kept_j(t+1) ≤ kept_jt + progress_jt            kept_jH ≥ F_j
    stops_jt ≥ holds_jk(t−1) − holds_jkt − ended_jt
    stops_jt ≥ holds_jk(t−1) + begins_jkt − 1
    kept_jt ≤ C_j·checkpoints_jt + F_j·(1 − stops_jt)
    C_j·checkpoints_jt ≤ kept_j(t−1) + progress_j(t−1)
    ```

    A job without checkpoints has `kept_jt ≤ F_j·(1 − stops_jt)` in place of the last two.
    """
    numbers, slots = numbers_of(scope), range(scope.horizon)
    losers = _losers(scope)
    every = {j: checkpoint_interval(scope.jobs[j]) for j in losers}
    some = [j for j in losers if every[j]]
    total = {j: scope.jobs[j].iterations for j in losers}
    held = [(j, k) for j, k in numbers.pairs if j in every]
    m.kept = pyo.Var(
        losers,
        range(scope.horizon + 1),
        domain=pyo.NonNegativeIntegers,
        bounds=lambda _, j, t: (0, total[j]),
    )
    m.stops = pyo.Var(losers, slots[1:], domain=pyo.Binary)
    m.checkpoints = pyo.Var(
        some,
        slots[1:],
        domain=pyo.NonNegativeIntegers,
        bounds=lambda _, j, t: (0, total[j] // every[j]),
    )

    def at_first(m: Any, j: str) -> Any:
        running = scope.jobs[j].running
        done = 0 if running is None else running.iterations_done
        least = kept_iterations(done, every[j])
        stays = m.holds[j, OWN, 0] if OWN in numbers.options[j] else 0
        return m.kept[j, 0] == least + (done - least) * stays

    m.kept_at_first = pyo.Constraint(losers, rule=at_first)
    m.kept_grows = pyo.Constraint(
        losers,
        slots,
        rule=lambda m, j, t: m.kept[j, t + 1] <= m.kept[j, t] + _progress(m, numbers, j, t),
    )
    m.kept_all = pyo.Constraint(losers, rule=lambda m, j: m.kept[j, scope.horizon] >= total[j])
    m.stops_if_left = pyo.Constraint(
        held,
        slots[1:],
        rule=lambda m, j, k, t: (
            m.stops[j, t] >= m.holds[j, k, t - 1] - m.holds[j, k, t] - m.ended[j, t]
        ),
    )
    if restore_slots(scope.instance):
        m.stops_if_anew = pyo.Constraint(
            [(j, k) for j, k in held if k != OWN],
            slots[1:],
            rule=lambda m, j, k, t: m.stops[j, t] >= m.holds[j, k, t - 1] + m.begins[j, k, t] - 1,
        )
    m.kept_if_stopped = pyo.Constraint(
        losers,
        slots[1:],
        rule=lambda m, j, t: (
            m.kept[j, t]
            <= (every[j] * m.checkpoints[j, t] if every[j] else 0) + total[j] * (1 - m.stops[j, t])
        ),
    )
    m.checkpoints_if_done = pyo.Constraint(
        some,
        slots[1:],
        rule=lambda m, j, t: (
            every[j] * m.checkpoints[j, t] <= m.kept[j, t - 1] + _progress(m, numbers, j, t - 1)
        ),
    )


def _values_of_lost_work(outcome: ScheduleOutcome) -> dict[str, Values]:
    scope = outcome.scope
    losers, slots = _losers(scope), range(scope.horizon)
    every = {j: checkpoint_interval(scope.jobs[j]) for j in losers}
    courses = {j: outcome.iterations(j) for j in losers}

    def stops(j: str, t: int) -> bool:
        before = outcome.at(j, t - 1)
        return before is not None and before is not outcome.at(j, t) and t < outcome.end[j]

    return {
        "kept": over(lambda j, t: courses[j][t].kept, losers, range(scope.horizon + 1)),
        "stops": over(stops, losers, slots[1:]),
        "checkpoints": over(
            lambda j, t: courses[j][t].done // every[j],
            [j for j in losers if every[j]],
            slots[1:],
        ),
    }


LOST_WORK = Component(
    "lost_work",
    lost_work,
    needs=("ended", "holds", "active_in", "reaches", "begins"),
    gives=("kept", "stops", "checkpoints"),
    inner=_values_of_lost_work,
    when=lambda scope: bool(_losers(scope)),
)
