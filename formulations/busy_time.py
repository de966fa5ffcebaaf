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

from itertools import pairwise
from typing import Any

import pyomo.environ as pyo

from rarmodel.model.features import BY_DUTY, CARDS
from rarmodel.schema import Schedule

from .arithmetic import too_long
from .component import Component
from .composition import OBJECTIVE
from .formulation import Formulation
from .plan import Plan, put
from .scope import Scope
from .shared_out import Served, busiest, least_limit, shared_out, work_to_share

MAX_TERMS = 50_000
"""Most terms of a model: with 125,000, HiGHS is still in presolve after 20 s."""


def gangs(m: Any, scope: Scope) -> None:
    """As many GPUs serve each job as it needs: (1), in (14)–(16) over all schedules.

    ```
    Σ_g y_jg = n_j·G_j
    ```

    with n_j = 1, or the number of equal jobs that j stands for.
    """
    data = work_to_share(scope)
    m.y = pyo.Var(
        list(data.equal),
        data.gpus,
        domain=lambda _, j, *__: pyo.Binary if len(data.equal[j]) == 1 else pyo.NonNegativeIntegers,
        bounds=lambda _, j, *__: (0, len(data.equal[j])),
    )
    m.gang = pyo.Constraint(
        list(data.equal),
        rule=lambda m, j: (
            sum(m.y[j, g] for g in data.gpus) == len(data.equal[j]) * scope.jobs[j].size
        ),
    )


def busy(m: Any, scope: Scope) -> None:
    """No GPU is busy beyond the limit, (14)–(16); minimise the limit.

    ```
    Σ_j y_jg·ρ̂_j/u ≤ θ_u
    ```

    The limit is at least each ρ̂_j/u, and their mean over GPUs; at most the horizon.
    """
    data, horizon = work_to_share(scope), scope.horizon
    unit, of = data.work.unit, data.work.of
    m.limit = pyo.Var(
        domain=pyo.NonNegativeIntegers, bounds=(min(least_limit(data), horizon), horizon)
    )
    m.busy = pyo.Constraint(
        data.gpus,
        rule=lambda m, *g: sum(of[j] * m.y[j, g] for j in data.equal) <= unit * m.limit,
    )
    m.objective = pyo.Objective(expr=m.limit)


def order_of_gpus(m: Any, scope: Scope) -> None:
    """GPUs are ordered by the jobs with the most work that they serve, g before g'.

    ```
    Σ_j W_j·y_jg ≥ Σ_j W_j·y_jg'
    ```

    with weights W_j that make this the lexicographic order of a few jobs.
    """
    data = work_to_share(scope)
    m.gpus_in_order = pyo.Constraint(
        list(pairwise(data.gpus)),
        rule=lambda m, s, i, s2, i2: (
            sum(w * (m.y[j, s, i] - m.y[j, s2, i2]) for j, w in data.weights.items()) >= 0
        ),
    )


def starting_solution(m: Any, scope: Scope) -> None:
    """The model begins with jobs that are shared out, the longest first."""
    _set(m, scope, shared_out(work_to_share(scope)))


def _orders_gpus(scope: Scope) -> bool:
    return not scope.every_schedule


GANGS = Component("gangs", gangs, gives=("y",))
BUSY = Component(OBJECTIVE, busy, needs=("y",), gives=("limit",))
ORDER_OF_GPUS = Component("order_of_gpus", order_of_gpus, needs=("y",), when=_orders_gpus)
STARTING_SOLUTION = Component("starting_solution", starting_solution, needs=("y", "limit"))


def busiest_gpu(m: Any, scope: Scope) -> int | None:
    """How long the busiest GPU is busy by the variables `y`, in whole slots, regardless of `limit`.

    None if the variables are no solution: some job has fewer or more GPUs than it needs.
    """
    data = work_to_share(scope)
    served: Served = {g: {} for g in data.gpus}
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
    return busiest(data, served)


def _set(m: Any, scope: Scope, served: Served) -> None:
    """Set the variables to a way to share the jobs out, if it is within the horizon."""
    data = work_to_share(scope)
    slots = busiest(data, served)
    if slots > scope.horizon:
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
    data = work_to_share(scope)
    stands_for = {j: first for first, group in data.equal.items() for j in group}
    served: Served = {g: {} for g in data.gpus}
    for assignment in schedule.assignments:
        j = stands_for[assignment.job]
        for s, indices in assignment.gpus.items():
            for i in indices:
                served[s, i][j] = served[s, i].get(j, 0) + 1
    _set(model, scope, served)


def _plan(model: pyo.ConcreteModel, scope: Scope) -> Plan | None:
    """None: the model has no times."""
    return None


def _size(scope: Scope) -> int:
    """Approximate number of terms in the constraints: 3 for each GPU and each distinct job."""
    return 3 * len(work_to_share(scope).equal) * scope.instance.cluster.total_gpus


def _unfit(scope: Scope) -> str | None:
    """Why the model is refused: too many jobs and GPUs for any solver, or too long jobs."""
    terms = _size(scope)
    if terms > MAX_TERMS:
        return f"the model, with about {terms:,} terms, is larger than {MAX_TERMS:,}"
    return too_long(scope)


BUSY_TIME = Formulation.composed(
    "busy-time",
    GANGS,
    BUSY,
    ORDER_OF_GPUS,
    STARTING_SOLUTION,
    description="the paper's program (14)-(16): a lower bound",
    evaluates=False,
    load=_load,
    plan=_plan,
    size=_size,
    unfit=_unfit,
    model_class="integer",
    reads=frozenset({"estimates"}),
    handles=BY_DUTY | {CARDS.name},  # Its estimates are times alone.
)
