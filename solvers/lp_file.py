"""A Pyomo model as an LP file, and its variables by the names they have there.

Solvers read such a file with their own interface, which gives starting solutions, callbacks and
interruption, and takes one pass over the model whatever the solver.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyomo.environ as pyo
from pyomo.repn.plugins.lp_writer import LPWriter

from rarmodel.errors import UsageError

INTEGRALITY = 1e-5
"""How far from a whole number a solver may leave an integer variable."""


class NonlinearError(UsageError):
    """The model is not linear."""


@contextmanager
def lp_file(model: pyo.ConcreteModel, solver: str) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The path of the model's LP file while the context lasts, and its variables by name.

    Raises
    ------
    NonlinearError
        If the model is not linear.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.lp"
        with path.open("w", newline="") as file:
            try:
                written = LPWriter().write(
                    model, file, allow_quadratic_objective=False, allow_quadratic_constraint=False
                )
            except ValueError as error:
                raise NonlinearError(
                    f"solver {solver!r} solves linear models; this one is not: {error}"
                ) from error
        yield path, written.symbol_map.bySymbol


def check_sense(model: pyo.ConcreteModel, solver: str) -> None:
    """Refuse a model that has not one objective, to be minimised.

    Raises
    ------
    UsageError
        If it has none, several, or one to be maximised.
    """
    objectives = list(model.component_data_objects(pyo.Objective, active=True))
    if len(objectives) != 1 or objectives[0].sense != pyo.minimize:
        raise UsageError(
            f"solver {solver!r} minimises one objective; this model has {len(objectives)}"
            + (", to be maximised" if len(objectives) == 1 else "")
        )


def take_values(values: Iterator[tuple[Any, float]]) -> None:
    """Write a solution to Pyomo variables; what should be whole and nearly is becomes so."""
    for variable, value in values:
        whole = round(value)
        exact = not variable.is_continuous() and abs(value - whole) <= INTEGRALITY
        variable.set_value(whole if exact else value, skip_validation=True)
