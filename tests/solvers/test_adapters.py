"""The adapters: what they make of each way a solve can end."""

from __future__ import annotations

import _thread
import threading
from random import Random

import pyomo.environ as pyo
import pytest

from rarmodel.errors import UsageError
from rarmodel.limits import Limits
from rarmodel.solvers import Solver
from rarmodel.solvers.gurobi import GUROBI
from rarmodel.solvers.highs import HIGHS

SOLVERS = [solver for solver in (HIGHS, GUROBI) if solver.version()]
each_solver = pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)


def knapsack(items: int, seed: int = 0) -> pyo.ConcreteModel:
    """Hard for its size: several constraints, and profits that are nearly the weights."""
    random = Random(seed)
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(items), domain=pyo.Binary)
    weights = [[random.randint(200, 900) for _ in range(items)] for _ in range(8)]
    profit = [sum(row[i] for row in weights) // 8 + random.randint(0, 60) for i in range(items)]
    model.fits = pyo.Constraint(
        range(8),
        rule=lambda m, k: sum(weights[k][i] * m.x[i] for i in range(items)) <= sum(weights[k]) // 2,
    )
    model.objective = pyo.Objective(expr=-sum(profit[i] * model.x[i] for i in range(items)))
    return model


@each_solver
def test_an_optimum_comes_with_solution_and_bound(solver: Solver) -> None:
    model = knapsack(12)
    answer = solver.solve(model, Limits())
    assert answer.termination == "finished"
    assert answer.has_solution
    assert answer.bound == pytest.approx(pyo.value(model.objective))
    assert all(model.x[i].value in {0, 1} for i in range(12))


@each_solver
def test_a_linear_program_has_a_bound_too(solver: Solver) -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 10))
    model.least = pyo.Constraint(expr=2 * model.x >= 7)
    model.objective = pyo.Objective(expr=model.x + 1)
    answer = solver.solve(model, Limits())
    assert (answer.termination, answer.bound, model.x.value) == ("finished", 4.5, 3.5)


@each_solver
def test_infeasible_has_neither_solution_nor_bound(solver: Solver) -> None:
    model = knapsack(5)
    model.much = pyo.Constraint(expr=sum(model.x[i] for i in range(5)) >= 5)
    answer = solver.solve(model, Limits())
    assert (answer.termination, answer.has_solution, answer.bound) == ("infeasible", False, None)


@each_solver
def test_time_limit_leaves_incumbent_and_true_bound(solver: Solver) -> None:
    model = knapsack(150)
    answer = solver.solve(model, Limits(time_limit=1.0, threads=1))
    assert answer.termination == "time-limit"
    assert answer.has_solution
    assert answer.bound is not None
    assert answer.bound <= pyo.value(model.objective)


@each_solver
def test_gap_stops_early(solver: Solver) -> None:
    model = knapsack(150)
    answer = solver.solve(model, Limits(gap=0.5, threads=1))
    assert answer.termination == "finished"
    assert answer.bound is not None
    value = pyo.value(model.objective)
    assert answer.bound <= value
    assert (value - answer.bound) / abs(value) <= 0.5


@each_solver
def test_a_starting_solution_is_used(solver: Solver) -> None:
    model = knapsack(150)
    for i in range(150):
        model.x[i] = 0
    log: list[str] = []
    solver.solve(model, Limits(time_limit=1.0, log=log.append))
    assert any(
        ("start" in line.lower() and "feasible" in line) or "MIP start" in line for line in log
    )


@each_solver
def test_ctrl_c_returns_the_incumbent(solver: Solver) -> None:
    model = knapsack(150)
    timer = threading.Timer(1.5, _thread.interrupt_main)
    timer.start()
    answer = solver.solve(model, Limits(time_limit=60, threads=1))
    timer.join()
    assert answer.termination == "interrupted"
    assert answer.has_solution
    assert answer.seconds < 30


@each_solver
def test_the_log_goes_where_it_is_wanted_and_nowhere_else(
    solver: Solver, capfd: pytest.CaptureFixture[str]
) -> None:
    log: list[str] = []
    solver.solve(knapsack(12), Limits(log=log.append))
    assert any(solver.name in line.lower() for line in log)
    solver.solve(knapsack(12), Limits())
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


@each_solver
def test_progress_reports_incumbent_and_bound(solver: Solver) -> None:
    seen: list[tuple[float | None, float | None]] = []
    solver.solve(knapsack(80), Limits(time_limit=2, progress=lambda *pair: seen.append(pair)))
    both = [pair for pair in seen if None not in pair]
    assert both
    assert all(bound <= incumbent for incumbent, bound in both if incumbent and bound)


@each_solver
def test_the_same_seed_and_threads_give_the_same_solution(solver: Solver) -> None:
    values = []
    for _ in range(2):
        model = knapsack(18)
        solver.solve(model, Limits(threads=1, seed=7))
        values.append([model.x[i].value for i in range(18)])
    assert values[0] == values[1]


@each_solver
def test_a_model_that_is_not_linear_is_refused_by_name(solver: Solver) -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 1))
    model.curve = pyo.Constraint(expr=model.x**3 >= 0.5)
    model.objective = pyo.Objective(expr=model.x)
    with pytest.raises(UsageError, match="solves linear models"):
        solver.solve(model, Limits())


@pytest.mark.skipif(not GUROBI.version(), reason="needs gurobipy")
def test_a_model_beyond_gurobis_licence_is_refused_in_one_line() -> None:
    model = knapsack(2500)
    with pytest.raises(UsageError, match=r"size-limited license.*'highs' needs no licence"):
        GUROBI.solve(model, Limits(time_limit=5))
