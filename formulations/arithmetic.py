"""The greatest speeds and lengths for which the solvers' arithmetic is exact enough."""

from __future__ import annotations

from .scope import Scope

MAX_SPEED = 1_000_000
"""Most iterations per slot for linear solvers: their tolerances, times the number of slots, then
stay below one iteration.
"""

MAX_NONLINEAR_SPEED = 10_000
"""Most iterations per slot for non-linear solvers, whose tolerances are relative to τ."""

MAX_LENGTH = 10_000_000
"""Most slots of a job for which linear solvers, with tolerances of 1e-9 of a job, can tell slots
apart. With some hundred million slots, HiGHS was seen not to end at all, despite its time limit.
"""


def greatest_speeds(scope: Scope) -> dict[str, int]:
    """By job: the greatest φ_j in any slot; no slot does more than all iterations."""
    return {
        j: min(extreme.best_speed, job.iterations)
        for (j, job), extreme in zip(scope.jobs.items(), scope.extremes, strict=True)
    }


def too_fast(scope: Scope, most: int = MAX_SPEED) -> str | None:
    """Why solvers cannot be trusted with a scope: a job's speed; None if they can."""
    for j, speed in greatest_speeds(scope).items():
        if speed > most:
            return (
                f"job {j!r} does up to {speed:,} iterations per slot, and solvers' arithmetic "
                f"cannot be trusted above {most:,} in this formulation; take shorter slots"
            )
    return None


def too_long(scope: Scope) -> str | None:
    """Why solvers cannot be trusted with execution times; None if they can."""
    for j, extreme in zip(scope.jobs, scope.extremes, strict=True):
        if extreme.least_slots > MAX_LENGTH:
            return (
                f"job {j!r} takes {extreme.least_slots:,} slots and more, and solvers' arithmetic "
                f"cannot be trusted above {MAX_LENGTH:,} in this formulation; take longer slots"
            )
    return None
