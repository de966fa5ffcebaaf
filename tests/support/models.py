"""What the values of a Pyomo model's variables break."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo


def broken_constraints(model: pyo.ConcreteModel) -> list[str]:
    broken = []
    for constraint in model.component_data_objects(pyo.Constraint, active=True):
        value = pyo.value(constraint.body)
        low = -np.inf if constraint.lower is None else pyo.value(constraint.lower)
        high = np.inf if constraint.upper is None else pyo.value(constraint.upper)
        if not low - 1e-6 <= value <= high + 1e-6:
            broken.append(constraint.name)
    for variable in model.component_data_objects(pyo.Var):
        if not variable.lb - 1e-9 <= variable.value <= (variable.ub or np.inf) + 1e-9:
            broken.append(variable.name)
    return broken
