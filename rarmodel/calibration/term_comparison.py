"""Which terms of the model earn their place on measured GPUs: held-out errors, and constants."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from rarmodel.errors import InputError, Problem

from . import terms
from .asked import EVERYTHING, Asked, Predictor, Term
from .colocated_pairs import SpeedBeside
from .colocation_sections import memories, slowdowns
from .published_tables import STEPS, PublishedTable, Step
from .scoped_fit import Column, ScopedFit, fit_scoped
from .term_questions import asked_of, gradient_of
from .term_results import (
    RATES,
    AcrossErrors,
    GroupErrors,
    HeldOut,
    PredictorErrors,
    TermComparison,
    TermConstant,
    TermErrors,
)

EARNED = 0.01
"""Part of the mean held-out error by which a term must lower it to earn its place."""
SURE = 2.0
"""Standard errors of the mean difference, row by row, by which it must do so too."""
_DIGITS = 6
_UNSURE = 1.0
"""Standard error of a logarithm above which the rows do not determine a rate."""

_OF_CLUSTER = {
    *RATES,
    *(terms.OVERHEAD, terms.LATENCY, terms.OVERLAP, terms.CARDS, terms.JOINED, terms.LOSS_OF_ALL),
}
_OF_BOTH = {
    *(terms.FORWARD, terms.BACKWARD),
    *(terms.LOSS_OF_KIND, terms.GPU_SENSITIVITY, terms.GPU_PRESSURE),
}
"""Constants of a job on a cluster's GPUs."""
_MAY_BE_0 = (terms.OVERHEAD, terms.LATENCY)


def compare_terms(
    table: PublishedTable, *, test: PublishedTable | None = None, seed: int = 0
) -> TermComparison:
    """Add the terms of the model one after another, and keep those that earn their place.

    Parameters
    ----------
    table
        The measurements. Errors are those of a five-fold cross-validation. Of step times a part has
        whole placements, so that a row is predicted from other placements, but for steps on one GPU
        that are in every fit.
    test
        Other measurements of the same layout, which the constants of all rows predict.
    seed
        Seed of the draw of the parts.

    Raises
    ------
    InputError
        If the table has too few rows, or the other has another layout or what the first has not.
    """
    asks = asked_of(table, seed)
    names: tuple[str, ...] = ()
    found: list[TermErrors] = []
    predictions: list[Column] = []
    for term in asks.terms:
        if found and _idle(asks, term):
            continue
        tried = term.constants if term.instead else (*names, *term.constants)
        predicted = _held_out(asks, tried)
        errors = _errors(asks, term, predicted)
        if not predictions or _lowers(asks, predictions[-1], predicted):
            names = tried
            errors = replace(errors, earns=True)
            predictions.append(predicted)
        found.append(errors)
    everything = np.arange(len(table.rows))
    best_fit = fit_scoped(asks.question(names, everything), everything)
    constants = (*_constants(table, asks, names, best_fit), *_memories(table))
    rows = tuple(
        HeldOut(table.lines[i], asks.groups[i], *map(float, (y, predictions[0][i], last)))
        for i, (y, last) in enumerate(zip(asks.measured, predictions[-1], strict=True))
        if not np.isnan(last)
    )
    return TermComparison(
        source=table.source,
        layout=table.layout.name,
        terms=tuple(found),
        across=tuple(_across(table, asks, names)),
        constants=constants,
        rows=rows,
        tested=() if test is None else _tested(table, test, names, best_fit, seed),
        notes=tuple(_notes(table, constants)),
        predictors=tuple(_predictor(asks, one, predictions[-1]) for one in asks.predictors),
        slowdowns=slowdowns([row for row in table.rows if isinstance(row, SpeedBeside)]),
    )


def _lowers(asks: Asked, before: Column, after: Column) -> bool:
    """Whether the mean error falls by `EARNED`, and by `SURE` standard errors."""
    left = ~np.isnan(after)
    first, second = (np.abs(one[left] / asks.measured[left] - 1.0) for one in (before, after))
    fall = first - second
    noise = float(np.std(fall)) / math.sqrt(len(fall))
    return bool(fall.mean() > max(EARNED * first.mean(), SURE * noise))


