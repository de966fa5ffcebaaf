"""How much a schedule violates what a user has added, and models that minimise it.

A constraint of an addition gets slack, in whole multiples of its greatest coefficient, so that any
solver can take it; the model minimises the sum of all slack, and the makespan after that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pyomo.environ as pyo
from pyomo.repn import generate_standard_repn

from .admission import is_settled

NOISE = 1e-9
"""Excess of a constraint that is noise of floats."""

FAR = 1_000_000
"""Most slack of a constraint whose sides have no bounds."""


def added_constraints(model: Any) -> Iterator[Any]:
    """The constraints of a restricted model that are not its own."""
    for family in model.component_objects(pyo.Constraint, active=True):
        if family.local_name not in model.stated:
            yield from (one for one in family.values() if one.active)


def drop_settled(model: Any) -> None:
    """Leave out what constants keep: an addition may have a row for every job and slot."""
    for constraint in list(added_constraints(model)):
        if is_settled(constraint) and excess(constraint) <= NOISE:
            constraint.deactivate()


def relax(model: Any) -> None:
    """Let a restricted model break what was added, and minimise by how much it does."""
    model.slack = pyo.VarList(domain=pyo.NonNegativeIntegers)
    model.softened = pyo.ConstraintList()
    for constraint in list(added_constraints(model)):
        if is_settled(constraint):
            constraint.deactivate()  # Nothing here can change it.
            continue
        scale, low, high = _reach(constraint.body)
        least, most = pyo.value(constraint.lower), pyo.value(constraint.upper)
        above = 0.0 if most is None else high - most
        below = 0.0 if least is None else least - low
        if above <= 0 and below <= 0:
            continue
        constraint.deactivate()
        if most is not None:
            slack = _slack(model, above / scale)
            model.softened.add(constraint.body - scale * slack <= most)
        if least is not None:
            slack = _slack(model, below / scale)
            model.softened.add(constraint.body + scale * slack >= least)
    for old in model.component_data_objects(pyo.Objective, active=True):
        old.deactivate()
    greatest = 1 + model.slots
    model.least_violation = pyo.Objective(
        expr=greatest * sum(model.slack.values()) + model.makespan
    )


def _slack(model: Any, most: float) -> Any:
    """A new slack; 0 where the side cannot be broken."""
    slack = model.slack.add()
    slack.setub(min(FAR, math.ceil(max(0.0, most))))
    return slack


def _reach(body: Any) -> tuple[float, float, float]:
    """The greatest coefficient of a constraint's left side, and the least and greatest value."""
    linear = generate_standard_repn(body, compute_values=True)
    if not linear.is_linear():
        return 1.0, -float(FAR), float(FAR)
    low = high = float(linear.constant)
    scale = max((abs(n) for n in linear.linear_coefs), default=1.0) or 1.0
    for number, variable in zip(linear.linear_coefs, linear.linear_vars, strict=True):
        bounds = variable.bounds
        ends = [
            number * (side if side is not None else FAR * (2 * i - 1))
            for i, side in enumerate(bounds)
        ]
        low, high = low + min(ends), high + max(ends)
    return scale, low, high


def violation(model: Any) -> float:
    """By how much the constants of a model break what was added, each relative to its side."""
    total = 0.0
    for constraint in added_constraints(model):
        if is_settled(constraint):
            total += excess(constraint) / max(1.0, *map(abs, _sides(constraint)))
    return total


def excess(constraint: Any) -> float:
    """By how much the values of variables break a constraint, in its own unit."""
    body = pyo.value(constraint.body, exception=False)
    if body is None:
        return 0.0
    least, most = pyo.value(constraint.lower), pyo.value(constraint.upper)
    above = 0.0 if most is None else body - most
    below = 0.0 if least is None else least - body
    return float(max(0.0, above, below))


def _sides(constraint: Any) -> list[float]:
    """The values of the sides of a constraint."""
    sides = pyo.value(constraint.lower), pyo.value(constraint.upper)
    return [0.0, *(side for side in sides if side is not None)]
