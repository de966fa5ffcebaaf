r"""Formulation `busy-time`: (14)–(16) over all schedules, the least limit θ*_u.

In any schedule, a GPU is busy for `Σ_j ρ_j` over the jobs it serves, and `ρ̂_j/u ≤ ρ_j`. So the
least θ_u for which jobs can be shared out among GPUs, with `Σ_j ρ̂_j/u ≤ θ_u` on each, is at most
the optimal makespan: a lower bound. The program ignores times and servers, so a solution is not a
schedule, and only the bound counts.

Indices: jobs j, and GPUs g = (s, i), the i-th of server s.

======================= ============================================================================
`y[j,s,i]`              binary: 1 iff GPU (s, i) serves job j
`limit`                 θ_u in slots, whole as a makespan is
======================= ============================================================================

Unless the scope asks for every schedule, the program merges jobs of equal G_j and ρ̂_j/u: the first
of them in input order stands for all n, and `y[j,s,i] ∈ {0, …, n}` says how many of them the GPU
serves. That is exact: any such y with `Σ_g y_jg = n·G_j` and `y_jg ≤ n` can be
shared out again, since the k jobs first to choose find `Σ_g min(k, y_jg) ≥ k·G_j` places
(Gale–Ryser). GPUs are ordered by the numbers of the jobs with the most work that they serve.

Estimates ρ̂_j are `data["estimates"]`, slots by job, or the least execution times, for which u = 1.
If ρ̂_j/u is not whole, it is rounded down to thousandths of a slot, so that all data are whole.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise
from math import floor, isfinite
from typing import Any

import pyomo.environ as pyo

from rarmodel.errors import UsageError
from rarmodel.heuristics import Estimate, estimate
from rarmodel.heuristics.idle_gpus import TOLERANCE
from rarmodel.model.features import BY_DUTY
from rarmodel.schema import Schedule
from rarmodel.schema.problems import show

from .arithmetic import too_long
from .formulation import Formulation, Plan, Scope, put

Gpu = tuple[str, int]
_Served = dict[Gpu, dict[str, int]]
"""By GPU: how often it serves a job, or a job merged with it."""

MAX_WEIGHT = 10_000
"""Greatest weight in the order of GPUs: see `symmetry.MAX_WEIGHT`."""

MAX_TERMS = 50_000
"""Most terms of a model: with 125,000, HiGHS is still in presolve after 20 s."""


def estimates_of(scope: Scope) -> Estimate:
    """The estimates in `data["estimates"]` by job; the default is the least execution time.

    Raises
    ------
    UsageError
        If a job does not exist, or an estimate is not a number above 0.
    """
    given = scope.read("estimates", {})
    if not hasattr(given, "items"):
        raise UsageError(f"estimates: {show(given)}; an object with slots by job is expected")
    scope.check_jobs(given, "estimates")
    for name, slots in given.items():
        number = isinstance(slots, int | float) and not isinstance(slots, bool)
        if not (number and isfinite(slots) and slots > 0):
            raise UsageError(f"estimates: {show(slots)} for job {name!r}; slots above 0 expected")
    return estimate(
        scope.instance, [given.get(name, least) for name, least in scope.least_slots.items()]
    )


@dataclass(frozen=True)
class Work:
    """Estimated execution times in whole units.

    Attributes
    ----------
    unit
        Units in a slot: 1, or 1000 if some ρ̂_j/u is not whole.
    of
        By job: ρ̂_j/u in units, rounded down.
    """

    unit: int
    of: dict[str, int]


def work_of(scope: Scope) -> Work:
    """ρ̂_j/u of each job in whole units."""
    slots = estimates_of(scope).work
    unit = 1 if all(abs(w - round(w)) <= TOLERANCE for w in slots) else 1000
    return Work(
        unit, {j: floor(w * unit + TOLERANCE) for j, w in zip(scope.jobs, slots, strict=True)}
    )


@dataclass(frozen=True)
class Data:
    """The numbers of a scope that the constraints use.

    Attributes
    ----------
    scope
        The scope of the model.
    work
        ρ̂_j/u.
    equal
        By job that stands for others: all jobs for which it stands, itself included.
    gpus
        All GPUs.
    weights
        By such a job: its weight in the order of GPUs; empty if GPUs are not ordered.
    """

    scope: Scope
    work: Work
    equal: dict[str, list[str]]
    gpus: list[Gpu]
    weights: dict[str, int]


def _data(scope: Scope) -> Data:
    work = work_of(scope)
    gpus = [(s, i) for s, server in scope.servers.items() for i in range(server.gpus)]
    if scope.every_schedule:
        return Data(scope, work, {j: [j] for j in scope.jobs}, gpus, {})
    groups: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    for j, job in scope.jobs.items():
        groups[job.size, work.of[j]].append(j)
    equal = {group[0]: group for group in groups.values()}
    chosen: list[str] = []
    most = 1
    for j in sorted(equal, key=lambda j: -work.of[j] * len(equal[j]) * scope.jobs[j].size):
        most *= 1 + len(equal[j])
        if most > MAX_WEIGHT:
            break
        chosen.append(j)
    weights, weight = dict[str, int](), 1
    for j in reversed(chosen):  # Each weighs more than all lighter ones together can.
        weights[j] = weight
        weight *= 1 + len(equal[j])
    return Data(scope, work, equal, gpus, weights)


def gangs(m: Any, data: Data) -> None:
    """As many GPUs serve each job as it needs: (1), in (14)–(16) over all schedules.

    ```
    Σ_g y_jg = n_j·G_j
    ```

    with n_j = 1, or the number of equal jobs that j stands for.
    """
    m.y = pyo.Var(
        list(data.equal),
        data.gpus,
        domain=lambda _, j, *__: pyo.Binary if len(data.equal[j]) == 1 else pyo.NonNegativeIntegers,
        bounds=lambda _, j, *__: (0, len(data.equal[j])),
    )
    m.gang = pyo.Constraint(
        list(data.equal),
        rule=lambda m, j: (
            sum(m.y[j, g] for g in data.gpus) == len(data.equal[j]) * data.scope.jobs[j].size
        ),
    )


def busy(m: Any, data: Data) -> None:
    """No GPU is busy beyond the limit, (14)–(16); minimise the limit.

    ```
    Σ_j y_jg·ρ̂_j/u ≤ θ_u
    ```

    The limit is at least each ρ̂_j/u, and their mean over GPUs; at most the horizon.
    """
    unit, of = data.work.unit, data.work.of
    horizon = data.scope.horizon
    m.limit = pyo.Var(
        domain=pyo.NonNegativeIntegers, bounds=(min(_least_limit(data), horizon), horizon)
    )
    m.busy = pyo.Constraint(
        data.gpus,
        rule=lambda m, *g: sum(of[j] * m.y[j, g] for j in data.equal) <= unit * m.limit,
    )
    m.objective = pyo.Objective(expr=m.limit)


def order_of_gpus(m: Any, data: Data) -> None:
    """GPUs are ordered by the jobs with the most work that they serve, g before g'.

    ```
    Σ_j W_j·y_jg ≥ Σ_j W_j·y_jg'
    ```

    with weights W_j that make this the lexicographic order of a few jobs.
    """
    m.gpus_in_order = pyo.Constraint(
        list(pairwise(data.gpus)),
        rule=lambda m, s, i, s2, i2: (
            sum(w * (m.y[j, s, i] - m.y[j, s2, i2]) for j, w in data.weights.items()) >= 0
        ),
    )


def _build(scope: Scope) -> pyo.ConcreteModel:
    """Build the model, with a starting solution."""
    model = pyo.ConcreteModel("busy-time")
    data = _data(scope)
    gangs(model, data)
    busy(model, data)
    if not scope.every_schedule:
        order_of_gpus(model, data)
    _set(model, data, _shared_out(data))
    return model


def _shared_out(data: Data, stop: Callable[[], bool] = lambda: False) -> _Served:
    """A starting solution: share the jobs out almost as evenly as possible.

    First the jobs, longest first, go to the least busy GPUs (LPT). Then, under limits between the
    bound on θ_u and the first result, they go to the busiest GPUs that they still fit (MULTIFIT),
    until it is time to stop.
    """
    best = _longest_first(data, None)
    assert best is not None  # noqa: S101 - without a limit jobs always fit
    low, high = _least_limit(data), _slots(data, best) - 1
    while low <= high and not stop():
        middle = (low + high) // 2
        found = _longest_first(data, middle)
        if found is None:
            low = middle + 1
        else:
            best, high = found, middle - 1
    return best


def _longest_first(data: Data, limit: int | None) -> _Served | None:
    """Share the jobs out: the longest choose first, and among equals the widest.

    They choose the least busy GPUs; with a limit in slots, the busiest GPUs that they fit. Of
    equally busy ones they choose the first. None if some job does not find enough GPUs.
    """
    served: _Served = {g: {} for g in data.gpus}
    gpus = list(data.gpus)
    among: dict[int, list[int]] = {0: list(range(len(gpus)))}  # Heaps of GPUs, by their load.
    loads = [0]
    sizes = {j: data.scope.jobs[j].size for j in data.equal}
    for j in sorted(data.equal, key=lambda j: (-data.work.of[j], -sizes[j])):
        work, size = data.work.of[j], sizes[j]
        most = None if limit is None else limit * data.work.unit - work
        for _ in data.equal[j]:
            chosen = list[tuple[int, int]]()
            while len(chosen) < size:
                place = 0 if most is None else bisect_right(loads, most) - 1
                if place < 0:
                    return None
                load = loads[place]
                take = min(size - len(chosen), len(among[load]))
                chosen += [(load, heappop(among[load])) for _ in range(take)]
                if not among[load]:
                    del among[load], loads[place]
            for load, g in chosen:
                served[gpus[g]][j] = served[gpus[g]].get(j, 0) + 1
                if load + work not in among:
                    among[load + work] = []
                    insort(loads, load + work)
                heappush(among[load + work], g)
    return served


def _least_limit(data: Data) -> int:
    """Slots of the longest job, or the mean of all work over GPUs, whichever is greater."""
    unit, of = data.work.unit, data.work.of
    area = sum(of[j] * job.size for j, job in data.scope.jobs.items())
    return max(-(-max(of.values()) // unit), -(-area // (unit * len(data.gpus))))


def _slots(data: Data, served: _Served) -> int:
    """How long the busiest GPU is busy, in whole slots."""
    units = max(sum(data.work.of[j] * n for j, n in jobs.items()) for jobs in served.values())
    return -(-units // data.work.unit)


def simple_bounds(scope: Scope, stop: Callable[[], bool] = lambda: False) -> tuple[int, int]:
    """A range in slots for the least limit, without a solver.

    The range goes from the longest job, or the mean over GPUs, to the limit of the starting
    solution, which is improved until it is time to stop.
    """
    data = _data(scope)
    return _least_limit(data), _slots(data, _shared_out(data, stop))


def busiest_gpu(m: Any, scope: Scope) -> int | None:
    """How long the busiest GPU is busy by the variables `y`, in whole slots, regardless of `limit`.

    None if the variables are no solution: some job has fewer or more GPUs than it needs.
    """
    data = _data(scope)
    served: _Served = {g: {} for g in data.gpus}
    for j, group in data.equal.items():
        counts = {g: m.y[j, g].value for g in data.gpus}
        if None in counts.values():
            return None
        whole = {g: round(count) for g, count in counts.items()}
        inside = all(0 <= count <= len(group) for count in whole.values())
        if not inside or sum(whole.values()) != len(group) * scope.jobs[j].size:
            return None
        for g, count in whole.items():
            served[g][j] = count
    return _slots(data, served)


def _set(m: Any, data: Data, served: _Served) -> None:
    """Set the variables to a way to share the jobs out, if it is within the horizon."""
    slots = _slots(data, served)
    if slots > data.scope.horizon:
        return
    ordered = sorted(
        served.values(), key=lambda jobs: -sum(w * jobs.get(j, 0) for j, w in data.weights.items())
    )
    for g, jobs in zip(data.gpus, ordered, strict=True):
        for j in data.equal:
            put(m.y[j, g], jobs.get(j, 0))
    put(m.limit, max(slots, m.limit.lb))


def _load(model: pyo.ConcreteModel, scope: Scope, schedule: Schedule) -> None:
    """Set the variables to the GPUs of a feasible schedule."""
    data = _data(scope)
    stands_for = {j: first for first, group in data.equal.items() for j in group}
    served: _Served = {g: {} for g in data.gpus}
    for assignment in schedule.assignments:
        j = stands_for[assignment.job]
        for s, indices in assignment.gpus.items():
            for i in indices:
                served[s, i][j] = served[s, i].get(j, 0) + 1
    _set(model, data, served)


def _plan(model: pyo.ConcreteModel, scope: Scope) -> Plan | None:
    """None: the model has no times."""
    return None


def _size(scope: Scope) -> int:
    """Approximate number of terms in the constraints: 3 for each GPU and each distinct job."""
    return 3 * len(_data(scope).equal) * scope.instance.cluster.total_gpus


def _unfit(scope: Scope) -> str | None:
    """Why the model is refused: too many jobs and GPUs for any solver, or too long jobs."""
    terms = _size(scope)
    if terms > MAX_TERMS:
        return f"the model, with about {terms:,} terms, is larger than {MAX_TERMS:,}"
    return too_long(scope)


BUSY_TIME = Formulation(
    name="busy-time",
    description="the paper's program (14)-(16): a lower bound",
    build=_build,
    load=_load,
    plan=_plan,
    size=_size,
    unfit=_unfit,
    model_class="integer",
    reads=frozenset({"estimates"}),
    handles=BY_DUTY,  # Its estimates are times alone.
)