def _idle(asks: Asked, term: Term) -> bool:
    """Whether a term has nothing to choose from in this table."""
    everything = np.arange(len(asks.measured))
    question = asks.question(term.constants, everything)
    choices = [one for one in question.choices if one.name in term.constants]
    return bool(choices) and all(len(of) == 1 for one in choices for of in one.options)


def _held_out(asks: Asked, names: Sequence[str]) -> Column:
    """Predictions of the rows, each by constants fitted without its part."""
    predicted = np.full(len(asks.measured), np.nan)
    for part in range(max(asks.folds) + 1):
        left = np.flatnonzero(asks.folds == part)
        some = np.flatnonzero(asks.folds != part)
        question = asks.question(names, some)
        predicted[left] = question.predicted(fit_scoped(question, some).values, left)
    return predicted


def _errors(asks: Asked, term: Term, predicted: Column) -> TermErrors:
    left = np.flatnonzero(~np.isnan(predicted))
    errors = np.abs(predicted[left] / asks.measured[left] - 1.0)
    groups = _by_group([asks.groups[i] for i in left], errors)
    return TermErrors(term.name, float(errors.mean()), float(errors.max()), groups, earns=False)


def _predictor(asks: Asked, one: Predictor, best: Column) -> PredictorErrors:
    """Held-out errors of a published predictor beside those of the best terms."""
    predicted = np.full(len(asks.measured), np.nan)
    for part in range(max(asks.folds) + 1):
        left = np.flatnonzero(asks.folds == part)
        predicted[left] = one.predict(np.flatnonzero(asks.folds != part), left)
    own, others = (np.abs(column / asks.measured - 1.0) for column in (predicted, best))
    more = own - others
    return PredictorErrors(
        one.name,
        float(own.mean()),
        float(own.max()),
        _by_group(asks.groups, own),
        float(more.mean()),
        float(np.std(more)) / math.sqrt(len(more)),
    )


def _by_group(names: Sequence[str], errors: Column) -> tuple[GroupErrors, ...]:
    by_group: dict[str, list[float]] = {}
    for name, error in zip(names, errors, strict=True):
        by_group.setdefault(name, []).append(float(error))
    return tuple(
        GroupErrors(name, len(own), math.fsum(own) / len(own), max(own))
        for name, own in by_group.items()
    )


def _constants(
    table: PublishedTable, asks: Asked, names: Sequence[str], best: ScopedFit
) -> Iterator[TermConstant]:
    """The constants that the rows determine."""
    question = asks.question(names, np.arange(len(asks.measured)))
    both: dict[str, tuple[str | None, str]] = {}
    for row in table.rows:
        if isinstance(row, Step):
            both[row.group] = row.cluster, row.model
        elif isinstance(row, SpeedBeside):
            both[row.job] = row.gpu_type or None, row.kind
            both[row.other] = row.gpu_type or None, row.beside

    def made(name: str, label: str, value: float, error: float | None) -> TermConstant:
        cluster, job = (label, None) if name in _OF_CLUSTER else (None, label)
        if name in _OF_BOTH:
            cluster, job = both[label]
        if len(labels) == 1 and label == EVERYTHING:
            cluster = job = None
        known = None if error is None or np.isnan(error) else _rounded(error)
        return TermConstant(name, cluster, job, _rounded(value), known)

    for one in question.constants:
        labels = one.labels
        values = zip(labels, best.values[one.name], best.errors[one.name], strict=True)
        for label, value, error in values:
            if one.name in RATES and error > _UNSURE * value:
                continue
            idle = one.name in _MAY_BE_0 and not value > error
            yield made(one.name, label, 0.0 if idle else value, None if np.isinf(error) else error)
    for choice in question.choices:
        labels = choice.labels
        values = zip(labels, best.values[choice.name], choice.options, strict=True)
        for label, value, of in values:
            if len(of) > 1 and np.isfinite(value):
                yield made(choice.name, label, value, None)


def _memories(table: PublishedTable) -> Iterator[TermConstant]:
    """Memory of kinds on the same GPUs, where pairs tell it."""
    rows = [row for row in table.rows if isinstance(row, SpeedBeside)]
    for kind in memories(rows, table.lines) if rows else ():
        error = kind.standard_error
        yield TermConstant(
            terms.MEMORY,
            kind.gpu_type or None,
            kind.kind,
            _rounded(kind.memory_gb),
            None if error is None else _rounded(error),
        )


