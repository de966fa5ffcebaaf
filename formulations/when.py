"""When jobs start and end in models over slots: windows as bounds, and jobs that wait for others.

Releases, deadlines, jobs before and after, and values that objectives may take at most are data:
they say in which slots a job can be active (section 9).
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from .formulation import Scope


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
