"""Robust least squares for constants that belong to all rows, or to those of a cluster or a job.

The residual of a row is the logarithm of predicted divided by measured: an error of 10 % counts the
same for microseconds and for hours. Residuals far beyond `SPREAD` count by their size, not by its
square, so that a few odd measurements do not decide. A weak pull to the starts keeps constants that
the rows do not determine where they began. All of it is deterministic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

SPREAD = 0.1
"""Residual from which on it counts by its size."""
PULL = 1e-3
"""Weight of a constant's way from its start, in logarithms."""
_TOLERANCE = 1e-7
_STEP = 1e-6
_MOST = 200
_DAMPING = 1e-3
_IDLE = 1e-4
"""Size of all slopes together below which no row depends on a constant."""
_LONGEST = 2.0
"""Longest step of a constant, in logarithms."""
_FARTHEST = 25.0
"""Farthest that a constant goes from its start, in logarithms."""

Column = Any


@dataclass(frozen=True)
class Constant:
    """A constant of the model, with a value for each scope.

    Attributes
    ----------
    name
        Name of the constant.
    labels
        Scopes: clusters, jobs, or both; one label for a constant of all rows.
    uses
        The index of each row's scope, by the name under which predictions know the constant. Of a
        pair of jobs, the same constant has two uses: the job's, and that of the one beside it.
    start
        Start of each scope's value, above `floor`.
    floor
        Least value. The logarithm of the value above it is fitted.
    pull
        Weight of the pull to the start, by scope or one for all.
    """

    name: str
    labels: tuple[str, ...]
    uses: Mapping[str, Column]
    start: Column
    floor: float = 0.0
    pull: Column = PULL


@dataclass(frozen=True)
class Choice:
    """A whole number for each scope, tried one after another.

    Attributes
    ----------
    name, labels
        As of a constant.
    scope
        Index of each row's scope.
    options
        Numbers to try for each scope; the first has no effect.
    """

    name: str
    labels: tuple[str, ...]
    scope: Column
    options: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class ScopedFit:
    """The best fit.

    Attributes
    ----------
    values
        For each constant, and each choice, its value by scope.
    errors
        Standard errors of the constants, likewise; NaN if there are too few rows.
    cost
        The sum that was minimised.
    """

    values: Mapping[str, Column]
    errors: Mapping[str, Column]
    cost: float


Predict = Callable[[Mapping[str, Column], Column], Column]
"""Predictions for some rows from the rows' own values of all constants."""


@dataclass(frozen=True)
class Question:
    """What a fit is asked.

    Attributes
    ----------
    measured
        Measured values of all rows, above 0.
    predict
        The model.
    constants, choices
        Its constants.
    """

    measured: Column
    predict: Predict
    constants: tuple[Constant, ...]
    choices: tuple[Choice, ...] = ()

    def columns(self, values: Mapping[str, Column], rows: Column) -> dict[str, Column]:
        """The rows' own values, from the values by scope."""
        return {
            use: values[one.name][scope[rows]]
            for one in self.constants
            for use, scope in one.uses.items()
        } | {one.name: values[one.name][one.scope[rows]] for one in self.choices}

    def predicted(self, values: Mapping[str, Column], rows: Column) -> Column:
        """Predictions for some rows from the values by scope."""
        return self.predict(self.columns(values, rows), rows)


def fit_scoped(asks: Question, rows: Column) -> ScopedFit:
    """Fit all constants to some rows.

    Parameters
    ----------
    asks
        The question.
    rows
        Indices of the rows to fit. No other row has any part in the fit.
    """
    chosen = {one.name: np.array([of[0] for of in one.options]) for one in asks.choices}
    best = _least_squares(asks, rows, chosen, {})
    for choice in asks.choices:
        for scope in np.unique(choice.scope[rows]):
            for option in choice.options[scope][1:]:
                tried = {**chosen, choice.name: chosen[choice.name].copy()}
                tried[choice.name][scope] = option
                found = _least_squares(asks, rows, tried, best.values)
                if found.cost < best.cost * (1 - 1e-6):
                    best, chosen = found, tried
    return best


