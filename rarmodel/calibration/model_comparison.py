"""Compare models of contention: fit the constants of each to some runs, and test them on others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

from rarmodel.errors import InputError, Problem
from rarmodel.model.sharing_rule import COUNT

from .beside import Runs, check_runs, runs_of
from .calibration import Rates, Residual
from .contention_models import MODELS, Factors
from .estimate import checked_constants, residuals_of
from .fit import DEFAULTS, fit
from .measurement_table import Measurements
from .model_fit import fit_model
from .prediction import CONTENTION

FIT, TEST = "fit", "test"
_DIGITS = 6
"""Digits of a constant: further digits differ between machines."""


@dataclass(frozen=True)
class Errors:
    """Errors of a model.

    Attributes
    ----------
    mean, worst
        Mean and greatest absolute relative error of the rows' times.
    """

    mean: float
    worst: float


@dataclass(frozen=True)
class ModelFit:
    """A model with its constants, and its errors.

    Attributes
    ----------
    model
        Name of the model.
    constants
        ξ1, α and ξ2, named as in an instance.
    fit, test
        Errors on the rows to which they were fitted, and on the others.
    fitted, tested
        These rows.
    """

    model: str
    constants: Mapping[str, float]
    fit: Errors
    test: Errors
    fitted: tuple[Residual, ...]
    tested: tuple[Residual, ...]


@dataclass(frozen=True)
class ModelComparison:
    """Models of contention side by side.

    Attributes
    ----------
    source
        The table of measurements.
    rates
        Rates that predictions use.
    models
        The models.
    """

    source: str
    rates: Rates
    models: tuple[ModelFit, ...]

    def summary(self) -> dict[str, Any]:
        """The whole result as plain data."""
        return {
            "source": self.source,
            "rates": asdict(self.rates),
            "models": [
                {
                    "model": one.model,
                    "constants": dict(one.constants),
                    "fit": asdict(one.fit),
                    "test": asdict(one.test),
                    "rows": [
                        {**asdict(row), "error": row.error, "part": part}
                        for part, rows in ((FIT, one.fitted), (TEST, one.tested))
                        for row in rows
                    ],
                }
                for one in self.models
            ],
        }


def compare_models(
    table: Measurements,
    *,
    rates: Rates,
    given: Mapping[str, float] | None = None,
    seed: int = 0,
) -> ModelComparison:
    """Fit the constants of each model to one part of a table, and test them on the rest.

    Parameters
    ----------
    table
        The measurements; each names its run and its links, and the rows of a run are all rings that
        ran at the same time. Column `part` divides the runs; without it, half of them, drawn at
        random, are fitted.
    rates
        Rates in Gbit/s.
    given
        Constants of contention with given values.
    seed
        Seed of the draw.

    Raises
    ------
    InputError
        If rows lack what is needed, contradict each other, or cannot be divided.
    UsageError
        If a constant is out of its range.
    """
    given = checked_constants(given or {})
    check_runs(table)
    parts = _parts(table, seed)
    halves = {part: _selected(table, [one == part for one in parts]) for part in (FIT, TEST)}
    runs = {part: runs_of(half, rates) for part, half in halves.items()}
    found = []
    for name, model in MODELS.items():
        try:
            values = _constants(name, model, runs[FIT], given)
        except InputError as error:
            raise InputError(error.problems, f"{table.source}, runs to fit") from error
        rows = {part: residuals_of(halves[part], runs[part], model, values) for part in halves}
        errors = {part: _errors(rows[part]) for part in halves}
        found.append(ModelFit(name, values, errors[FIT], errors[TEST], rows[FIT], rows[TEST]))
    return ModelComparison(table.source, rates, tuple(found))


def _parts(table: Measurements, seed: int) -> list[str]:
    """The part of each row."""
    parts: list[str] = [row.part or "" for row in table.rows]
    if not any(parts):
        runs = sorted({row.run or "" for row in table.rows})
        chosen = set(Random(seed).sample(runs, len(runs) // 2))  # noqa: S311 - no secrets here
        parts = [FIT if row.run in chosen else TEST for row in table.rows]
    elif "" in parts:
        place = f"line {table.lines[parts.index('')]}"
        raise InputError([Problem(place, "no part; other rows have one")], table.source)
    if missing := [part for part in (FIT, TEST) if part not in parts]:
        message = f"no runs to {missing[0]}; at least one to fit and one to test are expected"
        raise InputError([Problem("", message)], table.source)
    return parts


def _selected(table: Measurements, chosen: Sequence[bool]) -> Measurements:
    rows = tuple(row for row, one in zip(table.rows, chosen, strict=True) if one)
    lines = tuple(line for line, one in zip(table.lines, chosen, strict=True) if one)
    return Measurements(table.source, rows, lines)


def _constants(
    name: str, model: Factors, runs: Runs, given: Mapping[str, float]
) -> dict[str, float]:
    """The constants of least squares."""
    best = fit(runs.cases, given, DEFAULTS) if name == COUNT.name else fit_model(model, runs, given)
    return {constant: float(f"{best.values[constant]:.{_DIGITS}g}") for constant in CONTENTION}


def _errors(rows: Sequence[Residual]) -> Errors:
    sizes = [abs(row.error) for row in rows]
    return Errors(sum(sizes) / len(sizes), max(sizes))
