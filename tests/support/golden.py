"""Parts of a model as text, for people to review."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from rarmodel.formulations.intervals import Cumulative


def constraints_of(component: Any) -> str:
    """A family of constraints, or an objective, one a line; nothing of other components."""
    if component.ctype is pyo.Objective:
        return f"minimise {component.expr}\n"
    if component.ctype is not pyo.Constraint:
        return ""
    lines = []
    for data in component.values():
        low = "" if data.lower is None else f"{pyo.value(data.lower):g} <= "
        high = "" if data.upper is None else f" <= {pyo.value(data.upper):g}"
        lines.append(f"{data.name}: {low}{data.body}{high}\n")
    return "".join(lines)


def variables_of(component: Any) -> str:
    """Bounds and domains of variables that are alike, and the terms of expressions."""
    if component.ctype is pyo.Expression:
        return "".join(f"{data.name} = {data.expr}\n" for data in component.values())
    if component.ctype is not pyo.Var:
        return ""
    alike: dict[str, list[str]] = {}
    for data in component.values():
        high = "" if data.ub is None else f" <= {data.ub:g}"
        words = f"{data.lb:g} <= x{high}, {data.domain.name}"
        alike.setdefault(words, []).append(data.name)
    return "".join(f"{words}: {' '.join(names)}\n" for words, names in alike.items())


def text_of(cumulative: Cumulative) -> str:
    """A cumulative constraint: its tasks as `[start, size, end] demand`."""
    tasks = "".join(
        f"  [{task.start}, {task.size}, {task.end}] {task.demand}\n" for task in cumulative.tasks
    )
    return f"{cumulative.name}: at most {cumulative.capacity} at once of\n{tasks}"
