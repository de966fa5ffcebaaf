"""A model as text, constraint family by constraint family, for people to review."""

from __future__ import annotations

import pyomo.environ as pyo


def families_of(model: pyo.ConcreteModel) -> dict[str, str]:
    """Text of each constraint family, of the variables' bounds, and of the objective."""
    texts = {}
    for component in model.component_objects(pyo.Constraint, descend_into=False):
        lines = []
        for data in component.values():
            low = "" if data.lower is None else f"{pyo.value(data.lower):g} <= "
            high = "" if data.upper is None else f" <= {pyo.value(data.upper):g}"
            lines.append(f"{data.name}: {low}{data.body}{high}")
        texts[component.local_name] = "\n".join(lines) + "\n"
    texts["variables"] = "".join(
        f"{variable.lb:g} <= {variable.name} <= {variable.ub} {variable.domain.name}\n"
        for variable in model.component_data_objects(pyo.Var)
    )
    texts["objective"] = f"minimise {model.objective.expr}\n"
    return texts
