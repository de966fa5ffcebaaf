"""The components of `interval`: variables and constraints of one idea each; `interval` explains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial
from itertools import groupby, pairwise
from typing import Any

import pyomo.environ as pyo

from rarmodel.model.objectives import Shape, Term

from .aims import Aim, add_objectives, aims, ends_of, steps_within, values_of_aims
from .caps import Cap, limit_caps, limits_in, server_caps
from .component import Component
from .composition import OBJECTIVE
from .intervals import Task, add_cumulative
from .outcome import ScheduleOutcome
from .placement_classes import are_all_anywhere, placement_classes
from .ring_links import weight_of_links
from .scope import Scope
from .symmetry import equal_jobs
from .time_indexed_numbers import Numbers, numbers_of
from .values import Values, over


def starts(m: Any, scope: Scope) -> None:
    """When jobs start and complete: windows are bounds, and jobs wait for others.

    ```
    start_j ≥ completion_i          for jobs i that job j waits for
    ```
    """
    jobs, windows, least = scope.jobs, scope.windows, scope.least_slots
    short = [j for j in jobs if windows[j].start + least[j] > windows[j].end]
    m.start = pyo.Var(
        list(jobs),
        domain=pyo.NonNegativeIntegers,
        bounds=lambda _, j: (windows[j].start, _last_start(scope, j)),
    )
    m.completion = pyo.Var(
        list(jobs),
        domain=pyo.NonNegativeIntegers,
        bounds=lambda _, j: (windows[j].start, max(windows[j].start, windows[j].end)),
    )
    if short:
        m.window_is_too_short = pyo.Constraint(short, rule=lambda m, j: m.start[j] <= -1)
    if waits := [(j, i) for j in jobs for i in dict.fromkeys(jobs[j].after)]:
        m.waits = pyo.Constraint(waits, rule=lambda m, j, i: m.start[j] >= m.completion[i])


def _last_start(scope: Scope, job: str) -> int:
    window = scope.windows[job]
    if scope.jobs[job].running is not None:
        return window.start
    return max(window.start, window.end - scope.least_slots[job])


STARTS = Component("starts", starts, gives=("start", "completion"))


def placement(m: Any, scope: Scope) -> None:
    """One class of placements for each job, and the workers beyond the least of its class.

    With ρ_jk the execution time of job j alone in class k:

    ```
    Σ_k placed_jk = 1       completion_j = start_j + Σ_k ρ_jk·placed_jk
    extra_js ≤ Σ_k more_ks·placed_jk        Σ_s extra_js = Σ_k left_k·placed_jk
    workers_js = Σ_k y_js(k)·placed_jk + extra_js
    ```

    Where all jobs may be anywhere, the workers of each server follow from the starts.
    """
    numbers = numbers_of(scope)
    options, room = numbers.options, numbers.room
    m.placed = pyo.Var(numbers.pairs, domain=pyo.Binary)
    m.one_placement = pyo.Constraint(
        list(options),
        rule=lambda m, j: (
            sum(m.placed[j, k] for k in options[j]) == 1 if options[j] else m.start[j] <= -1
        ),
    )
    lengths = {j: {way.least_slots for way in ways.values()} for j, ways in options.items()}
    several = [j for j, some in lengths.items() if len(some) > 1]
    m.lasts = pyo.Var(
        several,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda _, j: (min(lengths[j]), max(lengths[j])),
    )
    m.lasts_as_placed = pyo.Constraint(
        several,
        rule=lambda m, j: (
            m.lasts[j] == sum(way.least_slots * m.placed[j, k] for k, way in options[j].items())
        ),
    )
    m.completes = pyo.Constraint(
        [j for j in options if lengths[j]],
        rule=lambda m, j: m.completion[j] == m.start[j] + length_of(m, scope, j),
    )
    m.extra = pyo.Var(
        list(room), domain=pyo.NonNegativeIntegers, bounds=lambda _, j, s: (0, room[j, s])
    )
    m.extra_fits = pyo.Constraint(
        list(room),
        rule=lambda m, j, s: (
            m.extra[j, s]
            <= sum(way.more.get(s, 0) * m.placed[j, k] for k, way in options[j].items())
        ),
    )
    m.extra_together = pyo.Constraint(
        list(dict.fromkeys(j for j, _ in room)),
        rule=lambda m, j: (
            sum(m.extra[j, s] for s in scope.servers if (j, s) in room)
            == sum(way.left * m.placed[j, k] for k, way in options[j].items())
        ),
    )

    def workers(m: Any, j: str, s: str) -> Any:
        least = sum(way.workers.get(s, 0) * m.placed[j, k] for k, way in options[j].items())
        return least + m.extra[j, s] if (j, s) in room else least

    if not are_all_anywhere(scope):
        m.workers = pyo.Expression(list(scope.jobs), list(scope.servers), rule=workers)
        m.on = pyo.Expression(
            list(scope.jobs),
            list(scope.servers),
            rule=lambda m, j, s: sum(
                m.placed[j, k] for k, way in options[j].items() if s in way.workers
            ),
        )


def length_of(m: Any, scope: Scope, job: str) -> Any:
    """The slots of a job: a number, or a variable where its placements differ."""
    if job in m.lasts:
        return m.lasts[job]
    return next(way.least_slots for way in placement_classes(scope)[job].values())


def _values_of_placement(outcome: ScheduleOutcome) -> dict[str, Values]:
    """The values of the model: a job that others slow completes earlier in it."""
    scope, numbers = outcome.scope, numbers_of(outcome.scope)
    labels = {j: numbers.label(j, one[0]) for j, one in outcome.segments.items()}
    ways = {j: numbers.options[j].get(k or "") for j, k in labels.items()}
    room = numbers.room

    def lasts(j: str) -> int:
        way = ways[j]
        return outcome.end[j] - outcome.start[j] if way is None else way.least_slots

    def extra(j: str, s: str) -> int:
        way = ways[j]
        return 0 if way is None else outcome.workers[j].get(s, 0) - way.workers.get(s, 0)

    jobs, servers = scope.jobs, scope.servers
    return {
        "placed": over(lambda j, k: k == labels[j], jobs, _labels(numbers)),
        "lasts": over(lasts, jobs),
        "completion": over(lambda j: outcome.start[j] + lasts(j), jobs),
        "extra": over(extra, jobs, servers, where=lambda j, s: (j, s) in room),
        "demands": over(lambda j, s: outcome.workers[j].get(s, 0), jobs, servers),
        "size": over(lambda j: sum(outcome.workers[j].values()), jobs),
    }


def _labels(numbers: Numbers) -> set[str]:
    return {k for _, k in numbers.pairs}


PLACEMENT = Component(
    "placement",
    placement,
    needs=("start", "completion"),
    gives=("placed", "lasts", "extra", "workers", "on"),
    inner=_values_of_placement,
)


def capacity(m: Any, scope: Scope) -> None:
    """Capacity, (2) and (4), and quotas, as cumulative constraints of the jobs' intervals.

    ```
    Σ_{j active in slot t} workers_js ≤ O_s − (reserved in slot t)
    Σ_{j active in slot t} G_j ≤ Σ_s O_s
    Σ_{j of tenant c, or of one below it, active in slot t} G_j ≤ q_c
    ```

    The second follows from the first, and helps the solver. Where all jobs may be anywhere it is
    enough: at the start of a job as many GPUs are idle somewhere as it needs, and it keeps them.
    What is reserved is a task whose start and size are numbers.
    """
    options = numbers_of(scope).options
    sizes = {j: sorted({way.size for way in ways.values()}) for j, ways in options.items()}
    several = [j for j, some in sizes.items() if len(some) > 1]
    m.size = pyo.Var(
        several,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda _, j: (sizes[j][0], sizes[j][-1]),
    )
    m.size_as_placed = pyo.Constraint(
        several,
        rule=lambda m, j: (
            m.size[j] == sum(way.size * m.placed[j, k] for k, way in options[j].items())
        ),
    )

    def task(j: str, demand: Any) -> Task:
        return Task(m.start[j], length_of(m, scope, j), m.completion[j], demand)

    placed = [j for j, some in sizes.items() if some]
    whole = {j: task(j, m.size[j] if j in several else sizes[j][0]) for j in placed}
    total = scope.instance.cluster.total_gpus
    add_cumulative(m, "all GPUs", whole.values(), total)
    limits = limits_in(scope, of_tenants=True)
    for tenant, cap in limit_caps(scope, of_tenants=True).items():
        some = [whole[j] for j in placed if scope.index[j] in limits[tenant].uses]
        add_cumulative(m, f"quota of {tenant}", some, int(max(cap.room, default=0)))
    if are_all_anywhere(scope):
        return
    most = {
        (j, s): max(way.workers.get(s, 0) + way.more.get(s, 0) for way in options[j].values())
        for j in placed
        for s in scope.servers
    }
    holds = [pair for pair, count in most.items() if count]
    m.demands = pyo.Var(
        holds, domain=pyo.NonNegativeIntegers, bounds=lambda _, j, s: (0, most[j, s])
    )
    m.demands_as_placed = pyo.Constraint(
        holds, rule=lambda m, j, s: m.demands[j, s] == m.workers[j, s]
    )
    for s, cap in server_caps(scope).items():
        tasks = [task(j, m.demands[j, s]) for j in placed if most[j, s]]
        gpus = scope.servers[s].gpus
        add_cumulative(m, f"GPUs of {s}", [*tasks, *_reserved(gpus, cap)], gpus)


def _reserved(gpus: int, cap: Cap) -> Iterator[Task]:
    """Tasks that hold what is reserved of a server."""
    begin = 0
    for room, slots in groupby(cap.room):
        end = begin + len(list(slots))
        if room < gpus:
            yield Task(begin, end - begin, end, gpus - int(room))
        begin = end


def running_jobs_exceed(scope: Scope) -> str | None:
    """The cap that jobs which run at slot 0 may exceed, in words; None if there is none."""
    for what, caps in (
        ("server", server_caps(scope)),
        ("tenant", limit_caps(scope, of_tenants=True)),
    ):
        for name, cap in caps.items():
            if sum(cap.running.values()) > min(cap.room, default=0):
                return f"{what} {name!r}"
    return None


CAPACITY = Component(
    "capacity",
    capacity,
    needs=("start", "completion", "placed", "lasts", "extra", "workers"),
    gives=("size", "demands"),
)


def order(m: Any, scope: Scope) -> None:
    """Equal jobs start in input order: `start_j ≤ start_j'`."""
    pairs = [pair for group in equal_jobs(scope) for pair in pairwise(group)]
    m.equal_jobs_in_order = pyo.Constraint(
        pairs, rule=lambda m, j, later: m.start[j] <= m.start[later]
    )


def _may_leave_out(scope: Scope) -> bool:
    return not scope.every_schedule


ORDER = Component("order", order, needs=("start",), when=_may_leave_out)


def steps_of(m: Any, scope: Scope, place: int, aim: Aim) -> Any:
    """The steps of an objective as an expression of a model of intervals; see `aims`.

    A term is linear in the completion, or in one of two variables:

    ```
    tardy_j ≥ completion_j − d_j        tardy_j ≥ 0
    completion_j ≤ d_j + (E_j − d_j)·late_j        E_j the latest completion
    ```

    Of the values v_0 < v_1 < … that the greatest of terms can take, the steps are those exceeded:

    ```
    greatest = Σ_i (1 − within_i)       within_i ≤ within_(i+1)
    completion_j ≤ t + (E_j − t)·(1 − within_i)         t the last slot with term_j(t) ≤ v_i
    ```
    """
    if aim.objective.link_weights is not None:
        weights = zip(scope.links, aim.objective.link_weights_of(scope.instance), strict=True)
        return weight_of_links(m, scope, place, {l: int(w / aim.unit) for l, w in weights})
    if aim.is_makespan:
        return m.makespan
    if not aim.objective.greatest:
        return _sum(m, scope, place, aim)

    def kept(m: Any, within: Any, j: str, t: int) -> Any:
        return m.completion[j] <= t + (ends_of(scope, j)[-1] - t) * (1 - within)

    return steps_within(m, scope, place, aim, kept)


def _sum(m: Any, scope: Scope, place: int, aim: Aim) -> Any:
    """The steps of a sum of terms."""
    rising = {
        j: term
        for j, term in aim.terms.items()
        if term.at(ends_of(scope, j)[-1]) > term.at(ends_of(scope, j)[0])
    }
    latest = {j: ends_of(scope, j)[-1] for j in rising}
    tardy_jobs = [j for j, term in rising.items() if term.shape is Shape.TARDY]
    late_jobs = [j for j, term in rising.items() if term.shape is Shape.LATE]
    tardy = pyo.Var(
        tardy_jobs,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda _, j: (0, latest[j] - min(latest[j], rising[j].offset)),
    )
    late = pyo.Var(late_jobs, domain=pyo.Binary)
    m.add_component(f"tardy_{place}", tardy)
    m.add_component(f"late_{place}", late)
    m.add_component(
        f"is_tardy_{place}",
        pyo.Constraint(
            tardy_jobs, rule=lambda m, j: tardy[j] >= m.completion[j] - rising[j].offset
        ),
    )
    m.add_component(
        f"is_late_{place}",
        pyo.Constraint(
            late_jobs,
            rule=lambda m, j: (
                m.completion[j] <= rising[j].offset + (latest[j] - rising[j].offset) * late[j]
            ),
        ),
    )

    def grown(j: str, term: Term) -> Any:
        """How much the term's variable part has grown since the first end."""
        if term.shape is Shape.LINEAR:
            return m.completion[j] - ends_of(scope, j)[0]
        counted = late[j] if term.shape is Shape.LATE else tardy[j]
        return counted - int(_part(term, ends_of(scope, j)[0]))

    return sum(
        int(Fraction(term.weight, term.divisor) / aim.unit) * grown(j, term)
        for j, term in rising.items()
    )


def _part(term: Term, end: int) -> Fraction:
    """A term at an end, without weight and divisor."""
    return Fraction(term.at(end)) * term.divisor / term.weight


def _values_of_aims(outcome: ScheduleOutcome) -> dict[str, Values]:
    """The values of the variables that objectives add, in a schedule."""
    found = dict(values_of_aims(outcome))
    for place, aim in enumerate(aims(outcome.scope)):
        terms: Mapping[str, Term] = aim.terms

        def part(j: str, terms: Mapping[str, Term] = terms) -> float:
            return float(_part(terms[j], outcome.end[j]))

        found[f"tardy_{place}"] = over(part, terms)
        found[f"late_{place}"] = over(part, terms)
    return found


OBJECTIVES = Component(
    OBJECTIVE,
    partial(add_objectives, steps=steps_of),
    needs=("completion", "makespan", "linked"),
    inner=_values_of_aims,
)
