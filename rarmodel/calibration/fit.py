"""Least squares for the constants that the data determine; the others are held.

The residual of a row is the logarithm of predicted divided by measured time: an error of 10 %
counts the same for milliseconds and for hours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

import numpy as np

from rarmodel.errors import InputError, Problem
from rarmodel.extras import imported

from .prediction import ALPHA, CONCURRENCY, CONTENTION, OVERHEAD, Cases, predictions, slopes

DEFAULTS: Mapping[str, float] = {CONCURRENCY: 1.0, ALPHA: 0.0, OVERHEAD: 0.0}
"""Values of constants that neither the data nor an instance determine."""

FITS = "fits to measured times"
"""What needs SciPy."""

_MOST_STARTS = 8
_TOLERANCE = 1e-13
_NULL = 1e-7
"""Threshold below which a singular value, or a constant's part in its vector, counts as 0."""


@dataclass(frozen=True)
class Fit:
    """The best fit.

    Attributes
    ----------
    values
        Value of each constant and compute time, by name.
    held
        Names of constants that the data do not determine; they have their defaults.
    at_limit
        Names of constants whose best value is at the end of their range.
    free
        Names of the other constants, which were fitted.
    covariance
        Covariance of the fitted constants, from the residuals; None if there are no more rows than
        names.
    cost
        Sum of the squared residuals.
    """

    values: Mapping[str, float]
    held: tuple[str, ...]
    at_limit: tuple[str, ...]
    free: tuple[str, ...]
    covariance: np.ndarray | None
    cost: float


def fit(cases: Cases, given: Mapping[str, float], defaults: Mapping[str, float]) -> Fit:
    """Fit all constants that are not given, as far as the data determine them.

    Parameters
    ----------
    cases
        The measurements.
    given
        Constants with values from the user.
    defaults
        Value at which each of `CONTENTION` is held if the data do not determine it.

    Raises
    ------
    InputError
        If the measurements determine no free constant, or not the compute time of a job, or exceed
        floating-point precision.
    """
    found = _settled(cases, dict(given), defaults)
    asked = set(CONTENTION) - given.keys()
    if asked and asked <= set(found.held):
        raise InputError([Problem("", nothing_determined(cases, sorted(asked)))])
    return found


def nothing_determined(cases: Cases, asked: Sequence[str]) -> str:
    """The message that the rows determine none of the constants that are asked for."""
    if max(cases.rings) < 2:
        why = "no row has servers above 1 and concurrent_jobs above 1"
    else:
        why = "more rows are needed, or compute_ms, or a constant that is given"
    return f"the rows determine none of {', '.join(asked)}: {why}"


def _settled(cases: Cases, fixed: dict[str, float], defaults: Mapping[str, float]) -> Fit:
    """The best fit after holding undetermined constants, besides those fixed already."""
    free = [name for name in cases.names if name not in fixed]
    loose = undetermined(cases, {**_generic(cases), **fixed}, free)
    places = [(CONCURRENCY, defaults[CONCURRENCY]), (ALPHA, defaults[ALPHA])]
    places += [place for place in DEFAULTS.items() if place[0] in {CONCURRENCY, ALPHA}]
    if not loose:
        found = _best(cases, fixed, free)
        # Rows that could tell may not, where the fit has little contention left or none.
        unsure = [name for name in free if name in found.free or name == ALPHA]
        loose = undetermined(cases, found.values, unsure) & set(CONTENTION)
        if not loose:
            columns = [cases.names.index(name) for name in found.free]
            units = np.array([unit_of(cases, name) for name in found.free])
            return with_covariance(found, slopes(cases, found.values)[:, columns], units)
        places.append((CONCURRENCY, found.values[CONCURRENCY]))
    if OVERHEAD in loose:
        return _holding(OVERHEAD, defaults[OVERHEAD], cases, fixed, defaults)
    if {CONCURRENCY, ALPHA} <= loose:
        # The data have one number where the model has two: whichever of them can give it.
        best, *others = (_holding(name, at, cases, fixed, defaults) for name, at in places)
        for other in others:
            best = other if other.cost < best.cost * (1 - 1e-6) - 1e-15 else best
        return best
    if named := sorted(loose & set(CONTENTION)):
        return _holding(named[0], defaults[named[0]], cases, fixed, defaults)
    raise InputError(
        [Problem("", f"the rows do not determine {name}") for name in free if name in loose]
    )


def _holding(
    name: str,
    value: float,
    cases: Cases,
    fixed: dict[str, float],
    defaults: Mapping[str, float],
) -> Fit:
    found = _settled(cases, {**fixed, name: value}, defaults)
    return replace(found, held=(name, *found.held))


def _generic(cases: Cases) -> dict[str, float]:
    """Generic values: what the data determine there, they determine in general."""
    typical = 1e3 * cases.measured / np.where(np.isnan(cases.scale), 1.0, cases.scale)
    values = {CONCURRENCY: 0.83, ALPHA: 0.37, OVERHEAD: 0.013 * float(np.median(typical))}
    for i, name in enumerate(cases.names[len(CONTENTION) :]):
        values[name] = 0.41 * float(np.median(typical[cases.job == i]))
    return values


def undetermined(cases: Cases, values: Mapping[str, float], free: Sequence[str]) -> set[str]:
    """Names that can change, together or alone, without a change of any prediction.

    Parameters
    ----------
    cases
        The measurements.
    values
        The point at which to look: a value for each name.
    free
        Names that may change.
    """
    if not free:
        return set()
    columns = [cases.names.index(name) for name in free]
    return null_names(slopes(cases, values)[:, columns], free)


