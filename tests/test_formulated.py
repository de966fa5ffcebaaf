"""A model that is built: solved by whoever, changed, solved again, and read as a schedule."""

from __future__ import annotations

import pickle
from typing import Any

import pyomo.environ as pyo
import pytest
from documents import assignment_data, instance_of, job_data, schedule_of

import rarmodel
from rarmodel import Instance, NoScheduleError, UsageError, VerificationError
from rarmodel.exact import FormulatedModel
from rarmodel.formulations.compact import COMPACT
from rarmodel.formulations.time_indexed import TIME_INDEXED


def instance(**fields: Any) -> Instance:
    """Three jobs of six slots on two servers of two GPUs: two run at once, the third after them."""
    return instance_of(*(job_data(name, 2, 60) for name in ("a", "b", "c")), horizon=30, **fields)


def contended() -> Instance:
    """Two rings that can only run side by side over the network, and slow each other down."""
    ring = {"gradient_mb": 40.0}
    return instance_of(
        job_data("a", 2, 30, **ring),
        job_data("b", 2, 30, **ring),
        job_data("pin", 1, 60),
        job_data("nail", 1, 60),
        servers=(3, 3),
        horizon=24,
    )


def last_start(model: Any, scope: Any) -> None:
    """No job starts after a slot that a parameter holds."""
    model.latest = pyo.Param(initialize=scope.horizon, mutable=True)
    model.in_time = pyo.Constraint(
        list(scope.jobs), rule=lambda m, j: m.start[j] <= m.latest, doc="latest start"
    )


def solved_elsewhere(model: pyo.ConcreteModel) -> None:
    """Solve a model with Pyomo's own interface, as a user would."""
    pyo.SolverFactory("appsi_highs").solve(model)


# Solutions as schedules


@pytest.mark.parametrize("formulation", ["time-indexed", "time-indexed-compact"])
@pytest.mark.parametrize("problem", [instance, contended])
def test_a_solution_of_any_solver_is_a_schedule(formulation: str, problem: Any) -> None:
    formulated = rarmodel.formulate(problem(), formulation)
    solved_elsewhere(formulated.model)
    schedule = formulated.schedule()
    report = rarmodel.verify(problem(), schedule)
    assert report.feasible
    assert report.makespan == rarmodel.solve(problem(), formulation="time-indexed").makespan
    assert schedule.time is not None


@pytest.mark.parametrize("formulation", ["rar-ddls", "schedule-selection", "time-indexed"])
def test_every_formulation_reads_what_it_has_loaded(formulation: str) -> None:
    best = rarmodel.solve("two-servers", method="sjf-bco").schedule
    assert best is not None
    formulated = rarmodel.formulate("two-servers", formulation, horizon=25)
    formulated.load(best)
    found = rarmodel.verify("two-servers", formulated.schedule())
    assert found.completion == rarmodel.verify("two-servers", best).completion


def test_a_schedule_outside_the_pool_is_not_loaded() -> None:
    formulated = rarmodel.formulate("two-servers", "schedule-selection")
    best = rarmodel.solve("two-servers").schedule
    assert best is not None
    with pytest.raises(UsageError, match="cannot have the schedule"):
        formulated.load(best)


def test_the_values_stay_as_they_are() -> None:
    formulated = rarmodel.formulate(instance(), TIME_INDEXED.extended("mine", last_start))
    formulated.model.unused = pyo.Var(initialize=3)
    solved_elsewhere(formulated.model)
    before = {v.name: v.value for v in formulated.model.component_data_objects(pyo.Var)}
    formulated.schedule()
    assert {v.name: v.value for v in formulated.model.component_data_objects(pyo.Var)} == before


def test_no_values_are_no_schedule() -> None:
    formulated = rarmodel.formulate(instance(), "time-indexed")
    with pytest.raises(NoScheduleError, match="the variables of the model have no values"):
        formulated.schedule()


def test_a_relaxation_has_no_schedule() -> None:
    formulated = rarmodel.formulate("two-servers", "busy-time")
    for variable in formulated.model.component_data_objects(pyo.Var):
        variable.set_value(0, skip_validation=True)
    with pytest.raises((NoScheduleError, VerificationError)):
        formulated.schedule()


