"""Intervals and cumulative constraints in a Pyomo model, declared for solvers that have them.

Pyomo has no such constraints. So a model keeps a list of them beside its own components: tasks by
their start, size, end and demand, each a variable of the model or a whole number. The adapter of
such a solver reads the list and states the constraints in the solver's terms. A formulation that
declares some has the model class `intervals`, so no other solver is given its model.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

DECLARED = "_cumulative_constraints"
"""Attribute in which a model keeps them."""


class Task(NamedTuple):
    """An interval that demands something: `start + size = end`.

    Attributes
    ----------
    start, size, end
        In slots; variables of the model in whole numbers, or whole numbers.
    demand
        What it demands from its start until its end, likewise; never below 0.
    """

    start: Any
    size: Any
    end: Any
    demand: Any


class Cumulative(NamedTuple):
    """At each time the demands of the tasks under way are at most the capacity, together.

    Attributes
    ----------
    name
        What the capacity is of.
    tasks
        The tasks.
    capacity
        A whole number.
    """

    name: str
    tasks: tuple[Task, ...]
    capacity: int


def add_cumulative(model: Any, name: str, tasks: Iterable[Task], capacity: int) -> None:
    """Declare a cumulative constraint of a model.

    ```
    Σ_{i: start_i ≤ t < end_i} demand_i ≤ capacity      for each t
    ```

    Each variable of a task must also occur in the model's own constraints, and have bounds.
    """
    if not hasattr(model, DECLARED):
        setattr(model, DECLARED, [])
    getattr(model, DECLARED).append(Cumulative(name, tuple(tasks), capacity))


def cumulatives_of(model: Any) -> list[Cumulative]:
    """The cumulative constraints that a model declares."""
    return list(getattr(model, DECLARED, ()))


def first_exceeded(model: Any) -> str | None:
    """The name of the first cumulative constraint that the values of the variables exceed."""
    for one in cumulatives_of(model):
        tasks = [tuple(map(_number, task)) for task in one.tasks]
        begins = {start for start, _, end, demand in tasks if demand > 0 and start < end}
        for t in begins:
            if sum(demand for start, _, end, demand in tasks if start <= t < end) > one.capacity:
                return one.name
    return None


def _number(value: Any) -> int:
    return value if isinstance(value, int) else round(value.value or 0)
