r"""Formulation `schedule-selection`: (10)–(13), the choice of one schedule from a pool.

Indices: jobs j, and schedules k = 0, 1, … of the pool Y, by makespan. Data: the start a_j(y^k) and
the execution time ρ_j(y^k) of job j under schedule y^k, which follow from the model of contention.

======================= ============================================================================
`x[j,k]`                binary: 1 iff job j runs as in schedule k
`makespan`              max_j T_j, whole
======================= ============================================================================

Expressions for your own constraints and objectives:

======================= ============================================================================
`start[j]`              start slot a_j
`completion[j]`         completion T_j
======================= ============================================================================

The pool itself is `model.pool`, a tuple of `pool.Entry`. The module `pool` explains the kinds of
pools. A bound holds for every schedule only if the pool contains every schedule.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyomo.environ as pyo

from rarmodel.model.features import BY_DUTY, CARDS
from rarmodel.schema import Schedule

from .component import Component
from .composition import OBJECTIVE
from .formulation import Formulation
from .plan import Plan, is_set, put
from .pool import Pool, entry_of, holds_all, pool_of, size_of_pool, unfit
from .scope import Scope


def pool(m: Any, scope: Scope) -> None:
    """The requested pool, as data."""
    m.pool = pool_of(scope)


POOL = Component("pool", pool, gives=("pool",))


def one_schedule(m: Any, scope: Scope) -> None:
    """One schedule for each job, (11) and (13), and the same one for all jobs, (12).

    ```
    Σ_k x_jk = 1      x_jk = x_j'k for each job j' and the job j before it
    ```

    An empty pool makes the model infeasible: the makespan would have to exceed the horizon.
    """
    jobs, numbers = list(scope.jobs), range(len(m.pool))
    m.x = pyo.Var(jobs, numbers, domain=pyo.Binary)
    m.makespan = pyo.Var(domain=pyo.NonNegativeIntegers, bounds=(0, scope.horizon))
    m.one_schedule = pyo.Constraint(
        jobs,
        rule=lambda m, j: (
            sum(m.x[j, k] for k in numbers) == 1 if m.pool else m.makespan >= scope.horizon + 1
        ),
    )
    m.same_schedule = pyo.Constraint(
        [(j, before, k) for before, j in pairwise(jobs) for k in numbers],
        rule=lambda m, j, before, k: m.x[j, k] == m.x[before, k],
    )


ONE_SCHEDULE = Component("one_schedule", one_schedule, needs=("pool",), gives=("x", "makespan"))


def makespan(m: Any, scope: Scope) -> None:
    """The objective, (10): minimise the latest completion.

    ```
    makespan ≥ Σ_k x_jk·(a_j(y^k) + ρ_j(y^k))      makespan ≥ Σ_k x_jk·max_j' T_j'(y^k)
    ```

    For whole numbers the second, for the first job j, follows from the first. It makes the optimum
    of the relaxation equal to that of the model.
    """
    pool: Pool = m.pool
    jobs, numbers = list(scope.jobs), range(len(pool))
    m.start = pyo.Expression(
        jobs,
        rule=lambda m, j: sum(m.x[j, k] * pool[k].starts[jobs.index(j)] for k in numbers),
    )
    m.completion = pyo.Expression(
        jobs,
        rule=lambda m, j: sum(m.x[j, k] * pool[k].completions[jobs.index(j)] for k in numbers),
    )
    m.is_latest = pyo.Constraint(jobs, rule=lambda m, j: m.makespan >= m.completion[j])
    m.is_latest_of_schedule = pyo.Constraint(
        jobs[:1],
        rule=lambda m, j: m.makespan >= sum(m.x[j, k] * pool[k].makespan for k in numbers),
    )
    m.objective = pyo.Objective(expr=m.makespan)


MAKESPAN = Component(
    OBJECTIVE, makespan, needs=("pool", "x", "makespan"), gives=("start", "completion")
)


def load(model: pyo.ConcreteModel, scope: Scope, schedule: Schedule) -> None:
    """Choose the schedule of the pool in which each job starts and completes at the same time.

    If there is none, the variables stay without values: the model cannot represent the schedule.
    """
    times = entry_of(scope, schedule).times
    pool: Pool = model.pool
    choose(model, next((k for k, entry in enumerate(pool) if entry.times == times), None))


def choose(m: Any, number: int | None) -> None:
    """Set the variables to the choice of a schedule of the pool; for None, leave them."""
    if number is None:
        return
    for j, k in m.x:
        put(m.x[j, k], int(k == number))
    put(m.makespan, m.pool[number].makespan)


def plan(model: pyo.ConcreteModel, scope: Scope) -> Plan | None:
    """The chosen schedule, with its GPUs in the pool; None if none was chosen."""
    m: Any = model
    first = next(iter(scope.jobs))
    pool: Pool = m.pool
    for k, entry in enumerate(pool):
        if is_set(m.x[first, k]):
            return Plan(entry.starts, entry.workers, entry.gpus)
    return None


def _size(scope: Scope) -> int:
    """Approximate number of terms in the constraints: 4 for each job and schedule."""
    return 4 * len(scope.jobs) * size_of_pool(scope)


SCHEDULE_SELECTION = Formulation.composed(
    "schedule-selection",
    POOL,
    ONE_SCHEDULE,
    MAKESPAN,
    description="the paper's choice among given schedules, (10)-(13)",
    load=load,
    plan=plan,
    size=_size,
    unfit=unfit,
    model_class="integer",
    proves=holds_all,
    reads=frozenset({"pool", "schedules"}),
    handles=BY_DUTY | {CARDS.name},
)