def _rounded(value: float) -> float:
    """A number to six digits, and to nine decimals, as factors of jobs have them."""
    return round(float(f"{value:.{_DIGITS}g}"), 9)


def _across(table: PublishedTable, asks: Asked, names: Sequence[str]) -> list[AcrossErrors]:
    """Errors on each cluster of which one model was measured by placement."""
    if table.layout != STEPS:
        return []
    rows = cast("tuple[Step, ...]", table.rows)
    cluster = np.array([row.cluster for row in rows])
    model = np.array([row.model for row in rows])
    alone = np.array([sum(row.gpus_by_server) == 1 for row in rows])
    found = []
    for one in dict.fromkeys(row.cluster for row in rows):
        here = cluster == one
        models = sorted(set(model[here & ~alone].tolist()))
        elsewhere = set(model[~here].tolist())
        if len(models) < 2 or not elsewhere:
            continue
        largest = max(models, key=lambda name: gradient_of(name) or 0.0)
        some = np.flatnonzero(~here | alone | (model == largest))
        left = np.flatnonzero(here & ~alone & (model != largest) & np.isin(model, [*elsewhere]))
        if not len(left):
            continue
        without, errors = (
            _errors_elsewhere(asks, these, some, left)
            for these in (
                asks.terms[0].constants,
                [name for name in names if name != terms.LATENCY],
            )
        )
        worst, mean = float(errors.max()), float(errors.mean())
        found.append(AcrossErrors(one, largest, len(left), mean, worst, float(without.mean())))
    return found


def _errors_elsewhere(asks: Asked, names: Sequence[str], some: Column, left: Column) -> Column:
    """Errors of some rows by constants fitted to others."""
    question = asks.question(names, some)
    predicted = question.predicted(fit_scoped(question, some).values, left)
    return np.abs(predicted / asks.measured[left] - 1.0)


def _tested(
    table: PublishedTable,
    test: PublishedTable,
    names: Sequence[str],
    best: ScopedFit,
    seed: int,
) -> tuple[GroupErrors, ...]:
    """Errors on another table, by constants of the first."""
    if test.layout.name != table.layout.name:
        message = f"{test.layout.name}; {table.layout.name} are expected, as in {table.source}"
        raise InputError([Problem("", message)], test.source)
    both = PublishedTable(
        table.source, table.layout, (*table.rows, *test.rows), (*table.lines, *test.lines)
    )
    asks = asked_of(both, seed)
    fitted = np.arange(len(table.rows))
    left = np.arange(len(table.rows), len(both.rows))
    question = asks.question(names, fitted)
    first = asked_of(table, seed).question(names, fitted)
    known = {one.name: one.labels for one in first.constants}
    problems: dict[Problem, None] = {}
    for constant in question.constants:
        for scope in constant.uses.values():
            for i in left:
                label = constant.labels[scope[i]]
                if label not in known[constant.name]:
                    line = f"line {both.lines[i]}"
                    problems[Problem(line, f"{label!r}; no row of {table.source} has it")] = None
    if problems:
        raise InputError([*problems], test.source)
    predicted = question.predicted(best.values, left)
    errors = np.abs(predicted / asks.measured[left] - 1.0)
    return _by_group([asks.groups[i] for i in left], errors)


def _notes(table: PublishedTable, constants: Sequence[TermConstant]) -> list[str]:
    notes = [*table.notes]
    if table.ignored:
        notes.append(f"unknown columns are ignored: {', '.join(table.ignored)}")
    joined: Mapping[str, float] = {
        one.cluster or "": one.value for one in constants if one.name == terms.JOINED
    }
    notes += [
        f"{cluster}: fast links join {value:g} GPUs; describe each such group as a server"
        for cluster, value in joined.items()
    ]
    sizes = [one.job or "" for one in constants if one.name == terms.GRADIENT]
    if sizes and not any(gradient_of(model) for model in sizes):
        notes.append("no model's gradient is known: rates and gradients are known up to one factor")
    return notes
