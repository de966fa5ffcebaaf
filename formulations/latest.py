"""The makespan of models over slots: by the slots that are left, or as a whole number."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from .aims import needs_makespan
from .component import Component
from .outcome import ScheduleOutcome
from .scope import Scope
from .values import Values, over


def makespan_by_slots(m: Any, scope: Scope) -> None:
    """The makespan: the first slot before which all jobs have completed.

    ```
    done_t ≤ ended_jt      done_t ≥ done_(t−1)      makespan = H − Σ_t done_t
    ```

    Slots below the lower bound on the makespan have no `done`.
    """
    h = scope.horizon
    slots = range(_low(scope), h)
    m.done = pyo.Var(slots, domain=pyo.Binary)
    m.done_if_ended = pyo.Constraint(
        list(scope.jobs), slots, rule=lambda m, j, t: m.done[t] <= m.ended[j, t]
    )
    m.stays_done = pyo.Constraint(slots[1:], rule=lambda m, t: m.done[t] >= m.done[t - 1])
    m.makespan = pyo.Expression(expr=h - sum(m.done[t] for t in slots))


def latest_completion(m: Any, scope: Scope) -> None:
    """The latest completion, between the lower bound and the horizon: `makespan ≥ T_j`."""
    m.makespan = pyo.Var(domain=pyo.NonNegativeIntegers, bounds=(scope.lower_bound, scope.horizon))
    m.is_latest = pyo.Constraint(list(scope.jobs), rule=lambda m, j: m.makespan >= m.completion[j])


def _low(scope: Scope) -> int:
    return min(scope.lower_bound, scope.horizon)


def _values_of_done(outcome: ScheduleOutcome) -> dict[str, Values]:
    slots = range(_low(outcome.scope), outcome.scope.horizon)
    return {"done": over(lambda t: t >= outcome.latest, slots)}


MAKESPAN_BY_SLOTS = Component(
    "makespan",
    makespan_by_slots,
    needs=("ended",),
    gives=("done", "makespan"),
    values=_values_of_done,
    when=needs_makespan,
)
LATEST_COMPLETION = Component(
    "makespan", latest_completion, needs=("completion",), gives=("makespan",), when=needs_makespan
)
