"""Which installed solver is asked if nobody says: the one that proves most of a class of models."""

from __future__ import annotations

from rarmodel import registry
from rarmodel.errors import UsageError

from .answer import Solver

PREFERENCE = {
    "integer": ("cpsat", "highs", "scip", "gurobi"),
    "linear": ("highs", "scip", "gurobi"),
    "nonlinear": ("scip", "gurobi"),
}
"""By class of models: solvers in the order that `tests/benchmarks/time_indexed.py` shows; its table
stands in docs/performance.md. Gurobi comes last: its free licence holds small models only."""


def fitting_solvers(model_class: str) -> list[Solver]:
    """Installed solvers of a class of models, the preferred one first."""
    found = [registry.find("solvers", name) for name in registry.names("solvers")]
    fitting = [one for one in found if model_class in one.model_classes and one.version()]
    order = PREFERENCE.get(model_class, ())
    return sorted(
        fitting,
        key=lambda one: (order.index(one.name) if one.name in order else len(order), one.name),
    )


def require_solvers(model_class: str, wanted_by: str) -> list[Solver]:
    """The same, at least one.

    Parameters
    ----------
    model_class
        The class of models.
    wanted_by
        Name of the formulation.

    Raises
    ------
    UsageError
        If none is installed.
    """
    fitting = fitting_solvers(model_class)
    if not fitting:
        raise UsageError(
            f"no installed solver solves {model_class} models such as {wanted_by!r}; "
            "`rarmodel solvers` lists those there are"
        )
    return fitting
