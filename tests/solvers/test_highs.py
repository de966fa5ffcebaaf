"""The HiGHS adapter: what it makes of each way a solve can end."""

from __future__ import annotations

import _thread
import threading
from random import Random

import pyomo.environ as pyo
import pytest

from rarmodel.errors import UsageError
from rarmodel.limits import Limits
from rarmodel.solvers.highs import HIGHS


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


def test_an_optimum_comes_with_solution_and_bound() -> None:
    model = knapsack(12)
    answer = HIGHS.solve(model, Limits())
    assert answer.termination == "finished"
    assert answer.has_solution
    assert answer.bound == pytest.approx(pyo.value(model.objective))
    assert all(model.x[i].value in {0, 1} for i in range(12))


def test_a_linear_program_has_a_bound_too() -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 10))
    model.least = pyo.Constraint(expr=2 * model.x >= 7)
    model.objective = pyo.Objective(expr=model.x + 1)
    answer = HIGHS.solve(model, Limits())
    assert (answer.termination, answer.bound, model.x.value) == ("finished", 4.5, 3.5)


def test_infeasible_has_neither_solution_nor_bound() -> None:
    model = knapsack(5)
    model.much = pyo.Constraint(expr=sum(model.x[i] for i in range(5)) >= 5)
    answer = HIGHS.solve(model, Limits())
    assert (answer.termination, answer.has_solution, answer.bound) == ("infeasible", False, None)


def test_time_limit_leaves_incumbent_and_true_bound() -> None:
    model = knapsack(150)
    answer = HIGHS.solve(model, Limits(time_limit=1.0, threads=1))
    assert answer.termination == "time-limit"
    assert answer.has_solution
    assert answer.bound is not None
    assert answer.bound <= pyo.value(model.objective)


def test_gap_stops_early() -> None:
    model = knapsack(150)
    answer = HIGHS.solve(model, Limits(gap=0.5, threads=1))
    assert answer.termination == "finished"
    assert answer.bound is not None
    value = pyo.value(model.objective)
    assert answer.bound <= value
    assert (value - answer.bound) / abs(value) <= 0.5


def test_a_starting_solution_is_used() -> None:
    model = knapsack(150)
    for i in range(150):
        model.x[i] = 0
    log: list[str] = []
    HIGHS.solve(model, Limits(time_limit=1.0, log=log.append))
    assert any("MIP start solution is feasible" in line for line in log)


def test_ctrl_c_returns_the_incumbent() -> None:
    model = knapsack(150)
    timer = threading.Timer(1.5, _thread.interrupt_main)
    timer.start()
    answer = HIGHS.solve(model, Limits(time_limit=60, threads=1))
    timer.join()
    assert answer.termination == "interrupted"
    assert answer.has_solution
    assert answer.seconds < 30


def test_the_log_goes_where_it_is_wanted_and_nowhere_else(
    capfd: pytest.CaptureFixture[str],
) -> None:
    log: list[str] = []
    HIGHS.solve(knapsack(12), Limits(log=log.append))
    assert any("HiGHS" in line for line in log)
    HIGHS.solve(knapsack(12), Limits())
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


def test_progress_reports_incumbent_and_bound() -> None:
    seen: list[tuple[float | None, float | None]] = []
    HIGHS.solve(knapsack(80), Limits(time_limit=2, progress=lambda *pair: seen.append(pair)))
    both = [pair for pair in seen if None not in pair]
    assert both
    assert all(bound <= incumbent for incumbent, bound in both if incumbent and bound)


def test_the_same_seed_and_threads_give_the_same_solution() -> None:
    values = []
    for _ in range(2):
        model = knapsack(18)
        HIGHS.solve(model, Limits(threads=1, seed=7))
        values.append([model.x[i].value for i in range(18)])
    assert values[0] == values[1]


def test_a_model_that_is_not_linear_is_refused_by_name() -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 1))
    model.curve = pyo.Constraint(expr=model.x**3 >= 0.5)
    model.objective = pyo.Objective(expr=model.x)
    with pytest.raises(UsageError, match="solves linear models"):
        HIGHS.solve(model, Limits())