def test_a_schedule_that_breaks_the_user_s_constraint_is_refused() -> None:
    """A job completes earlier than in the model, which a constraint of the user's forbids."""

    def not_before(model: Any, scope: Any) -> None:
        model.not_before = pyo.Constraint(expr=model.completion["a"] >= 9)

    formulated = rarmodel.formulate(contended(), COMPACT.extended("late", not_before))
    best = rarmodel.solve(contended()).schedule
    assert best is not None
    formulated.load(best)
    with pytest.raises(VerificationError, match="the schedule breaks not_before"):
        formulated.schedule()


def test_added_variables_get_values_that_suit_the_schedule() -> None:
    def sum_of_starts(model: Any, scope: Any) -> None:
        model.total = pyo.Var(domain=pyo.NonNegativeIntegers, bounds=(0, 1000))
        model.is_total = pyo.Constraint(
            expr=model.total == sum(model.completion[j] for j in scope.jobs)
        )

    formulated = rarmodel.formulate(instance(), TIME_INDEXED.extended("mine", sum_of_starts))
    solved_elsewhere(formulated.model)
    formulated.model.total.set_value(7)
    assert rarmodel.verify(instance(), formulated.schedule()).feasible


def test_a_schedule_that_the_model_has_no_slots_for_is_not_loaded() -> None:
    formulated = rarmodel.formulate(instance(), "time-indexed", horizon=13)
    late = schedule_of(
        assignment_data("a", 0, s0=[0, 1]),
        assignment_data("b", 0, s1=[0, 1]),
        assignment_data("c", 10, s0=[0, 1]),
    )
    with pytest.raises(UsageError, match="the schedule takes 16 slots; the model has 13"):
        formulated.load(late)


# Solving again


@pytest.mark.parametrize("solver", ["highs", "cpsat", "scip", None])
def test_a_parameter_is_changed_and_the_model_solved_again(solver: str | None) -> None:
    formulated = rarmodel.formulate(instance(), TIME_INDEXED.extended("mine", last_start))
    build = formulated.model
    found = []
    for latest in (30, 6, 5, 30):
        formulated.model.latest.set_value(latest)
        found.append(formulated.solve(solver))
    assert formulated.model is build
    assert [(one.status, one.makespan) for one in found] == [
        ("optimal", 12),
        ("optimal", 12),
        ("infeasible", None),
        ("optimal", 12),
    ]
    assert all(one.restricted for one in found)
    assert all(one.report.feasible for one in found if one.report)
    assert all(one.formulated is formulated for one in found)


def test_what_stands_in_the_model_is_what_is_judged() -> None:
    """The functions of the formulation would set the parameter to what it was at first."""

    def weighted(model: Any, scope: Any) -> Any:
        model.weight = pyo.Param(list(scope.jobs), initialize=1, mutable=True)
        return sum(model.weight[j] * model.completion[j] for j in scope.jobs)

    mine = TIME_INDEXED.extended("mine", objective=weighted)
    formulated = rarmodel.formulate(instance(), mine)
    first = formulated.solve("highs")
    assert (first.status, first.objective[0].value) == ("optimal", 24)
    assert first.objective[0].name == "weighted"
    for job in ("a", "b", "c"):
        formulated.model.weight[job].set_value(10 if job == "c" else 1)
    second = formulated.solve("highs")
    assert (second.status, second.objective[0].value) == ("optimal", 6 * 10 + 6 + 12)
    assert second.report is not None
    assert second.report.completion["c"] == 6


def test_another_objective_in_the_model_is_the_aim() -> None:
    formulated = rarmodel.formulate(instance(), "time-indexed")
    model: Any = formulated.model
    model.objective.deactivate()
    model.mine = pyo.Objective(expr=sum(model.completion[j] for j in formulated.scope.jobs) + 0.5)
    result = formulated.solve("highs")
    assert result.objective[0].name == "the model's objective"
    assert result.objective[0].value == pytest.approx(24.5)
    assert result.objective[0].bound == pytest.approx(24.5)
    assert result.status == "optimal"
    assert result.schedule is not None
    assert result.schedule.bound is not None
    assert result.schedule.bound.slots == rarmodel.bounds.best_bound(instance()).slots


