"""Components of `rar-ddls`: the equations (1)–(5), who holds what and when.

`rar_ddls` explains the variables; `rar_ddls_contention` and `rar_ddls_work` have the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyomo.environ as pyo

from rarmodel.model.lone import allowed_servers

from .caps import Holder, capacity_of, limits_of
from .component import Component
from .outcome import ScheduleOutcome
from .scope import Scope
from .starts_and_ends import keep_windows, may_have_started
from .values import Values, usual_values


def _most(scope: Scope, j: str, s: str) -> int:
    """The most workers that a job can have on a server; of a running job those that it has."""
    job = scope.jobs[j]
    if job.running is not None:
        return len(job.running.gpus.get(s, ()))
    allowed = allowed_servers(scope.instance)[scope.index[j]]
    return min(scope.servers[s].gpus, job.size) * (scope.server_index[s] in allowed)


def gang(m: Any, scope: Scope) -> None:
    """(1) An active job holds exactly G_j GPUs: Σ_s y_js[t] = G_j·x_j[t].

    It is inactive outside of its window, and holds nothing on servers that it may not use.
    """
    jobs, slots = list(scope.jobs), range(scope.horizon)
    most = {(j, s): _most(scope, j, s) for j in jobs for s in scope.servers}
    windows = scope.windows
    m.y = pyo.Var(
        jobs,
        list(scope.servers),
        slots,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda _, j, s, __: (0, most[j, s]),
    )
    m.x = pyo.Var(
        jobs,
        slots,
        domain=pyo.Binary,
        bounds=lambda _, j, t: (0, int(windows[j].start <= t < windows[j].end)),
    )
    m.held = pyo.Expression(jobs, list(scope.servers), slots, rule=lambda m, j, s, t: m.y[j, s, t])
    m.gang = pyo.Constraint(
        jobs,
        slots,
        rule=lambda m, j, t: (
            sum(m.y[j, s, t] for s in scope.servers) == scope.jobs[j].size * m.x[j, t]
        ),
    )


def _values_of_gang(outcome: ScheduleOutcome) -> dict[str, Values]:
    usual = usual_values(outcome)
    return {"y": usual["held"], "x": usual["running"]}


GANG = Component("gang", gang, gives=("y", "x", "held"), values=_values_of_gang)


def holders(m: Any, scope: Scope) -> Iterator[Holder]:
    """Each job holds y_js[t]."""
    for j, job in scope.jobs.items():
        yield Holder(
            j,
            job.running is not None,
            {s: _most(scope, j, s) for s in scope.servers},
            lambda s, t, j=j: m.y[j, s, t],  # type: ignore[misc]
            lambda amount, t, j=j, size=job.size: amount(size) * m.x[j, t],  # type: ignore[misc]
        )


CAPACITY = capacity_of(holders, "y")
LIMITS = limits_of(holders, "x")


def no_preemption(m: Any, scope: Scope) -> None:
    """(3) From start to completion the GPUs stay the same.

    ```
    started_j[t] ≥ started_j[t−1]      x_j[t] ≤ started_j[t]
    x_j[t] ≤ x_j[t−1] + started_j[t] − started_j[t−1]
    x_j[t] ≥ started_j[t] − started_j[t−1]
    y_js[t] − y_js[t−1] ≤ O·(1 − x_j[t−1])      y_js[t−1] − y_js[t] ≤ O·(1 − x_j[t])
    ```

    with O = min(O_s, G_j). An active job starts once, and keeps the GPUs of the slot before unless
    it was or becomes inactive. `when` says how windows bound starts, and what jobs wait for.
    """
    h, least = scope.horizon, scope.least_slots
    jobs, slots = list(scope.jobs), range(h)
    m.started = pyo.Var(
        jobs, slots, domain=pyo.Binary, bounds=lambda _, j, t: may_have_started(scope, j, t)
    )
    m.start = pyo.Expression(jobs, rule=lambda m, j: h - sum(m.started[j, t] for t in slots))
    m.completion = pyo.Expression(
        jobs, rule=lambda m, j: m.start[j] + sum(m.x[j, t] for t in slots)
    )
    m.ended = pyo.Expression(
        jobs,
        range(h + 1),
        rule=lambda m, j, t: m.started[j, t] - m.x[j, t] if t < h else m.started[j, h - 1],
    )
    m.starts_once = pyo.Constraint(
        jobs, slots[1:], rule=lambda m, j, t: m.started[j, t] >= m.started[j, t - 1]
    )
    m.active_if_started = pyo.Constraint(
        jobs, slots, rule=lambda m, j, t: m.x[j, t] <= m.started[j, t]
    )

    def before(m: Any, j: str, t: int, variable: Any) -> Any:
        return variable[j, t - 1] if t > 0 else 0

    m.no_restart = pyo.Constraint(
        jobs,
        slots,
        rule=lambda m, j, t: (
            m.x[j, t] <= before(m, j, t, m.x) + m.started[j, t] - before(m, j, t, m.started)
        ),
    )
    m.active_at_start = pyo.Constraint(
        jobs,
        slots,
        rule=lambda m, j, t: m.x[j, t] >= m.started[j, t] - before(m, j, t, m.started),
    )
    triples = [(j, s) for j in jobs for s in scope.servers]
    m.no_gain = pyo.Constraint(
        triples,
        slots[1:],
        rule=lambda m, j, s, t: (
            m.y[j, s, t] - m.y[j, s, t - 1] <= m.y[j, s, t].ub * (1 - m.x[j, t - 1])
        ),
    )
    m.no_loss = pyo.Constraint(
        triples,
        slots[1:],
        rule=lambda m, j, s, t: (
            m.y[j, s, t - 1] - m.y[j, s, t] <= m.y[j, s, t].ub * (1 - m.x[j, t])
        ),
    )
    m.takes_least_time = pyo.Constraint(
        jobs, rule=lambda m, j: sum(m.x[j, t] for t in slots) >= least[j]
    )
    keep_windows(m, scope)


NO_PREEMPTION = Component(
    "no_preemption",
    no_preemption,
    needs=("y", "x"),
    gives=("started", "start", "completion", "ended"),
)
