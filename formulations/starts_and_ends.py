"""When jobs start and end in models over slots: windows as bounds, and jobs that wait for others.

Releases, deadlines, jobs before and after, and values that objectives may take at most are data:
they say in which slots a job can be active (section 9).
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from .component import Component
from .scope import Scope


def may_have_started(scope: Scope, job: str, t: int) -> tuple[int, int]:
    """Bounds of `started[j,t]`: 0 before the earliest start, 1 from the latest one on.

    A job that runs at slot 0 has started there.
    """
    window = scope.windows[job]
    must = t >= window.end - scope.least_slots[job] or scope.jobs[job].running is not None
    return int(must), int(must or t >= window.start)


def may_have_ended(scope: Scope, job: str, t: int) -> tuple[int, int]:
    """Bounds of `ended[j,t]`: 0 before the earliest completion, 1 from the latest one on."""
    window = scope.windows[job]
    must = t >= window.end
    return int(must), int(must or t >= window.start + scope.least_slots[job])


def keep_windows(m: Any, scope: Scope) -> None:
    """A job starts when those have ended that it waits for; no window is too short.

    ```
    started[j,t] ≤ ended[k,t]          for jobs k that job j waits for
    ended[j,H] ≤ 0                     for jobs without time, so that there is no solution
    ```
    """
    windows, least, jobs = scope.windows, scope.least_slots, scope.jobs
    short = [j for j in jobs if windows[j].start + least[j] > windows[j].end]
    if short:
        m.window_is_too_short = pyo.Constraint(
            short, rule=lambda m, j: m.ended[j, scope.horizon] <= 0
        )
    if waits := [(j, k) for j in jobs for k in dict.fromkeys(jobs[j].after)]:
        m.waits = pyo.Constraint(
            waits,
            range(scope.horizon),
            rule=lambda m, j, k, t: m.started[j, t] <= m.ended[k, t],
        )


def starts_and_ends(m: Any, scope: Scope) -> None:
    """Gang and no preemption, (1) and (3): a job is active from its start to its completion.

    ```
    started[j,t] ≥ started[j,t−1]      ended[j,t+1] ≥ ended[j,t]
    ended[j,t+ρ] ≤ started[j,t]        with ρ = ρ_j^min, the least execution time
    ```

    Windows bound these variables: see `may_have_started` and `may_have_ended`, and `keep_windows`
    for what jobs wait for.
    """
    h, least = scope.horizon, scope.least_slots
    jobs, slots = list(scope.jobs), range(h)
    m.started = pyo.Var(
        jobs, slots, domain=pyo.Binary, bounds=lambda _, j, t: may_have_started(scope, j, t)
    )
    m.ended = pyo.Var(
        jobs, range(h + 1), domain=pyo.Binary, bounds=lambda _, j, t: may_have_ended(scope, j, t)
    )
    m.running = pyo.Expression(jobs, slots, rule=lambda m, j, t: m.started[j, t] - m.ended[j, t])
    m.start = pyo.Expression(jobs, rule=lambda m, j: h - sum(m.started[j, t] for t in slots))
    m.completion = pyo.Expression(
        jobs, rule=lambda m, j: h + 1 - sum(m.ended[j, t] for t in range(h + 1))
    )
    m.stays_started = pyo.Constraint(
        jobs, slots[1:], rule=lambda m, j, t: m.started[j, t] >= m.started[j, t - 1]
    )
    m.stays_ended = pyo.Constraint(
        jobs, slots, rule=lambda m, j, t: m.ended[j, t + 1] >= m.ended[j, t]
    )
    m.takes_least_time = pyo.Constraint(
        [(j, t) for j in jobs for t in range(h - least[j] + 1)],
        rule=lambda m, j, t: m.ended[j, t + least[j]] <= m.started[j, t],
    )
    keep_windows(m, scope)


STARTS_AND_ENDS = Component(
    "starts_and_ends", starts_and_ends, gives=("started", "ended", "running", "start", "completion")
)
