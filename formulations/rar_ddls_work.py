"""Components of `rar-ddls`: the equations (8) and (9), time, speed, work and makespan.

`rar_ddls` explains the variables.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from rarmodel.model import timing

from .aims import needs_makespan
from .arithmetic import greatest_speeds
from .component import Component
from .outcome import ScheduleOutcome
from .rar_ddls_contention import inner_gbps, values_of_bandwidth, wide_jobs
from .scope import Scope
from .values import Values, over

GUARD = 1e-9
"""The guard of φ's floor (reading 3)."""


def exchange_of(scope: Scope, j: str) -> float:
    """The exchange of one iteration, in slots times Gbit/s."""
    pace = scope.pace(j)
    return pace.bits / 1e9 / pace.slot_seconds


def seconds_of(scope: Scope, j: str, servers: Any) -> Any:
    """τ_j without the exchange of bits, in slots, on a number of servers."""
    pace = scope.pace(j)
    overhead = timing.overhead_seconds(pace.overhead_ms_per_server, 1)
    return (pace.latency + pace.reduction + pace.compute + overhead * servers) / pace.slot_seconds


def iteration_time(m: Any, scope: Scope) -> None:
    """(8) Time of one iteration in slots, and the floor: φ_j[t] = ⌊1/τ_j[t]⌋.

    ```
    τ_j[t] = 2·m_j·(w−1)/w / B_j[t] + m_j·(w−1)/w / C + ξ2·(servers used) + Δf·M + Δb
             + 2(w−1)·λ      with latency (section 20)
    (φ_j[t] − 1e-9)·τ_j[t] ≤ 1      φ_j[t] ≤ φ^max·x_j[t]
    ```

    `seconds` is τ without the exchange of bits. The floor is multiplied by B_j[t], because solvers
    handle division by a variable badly: (φ − 1e-9)·(bits + seconds·B) ≤ slot·B.
    """
    slots = range(scope.horizon)
    cap = greatest_speeds(scope)
    m.phi = pyo.Var(
        list(scope.jobs),
        slots,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda _, j, t: (0, cap[j]),
    )
    m.no_progress_if_inactive = pyo.Constraint(
        list(scope.jobs), slots, rule=lambda m, j, t: m.phi[j, t] <= cap[j] * m.x[j, t]
    )
    exchange = {j: exchange_of(scope, j) for j in scope.jobs}
    m.seconds = pyo.Expression(
        list(scope.jobs),
        rule=lambda m, j: seconds_of(
            scope, j, sum(m.uses_server[j, s] for s in scope.servers) if j in m.spread else 1
        ),
    )
    m.tau = pyo.Expression(
        list(m.spread),
        slots,
        rule=lambda m, j, t: exchange[j] / m.bandwidth[j, t] + m.seconds[j],
    )

    def floor(m: Any, j: str, t: int) -> Any:
        if j in m.spread:
            return (m.phi[j, t] - GUARD) * (
                exchange[j] + m.seconds[j] * m.bandwidth[j, t]
            ) <= m.bandwidth[j, t]
        # One GPU, or the only server: the first one's rate will do.
        inner = next(iter(inner_gbps(scope).values()))
        return (m.phi[j, t] - GUARD) * (exchange[j] / inner + m.seconds[j]) <= 1

    m.floor = pyo.Constraint(list(scope.jobs), slots, rule=floor)


def _values_of_time(outcome: ScheduleOutcome) -> dict[str, Values]:
    o, scope, rings = outcome, outcome.scope, wide_jobs(outcome.scope)
    most, slots = greatest_speeds(scope), range(scope.horizon)
    bandwidth = values_of_bandwidth(outcome)["bandwidth"].at

    def seconds(j: str) -> float:
        return float(seconds_of(scope, j, len(o.workers[j])))

    def phi(j: str, t: int) -> int:
        ring = o.ring(j, t)
        return min(ring.speed, most[j]) if ring else 0

    def tau(j: str, t: int) -> float:
        return exchange_of(scope, j) / bandwidth(j, t) + seconds(j)

    return {
        "phi": over(phi, scope.jobs, slots),
        "seconds": over(seconds, scope.jobs),
        "tau": over(tau, rings, slots),
    }


ITERATION_TIME = Component(
    "iteration_time",
    iteration_time,
    needs=("x", "bandwidth", "spread", "uses_server"),
    gives=("phi", "seconds", "tau"),
    values=_values_of_time,
)


def work(m: Any, scope: Scope) -> None:
    """(9) The job is active until its iterations reach F_j: Σ_t φ_j[t] ≥ F_j.

    Of a running job, F_j counts what is left at slot 0.
    """
    m.work = pyo.Constraint(
        list(scope.jobs),
        rule=lambda m, j: (
            sum(m.phi[j, t] for t in range(scope.horizon)) >= scope.jobs[j].iterations_left
        ),
    )


WORK = Component("work", work, needs=("phi",))


def makespan(m: Any, scope: Scope) -> None:
    """(9) The last slot in which a job is active: `makespan ≥ (t + 1)·x_j[t]`."""
    low = min(scope.lower_bound, scope.horizon)
    m.makespan = pyo.Var(domain=pyo.NonNegativeIntegers, bounds=(low, scope.horizon))
    m.is_latest = pyo.Constraint(
        list(scope.jobs),
        range(low, scope.horizon),
        rule=lambda m, j, t: m.makespan >= (t + 1) * m.x[j, t],
    )


MAKESPAN = Component("makespan", makespan, needs=("x",), gives=("makespan",), when=needs_makespan)