def _least_squares(
    asks: Question, rows: Column, chosen: Mapping[str, Column], near: Mapping[str, Column]
) -> ScopedFit:
    """The best constants beside chosen whole numbers, from values that may be near."""
    constants, measured = asks.constants, np.log(asks.measured[rows])
    sizes = [len(one.labels) for one in constants]
    firsts = dict(zip((one.name for one in constants), np.cumsum([0, *sizes]), strict=False))
    home = np.concatenate([np.log(one.start - one.floor) for one in constants])
    pulls = np.concatenate([np.broadcast_to(one.pull, len(one.labels)) for one in constants])
    start = home
    if near:
        start = np.concatenate(
            [np.log(np.maximum(near[one.name] - one.floor, 1e-300)) for one in constants]
        )
        start = np.clip(start, home - _FARTHEST, home + _FARTHEST)

    def values(point: Column) -> dict[str, Column]:
        found = {
            one.name: one.floor + np.exp(point[firsts[one.name] :][: len(one.labels)])
            for one in constants
        }
        return found | dict(chosen)

    def off(point: Column) -> Column:
        return np.log(asks.predicted(values(point), rows)) - measured

    def slopes(point: Column) -> Column:
        columns = asks.columns(values(point), rows)
        here = np.log(asks.predict(columns, rows))
        found = np.zeros((len(rows), len(home)))
        for one in constants:
            for use, scope in one.uses.items():
                # A row has one scope in each use, so that all scopes change at once.
                more = one.floor + (columns[use] - one.floor) * math.exp(_STEP)
                there = np.log(asks.predict({**columns, use: more}, rows))
                found[np.arange(len(rows)), firsts[one.name] + scope[rows]] += (
                    there - here
                ) / _STEP
        return found

    point, cost = _descended(off, slopes, start, home, pulls)
    errors = _standard_errors(off(point), slopes(point), pulls)
    by_name = {
        one.name: errors[firsts[one.name] :][: len(one.labels)]
        * np.exp(point[firsts[one.name] :][: len(one.labels)])
        for one in constants
    }
    return ScopedFit(values(point), by_name, cost)


def _descended(
    off: Callable[[Column], Column],
    slopes: Callable[[Column], Column],
    start: Column,
    home: Column,
    pulls: Column,
) -> tuple[Column, float]:
    """The best point from a start, and its cost: Levenberg and Marquardt, rows weighted anew.

    A table has thousands of rows and dozens of constants. The normal equations take a fiftieth of
    the time of the decomposition that SciPy makes of all rows, and the pull keeps them regular.
    """

    def cost_of(point: Column) -> float:
        z = (off(point) / SPREAD) ** 2
        pulled = np.sum((pulls * (point - home)) ** 2)
        return float(2.0 * SPREAD**2 * np.sum(np.sqrt(1.0 + z) - 1.0) + pulled)

    point, cost, damping = start, cost_of(start), _DAMPING
    for _ in range(_MOST):
        here, sloping = off(point), slopes(point)
        weighted = sloping / np.sqrt(1.0 + (here / SPREAD) ** 2)[:, None]
        gradient = weighted.T @ here + pulls**2 * (point - home)
        curvature = weighted.T @ sloping + np.diag(pulls**2)
        before = cost
        while damping < 1.0 / _DAMPING**2:
            damped = curvature + damping * np.diag(np.diag(curvature))
            step = np.clip(np.linalg.solve(damped, -gradient), -_LONGEST, _LONGEST)
            there = np.clip(point + step, home - _FARTHEST, home + _FARTHEST)
            if (found := cost_of(there)) < cost:
                point, cost, damping = there, found, damping / 10.0
                break
            damping *= 4.0
        if cost >= before * (1.0 - _TOLERANCE):
            break
    return point, cost


def _standard_errors(off: Column, slopes: Column, pulls: Column) -> Column:
    """Standard errors of the logarithms: the sandwich estimate of robust regression.

    Infinite for constants that no row depends on; NaN if there are no more rows than constants.
    """
    used = np.sqrt(np.sum(slopes**2, axis=0)) > _IDLE
    found = np.full(slopes.shape[1], np.inf)
    slopes, pulls = slopes[:, used], pulls[used]
    if len(off) <= slopes.shape[1]:
        found[used] = np.nan
        return found
    root = np.sqrt(1.0 + (off / SPREAD) ** 2)
    influence, curvature = off / root, 1.0 / root**3
    bread = np.linalg.pinv(slopes.T @ (curvature[:, None] * slopes) + np.diag(pulls**2))
    meat = slopes.T @ (influence[:, None] ** 2 * slopes)
    free = len(off) / (len(off) - slopes.shape[1])
    found[used] = np.sqrt(np.maximum(np.diag(bread @ meat @ bread) * free, 0.0))
    return found


def labelled(names: Sequence[str]) -> tuple[tuple[str, ...], Column]:
    """The distinct labels of rows, in their order, and the index of each row's label."""
    labels = tuple(dict.fromkeys(names))
    index = {name: i for i, name in enumerate(labels)}
    return labels, np.array([index[name] for name in names])
