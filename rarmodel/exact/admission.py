"""Whether a schedule satisfies a model, whatever its user has added to it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyomo.environ as pyo

from rarmodel.formulations import Formulation, Scope
from rarmodel.limits import Limits
from rarmodel.schema import Schedule
from rarmodel.solvers import Solver

TOLERANCE = 1e-6
"""How far a constraint may be off, relative to its sides: float noise, not a violation."""

SECONDS = 10.0
"""Time for the solver to find values of added variables, all others being given."""


def admit(
    model: pyo.ConcreteModel,
    formulation: Formulation,
    scope: Scope,
    schedule: Schedule,
    solver: Solver,
    limits: Limits,
) -> str | None:
    """Set the model's variables to a schedule; None if it satisfies the model, or else what not.

    Variables that the formulation does not know, because they were added to it, are left to the
    solver, with all others held where the schedule has them.
    """
    variables = list(model.component_data_objects(pyo.Var))
    free = [variable for variable in variables if not variable.fixed]
    for variable in free:
        variable.set_value(None, skip_validation=True)
    formulation.load(model, scope, schedule)
    given = [variable for variable in free if variable.value is not None]
    if not given:
        return "the formulation has no place for it"
    if len(given) < len(free):
        for variable in given:
            variable.fix()
        try:
            seconds = SECONDS if limits.time_limit is None else min(SECONDS, limits.time_limit)
            quiet = replace(limits, time_limit=seconds, gap=0.0, log=None, progress=None)
            if not solver.solve(model, quiet).has_solution:
                return "the added variables have no values that suit it"
        finally:
            for variable in given:
                variable.unfix()
    return _broken(model, variables)


def _broken(model: pyo.ConcreteModel, variables: list[Any]) -> str | None:
    """The first variable or constraint that its values break."""
    for variable in variables:
        if variable.value is None:
            # Nothing refers to it, or the solver would have given it a value.
            continue
        low, high = variable.bounds
        if _outside(variable.value, low, high):
            return str(variable.name)
        if not variable.is_continuous() and abs(variable.value - round(variable.value)) > TOLERANCE:
            return str(variable.name)
    for constraint in model.component_data_objects(pyo.Constraint, active=True):
        body = pyo.value(constraint.body, exception=False)
        if body is None or _outside(body, pyo.value(constraint.lower), pyo.value(constraint.upper)):
            return str(constraint.name)
    return None


def _outside(value: float, low: float | None, high: float | None) -> bool:
    slack = TOLERANCE * max(1.0, abs(value))
    return (low is not None and value < low - slack) or (high is not None and value > high + slack)
