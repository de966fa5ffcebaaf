"""Options of solvers by their own names: handed over, or refused in one line."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo
import pytest

import rarmodel
from rarmodel import Limits, UsageError, registry
from rarmodel.solvers import Answer, Solver
from rarmodel.solvers.answer import guarded
from rarmodel.solvers.options import require_options


def solver(name: str) -> Solver:
    found: Solver = registry.find("solvers", name)
    if guarded(found).version() is None:
        pytest.skip(f"{name} is not installed")
    return found


def knapsack() -> pyo.ConcreteModel:
    model: Any = pyo.ConcreteModel()
    model.x = pyo.Var(range(12), domain=pyo.Binary)
    weights = [7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29]
    model.room = pyo.Constraint(expr=sum(w * model.x[i] for i, w in enumerate(weights)) <= 77)
    model.objective = pyo.Objective(expr=-sum((w + 3) * model.x[i] for i, w in enumerate(weights)))
    return model


@pytest.mark.parametrize(
    ("name", "wrong", "meant"),
    [
        ("highs", "mip_rel_gapp", "mip_rel_gap"),
        ("cpsat", "num_worker", "num_workers"),
        ("scip", "limits/gapp", "limits/gap"),
        ("scip", "gap", "limits/gap"),
        ("gurobi", "MIPGapp", "MIPGap"),
    ],
)
def test_an_unknown_option_is_refused_with_what_was_meant(
    name: str, wrong: str, meant: str
) -> None:
    with pytest.raises(UsageError) as refused:
        require_options(solver(name), {wrong: 1})
    said = str(refused.value)
    assert said.startswith(f"solver {name!r} has no option {wrong!r} (was {meant!r}")
    assert "https://" in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("name", "option", "value", "said"),
    [
        ("highs", "mip_rel_gap", "x", "a number is expected"),
        ("highs", "mip_max_nodes", 1.5, "a whole number is expected"),
        ("highs", "presolve", "perhaps", "allows is expected"),
        ("cpsat", "cp_model_presolve", "perhaps", "true or false is expected"),
        ("cpsat", "num_workers", 2.5, "a number is expected"),
        ("cpsat", "search_branching", "ANY", "one of AUTOMATIC_SEARCH"),
        ("scip", "limits/gap", "x", "a number is expected"),
    ],
)
def test_a_wrong_value_is_refused(name: str, option: str, value: object, said: str) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        require_options(solver(name), {option: value})
    assert str(refused.value).startswith(f"solver {name!r}, option {option!r}: {value!r}; ")


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("highs", "presolve_rule_off"),
        ("cpsat", "presolve_inclusion_work_limit"),
        ("scip", "nlpi/ipopt/optfile"),
    ],
)
def test_no_option_brings_a_fault_back(name: str, option: str) -> None:
    from rarmodel.solver_faults import settings

    if name == "cpsat" and option not in settings("ortools"):
        pytest.skip("this version has the fault no longer")
    with pytest.raises(UsageError, match="against a fault of the solver"):
        require_options(solver(name), {option: 1})


@pytest.mark.parametrize(
    ("name", "option", "line"),
    [
        ("highs", {"presolve": "off"}, "Presolve is switched off"),
        ("cpsat", {"max_presolve_iterations": "1"}, "max_presolve_iterations: 1"),
        ("scip", {"presolving/maxrounds": "0"}, None),
        ("gurobi", {"presolve": "0"}, None),
    ],
)
def test_a_solver_gets_the_options(name: str, option: dict[str, Any], line: str | None) -> None:
    lines: list[str] = []
    model = knapsack()
    limits = Limits(log=lines.append, solver_options=option)
    answer = solver(name).solve(model, limits)
    assert answer.has_solution
    assert answer.value == pytest.approx(-94)
    if line is not None:
        assert line in "\n".join(lines)


class Plain:
    """A solver that knows of no options."""

    name = "plain"
    model_classes = frozenset({"integer", "linear"})

    def version(self) -> str:
        return "1"

    def solve(self, model: pyo.ConcreteModel, limits: Limits) -> Answer:
        return Answer("error", has_solution=False, bound=None, seconds=0.0, message="")


def test_options_are_refused_by_a_solver_that_takes_none() -> None:
    with pytest.raises(UsageError, match="solver 'plain' takes no options of its own"):
        rarmodel.solve(
            "two-servers",
            formulation="time-indexed",
            solver=Plain(),
            solver_options={"speed": "great"},
        )


@pytest.mark.parametrize("solver", [None, "auto"])
def test_options_need_the_solver_whose_words_they_are(solver: str | None) -> None:
    with pytest.raises(UsageError, match="solver_options need the solver"):
        rarmodel.solve(
            "two-servers",
            formulation="time-indexed",
            solver=solver,
            solver_options={"presolve": "off"},
        )


def test_a_wrong_option_is_said_before_anything_is_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    from rarmodel.exact import solve as solving

    monkeypatch.setattr(solving, "_solve", lambda _: pytest.fail("it solves"))
    with pytest.raises(UsageError, match="has no option"):
        rarmodel.solve(
            "two-servers",
            formulation="time-indexed",
            solver="highs",
            solver_options={"presolv": "off"},
        )


def test_a_comparison_hands_options_to_its_solver() -> None:
    (comparison,) = rarmodel.compare(
        "two-servers",
        methods=["first-fit"],
        formulations=["time-indexed"],
        solvers=["highs"],
        solver_options={"presolve": "off"},
        model_only=True,
    )
    assert comparison.results[1].status == "optimal"


@pytest.mark.parametrize("solvers", [None, ["auto"], ["highs", "scip"]])
def test_a_comparison_needs_the_one_solver_whose_words_they_are(solvers: list[str] | None) -> None:
    with pytest.raises(UsageError, match="solver_options need the solver"):
        rarmodel.compare(
            "two-servers",
            formulations=["time-indexed"],
            solvers=solvers,
            solver_options={"presolve": "off"},
        )


def test_a_comparison_refuses_a_wrong_option_before_anything_is_solved() -> None:
    titles: list[str] = []
    with pytest.raises(UsageError, match="has no option"):
        rarmodel.compare(
            "two-servers",
            methods=["first-fit"],
            formulations=["time-indexed"],
            solvers=["highs"],
            solver_options={"presolv": "off"},
            each=lambda _, title, *__: titles.append(title),
        )
    assert not titles
