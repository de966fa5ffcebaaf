"""The adapters: what they make of each way a solve can end."""

from __future__ import annotations

import _thread
import gc
import threading
from collections.abc import Iterator
from functools import cache
from itertools import product
from random import Random

import pyomo.environ as pyo
import pytest
from depth import examples
from hypothesis import assume, given
from hypothesis import strategies as st

from rarmodel.errors import UsageError
from rarmodel.limits import Limits
from rarmodel.solvers import Answer, Solver
from rarmodel.solvers.cpsat import CPSAT
from rarmodel.solvers.gurobi import GUROBI
from rarmodel.solvers.highs import HIGHS
from rarmodel.solvers.scip import SCIP

SOLVERS: list[Solver] = [s for s in (HIGHS, CPSAT, GUROBI, SCIP) if s.version()]


def each(solvers: list[Solver]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("solver", solvers, ids=lambda solver: solver.name)


each_solver = each(SOLVERS)
each_linear_solver = each([s for s in SOLVERS if "linear" in s.model_classes])
each_nonlinear_solver = each([s for s in SOLVERS if "nonlinear" in s.model_classes])


SIGNS_OF_A_START = {
    "highs": ["MIP start", "start solution is feasible"],
    "cpsat": ["complete_hint"],
    "gurobi": ["MIP start"],
    "scip": ["completesol"],
}
"""What the log says if the starting solution was taken."""


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


@each_linear_solver
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
        model.x[i] = int(i < 20)  # All zeros would be found by anybody.
    log: list[str] = []
    solver.solve(model, Limits(time_limit=1.0, threads=1, log=log.append))
    assert any(sign in line for line in log for sign in SIGNS_OF_A_START[solver.name])


def interrupted(solver: Solver, *delays: float) -> Iterator[Answer]:
    """Answers after a Ctrl-C, so many seconds after the start."""
    for seconds in delays:
        model = knapsack(150)
        timer = threading.Timer(seconds, _thread.interrupt_main)
        gc.disable()  # Hypothesis is told of collections, and a Ctrl-C in there is lost.
        try:
            timer.start()
            yield solver.solve(model, Limits(time_limit=60, threads=1))
        except KeyboardInterrupt:
            continue  # The machine is so busy that the solver had not begun.
        finally:
            gc.enable()
            timer.join()


@each_solver
def test_ctrl_c_returns_the_incumbent(solver: Solver) -> None:
    # A busy machine may take longer to find one.
    answer = next(found for found in interrupted(solver, 0.7, 3.0, 15.0) if found.has_solution)
    assert answer.termination == "interrupted"
    assert answer.has_solution
    assert answer.seconds < 30


@each_solver
def test_the_log_goes_where_it_is_wanted_and_nowhere_else(
    solver: Solver, capfd: pytest.CaptureFixture[str]
) -> None:
    log: list[str] = []
    solver.solve(knapsack(12), Limits(log=log.append))
    assert any(solver.name in line.lower().replace("-", "") for line in log)
    solver.solve(knapsack(12), Limits())
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


@each_solver
def test_progress_reports_incumbent_and_bound(solver: Solver) -> None:
    seen: list[tuple[float | None, float | None]] = []
    solver.solve(knapsack(80), Limits(time_limit=1, progress=lambda *pair: seen.append(pair)))
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


def curve(power: int = 3) -> pyo.ConcreteModel:
    """The least x of which x to a power is at least 0.5."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 1))
    model.curve = pyo.Constraint(expr=model.x**power >= 0.5)
    model.objective = pyo.Objective(expr=model.x)
    return model


@pytest.mark.parametrize("power", [2, 3])
@each([s for s in SOLVERS if "nonlinear" not in s.model_classes])
def test_a_model_that_is_not_linear_is_refused_by_name(solver: Solver, power: int) -> None:
    with pytest.raises(UsageError, match="solves linear models"):
        solver.solve(curve(power), Limits())


@each_nonlinear_solver
def test_a_model_that_is_not_linear_is_solved_to_global_optimality(solver: Solver) -> None:
    answer = solver.solve(curve(), Limits())
    assert answer.termination == "finished"
    assert answer.bound == pytest.approx(0.5 ** (1 / 3), rel=1e-4)


@each_nonlinear_solver
@examples(15)
@given(st.integers(0, 10**6))
def test_small_nonlinear_models_agree_with_trying_everything(solver: Solver, seed: int) -> None:
    random = Random(seed)
    low, rate, need = random.randint(1, 3), random.uniform(0.5, 2), random.uniform(2, 20)

    def value(x: int, y: int) -> float:
        return float(x * y / (1 + rate * y))

    feasible = [
        x + 2 * y for x in range(6) for y in range(low, 6) if value(x, y) * 4 >= need + 1e-4
    ]
    # Within tolerances either answer is right.
    assume(all(abs(value(x, y) * 4 - need) >= 1e-3 for x in range(6) for y in range(low, 6)))
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.Integers, bounds=(0, 5))
    model.y = pyo.Var(domain=pyo.Integers, bounds=(low, 5))
    model.enough = pyo.Constraint(expr=4 * model.x * model.y / (1 + rate * model.y) >= need)
    model.objective = pyo.Objective(expr=model.x + 2 * model.y)
    answer = solver.solve(model, Limits(threads=1))
    if feasible:
        assert answer.termination == "finished"
        assert answer.bound == pytest.approx(min(feasible))
        assert pyo.value(model.objective) == min(feasible)
    else:
        assert answer.termination == "infeasible"


@examples(15)
@given(st.integers(0, 10**6))
def test_all_solvers_agree_with_trying_everything(seed: int) -> None:
    """Small models in whole numbers: status, optimum, bound, fixed variables, constants."""
    random = Random(seed)
    count = random.randint(1, 4)
    tops = [random.randint(0, 3) for _ in range(count)]
    rows = [
        ([random.choice([-2, -1, 0, 1, 2, 0.5]) for _ in range(count)], random.randint(-3, 5))
        for _ in range(random.randint(0, 4))
    ]
    costs = [random.randint(-3, 3) for _ in range(count)]
    constant = random.randint(-5, 5)
    fixed = {0: random.randint(0, tops[0])} if random.random() < 0.3 else {}
    points = [
        point
        for point in product(*(range(top + 1) for top in tops))
        if all(point[i] == value for i, value in fixed.items())
        and all(sum(a * x for a, x in zip(row, point, strict=True)) <= b for row, b in rows)
    ]
    best = min(
        (sum(c * x for c, x in zip(costs, point, strict=True)) + constant for point in points),
        default=None,
    )
    # `0 <= -1` is none that Pyomo lets one state.
    assume(all(any(row) or b >= 0 for row, b in rows))
    for solver in SOLVERS:
        model = pyo.ConcreteModel()
        model.x = pyo.Var(range(count), domain=pyo.Integers, bounds=lambda _, i: (0, tops[i]))
        for i, value in fixed.items():
            model.x[i].fix(value)
        model.rows = pyo.ConstraintList()
        for row, b in rows:
            if any(row):
                model.rows.add(sum(a * model.x[i] for i, a in enumerate(row)) <= b)
        model.objective = pyo.Objective(
            expr=sum(c * model.x[i] for i, c in enumerate(costs)) + constant
        )
        answer = solver.solve(model, Limits(threads=1))
        if best is None:
            assert (answer.termination, answer.has_solution) == ("infeasible", False), solver.name
        else:
            assert answer.termination == "finished", solver.name
            assert answer.bound == pytest.approx(best), solver.name


@each_solver
def test_only_one_objective_is_minimised(solver: Solver) -> None:
    model = knapsack(5)
    model.objective.deactivate()
    with pytest.raises(UsageError, match="this model has 0"):
        solver.solve(model, Limits())
    model.most = pyo.Objective(expr=model.x[0], sense=pyo.maximize)
    with pytest.raises(UsageError, match="to be maximised"):
        solver.solve(model, Limits())


@pytest.mark.skipif(not CPSAT.version(), reason="needs ortools")
@pytest.mark.parametrize(
    ("variable", "factor", "message"),
    [
        (pyo.Var(bounds=(0, 1)), 1, "variable y is continuous"),
        (pyo.Var(domain=pyo.NonNegativeIntegers), 1, "variable y has no bounds"),
        (pyo.Var(domain=pyo.Binary), 2**-0.5, "cannot be made whole by scaling"),
    ],
    ids=["continuous", "unbounded", "fractions"],
)
def test_what_cp_sat_cannot_take_is_refused_in_one_line(
    variable: pyo.Var, factor: float, message: str
) -> None:
    model = pyo.ConcreteModel()
    model.y = variable
    model.x = pyo.Var(domain=pyo.Binary)
    model.row = pyo.Constraint(expr=model.x + factor * model.y >= 1)
    model.objective = pyo.Objective(expr=model.x)
    with pytest.raises(UsageError, match=message):
        CPSAT.solve(model, Limits())


@pytest.mark.skipif(not GUROBI.version(), reason="needs gurobipy")
def test_a_model_beyond_gurobis_licence_is_refused_in_one_line() -> None:
    model = knapsack(2500)
    with pytest.raises(UsageError, match=r"size-limited license.*would need no licence"):
        GUROBI.solve(model, Limits(time_limit=5))


@each_solver
@pytest.mark.parametrize("seconds", [0.0, 0.001])
def test_no_time_gives_no_untrue_bound(solver: Solver, seconds: float) -> None:
    answer = solver.solve(knapsack(60), Limits(time_limit=seconds, threads=1))
    optimum = bound_in_two_seconds()
    assert answer.bound is None or answer.bound <= optimum + 0.02 * abs(optimum)


@cache
def bound_in_two_seconds() -> float:
    bound = HIGHS.solve(knapsack(60), Limits(time_limit=2, threads=1)).bound
    assert bound is not None
    return bound


@pytest.mark.skipif(not CPSAT.version(), reason="needs ortools")
def test_an_early_ctrl_c_stops_cp_sat_too() -> None:
    answer = next(interrupted(CPSAT, 0.05, 0.2, 1.0, 5.0))
    assert answer.termination == "interrupted"
    assert answer.seconds < 30
