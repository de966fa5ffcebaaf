"""Decide whether a schedule satisfies a formulation with the user's additions, and its value."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import pyomo.environ as pyo

from rarmodel.errors import one_line
from rarmodel.formulations import Formulation, Scope
from rarmodel.formulations.intervals import first_exceeded
from rarmodel.formulations.values import first_changed
from rarmodel.limits import Limits
from rarmodel.schema import Schedule
from rarmodel.solvers import Solver, first_answer

TOLERANCE = 1e-6
"""Tolerance of a constraint relative to its sides: float noise, not a violation."""

SECONDS = 10.0
"""Time for the solver to find values of added variables when all others are fixed."""


class Verdict(NamedTuple):
    """The constraint that a schedule breaks, or the value of the objective."""

    broken: str | None
    value: float = 0.0


class ModelNeeded(NamedTuple):
    """Only the model itself can judge a schedule; with the reason, if there is more to say."""

    why: str


def evaluated(
    formulation: Formulation, scope: Scope, schedule: Schedule
) -> pyo.ConcreteModel | ModelNeeded:
    """The values of a schedule in a formulation, with the user's additions."""
    evaluate = getattr(formulation, "evaluate", None)  # Others' formulations may do without.
    if evaluate is None:
        return ModelNeeded(f"{formulation.name} has no `evaluate`")
    try:
        return evaluate(scope, schedule)
    except (AttributeError, KeyError, TypeError) as error:
        if formulation.base is None:
            return ModelNeeded("")
        # An addition refers to what only the model has, or takes a slice of what is no component.
        said = one_line(str(error))
        return ModelNeeded(f"{formulation.name} refers to what only the model has ({said})")


def judge(
    formulation: Formulation,
    scope: Scope,
    schedule: Schedule,
    solvers: list[Solver],
    limits: Limits,
    solved: pyo.ConcreteModel | None = None,
) -> Verdict | ModelNeeded:
    """Judge a schedule without the model, if possible.

    The schedule fixes all variables but those that were added to the formulation. They may keep
    the values of a solved model; the solver looks for better ones.
    """
    model = evaluated(formulation, scope, schedule)
    if isinstance(model, ModelNeeded):
        return model
    if changed := first_changed(model):
        return Verdict(f"{changed}, which is fixed")
    variables = list(model.component_data_objects(pyo.Var))
    added = [variable for variable in variables if not variable.fixed]
    if solved is not None:
        for variable in added:
            same = solved.find_component(variable.name)
            value = None if same is None else same.value
            variable.set_value(value, skip_validation=True)
    return _with_added(model, variables, added, solvers, limits)


def admit(
    model: pyo.ConcreteModel,
    formulation: Formulation,
    scope: Scope,
    schedule: Schedule,
    solvers: list[Solver],
    limits: Limits,
) -> Verdict:
    """Set the model's variables to a schedule, and judge it by the model.

    The schedule fixes all variables but those that were added to the formulation. They may keep
    the values that they have; the solver looks for better ones.
    """
    variables = list(model.component_data_objects(pyo.Var))
    free = [variable for variable in variables if not variable.fixed]
    before = [variable.value for variable in free]
    for variable in free:
        variable.set_value(None, skip_validation=True)
    formulation.load(model, scope, schedule)
    pairs = list(zip(free, before, strict=True))
    given = [variable for variable, _ in pairs if variable.value is not None]
    added = [(variable, value) for variable, value in pairs if variable.value is None]
    if not given:
        return Verdict("the formulation, which has no place for it")
    for variable, value in added:
        variable.set_value(value, skip_validation=True)
    for variable in given:
        variable.fix()
    try:
        return _with_added(model, variables, [one for one, _ in added], solvers, limits)
    finally:
        for variable in given:
            variable.unfix()


def _with_added(
    model: pyo.ConcreteModel,
    variables: list[Any],
    added: list[Any],
    solvers: list[Solver],
    limits: Limits,
) -> Verdict:
    """Judge the values of a model: with those that added variables have, or with better ones."""
    if not added:
        return _verdict(model, variables)
    known = None
    if all(variable.value is not None for variable in added):
        known = _verdict(model, variables)
    values = [variable.value for variable in added]
    if first_answer(solvers, model, _brief(limits)).has_solution:
        found = _verdict(model, variables)
        if known is None or known.broken is not None:
            return found
        if found.broken is None and found.value < known.value:
            return found
        for variable, value in zip(added, values, strict=True):
            variable.set_value(value, skip_validation=True)
    return known or Verdict("the added variables have no values that suit it")


def _brief(limits: Limits) -> Limits:
    seconds = SECONDS if limits.time_limit is None else min(SECONDS, limits.time_limit)
    return replace(limits, time_limit=seconds, gap=0.0, log=None, progress=None)


def _verdict(model: pyo.ConcreteModel, variables: list[Any]) -> Verdict:
    """The first variable or constraint that the values break, or the value of the objective."""
    for variable in variables:
        if variable.value is None:
            # Nothing refers to it, or the solver would have given it a value.
            continue
        low, high = variable.bounds
        if _outside(variable.value, low, high):
            return Verdict(str(variable.name))
        if not variable.is_continuous() and abs(variable.value - round(variable.value)) > TOLERANCE:
            return Verdict(str(variable.name))
    for constraint in model.component_data_objects(pyo.Constraint, active=True):
        body = pyo.value(constraint.body, exception=False)
        if body is None or _outside(body, pyo.value(constraint.lower), pyo.value(constraint.upper)):
            return Verdict(str(constraint.name))
    if exceeded := first_exceeded(model):
        return Verdict(exceeded)
    objective = next(model.component_data_objects(pyo.Objective, active=True))
    return Verdict(None, float(pyo.value(objective)))


def _outside(value: float, low: float | None, high: float | None) -> bool:
    slack = TOLERANCE * max(1.0, abs(value))
    return (low is not None and value < low - slack) or (high is not None and value > high + slack)
