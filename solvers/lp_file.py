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

import pyomo.environ as pyo  # noqa: TC002
from pyomo.repn.plugins.lp_writer import LPWriter

from rarmodel.errors import UsageError

INTEGRALITY = 1e-5
"""How far from a whole number a solver may leave an integer variable."""


@contextmanager
def lp_file(model: pyo.ConcreteModel, solver: str) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The path of the model's LP file while the context lasts, and its variables by name.

    Raises
    ------
    UsageError
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
                raise UsageError(
                    f"solver {solver!r} solves linear models; this one is not: {error}"
                ) from error
        yield path, written.symbol_map.bySymbol


def take_values(values: Iterator[tuple[Any, float]]) -> None:
    """Write a solution to Pyomo variables; what should be whole and nearly is becomes so."""
    for variable, value in values:
        whole = round(value)
        exact = not variable.is_continuous() and abs(value - whole) <= INTEGRALITY
        variable.set_value(whole if exact else value, skip_validation=True)
