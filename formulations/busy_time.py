r"""Formulation `busy-time`: the program (14)–(16), whose optimum is a lower bound on the makespan.

With an estimate ρ̂_j of each job's execution time and its factor u, ρ̂_j/u is at most the true
execution time, whatever the schedule. So no schedule ends before its busiest GPU has done Σ ρ̂_j/u
of the jobs it serves, and the least limit θ on that, over all ways to give GPUs to jobs, is
θ*_u ≤ T*.

======================= ============================================================================
`y[j,g]`                binary: 1 iff GPU g serves job j
`theta`                 whole (or not, if estimates are not): the limit θ in slots
======================= ============================================================================

`BUSY_TIME` minimises θ over all schedules: the compact program of section 5. GPUs are equal in it,
wherever they are. `BUSY_TIME_SELECTION` is the feasibility program over a pool for a given limit
θ_u: of the schedules whose GPUs all meet the limit it takes the one of least makespan.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pyomo.environ as pyo

from rarmodel.errors import UsageError
from rarmodel.heuristics import estimate
from rarmodel.model.numbering import number_gpus
from rarmodel.schema import Schedule

from .formulation import Formulation, Plan, Scope, put
from .pool import Pooled
from .schedule_selection import SCHEDULE_SELECTION


def busy_slots(scope: Scope) -> dict[str, float]:
    """By job: ρ̂_j/u in slots, from `estimates` in the data, or else the least execution time.

    Raises
    ------
    UsageError
        If `estimates` does not give each job a number above 0.
    """
    given: Mapping[str, float] = scope.read("estimates", {})
    if not given:
        return dict(zip(scope.jobs, estimate(scope.instance).work, strict=True))
    scope.check_jobs(given, "estimates")
    try:
        slots = [float(given[j]) for j in scope.jobs]
        return dict(zip(scope.jobs, estimate(scope.instance, slots).work, strict=True))
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError("estimates must give each job its slots, a number above 0") from error


def _gpus(scope: Scope) -> list[str]:
    return [f"{s}:{g}" for s, server in scope.servers.items() for g in range(server.gpus)]


def gang(m: Any, scope: Scope) -> None:
    """(16) Each job has its GPUs: Σ_g y_jg = G_j."""
    gpus = _gpus(scope)
    m.y = pyo.Var(list(scope.jobs), gpus, domain=pyo.Binary)
    m.gang = pyo.Constraint(
        list(scope.jobs),
        rule=lambda m, j: sum(m.y[j, g] for g in gpus) == scope.jobs[j].gpus,
    )


def limit(m: Any, scope: Scope) -> None:
    """(14)–(15) No GPU is busy longer than the limit, which is minimised: Σ_j y_jg·ρ̂_j/u ≤ θ.

    The limit is at least the mean over GPUs, and the longest job. GPUs are equal: unless every
    schedule is asked for, they are in order of how busy they are.
    """
    busy = busy_slots(scope)
    gpus = _gpus(scope)
    whole = all(float(slots).is_integer() for slots in busy.values())
    area = sum(busy[j] * job.gpus for j, job in scope.jobs.items()) / len(gpus)
    low = max(area, *busy.values())
    if whole:
        busy = {j: int(slots) for j, slots in busy.items()}
        low = float(np.ceil(low - 1e-9))
    m.theta = pyo.Var(
        domain=pyo.NonNegativeIntegers if whole else pyo.NonNegativeReals,
        bounds=(low, sum(busy.values())),
    )
    m.within_limit = pyo.Constraint(
        gpus, rule=lambda m, g: sum(busy[j] * m.y[j, g] for j in scope.jobs) <= m.theta
    )
    if not scope.every_schedule:
        m.busiest_first = pyo.Constraint(
            list(pairwise(gpus)),
            rule=lambda m, g, later: (
                sum(busy[j] * (m.y[j, g] - m.y[j, later]) for j in scope.jobs) >= 0
            ),
        )
    m.objective = pyo.Objective(expr=m.theta)


def _build(scope: Scope) -> pyo.ConcreteModel:
    model = pyo.ConcreteModel("busy-time")
    gang(model, scope)
    limit(model, scope)
    return model


def _load(model: pyo.ConcreteModel, scope: Scope, schedule: Schedule) -> None:
    """Give each job as many GPUs as it has, the least busy ones first: any such gift is feasible.

    GPUs of the schedule would do as well, but this is never worse a start, and is in order.
    """
    m: Any = model
    busy, gpus = busy_slots(scope), _gpus(scope)
    load = dict.fromkeys(gpus, 0.0)
    served: dict[str, list[str]] = {g: [] for g in gpus}
    for j in sorted(scope.jobs, key=lambda j: -busy[j]):
        for g in sorted(gpus, key=lambda g: load[g])[: scope.jobs[j].gpus]:
            load[g] += busy[j]
            served[g].append(j)
    ranked = sorted(gpus, key=lambda g: -load[g])
    for g, source in zip(gpus, ranked, strict=True):
        for j in scope.jobs:
            put(m.y[j, g], int(j in served[source]))
    put(m.theta, max(load.values()))


def _plan(model: pyo.ConcreteModel, scope: Scope) -> Plan | None:
    """No plan: the program knows no time."""
    return None


def _size(scope: Scope) -> int:
    """Terms in the constraints: about `4·J·N` for J jobs and N GPUs."""
    return 4 * len(scope.jobs) * scope.instance.cluster.total_gpus


BUSY_TIME = Formulation(
    name="busy-time",
    build=_build,
    load=_load,
    plan=_plan,
    size=_size,
    model_class="integer",
)


def busiest(scope: Scope, entry: Pooled) -> float:
    """The greatest Σ ρ̂_j/u on a GPU of a schedule, with GPUs numbered as everywhere."""
    busy = busy_slots(scope)
    placed = number_gpus(scope.instance, entry.starts, entry.completions, entry.workers)
    load: dict[tuple[str, int], float] = {}
    for assignment in placed:
        for server, numbers in assignment.gpus.items():
            for number in numbers:
                load[server, number] = load.get((server, number), 0.0) + busy[assignment.job]
    return max(load.values())


def within_limit(m: Any, scope: Scope) -> None:
    """(14) Schedules of the pool with a GPU above the limit θ_u of the data are not chosen."""
    most = scope.read("limit")
    if isinstance(most, bool) or not isinstance(most, int | float):
        raise UsageError(f"limit {most!r}: it must be a number of slots")
    over = [k for k, entry in enumerate(m.pool) if busiest(scope, entry) > most + 1e-9]
    m.over_limit = pyo.Constraint(list(scope.jobs), over, rule=lambda m, j, k: m.x[j, k] == 0)


BUSY_TIME_SELECTION = SCHEDULE_SELECTION.extended("busy-time-selection", within_limit)
