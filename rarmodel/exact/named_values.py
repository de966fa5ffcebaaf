"""Values of a Pyomo model's variables by name."""

from __future__ import annotations

from collections.abc import Mapping

import pyomo.environ as pyo

from rarmodel.formulations.plan import put


def values_by_name(model: pyo.ConcreteModel) -> dict[str, float]:
    """Values of a model's variables that have one, by name."""
    variables = model.component_data_objects(pyo.Var, active=True)
    return {variable.name: variable.value for variable in variables if variable.value is not None}


def put_values(model: pyo.ConcreteModel, values: Mapping[str, float]) -> None:
    """Set those of a model's variables that are named; fixed ones keep their values."""
    if not values:
        return
    for variable in model.component_data_objects(pyo.Var):
        if variable.name in values:
            put(variable, values[variable.name])
