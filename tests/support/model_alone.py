"""What the model of a formulation gives on its own, and what a schedule is worth."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from scopes import scope_of

from rarmodel.exact import schedule_of
from rarmodel.formulations import Formulation
from rarmodel.formulations.aims import aim_of
from rarmodel.limits import Limits
from rarmodel.model import horizon_of
from rarmodel.model.objectives import Value
from rarmodel.schema import Instance, Schedule
from rarmodel.solvers import Answer
from rarmodel.verifier import verify

if TYPE_CHECKING:
    import pyomo.environ as pyo


class Solves(Protocol):
    """A solver, or what stands for one."""

    def solve(self, model: pyo.ConcreteModel, limits: Limits) -> Answer: ...


def best_alone(
    formulation: Formulation, solver: Solves, instance: Instance, horizon: int | None = None
) -> Schedule | None:
    """What the model alone gives, without starting solution: one objective after another."""
    scope = scope_of(instance, horizon or horizon_of(instance))
    schedule = None
    for stage in range(len(instance.objectives)):
        scope = replace(scope, stage=stage)
        built = formulation.build(scope)
        answer = solver.solve(built, Limits(time_limit=120))
        if answer.termination == "infeasible":
            assert schedule is None
            return None
        assert answer.termination == "finished"
        assert answer.bound is not None
        plan = formulation.plan(built, scope)
        assert plan is not None
        schedule = schedule_of(instance, plan, "model")
        values = values_of(instance, schedule)
        assert aim_of(scope, stage).at_least(answer.bound) == values[stage]
        scope = replace(scope, at_most=values[: stage + 1])
    return schedule


def values_of(instance: Instance, schedule: Schedule) -> tuple[Value, ...]:
    report = verify(instance, schedule)
    assert report.feasible, report.violations
    assert report.objective is not None
    return tuple(report.objective.values())
