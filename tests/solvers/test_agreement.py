"""Solvers against brute force, and so against each other, on random small models."""

from __future__ import annotations

import itertools
import math
from random import Random
from typing import Any

import pyomo.environ as pyo
import pytest
import random_instances
from depth import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import rarmodel
from rarmodel.limits import Limits
from rarmodel.solvers import Solver
from rarmodel.solvers.cpsat import CPSAT
from rarmodel.solvers.gurobi import GUROBI
from rarmodel.solvers.highs import HIGHS
from rarmodel.solvers.scip import SCIP

INSTALLED: list[Solver] = [s for s in (HIGHS, GUROBI, CPSAT, SCIP) if s.version()]
TENTHS = st.integers(-50, 50).map(lambda n: n / 10)


@st.composite
def integer_models(draw: st.DrawFn) -> pyo.ConcreteModel:
    """Two to four integer variables, some fixed, some with a value; rows of every kind."""
    model = pyo.ConcreteModel()
    count = draw(st.integers(2, 4))
    model.x = pyo.Var(range(count), domain=pyo.Integers)
    for x in model.x.values():
        if draw(st.booleans()):
            x.domain = pyo.Binary
        else:
            low = draw(st.integers(-3, 2))
            x.setlb(low)
            x.setub(low + draw(st.integers(0, 4)))
        if draw(st.integers(0, 5)) == 0:
            x.fix(x.ub)
        elif draw(st.booleans()):
            x.set_value(draw(st.integers(x.lb, x.ub)))

    def terms() -> Any:
        coefficient = draw(st.sampled_from([st.integers(-5, 5), TENTHS]))
        return sum(draw(coefficient) * x for x in model.x.values()) + draw(TENTHS)

    model.rows = pyo.ConstraintList()
    for _ in range(draw(st.integers(0, 3))):
        side = draw(TENTHS)
        kind = draw(st.sampled_from(["<=", ">=", "==", "both"]))
        body = terms()
        if isinstance(body, float | int):
            continue
        if kind == "==":
            model.rows.add((side, body + round(side - 0.3) - round(side), side))
        else:
            least = side if kind in {">=", "both"} else None
            most = side + draw(st.integers(0, 5)) if kind in {"<=", "both"} else None
            model.rows.add((least, body, most))
    model.objective = pyo.Objective(expr=terms() + 0 * model.x[0])
    return model


def optimum(model: pyo.ConcreteModel) -> float | None:
    """The least objective over all whole values within bounds; None if there are none."""
    free = [x for x in model.x.values() if not x.fixed]
    before = [x.value for x in free]
    best: float | None = None
    ranges = [range(math.ceil(x.lb), math.floor(x.ub) + 1) for x in free]
    for values in itertools.product(*ranges):
        for x, value in zip(free, values, strict=True):
            x.set_value(value)
        if violation(model) <= 1e-9:
            found = pyo.value(model.objective)
            best = found if best is None else min(best, found)
    for x, old in zip(free, before, strict=True):
        x.set_value(old, skip_validation=True)
    return best


def violation(model: pyo.ConcreteModel) -> float:
    """By how much the worst constraint is broken."""
    rows = model.component_data_objects(pyo.Constraint, active=True)
    return max((-row.slack() for row in rows), default=0.0)


@pytest.mark.parametrize("solver", INSTALLED, ids=lambda solver: solver.name)
@examples(15)
@given(model=integer_models())
def test_small_integer_models_have_the_optimum_of_brute_force(
    solver: Solver, model: pyo.ConcreteModel
) -> None:
    best = optimum(model)
    fixed = {i: x.value for i, x in model.x.items() if x.fixed}
    answer = solver.solve(model, Limits(threads=1))
    if best is None:
        assert (answer.termination, answer.has_solution, answer.bound) == (
            "infeasible",
            False,
            None,
        )
        return
    assert (answer.termination, answer.has_solution) == ("finished", True)
    assert answer.bound is not None
    assert answer.bound <= best + 1e-6
    assert answer.bound == pytest.approx(best, abs=1e-6)
    used = [x for x in model.x.values() if x.value is not None]
    assert all(isinstance(x.value, int) and x.lb <= x.value <= x.ub for x in used)
    assert {i: model.x[i].value for i in fixed} == fixed
    for x in model.x.values():
        if x.value is None:  # It is in no constraint, and not in the objective.
            x.set_value(x.lb)
    assert violation(model) <= 1e-6
    assert pyo.value(model.objective) == pytest.approx(best, abs=1e-6)


