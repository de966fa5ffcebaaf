"""Who found a schedule, who proved its bound, and what the model had to do with it."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from random import Random
from typing import Any

import pyomo.environ as pyo
import pytest
from enumeration import optimal_makespan
from random_instances import random_instance

from rarmodel import bounds, compare, formulate, parts, solve
from rarmodel.errors import UsageError
from rarmodel.exact import known as known_module
from rarmodel.exact import solve as exact_solve
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.limits import Limits
from rarmodel.methods import ModelRun, Result
from rarmodel.schema import Instance
from rarmodel.solvers.highs import HIGHS

SOLVERS = [row["name"] for row in parts("solvers") if row["version"]]
EQUIVALENT = {
    "rar-ddls": {"scip", "gurobi"},
    "time-indexed": {"cpsat", "highs", "scip", "gurobi"},
    "time-indexed-compact": {"highs", "scip", "gurobi"},
}
"""Formulations whose optimum is that of the problem, and the solvers of their class."""


def tiny(seed: int) -> Instance:
    """An instance with few schedules, most of which are longer than the quick bounds."""
    instance = random_instance(Random(seed), jobs=3, servers=2, tree=False, most_slots=3)
    optimum = optimal_makespan(instance)
    assert optimum is not None
    time = instance.time.model_copy(update={"horizon": optimum + 2})
    return instance.model_copy(update={"time": time})


def test_an_answer_without_a_model_names_those_who_gave_it() -> None:
    result = solve("two-servers", formulation="rar-ddls", solver="scip", time_limit=20)
    assert result.status == "optimal"
    assert (result.solver, result.solver_version, result.chosen_solver) == (None, None, "scip")
    assert (result.schedule_by, result.proved_by) == ("search", "area")
    assert result.by_others == "schedule by search, bound by area"
    assert result.model == ModelRun()
    said = result.summary()
    assert said["model"] == {"built": False, **dict.fromkeys(list(asdict(ModelRun()))[1:])}
    assert result.lines()["formulation"] == "rar-ddls, scip not used"
    assert result.lines()["found by"] == "search"
    assert result.lines()["proven by"] == "area"


def test_a_method_answers_for_itself() -> None:
    result = solve("two-servers", method="first-fit")
    assert (result.schedule_by, result.proved_by, result.model) == ("first-fit", "area", None)
    assert result.by_others == ""
    assert {"found by", "proven by"} & result.lines().keys() == set()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("formulation", "solver"),
    [(name, solver) for name, fit in EQUIVALENT.items() for solver in sorted(fit & {*SOLVERS})],
)
def test_the_model_alone_proves_the_optimum_without_anybody_s_help(
    formulation: str, solver: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*_: Any, **__: Any) -> Any:
        raise AssertionError("only the model may help")

    for module in (exact_solve, known_module):
        for name in ("value_bounds", "require_true", "session_of", "first_schedules", "prepare"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, forbidden)
    instance = tiny(seed)
    try:
        result = solve(
            instance, formulation=formulation, solver=solver, model_only=True, time_limit=120
        )
    except UsageError as error:
        pytest.skip(str(error))  # Gurobi's free licence is for small models.
    version = f"{solver} {result.solver_version}"
    assert result.status == "optimal"
    assert result.makespan == result.lower_bound == optimal_makespan(instance)
    assert (result.schedule_by, result.proved_by, result.by_others) == (version, version, "")
    assert result.solver == solver
    assert result.ties == ()
    model = result.model
    assert model is not None
    assert model.built
    assert model.horizon == instance.time.horizon
    assert model.variables
    assert model.constraints
    assert model.solver_value == pytest.approx(result.makespan)
    assert model.solver_bound == pytest.approx(result.makespan)
    assert model.nodes is not None
    assert model.solver_seconds is not None
    assert model.solver_seconds > 0


def test_the_model_alone_has_no_bound_and_no_start(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    class Watching:
        """HiGHS, with a look at what it is given."""

        name, model_classes = "watching", HIGHS.model_classes

        def version(self) -> str | None:
            return "1"

        def solve(self, model: pyo.ConcreteModel, limits: Limits) -> Any:
            values = [v.value for v in model.component_data_objects(pyo.Var) if not v.fixed]
            seen.append((min(model.done), [value for value in values if value is not None]))
            return HIGHS.solve(model, limits)

    solve(tiny(0), formulation="time-indexed", solver=Watching(), model_only=True)
    assert seen == [(0, [])]


@pytest.mark.parametrize("objective", [["total-flow", "makespan"], ["max-stretch"]])
def test_the_model_alone_minimises_other_objectives(objective: list[str]) -> None:
    instance = tiny(1)
    alone = solve(
        instance, formulation="time-indexed", solver="highs", objective=objective, model_only=True
    )
    both = solve(instance, method="search", objective=objective, time_limit=5)
    assert alone.status == "optimal"
    assert [goal.value for goal in alone.objective] == [goal.value for goal in both.objective]
    assert {goal.proved_by for goal in alone.objective} == {f"highs {HIGHS.version()}"}


def test_an_infeasible_horizon_is_proven_by_the_solver() -> None:
    instance = tiny(2)
    optimum = optimal_makespan(instance)
    assert optimum is not None
    time = instance.time.model_copy(update={"horizon": optimum - 1})
    short = instance.model_copy(update={"time": time})
    result = solve(short, formulation="time-indexed", solver="highs", model_only=True)
    assert result.status == "infeasible"
    assert (result.lower_bound, result.bound_name) == (optimum, "highs")


def test_model_only_needs_a_formulation_and_no_bounds() -> None:
    with pytest.raises(UsageError, match="model_only needs a formulation"):
        solve("two-servers", model_only=True)
    with pytest.raises(UsageError, match="leave yours out"):
        solve("two-servers", formulation="time-indexed", bounds=["area"], model_only=True)


def test_a_comparison_marks_what_is_not_the_formulation_s_own() -> None:
    chosen: dict[str, Any] = {
        "methods": ["search"],
        "formulations": ["time-indexed"],
        "time_limit": 20,
    }
    (compared,) = compare("two-servers", solvers=["highs"], **chosen)
    method, formulation = compared.table()
    assert (method["method"], formulation["method"]) == ("search", "time-indexed (highs) *")
    notes = compared.why_not_optimal()
    assert "--model-only" in notes[0]
    assert notes[1].startswith("* schedule by search, bound by area; no model was needed: ")
    (alone,) = compare("two-servers", solvers=["highs"], model_only=True, **chosen)
    assert alone.table()[1]["method"] == "time-indexed (highs)"
    assert alone.why_not_optimal() == []
    frame = alone.to_frame()
    assert frame["schedule_by"].tolist() == ["search", f"highs {HIGHS.version()}"]
    assert frame["model_built"].tolist()[1] is True
    assert frame["model_horizon"].tolist()[1] == 60


def test_a_status_that_another_row_proves_is_no_proof_of_the_formulation() -> None:
    (compared,) = compare(
        tiny(0),
        methods=["search"],
        formulations=["time-indexed"],
        solvers=["highs"],
        time_limit=20,
    )
    search, exact = compared.results
    assert search.status == "optimal"
    ran = replace(
        exact,
        status="feasible",
        solver="highs",
        solver_version="1",
        schedule_by="highs 1",
        lower_bound=1,
        objective=(replace(exact.objective[0], bound=1, proved_by="highs 1"),),
    )
    row = replace(compared, results=[search, ran]).rows()[1]
    assert row["status"] == "optimal"
    assert row["proved_by"] == search.proved_by
    assert row["by_others"] == f"bound by {search.proved_by}"


def test_a_skipped_formulation_has_no_answer() -> None:
    (compared,) = compare("two-servers", formulations=["time-indexed-preemptive"], time_limit=5)
    (row,) = compared.rows()
    if row["status"] == "skipped":
        assert (row["solver"], row["by_others"], row["model"]["built"]) == (None, None, False)


def test_without_the_bound_duals_say_something() -> None:
    def duals(*, lower_bound: bool) -> list[float]:
        model, _ = formulate("two-servers", "time-indexed", horizon=14, lower_bound=lower_bound)
        pyo.TransformationFactory("core.relax_integer_vars").apply_to(model)
        model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
        pyo.SolverFactory("appsi_highs").solve(model)
        return [value for value in model.dual.values() if abs(value) > 1e-9]

    assert duals(lower_bound=False)


@pytest.mark.parametrize("name", ["two-servers", "rack-tree"])
def test_every_result_says_whose_it_is(name: str) -> None:
    result: Result = solve(name, method="sjf-bco")
    said = json.loads(json.dumps(result.summary()))
    assert {"schedule_by", "proved_by", "by_others", "model", "chosen_solver"} <= said.keys()
    assert said["proved_by"] in {bound.name for bound in bounds.bounds()}


def test_the_scope_of_a_model_alone_has_no_bound() -> None:
    result = solve(tiny(1), formulation=TIME_INDEXED, solver=HIGHS, model_only=True)
    assert result.bound_name == "highs"
