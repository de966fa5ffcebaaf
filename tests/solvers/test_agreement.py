"""Solvers against brute force, and so against each other, on random small models."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
@settings(max_examples=40, deadline=None)
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
