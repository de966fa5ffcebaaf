r"""Formulation `schedule-selection`: the reformulated integer linear program (10)–(13).

Schedules y^k of a pool are given, with start a_j(y^k) and execution time ρ_j(y^k) of each job.

======================= ============================================================================
`x[j,k]`                binary: 1 iff job j follows schedule k, x_j^k
`makespan`              whole: max_j Σ_k x_j^k·(a_j(y^k) + ρ_j(y^k))
======================= ============================================================================

Over all schedules the optimum is that of the problem; over any other pool it is the best of the
pool, and says nothing of schedules outside. `pool` tells which pools there are.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from rarmodel.schema import Schedule

from .formulation import Formulation, Plan, Scope, put
from .pool import MOST_CASES, MOST_TRIES, Pooled, cases, is_complete, pool


def choice(m: Any, scope: Scope, schedules: list[Pooled]) -> None:
    """(11)–(13) One schedule for each job, and the same for all: Σ_k x_j^k = 1, x_j^k = x_j'^k."""
    jobs, numbers = list(scope.jobs), range(len(schedules))
    m.x = pyo.Var(jobs, numbers, domain=pyo.Binary)
    m.one_schedule = pyo.Constraint(
        jobs,
        rule=lambda m, j: (
            sum(m.x[j, k] for k in numbers) == 1 if schedules else pyo.Constraint.Infeasible
        ),
    )
    m.same_for_all = pyo.Constraint(
        jobs[1:], numbers, rule=lambda m, j, k: m.x[j, k] == m.x[jobs[0], k]
    )


def makespan(m: Any, scope: Scope, schedules: list[Pooled]) -> None:
    """(10) Minimise makespan ≥ Σ_k x_j^k·(a_j(y^k) + ρ_j(y^k)) of each job."""
    low = min(scope.lower_bound, scope.horizon)
    number = {j: i for i, j in enumerate(scope.jobs)}
    m.makespan = pyo.Var(domain=pyo.NonNegativeIntegers, bounds=(low, scope.horizon))
    m.is_latest = pyo.Constraint(
        list(scope.jobs),
        rule=lambda m, j: (
            m.makespan
            >= sum(entry.completions[number[j]] * m.x[j, k] for k, entry in enumerate(schedules))
        ),
    )
    m.objective = pyo.Objective(expr=m.makespan)


def _build(scope: Scope) -> pyo.ConcreteModel:
    model: Any = pyo.ConcreteModel("schedule-selection")
    schedules = pool(scope)
    choice(model, scope, schedules)
    makespan(model, scope, schedules)
    model.pool = tuple(schedules)
    return model


def _load(model: pyo.ConcreteModel, scope: Scope, schedule: Schedule) -> None:
    """Choose a schedule; one that is not in the pool leaves the variables as they are."""
    m: Any = model
    index = {name: s for s, name in enumerate(scope.servers)}
    by_job = {a.job: a for a in schedule.assignments}
    starts = tuple(by_job[j].start for j in scope.jobs)
    workers = tuple(
        {index[s]: len(gpus) for s, gpus in by_job[j].gpus.items() if gpus} for j in scope.jobs
    )
    for chosen, entry in enumerate(m.pool):
        if (entry.starts, entry.workers) == (starts, workers):
            for j in scope.jobs:
                for k in range(len(m.pool)):
                    put(m.x[j, k], int(k == chosen))
            put(m.makespan, entry.makespan)
            return


def _plan(model: pyo.ConcreteModel, scope: Scope) -> Plan:
    """Read the schedule chosen."""
    m: Any = model
    first = next(iter(scope.jobs))
    for k, entry in enumerate(m.pool):
        if (m.x[first, k].value or 0) > 0.5:
            return Plan(entry.starts, entry.workers)
    return Plan((), ())


def _size(scope: Scope) -> int:
    """Terms in the constraints, about: `4·J·K` for J jobs and K schedules."""
    schedules = cases(scope) // 4 if is_complete(scope) else MOST_TRIES // 2
    return 4 * len(scope.jobs) * schedules


def _unfit(scope: Scope) -> str | None:
    """Why not: too many schedules to enumerate."""
    if is_complete(scope) and (many := cases(scope)) > MOST_CASES:
        return (
            f"all schedules within {scope.horizon} slots come from {many:.3g} combinations of "
            f"starts and placements; up to {MOST_CASES:,} are tried"
        )
    return None


SCHEDULE_SELECTION = Formulation(
    name="schedule-selection",
    build=_build,
    load=_load,
    plan=_plan,
    size=_size,
    unfit=_unfit,
    model_class="integer",
    proves=is_complete,
)
