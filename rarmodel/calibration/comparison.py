"""Compare models of contention: fit the constants of each to some runs, and test them on others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

import numpy as np

from rarmodel.errors import InputError, Problem

from .calibration import Rates, Residual
from .estimate import checked_constants
from .fit import DEFAULTS, fit
from .measurement import Measurement
from .models import COUNT, MODELS, Factors, Runs
from .prediction import ALPHA, CONCURRENCY, CONTENTION, OVERHEAD, cases_of, predictions
from .table import Measurements

FIT, TEST = "fit", "test"
_START = {CONCURRENCY: 0.9, ALPHA: 0.05, OVERHEAD: 0.1}
_RANGES = {CONCURRENCY: (1e-3, 1.0), ALPHA: (0.0, np.inf), OVERHEAD: (0.0, np.inf)}
_TOLERANCE = 1e-8
_NEAR = 1e-3
_DIGITS = 6
"""Digits of a constant: further digits differ between machines."""
_STEP = 1e-3
"""Relative step of derivatives: coarse enough for duties, which are rounded."""


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
    if problems := _problems(table):
        raise InputError(problems, table.source)
    parts = _parts(table, seed)
    halves = {part: _selected(table, [one == part for one in parts]) for part in (FIT, TEST)}
    runs = {part: runs_of(half, rates) for part, half in halves.items()}
    found = []
    for name, model in MODELS.items():
        try:
            values = _constants(name, model, runs[FIT], given)
        except InputError as error:
            raise InputError(error.problems, f"{table.source}, runs to fit") from error
        rows = {part: _residuals(halves[part], runs[part], model, values) for part in halves}
        errors = {part: _errors(rows[part]) for part in halves}
        found.append(ModelFit(name, values, errors[FIT], errors[TEST], rows[FIT], rows[TEST]))
    return ModelComparison(table.source, rates, tuple(found))


def _problems(table: Measurements) -> list[Problem]:
    """Why the table cannot be used, line by line."""
    problems = []
    by_run: dict[str, list[Measurement]] = {}
    for row in table.rows:
        by_run.setdefault(row.run or "", []).append(row)
    users = {
        run: Counter(link for row in rows for link in row.links_used)
        for run, rows in by_run.items()
    }
    for row, line in zip(table.rows, table.lines, strict=True):
        place = f"line {line}"
        if row.run is None:
            problems.append(Problem(place, "no run; its name is expected, to know what ran beside"))
            continue
        if row.compute_ms is None:
            problems.append(Problem(place, "no compute_ms; comparisons of models need it"))
        if row.network_gbps is not None:
            message = "network_gbps; comparisons of models need links of one rate, as an option"
            problems.append(Problem(place, message))
        if len({one.part for one in by_run[row.run]}) > 1:
            problems.append(Problem(place, f"run {row.run!r} is in several parts; one is expected"))
        most = max((users[row.run][link] for link in row.links_used), default=0)
        if row.on_link and not most:
            problems.append(Problem(place, f"no links; a ring on {row.servers} servers uses some"))
        elif row.servers == 1 and most:
            problems.append(Problem(place, f"links {row.links!r}; a ring on one server uses none"))
        elif row.on_link and most != row.concurrent_jobs:
            message = f"concurrent_jobs {row.concurrent_jobs}; by the run's links it is {most}"
            problems.append(Problem(place, message))
    return problems


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


def runs_of(table: Measurements, rates: Rates) -> Runs:
    """The measurements with what ran at the same time on the same links."""
    cases = cases_of(
        table, rates.network_gbps, rates.intra_server_gbps, rates.reduction_gbps or np.inf
    )
    names: dict[str, dict[str, int]] = {}
    links: list[tuple[int, ...]] = []
    together: dict[str, list[int]] = {}
    for i, row in enumerate(table.rows):
        run = row.run or ""
        known = names.setdefault(run, {})
        links.append(
            tuple(sorted(known.setdefault(link, len(known)) for link in sorted(row.links_used)))
        )
        if row.links_used:
            together.setdefault(run, []).append(i)
    return Runs(cases, links, tuple(together.values()))


def _constants(
    name: str, model: Factors, runs: Runs, given: Mapping[str, float]
) -> dict[str, float]:
    """The constants of least squares.

    Only the count has ξ1 and α apart. Elsewhere a ring does not contend with itself, so that by
    duty `f = 1 + (1 + α)·ξ1·Σ d_i`: ξ1 is held at 1, or α at 0 if the rings share better than that.
    """
    if name == COUNT:
        best = fit(runs.cases, given, DEFAULTS).values
        return {constant: float(f"{best[constant]:.{_DIGITS}g}") for constant in CONTENTION}
    open_ = {CONCURRENCY, ALPHA} - given.keys()
    holds = [{CONCURRENCY: 1.0}, {ALPHA: 0.0}] if len(open_) == 2 else [{}]
    fits = [_least_squares(model, runs, {**given, **held}) for held in holds]
    values, _ = min(fits, key=lambda one: one[1])
    return {constant: values[constant] for constant in CONTENTION}


def _least_squares(
    model: Factors, runs: Runs, held: Mapping[str, float]
) -> tuple[dict[str, float], float]:
    """The constants that are not held, and the sum of the squared residuals."""
    from scipy.optimize import least_squares  # noqa: PLC0415 - takes a while to load

    free = [constant for constant in CONTENTION if constant not in held]

    def values(point: Sequence[float]) -> dict[str, float]:
        return {**held, **{name: float(x) for name, x in zip(free, point, strict=True)}}

    def residuals(point: Sequence[float]) -> Any:
        at = values(point)
        return np.log(predictions(runs.cases, at, model(runs, at)) / runs.cases.measured)

    if not free:
        return values(()), 0.0
    found = least_squares(
        residuals,
        [_START[constant] for constant in free],
        bounds=np.transpose([_RANGES[constant] for constant in free]),
        diff_step=_STEP,
        xtol=_TOLERANCE,
        ftol=_TOLERANCE,
    )
    return values([_settled(*one) for one in zip(free, found.x, strict=True)]), float(found.cost)


def _settled(constant: str, value: float) -> float:
    """A fitted value, or the end of its range, to which steps from within only come close."""
    for end in _RANGES[constant]:
        if abs(value - end) < _NEAR:
            return end
    return float(f"{value:.{_DIGITS}g}")


def _residuals(
    table: Measurements, runs: Runs, model: Factors, values: Mapping[str, float]
) -> tuple[Residual, ...]:
    predicted = predictions(runs.cases, values, model(runs, values))
    return tuple(
        Residual(table.source, line, row.job or "", row.quantity, row.measured, float(value))
        for row, line, value in zip(table.rows, table.lines, predicted, strict=True)
    )


def _errors(rows: Sequence[Residual]) -> Errors:
    sizes = [abs(row.error) for row in rows]
    return Errors(sum(sizes) / len(sizes), max(sizes))
