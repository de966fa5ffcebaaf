"""Least squares for the constants of any model of contention, by differences of its predictions.

`fit` knows the derivatives of the count (6). Other models need what ran beside each measurement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rarmodel.errors import InputError, Problem

from .beside import Runs
from .fit import DEFAULTS, Fit, nothing_determined, null_names, with_covariance
from .models import Factors
from .prediction import ALPHA, CONCURRENCY, CONTENTION, OVERHEAD, predictions

_START = {CONCURRENCY: 0.9, ALPHA: 0.05, OVERHEAD: 0.1}
_RANGES = {CONCURRENCY: (1e-3, 1.0), ALPHA: (0.0, np.inf), OVERHEAD: (0.0, np.inf)}
_TOLERANCE = 1e-8
_NEAR = 1e-3
_DIGITS = 6
"""Digits of a constant: further digits differ between machines."""
_STEP = 1e-3
"""Relative step of derivatives: coarse enough for duties, which are rounded."""
_NULL = 1e-4
"""Part of the greatest singular value below which one counts as 0: duties are rounded."""


def fit_model(
    model: Factors,
    runs: Runs,
    given: Mapping[str, float],
    defaults: Mapping[str, float] = DEFAULTS,
) -> Fit:
    """Fit all constants of contention that are not given, as far as the data determine them.

    A ring does not contend with itself here, so by duty `f = 1 + (1 + α)·ξ1·Σ d_i`, and no data
    tell ξ1 and α apart. One of them is held: ξ1 at 1 or at its default, or α at 0 or at its default
    if that explains the data better.

    Parameters
    ----------
    model
        The model of contention.
    runs
        The measurements, with known compute times.
    given
        Constants with values from the user.
    defaults
        Value of each of `CONTENTION` that the data do not determine.

    Raises
    ------
    InputError
        If there is a free constant, and the measurements determine none.
    """
    asked = [name for name in CONTENTION if name not in given]
    determined = [
        name for name in asked if name not in _loose(model, runs, {**_START, **given}, [name])
    ]
    if asked and not determined:
        raise InputError([Problem("", nothing_determined(runs.cases, sorted(asked)))])
    held = {name: defaults[name] for name in asked if name not in determined}
    pair = [*(name for name in determined if name != OVERHEAD), OVERHEAD][-2:]
    if OVERHEAD in determined and OVERHEAD in _loose(model, runs, {**_START, **given}, pair):
        held[OVERHEAD] = defaults[OVERHEAD]
    holds: list[dict[str, float]] = [{}]
    if {CONCURRENCY, ALPHA} <= set(determined):
        at = [(CONCURRENCY, defaults[CONCURRENCY]), (ALPHA, defaults[ALPHA])]
        at += [(CONCURRENCY, DEFAULTS[CONCURRENCY]), (ALPHA, DEFAULTS[ALPHA])]
        holds = [{name: value} for name, value in dict.fromkeys(at)]
    found = [_least_squares(model, runs, dict(given), {**held, **hold}) for hold in holds]
    best = found[0]
    for other in found[1:]:
        best = other if other.cost < best.cost * (1 - 1e-6) - 1e-15 else best
    columns = _slopes(model, runs, best.values, best.free)
    units = np.array([_START[name] for name in best.free])
    return with_covariance(best, columns, units)


def _log_predictions(model: Factors, runs: Runs, values: Mapping[str, float]) -> Any:
    return np.log(predictions(runs.cases, values, model(runs, values)))


def _slopes(model: Factors, runs: Runs, values: Mapping[str, float], free: Sequence[str]) -> Any:
    """Derivatives of the logarithms of the predictions: a column for each free constant."""
    here = _log_predictions(model, runs, values)
    columns = []
    for name in free:
        step = _STEP * max(values[name], _START[name])
        step = -step if values[name] + step > _RANGES[name][1] else step
        there = _log_predictions(model, runs, {**values, name: values[name] + step})
        columns.append((there - here) / step)
    return np.reshape(np.transpose(columns), (len(here), len(free)))


def _loose(
    model: Factors, runs: Runs, values: Mapping[str, float], free: Sequence[str]
) -> set[str]:
    """Constants that can change, together or alone, without a change of any prediction."""
    return null_names(_slopes(model, runs, values, free), free, _NULL)


def _least_squares(
    model: Factors, runs: Runs, given: Mapping[str, float], held: Mapping[str, float]
) -> Fit:
    """The best values of the constants that are neither given nor held."""
    from scipy.optimize import least_squares  # noqa: PLC0415 - takes a while to load

    fixed = {**given, **held}
    free = [name for name in CONTENTION if name not in fixed]

    def values(point: Sequence[float]) -> dict[str, float]:
        return {**fixed, **{name: float(x) for name, x in zip(free, point, strict=True)}}

    def residuals(point: Sequence[float]) -> Any:
        return _log_predictions(model, runs, values(point)) - np.log(runs.cases.measured)

    best = Fit(values([_START[name] for name in free]), tuple(held), (), (), None, 0.0)
    if not free:
        return replace(best, cost=float(np.sum(residuals(()) ** 2)))
    found = least_squares(
        residuals,
        [_START[name] for name in free],
        bounds=np.transpose([_RANGES[name] for name in free]),
        diff_step=_STEP,
        xtol=_TOLERANCE,
        ftol=_TOLERANCE,
    )
    settled = [_settled(name, x) for name, x in zip(free, found.x, strict=True)]
    at_limit = tuple(name for name, x in zip(free, settled, strict=True) if x in _RANGES[name])
    inside = tuple(name for name in free if name not in at_limit)
    return replace(
        best, values=values(settled), at_limit=at_limit, free=inside, cost=2 * float(found.cost)
    )


def _settled(name: str, value: float) -> float:
    """A fitted value, or the end of its range, to which steps from within only come close."""
    for end in _RANGES[name]:
        if abs(value - end) < _NEAR:
            return end
    return float(f"{value:.{_DIGITS}g}")
