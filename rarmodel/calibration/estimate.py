"""Calibrate: first the rates, then the constants of contention."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from rarmodel import registry
from rarmodel.errors import InputError, Problem, UsageError
from rarmodel.extras import imported
from rarmodel.model.sharing_rule import COUNT, RULES
from rarmodel.schema import Contention, Instance, StarNetwork
from rarmodel.schema.base import MAX_NUMBER

from .bandwidth import DEFAULT_SPAN, Bandwidth, bandwidths
from .beside import Runs, check_runs, runs_of
from .calibration import Calibration, Parameter, Rates, Residual, Status, rates_of
from .contention_models import MODELS, Factors, contention_of
from .fit import DEFAULTS, FITS, Fit, fit
from .measurement_table import Measurements
from .model_fit import fit_model
from .prediction import ALPHA, CONCURRENCY, CONTENTION, OVERHEAD, Cases, predictions
from .run import Run

if TYPE_CHECKING:
    import numpy as np

_LARGE_ALPHA = 10.0
"""Greatest plausible α: two rings on a link then take twelve times as long. Measured: 0 to 0.3."""

_DIGITS = 10
"""Digits of a fitted constant: further digits differ between machines."""


def calibrate(
    table: Measurements | None,
    runs: Sequence[Run],
    *,
    rates: Rates,
    instance: Instance | None = None,
    given: Mapping[str, float] | None = None,
    span: tuple[float, float] = DEFAULT_SPAN,
    model: str | None = None,
) -> Calibration:
    """Fit constants of contention to a table, and rates to runs of nccl-tests.

    Parameters
    ----------
    table, runs
        The measurements; at least one of the two.
    rates
        Known rates, except those that the runs measure.
    instance
        Instance that supplies all other rates, and the values of constants that the data leave
        open.
    given
        Constants of contention with given values.
    span
        Least and greatest size in MB of the all-reduces to use.
    model
        Model of contention whose constants are fitted, a value of `contention.model`; by default
        the instance's, or the count. By other models than the count, each row has its run and
        compute time, and its links if it is on several servers; the rows of a run are all rings
        that ran at the same time.

    Raises
    ------
    InputError
        If a rate is needed and missing, rows lack what the model needs or contradict each other,
        or the data determine nothing.
    UsageError
        If there are no measurements, no such model, a constant is out of its range, or a rate is
        given twice.
    """
    given = checked_constants(given or {})
    if table is None and not runs:
        raise UsageError("no measurements; give a table or the output of nccl-tests")
    if table is None and model is not None:
        raise UsageError(f"model {model}: constants of contention need a table")
    model = model or (COUNT.name if instance is None else instance.contention.model)
    if model not in RULES:
        hint = registry.meant(model, RULES)
        raise UsageError(f"no model {model!r}; choose from {', '.join(RULES)}{hint}")
    if table is None and given:
        raise UsageError(f"{', '.join(given)}: constants of contention need a table")
    known = {name: value for name, value in asdict(rates).items() if value is not None}
    own = {} if instance is None else rates_of(instance)
    reduction = known.get("reduction_gbps", own.get("reduction_gbps"))
    found = bandwidths(runs, span, reduction or math.inf)
    if twice := [rate.name for rate in found if rate.name in known]:
        raise UsageError(f"{', '.join(twice)}: given and also measured by nccl-tests; choose one")
    known |= {rate.name: rate.gbps for rate in found}
    used = Rates(**(own | known))
    notes = _notes(table, known, instance, reduction)
    messages = tuple(_of_message(rate, reduction or math.inf) for rate in found)
    if table is None:
        return Calibration(
            "", None, (), None, 0, used, found, tuple(known), (), sum(messages, ()), tuple(notes)
        )
    defaults = DEFAULTS if instance is None else _constants(instance.contention)
    if model != COUNT.name:
        try:
            check_runs(table)
        except InputError as error:
            why = f"model {model!r} asks what ran beside each row; --model count does not"
            raise InputError([*error.problems, Problem("", why)], table.source) from error
    beside = runs_of(table, used)
    cases = beside.cases
    try:
        if model == COUNT.name:
            best = fit(cases, given, defaults)
        else:
            best = fit_model(MODELS[model], beside, given, defaults)
    except InputError as error:
        raise InputError(error.problems, table.source) from error
    values = {
        name: min(float(f"{value:.{_DIGITS}g}"), MAX_NUMBER) for name, value in best.values.items()
    }
    residuals = residuals_of(table, beside, MODELS[model], values)
    notes += [*_notes_of_fit(best, values), *_notes_of_units(residuals, values)]
    return Calibration(
        source=table.source,
        contention=contention_of(values, model),
        parameters=tuple(_parameters(cases, best, values, given)),
        correlation=_correlation(best),
        degrees_of_freedom=len(table.rows) - len(best.free),
        rates=used,
        bandwidths=found,
        given=tuple(known),
        residuals=residuals,
        messages=sum(messages, ()),
        notes=tuple(notes),
    )


def checked_constants(given: Mapping[str, float]) -> dict[str, float]:
    """The given constants, within their ranges."""
    wrong = []
    for name, value in given.items():
        if name not in CONTENTION:
            wrong.append(f"no constant {name}; choose from {', '.join(CONTENTION)}")
        elif name == CONCURRENCY and not 0 < value <= 1:
            wrong.append(f"{name} {value}: it must be above 0 and at most 1")
        elif name != CONCURRENCY and not 0 <= value <= MAX_NUMBER:
            wrong.append(f"{name} {value}: it must be at least 0")
    if wrong:
        raise UsageError("; ".join(wrong))
    return {name: float(value) for name, value in given.items()}


def _constants(contention: Contention) -> dict[str, float]:
    return {
        CONCURRENCY: contention.concurrency,
        ALPHA: contention.degradation.alpha,
        OVERHEAD: contention.overhead_ms_per_server,
    }


def _notes(
    table: Measurements | None,
    known: Mapping[str, float],
    instance: Instance | None,
    reduction: float | None,
) -> list[str]:
    notes = []
    if table is not None and table.ignored:
        notes.append(f"unknown columns are ignored: {', '.join(table.ignored)}")
    if reduction is None:
        notes.append("reduction_gbps is not given: the reduction counts as part of the exchange")
    tree = instance is not None and not isinstance(instance.cluster.network, StarNetwork)
    if tree and "network_gbps" in known:
        notes.append("network_gbps is ignored: the links of a tree keep their rates")
    return notes


def _notes_of_fit(best: Fit, values: Mapping[str, float]) -> list[str]:
    notes = []
    pair = {CONCURRENCY, ALPHA}
    if pair & set(best.held) and pair & {*best.free, *best.at_limit}:
        kept = CONCURRENCY if CONCURRENCY in best.held else ALPHA
        notes.append(
            "concurrency and alpha trade off, and these rows give one number for both: "
            f"{kept} is held at {values[kept]:g}"
        )
        held = [name for name in best.held if name != kept]
    else:
        held = list(best.held)
    notes += [f"the rows do not determine {name}: held at {values[name]:g}" for name in held]
    notes += [f"{name} is at the end of its range, {values[name]:g}" for name in best.at_limit]
    if best.free and best.covariance is None:
        notes.append(
            "there are no more rows than fitted constants: no standard errors, and no test"
        )
    return notes


def _notes_of_units(residuals: Sequence[Residual], values: Mapping[str, float]) -> Iterator[str]:
    """Signs of a wrong unit: a very poor fit, or a very large constant."""
    asked = "are sizes in MB, rates in Gbit/s, and times in the units of their columns?"
    far = [row for row in residuals if not 0.5 <= row.predicted / row.measured <= 2.0]
    if far:
        rows = f"{len(far)} of {len(residuals)} rows are off by more than a factor of 2"
        yield f"{rows}, the first in line {far[0].line}; {asked}"
    if values[ALPHA] > _LARGE_ALPHA:
        yield f"alpha is {values[ALPHA]:g}, far above what links show; {asked}"


def _parameters(
    cases: Cases, best: Fit, values: Mapping[str, float], given: Mapping[str, float]
) -> list[Parameter]:
    parameters = []
    for name in cases.names:
        status: Status = "fitted"
        if name in given:
            status = "given"
        elif name in best.held:
            status = "held"
        elif name in best.at_limit:
            status = "at limit"
        error = low = high = None
        if best.covariance is not None and name in best.free:
            error, low, high = _interval(cases, best, best.covariance, name)
        parameters.append(Parameter(name, values[name], status, error, low, high))
    return parameters


def _interval(
    cases: Cases, best: Fit, covariance: np.ndarray, name: str
) -> tuple[float, float, float]:
    """Standard error of a fitted constant, and its 95 % interval within its range."""
    t = imported("scipy.stats", "calibration", FITS).t
    i = best.free.index(name)
    error = math.sqrt(covariance[i, i])
    reach = float(t.ppf(0.975, len(cases.measured) - len(best.free))) * error
    value = best.values[name]
    high = min(value + reach, 1.0) if name == CONCURRENCY else value + reach
    return error, max(value - reach, 0.0), high


def _correlation(best: Fit) -> float | None:
    if best.covariance is None or not {CONCURRENCY, ALPHA} <= set(best.free):
        return None
    i, j = best.free.index(CONCURRENCY), best.free.index(ALPHA)
    product = math.sqrt(best.covariance[i, i] * best.covariance[j, j])
    return float(best.covariance[i, j] / product) if product > 0 else None


def residuals_of(
    table: Measurements, runs: Runs, model: Factors, values: Mapping[str, float]
) -> tuple[Residual, ...]:
    """The rows beside the predictions of a model with some constants."""
    predicted = predictions(runs.cases, values, model(runs, values))
    return tuple(
        Residual(table.source, line, row.job or "", row.quantity, row.measured, float(value))
        for row, line, value in zip(table.rows, table.lines, predicted, strict=True)
    )


def _of_message(rate: Bandwidth, reduction_gbps: float) -> tuple[Residual, ...]:
    return tuple(
        Residual(
            run.source,
            message.line,
            f"{message.size_mb:.4g} MB {'in place' if message.in_place else 'out of place'}",
            "exchange_ms",
            1e3 * message.seconds,
            1e3 * rate.seconds(run, message, reduction_gbps),
        )
        for run, message in rate.messages
    )
