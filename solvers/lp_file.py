"""Write a Pyomo model as an LP file, and map its variables by their names there.

Solvers read the file through their own interface. This allows starting solutions, callbacks and
interruption, and needs one pass over the model for every solver.
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
"""Greatest distance of an integer variable from a whole number in a solver's solution."""


class NonlinearError(UsageError):
    """The model is not linear."""


@contextmanager
def lp_file(model: pyo.ConcreteModel, solver: str) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Path of the model's LP file while the context lasts, and its variables by name.

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
    """Refuse a model without exactly one objective, to be minimised.

    Raises
    ------
    UsageError
        If the model has no objective, several, or one to be maximised.
    """
    objectives = list(model.component_data_objects(pyo.Objective, active=True))
    if len(objectives) != 1 or objectives[0].sense != pyo.minimize:
        raise UsageError(
            f"solver {solver!r} minimises one objective; this model has {len(objectives)}"
            + (", to be maximised" if len(objectives) == 1 else "")
        )


def take_values(values: Iterator[tuple[Any, float]]) -> None:
    """Write a solution to Pyomo variables; round nearly whole values of integer variables."""
    for variable, value in values:
        whole = round(value)
        exact = not variable.is_continuous() and abs(value - whole) <= INTEGRALITY
        variable.set_value(whole if exact else value, skip_validation=True)
