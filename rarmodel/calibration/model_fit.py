"""Least squares for the constants of any model of contention, by differences of its predictions.

`fit` knows the derivatives of the count (6). Other models need what ran beside each measurement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rarmodel.errors import InputError, Problem
from rarmodel.extras import imported

from .beside import Runs
from .contention_models import Factors
from .fit import DEFAULTS, FITS, Fit, nothing_determined, null_names, unit_of, with_covariance
from .prediction import ALPHA, CONCURRENCY, CONTENTION, OVERHEAD, predictions

_START = {CONCURRENCY: 0.9, ALPHA: 0.05}
_RANGES = {CONCURRENCY: (1e-3, 1.0), ALPHA: (0.0, np.inf), OVERHEAD: (0.0, np.inf)}
_TOLERANCE = 1e-8
_NEAR = 1e-3
"""Part of its unit by which a constant at the end of its range may miss it."""
_STEP = 5e-3
"""Step of derivatives, as part of a constant's unit: coarse, because duties are rounded."""
_NULL = 1e-3
"""Part of the greatest singular value below which one counts as 0, for the same reason."""


class _Question(NamedTuple):
    """What a fit is asked."""

    model: Factors
    runs: Runs
    units: Mapping[str, float]
    """The scale of a change in each constant."""


def fit_model(
    model: Factors,
    runs: Runs,
    given: Mapping[str, float],
    defaults: Mapping[str, float] = DEFAULTS,
) -> Fit:
    """Fit all constants of contention that are not given, as far as the data determine them.

    A ring does not contend with itself here, so by duty `f = 1 + (1 + α)·ξ1·Σ d_i`, and no data
    tell ξ1 and α apart. Fair shares are treated alike. One of the two is held: ξ1 at 1 or at its
    default, or α at 0 or at its default if that explains the data better.

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
    units = {name: unit_of(runs.cases, name) for name in CONTENTION}
    asks = _Question(model, runs, units)
    start = {OVERHEAD: units[OVERHEAD], **_START, **given}
    asked = [name for name in CONTENTION if name not in given]
    determined = [name for name in asked if name not in _loose(asks, start, [name])]
    if asked and not determined:
        raise InputError([Problem("", nothing_determined(runs.cases, sorted(asked)))])
    held = {name: defaults[name] for name in asked if name not in determined}
    pair = [*(name for name in determined if name != OVERHEAD), OVERHEAD][-2:]
    if OVERHEAD in determined and OVERHEAD in _loose(asks, start, pair):
        held[OVERHEAD] = defaults[OVERHEAD]
    holds: list[dict[str, float]] = [{}]
    if {CONCURRENCY, ALPHA} <= set(determined):
        at = [(CONCURRENCY, defaults[CONCURRENCY]), (ALPHA, defaults[ALPHA])]
        at += [(CONCURRENCY, DEFAULTS[CONCURRENCY]), (ALPHA, DEFAULTS[ALPHA])]
        holds = [{name: value} for name, value in dict.fromkeys(at)]
    found = [
        _least_squares(asks, {**start, **held, **hold}, (*given, *held, *hold)) for hold in holds
    ]
    best, kept = found[0], holds[0]
    for other, hold in zip(found[1:], holds[1:], strict=True):
        if other.cost < best.cost * (1 - 1e-6) - 1e-15:
            best, kept = other, hold
    best = replace(best, held=(*held, *kept))
    columns = _slopes(asks, best.values, best.free)
    return with_covariance(best, columns, np.array([units[name] for name in best.free]))


def _log_predictions(asks: _Question, values: Mapping[str, float]) -> Any:
    runs = asks.runs
    return np.log(predictions(runs.cases, values, asks.model(runs, values)))


def _slopes(asks: _Question, values: Mapping[str, float], free: Sequence[str]) -> Any:
    """Derivatives of the logarithms of the predictions: a column for each free constant."""
    here = _log_predictions(asks, values)
    columns = []
    for name in free:
        step = _STEP * asks.units[name]
        step = -step if values[name] + step > _RANGES[name][1] else step
        there = _log_predictions(asks, {**values, name: values[name] + step})
        columns.append((there - here) / step)
    return np.reshape(np.transpose(columns), (len(here), len(free)))


def _loose(asks: _Question, values: Mapping[str, float], free: Sequence[str]) -> set[str]:
    """Constants that can change, together or alone, without a change of any prediction."""
    return null_names(_slopes(asks, values, free), free, _NULL)


def _least_squares(asks: _Question, start: Mapping[str, float], fixed: Sequence[str]) -> Fit:
    """The best values of the constants that are not fixed, from a start."""
    free = [name for name in CONTENTION if name not in fixed]
    units, measured = asks.units, np.log(asks.runs.cases.measured)

    def values(point: Sequence[float]) -> dict[str, float]:
        return {**start, **{name: float(x) for name, x in zip(free, point, strict=True)}}

    def residuals(point: Sequence[float]) -> Any:
        return _log_predictions(asks, values(point)) - measured

    if not free:
        return Fit(dict(start), (), (), (), None, float(np.sum(residuals(()) ** 2)))
    found = imported("scipy.optimize", "calibration", FITS).least_squares(
        residuals,
        [start[name] for name in free],
        jac=lambda point: _slopes(asks, values(point), free),
        bounds=np.transpose([_RANGES[name] for name in free]),
        x_scale=[units[name] for name in free],
        xtol=_TOLERANCE,
        ftol=_TOLERANCE,
        gtol=_TOLERANCE,
    )
    best = values(found.x)
    for name in free:
        for end in _RANGES[name]:
            if abs(best[name] - end) < _NEAR * units[name]:
                # Steps from within only come close to the end.
                at_end = _least_squares(asks, {**best, name: end}, (*fixed, name))
                return replace(at_end, at_limit=(name, *at_end.at_limit))
    return Fit(best, (), (), tuple(free), None, 2 * float(found.cost))
