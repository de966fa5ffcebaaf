r"""Formulation `busy-time-selection`: (14)–(16) over a pool, with a limit θ_u that is given.

Among the schedules of a pool that keep every GPU's estimated busy time within the limit, the
formulation chooses the one with the least makespan. If there is none, the model is infeasible.
Variables, objective and pools are those of `schedule_selection`; the limit is `data["limit"]`, in
slots, and estimates are those of `busy_time`.

The limit concerns GPUs, so here it matters which GPUs of a server a job holds. Schedules from files
and heuristics keep their GPUs; in the pool of all schedules, each has the GPUs that are best for
the limit. The limit is an added constraint, so a bound does not hold for schedules beyond the
limit.
"""

from __future__ import annotations

from collections import defaultdict
from math import floor, isfinite
from typing import Any

import pyomo.environ as pyo

from rarmodel.errors import UsageError
from rarmodel.heuristics.idle_gpus import TOLERANCE
from rarmodel.model.features import BY_DUTY, CARDS
from rarmodel.schema import Schedule
from rarmodel.schema.problems import show

from . import pool as pools
from .component import Component
from .formulation import Formulation
from .gpu_loads import loads
from .pool import Pool, entry_of, holds_all, pool_of, size_of_pool
from .schedule_selection import MAKESPAN, ONE_SCHEDULE, SCHEDULE_SELECTION, choose, plan
from .scope import Scope
from .shared_out import Work, estimates_of, work_of


def pool(m: Any, scope: Scope) -> None:
    """The requested pool; of schedules with equal times it has the one of the least busy GPUs."""
    m.pool = pool_of(scope, estimates_of(scope).work)


def busy(m: Any, scope: Scope) -> None:
    """No GPU is busy beyond the limit, (14)–(16).

    ```
    Σ_j Σ_k x_jk·ρ̂_j/u ≤ θ_u      for each GPU g, over the jobs j that g serves in schedule k
    ```
    """
    work = work_of(scope)
    units = _units(scope, work)
    servers, jobs = list(scope.servers), list(scope.jobs)
    served: defaultdict[tuple[str, int], list[tuple[str, int]]] = defaultdict(list)
    for k, entry in enumerate(m.pool):
        for j, held in zip(jobs, entry.gpus, strict=True):
            for s, indices in held.items():
                for i in indices:
                    served[servers[s], i].append((j, k))
    m.busy = pyo.Constraint(
        sorted(served),
        rule=lambda m, *g: sum(work.of[j] * m.x[j, k] for j, k in served[g]) <= units,
    )


def _units(scope: Scope, work: Work) -> int:
    """The limit in the units of the work."""
    return floor(_limit(scope) * work.unit + TOLERANCE)


def _limit(scope: Scope) -> float:
    limit = scope.read("limit")
    number = isinstance(limit, int | float) and not isinstance(limit, bool)
    if not (number and isfinite(limit) and limit > 0):
        raise UsageError(f"limit: {show(limit)}; a number of slots above 0 is expected")
    return float(limit)


POOL = Component("pool", pool, gives=("pool",))
BUSY = Component("busy", busy, needs=("pool", "x"))


def _load(model: pyo.ConcreteModel, scope: Scope, schedule: Schedule) -> None:
    """Choose the schedule of the pool with the same starts, completions and GPUs.

    If there is none, the variables stay without values: the model cannot represent the schedule.
    """
    claimed = entry_of(scope, schedule)
    pool: Pool = model.pool
    same = (
        k
        for k, entry in enumerate(pool)
        if entry.times == claimed.times and entry.is_at(claimed.gpus)
    )
    choose(model, next(same, None))


def _evaluate(scope: Scope, schedule: Schedule) -> pyo.ConcreteModel:
    """The values of a schedule, and whether it keeps the limit.

    This works for the pool of all schedules. For another pool only the model can tell; it is never
    large.

    Raises
    ------
    KeyError
        If the pool is not the pool of all schedules, or there is no limit.
    """
    if not holds_all(scope) or "limit" not in scope.data:
        raise KeyError("only the model knows its pool")
    assert SCHEDULE_SELECTION.evaluate is not None  # noqa: S101 - for type checkers
    model: Any = SCHEDULE_SELECTION.evaluate(scope, schedule)
    work = work_of(scope)
    busiest = max(loads(entry_of(scope, schedule).gpus, list(work.of.values())).values())
    model.add_component("_busiest", pyo.Var(initialize=busiest))
    model.component("_busiest").fix()
    within = model.component("_busiest") <= _units(scope, work)
    model.add_component("_within_limit", pyo.Constraint(expr=within))
    return model


def _size(scope: Scope) -> int:
    """Approximate number of terms: per schedule, 4 for each job and 1 for each GPU it holds."""
    terms = sum(4 + job.size for job in scope.instance.jobs)
    return terms * size_of_pool(scope)


def _unfit(scope: Scope) -> str | None:
    """Why the model is refused: no limit is given, or there is no pool."""
    if "limit" not in scope.data:
        return 'this formulation needs a limit in its data, as in {"limit": 20}'
    return pools.unfit(scope)


BUSY_TIME_SELECTION = Formulation.composed(
    "busy-time-selection",
    POOL,
    ONE_SCHEDULE,
    BUSY,
    MAKESPAN,
    description="(14)-(16) over a pool of schedules, with a given limit",
    load=_load,
    plan=plan,
    size=_size,
    unfit=_unfit,
    model_class="integer",
    proves=holds_all,
    evaluate=_evaluate,
    restricts=True,
    reads=frozenset({"limit", "pool", "schedules", "estimates"}),
    handles=BY_DUTY | {CARDS.name},
)
