"""Write a Pyomo model as an MPS file, and map its variables by their names there."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyomo.environ as pyo  # noqa: TC002
from pyomo.repn.plugins.mps import ProblemWriter_mps

from rarmodel.errors import UsageError


def write_mps(model: pyo.ConcreteModel, path: Path, solver: str) -> Mapping[str, Any]:
    """Write the model, and return its variables by their names in the file.

    Raises
    ------
    UsageError
        If the model is not linear.
    """
    # It warns of objectives that are constant, and means no harm by it.
    logger = logging.getLogger("pyomo.core")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        _, symbols = ProblemWriter_mps()(model, str(path), lambda _: False, {})
    except (ValueError, RuntimeError, KeyError) as error:
        raise UsageError(
            f"solver {solver!r} solves linear models; this one is not: {error}"
        ) from error
    finally:
        logger.setLevel(level)
    if re.search(r"^Q", path.read_text(encoding="utf-8"), re.MULTILINE):
        raise UsageError(f"solver {solver!r} solves linear models; this one has quadratic terms")
    return {name: symbols.getObject(name) for name in symbols.bySymbol}
