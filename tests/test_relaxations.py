"""LP relaxations: their value, what it proves, and the duals of constraints."""

from __future__ import annotations

from random import Random
from typing import Any

import pyomo.environ as pyo
import pytest
from documents import instance_of, job_data
from pyomo.repn import generate_standard_repn
from random_instances import random_instance

import rarmodel
from rarmodel import UsageError
from rarmodel.exact import relaxation_of
from rarmodel.formulations.time_indexed import TIME_INDEXED

FORMULATIONS = ["time-indexed", "time-indexed-compact", "busy-time"]


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("seed", range(4))
def test_the_bound_is_true(formulation: str, seed: int) -> None:
    instance = random_instance(Random(seed), jobs=3, servers=2, tree=False, most_slots=4)
    relaxed = rarmodel.relax(instance, formulation)
    best = rarmodel.solve(instance, formulation="time-indexed")
    assert best.status == "optimal"
    assert relaxed.status == "solved"
    assert relaxed.value is not None
    assert relaxed.bound is not None
    assert best.makespan is not None
    assert relaxed.value - 1e-6 <= relaxed.bound <= best.makespan
    assert relaxed.holds_for == "every schedule of the instance"


@pytest.mark.parametrize("objective", ["total-flow", "max-flow", "cost", "total-tardiness"])
def test_the_bound_is_true_for_other_objectives(objective: str) -> None:
    jobs = [job_data(name, 2, 60, due=7, release=i) for i, name in enumerate("abc")]
    instance = instance_of(*jobs, horizon=25)
    relaxed = rarmodel.relax(instance, "time-indexed", objective=objective)
    best = rarmodel.solve(instance, formulation="time-indexed", objective=[objective])
    assert best.status == "optimal"
    assert relaxed.bound is not None
    assert best.objective[0].value is not None
    assert relaxed.bound <= best.objective[0].value


def test_the_bound_says_nothing_where_longer_schedules_may_be_better() -> None:
    instance = instance_of(*(job_data(name, 2, 60) for name in "abc"), horizon=40)
    relaxed = rarmodel.relax(instance, "time-indexed", objective="total-flow", horizon=13)
    assert relaxed.value is not None
    assert relaxed.bound is None
    assert relaxed.holds_for == "none: schedules longer than 13 slots may be better"


def test_a_choice_from_a_pool_proves_nothing() -> None:
    relaxed = rarmodel.relax("two-servers", "schedule-selection", horizon=25)
    assert relaxed.value is not None
    assert relaxed.bound is None
    assert "pool" in relaxed.holds_for


def test_too_few_slots_prove_one_more() -> None:
    instance = instance_of(*(job_data(name, 2, 60) for name in "abc"), horizon=40)
    relaxed = rarmodel.relax(instance, "time-indexed", horizon=7)
    assert (relaxed.status, relaxed.value, relaxed.bound) == ("infeasible", None, 8)
    assert not relaxed.duals


def test_a_formulation_of_the_user_s_has_a_bound_of_its_own() -> None:
    def late(model: Any, scope: Any) -> None:
        model.late = pyo.Constraint(expr=model.start["a"] >= 20)

    instance = instance_of(*(job_data(name, 2, 60) for name in "abc"), horizon=40)
    relaxed = rarmodel.relax(instance, TIME_INDEXED.extended("late", late))
    assert relaxed.bound == 26
    assert relaxed.holds_for == "every schedule that satisfies late"
    assert relaxed.duals["late"] == pytest.approx(1.0)


def test_duals_are_those_of_the_dual_program() -> None:
    """Strong duality: sides times duals, and bounds times reduced costs, make the value."""
    formulated = rarmodel.formulate("two-servers", "time-indexed", lower_bound=False, horizon=14)
    relaxed = relaxation_of(formulated)
    model = formulated.model
    total = 0.0
    for constraint in model.component_data_objects(pyo.Constraint, active=True):
        dual = relaxed.duals.get(constraint.name, 0.0)
        if dual:
            side = constraint.upper if dual < 0 or constraint.equality else constraint.lower
            constant = generate_standard_repn(constraint.body).constant
            total += dual * (pyo.value(side) - constant)
    for variable in model.component_data_objects(pyo.Var):
        if variable.name in relaxed.reduced_costs and not variable.fixed:
            cost = relaxed.reduced_costs[variable.name]
            total += cost * (variable.lb if cost > 0 else variable.ub) if abs(cost) > 1e-9 else 0.0
    (objective,) = model.component_data_objects(pyo.Objective, active=True)
    total += generate_standard_repn(objective.expr).constant
    assert total == pytest.approx(relaxed.value)


def test_the_model_stays_as_it_is() -> None:
    formulated = rarmodel.formulate("two-servers", "time-indexed")
    relaxation_of(formulated)
    variables = list(formulated.model.component_data_objects(pyo.Var))
    assert all(variable.value is None for variable in variables)
    assert any(variable.is_binary() for variable in variables)


def test_values_stand_by_name() -> None:
    relaxed = rarmodel.relax("two-servers", "time-indexed")
    formulated = rarmodel.formulate("two-servers", "time-indexed", lower_bound=False)
    names = {v.name for v in formulated.model.component_data_objects(pyo.Var) if not v.fixed}
    assert set(relaxed.values) <= names
    assert all(value >= -1e-9 for value in relaxed.values.values())


def test_another_objective_is_named() -> None:
    formulated = rarmodel.formulate("two-servers", "time-indexed", every_schedule=True)
    model: Any = formulated.model
    model.objective.deactivate()
    model.mine = pyo.Objective(expr=sum(model.start[j] for j in formulated.scope.jobs))
    relaxed = relaxation_of(formulated)
    assert relaxed.bound == relaxed.value is not None
    assert "you have changed" in relaxed.holds_for


def test_a_nonlinear_program_has_none() -> None:
    with pytest.raises(UsageError, match="'rar-ddls' is nonlinear; its relaxation is no LP"):
        rarmodel.relax("two-servers", "rar-ddls")


def test_a_data_frame_has_the_duals() -> None:
    found = rarmodel.relax("two-servers", "time-indexed").to_frame()
    assert list(found.columns) == ["constraint", "family", "dual"]
    assert (found["dual"] != 0).all()