@st.composite
def models_of_large_numbers(draw: st.DrawFn) -> pyo.ConcreteModel:
    """Rows under conditions whose numbers add up to between 2^24 and 2^60, and one choice of many.

    Only CP-SAT gets them: it computes in whole numbers, the others within tolerances.
    """
    random = draw(st.randoms(use_true_random=False))
    scale = 2 ** random.randint(24, 56)
    model = pyo.ConcreteModel()
    count = random.randint(4, 6)
    model.x = pyo.Var(range(count), domain=pyo.Binary)
    if random.random() < 0.5:
        model.x[count - 1].domain = pyo.Integers
        model.x[count - 1].setlb(0)
        model.x[count - 1].setub(3)
    model.rows = pyo.ConstraintList()
    places = random.sample(range(count - 1), random.randint(2, count - 2))
    model.rows.add(sum(model.x[i] for i in places) <= 1)
    for _ in range(random.randint(1, 3)):
        numbers = {
            i: random.choice([1, 1, -1])
            * (random.randint(1, 9) * scale // random.choice([1, 1, 2, 3]) + random.randint(-3, 3))
            for i in random.sample(range(count), random.randint(3, count))
        }
        most = sum(max(0, c) * int(model.x[i].ub) for i, c in numbers.items())
        least = sum(min(0, c) * int(model.x[i].ub) for i, c in numbers.items())
        side = random.randint(least, most)
        body = sum(c * model.x[i] for i, c in numbers.items())
        model.rows.add(body <= side if random.random() < 0.5 else body >= side)
    model.objective = pyo.Objective(expr=sum(random.randint(-5, 5) * x for x in model.x.values()))
    return model


def exact_optimum(model: pyo.ConcreteModel) -> int | None:
    """As `optimum`, in whole numbers: floats cannot add these up."""
    rows = [
        (
            {v.index(): int(c) for c, v in _terms(row.body)},
            None if row.lower is None else int(pyo.value(row.lower)),
            None if row.upper is None else int(pyo.value(row.upper)),
        )
        for row in model.rows.values()
    ]
    cost = {v.index(): int(c) for c, v in _terms(model.objective.expr)}
    best: int | None = None
    for values in itertools.product(*(range(int(x.lb), int(x.ub) + 1) for x in model.x.values())):
        sums = ((sum(c * values[i] for i, c in row.items()), low, high) for row, low, high in rows)
        if all((a is None or s >= a) and (b is None or s <= b) for s, a, b in sums):
            found = sum(c * values[i] for i, c in cost.items())
            best = found if best is None else min(best, found)
    return best


def _terms(expression: Any) -> list[tuple[Any, Any]]:
    from pyomo.repn import generate_standard_repn

    found = generate_standard_repn(expression)
    return list(zip(found.linear_coefs, found.linear_vars, strict=True))


def check_large(model: pyo.ConcreteModel) -> None:
    best = exact_optimum(model)
    answer = CPSAT.solve(model, Limits(threads=1))
    if best is None:
        assert answer.termination == "infeasible"
    else:
        assert answer.termination == "finished"
        assert answer.bound == pytest.approx(best, abs=1e-6)


@pytest.mark.skipif(CPSAT.version() is None, reason="OR-Tools is not installed")
@examples(25)
@given(model=models_of_large_numbers())
def test_cpsat_adds_up_large_numbers(model: pyo.ConcreteModel) -> None:
    check_large(model)


@pytest.mark.slow
@pytest.mark.skipif(CPSAT.version() is None, reason="OR-Tools is not installed")
@settings(max_examples=5000, deadline=None)
@given(model=models_of_large_numbers())
def test_cpsat_adds_up_large_numbers_thousands_of_times(model: pyo.ConcreteModel) -> None:
    check_large(model)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
@examples(40)
@given(data=st.data())
def test_all_solvers_agree_on_the_models_of_formulations(data: st.DataObject, part: int) -> None:
    """The models that rarmodel really makes: each installed solver proves the same optimum."""
    seed = data.draw(st.integers(10**6 * part, 10**6 * (part + 1) - 1))
    formulation = data.draw(st.sampled_from(["time-indexed", "time-indexed-compact", "busy-time"]))
    instance = random_instances.tiny_instance(Random(seed), least_jobs=2, least_servers=2)
    found: dict[str, float | str | None] = {}
    for solver in INSTALLED:
        model, _ = rarmodel.formulate(instance, formulation)
        answer = solver.solve(model, Limits(threads=1, time_limit=120))
        assert answer.termination in {"finished", "infeasible"}
        found[solver.name] = None if answer.bound is None else round(answer.bound, 4)
    assert len(set(found.values())) == 1, found