def null_names(jacobian: np.ndarray, free: Sequence[str], null: float = _NULL) -> set[str]:
    """Names with a part in a direction in which no prediction changes.

    Parameters
    ----------
    jacobian
        Derivatives of the predictions: a row for each of them, a column for each name.
    free
        The names; at least one.
    null
        Threshold below which a singular value, or a name's part in its vector, counts as 0.
    """
    norms = np.linalg.norm(jacobian, axis=0)
    _, singular, vectors = np.linalg.svd(jacobian / np.where(norms > 0, norms, 1.0))
    padded = np.concatenate([singular, np.zeros(len(free) - len(singular))])
    loose = vectors[padded <= null * max(1.0, padded[0])]
    parts = np.abs(loose).max(axis=0, initial=0.0)
    return {name for name, part in zip(free, parts, strict=True) if part > null}


def _best(cases: Cases, fixed: Mapping[str, float], free: Sequence[str]) -> Fit:
    """The least squares over all starts; ends of ranges are tried too."""
    candidates = [_from_start(cases, {**start, **fixed}, free) for start in _starts(cases, fixed)]
    best = min(candidates, key=lambda found: found.cost)
    at_limit: list[str] = []
    for name in free:
        end = _near_end(cases, name, best.values[name])
        if end is None:
            continue
        others = [other for other in free if other not in {name, *at_limit}]
        at_end = _from_start(cases, {**best.values, name: end}, others)
        if at_end.cost <= best.cost * (1 + 1e-6) + 1e-18:
            best, at_limit = at_end, [*at_limit, name]
    inside = tuple(name for name in free if name not in at_limit)
    return replace(best, at_limit=tuple(at_limit), free=inside)


def _starts(cases: Cases, fixed: Mapping[str, float]) -> Iterator[dict[str, float]]:
    """One start in each range of ξ1 over which the same rows contend: no kink lies within it."""
    generic = _generic(cases)
    shared = [p for p in cases.rings if p > 1]
    kinks = sorted({1.0, *(1.0 / p for p in shared)})
    middles = [(low + high) / 2 for low, high in pairwise(kinks)] or [generic[CONCURRENCY]]
    if len(middles) > _MOST_STARTS:
        chosen = np.linspace(0, len(middles) - 1, _MOST_STARTS).round().astype(int)
        middles = [middles[i] for i in chosen]
    levels = middles if CONCURRENCY not in fixed else middles[:1]
    alphas = (0.1, 1.0) if ALPHA not in fixed else (0.1,)
    for level, alpha in product(levels, alphas):
        yield {**generic, CONCURRENCY: level, ALPHA: alpha}


def _range(cases: Cases, name: str) -> tuple[float, float]:
    """The range of a constant. Below one over the most rings, ξ1 changes nothing."""
    if name == CONCURRENCY:
        return 1.0 / max(2, *cases.rings, 0), 1.0
    return 0.0, math.inf


def unit_of(cases: Cases, name: str) -> float:
    """The scale of a change in a constant: 1 for ξ1 and α, of the data for others."""
    return 1.0 if name in {CONCURRENCY, ALPHA} else _generic(cases)[name]


def _near_end(cases: Cases, name: str, value: float) -> float | None:
    low, high = _range(cases, name)
    near = 1e-3 * unit_of(cases, name)
    return low if value - low < near else high if high - value < near else None


def _from_start(cases: Cases, start: Mapping[str, float], free: Sequence[str]) -> Fit:
    """Least squares from one start, within the ranges.

    Raises
    ------
    InputError
        If the numbers exceed floating-point precision.
    """
    columns = [cases.names.index(name) for name in free]

    def values(point: np.ndarray) -> dict[str, float]:
        return {**start, **{name: float(x) for name, x in zip(free, point, strict=True)}}

    def residuals(point: np.ndarray) -> np.ndarray:
        errors: np.ndarray = np.log(predictions(cases, values(point)) / cases.measured)
        return errors

    if not free:
        cost = float(np.sum(residuals(np.empty(0)) ** 2))
        return Fit(dict(start), (), (), (), None, cost)
    low, high = np.transpose([_range(cases, name) for name in free])
    try:
        with np.errstate(all="ignore"):  # Steps that lead nowhere are not taken.
            found = imported("scipy.optimize", "calibration", FITS).least_squares(
                residuals,
                np.clip([start[name] for name in free], low, high),
                jac=lambda point: slopes(cases, values(point))[:, columns],
                bounds=(low, high),
                x_scale=[unit_of(cases, name) for name in free],
                xtol=_TOLERANCE,
                ftol=_TOLERANCE,
                gtol=_TOLERANCE,
            )
    except ValueError as error:  # SciPy's own steps lose their way.
        raise _too_far_apart() from error
    if not np.isfinite(found.cost):
        raise _too_far_apart()
    return Fit(values(found.x), (), (), tuple(free), None, 2 * float(found.cost))


def _too_far_apart() -> InputError:
    message = "the rows cannot be fitted: their numbers lie too far apart; check their units"
    return InputError([Problem("", message)])


def with_covariance(found: Fit, jacobian: np.ndarray, units: np.ndarray) -> Fit:
    """A fit with the covariance of its free constants, `s²(JᵀJ)⁻¹`.

    Parameters
    ----------
    found
        The fit.
    jacobian
        Derivatives of the logarithms of the predictions by the free constants.
    units
        Scale of a change in each free constant.
    """
    freedom = len(jacobian) - len(found.free)
    if freedom < 1 or not found.free:
        return found
    inverse = np.linalg.pinv(jacobian * units, rcond=1e-12)
    covariance = found.cost / freedom * (inverse @ inverse.T) * np.outer(units, units)
    return replace(found, covariance=covariance)