def test_a_bound_of_a_changed_model_is_no_claim_about_the_instance() -> None:
    formulated = rarmodel.formulate(instance(), "time-indexed", every_schedule=True)
    model: Any = formulated.model
    model.slow = pyo.Constraint(expr=model.start["a"] >= 20)
    result = formulated.solve("highs")
    assert (result.status, result.makespan, result.lower_bound) == ("optimal", 26, 26)
    assert result.restricted
    assert result.schedule is not None
    assert result.schedule.bound is not None
    assert result.schedule.bound.slots <= 12


def test_other_objectives_keep_their_values() -> None:
    for objective in ("total-flow", "max-flow", "cost"):
        plain = rarmodel.solve(instance(), objective=[objective])
        formulated = rarmodel.formulate(instance(), "time-indexed", objective=objective)
        result = formulated.solve("highs")
        assert result.objective[0].value == plain.objective[0].value, objective
        assert result.status == "optimal"


def test_solver_and_options_are_checked() -> None:
    formulated = rarmodel.formulate("two-servers", "rar-ddls")
    with pytest.raises(UsageError, match="'rar-ddls' is nonlinear"):
        formulated.solve("highs")
    formulated = rarmodel.formulate("two-servers", "time-indexed")
    with pytest.raises(UsageError, match="has no option 'presolv'"):
        formulated.solve("highs", solver_options={"presolv": "off"})


# The model in a result


@pytest.mark.usefixtures("idle_search")
def test_the_solved_model_is_in_the_result_on_request() -> None:
    mine = TIME_INDEXED.extended("mine", last_start)
    result = rarmodel.solve(
        instance(), formulation=mine, solver="highs", model_only=True, keep_model=True
    )
    formulated = result.formulated
    assert isinstance(formulated, FormulatedModel)
    assert formulated.scope.instance.name == "example"
    assert result.schedule is not None
    completion = {j: pyo.value(formulated.model.completion[j]) for j in "abc"}
    assert max(completion.values()) == pytest.approx(12)
    assert rarmodel.verify(instance(), formulated.schedule()).makespan == 12
    again = formulated.solve("highs")
    assert again.makespan == 12


def test_there_is_none_unless_asked_for_or_if_no_model_was_needed() -> None:
    plain = rarmodel.solve(instance(), formulation="time-indexed", solver="highs", model_only=True)
    assert plain.formulated is None
    needless = rarmodel.solve(instance(), formulation="time-indexed", keep_model=True)
    assert needless.formulated is None
    assert "no model was needed" in needless.stopped


def test_a_method_has_no_model_to_keep() -> None:
    with pytest.raises(UsageError, match="keep_model needs a formulation"):
        rarmodel.solve(instance(), keep_model=True)


def test_results_with_a_model_can_be_pickled_and_are_the_same_in_json() -> None:
    def local(model: Any, scope: Any) -> None:
        """A function that cannot be pickled."""
        last_start(model, scope)

    mine = TIME_INDEXED.extended("mine", local)
    result = rarmodel.solve(
        instance(), formulation=mine, solver="highs", model_only=True, keep_model=True
    )
    there = pickle.loads(pickle.dumps(result))  # noqa: S301 - it is our own
    assert there.formulated is None
    assert there.summary() == result.summary()
    assert "formulated" not in result.summary()


def test_a_formulated_model_can_be_pickled_and_solved_there() -> None:
    formulated = rarmodel.formulate(instance(), TIME_INDEXED.extended("mine", last_start))
    there = pickle.loads(pickle.dumps(formulated))  # noqa: S301 - it is our own
    there.model.latest.set_value(6)
    result = there.solve("highs")
    assert (result.status, result.objective[0].name) == ("optimal", "makespan")


def test_it_unpacks_into_model_and_size() -> None:
    formulated = rarmodel.formulate(instance(), "time-indexed")
    model, size = formulated
    assert model is formulated.model
    assert size == formulated.size
