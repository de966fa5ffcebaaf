"""Which terms of the model earn their place on measured GPUs: held-out errors, and constants."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

import numpy as np

from rarmodel.errors import InputError, Problem, UsageError
from rarmodel.files import parse_instance
from rarmodel.model.timing import MAX_OVERLAP
from rarmodel.schema import Instance, StarNetwork

from . import terms
from .published_tables import STEPS, PublishedTable, Step
from .scoped_fit import Column, ScopedFit, fit_scoped
from .term_questions import EVERYTHING, Asked, Term, asked_of, gradient_of

EARNED = 0.01
"""Part of the mean held-out error by which a term must lower it to earn its place."""
SURE = 2.0
"""Standard errors of the mean difference, row by row, by which it must do so too."""
_DIGITS = 6
_UNSURE = 1.0
"""Standard error of a logarithm above which the rows do not determine a rate."""

_RATES = (terms.WITHIN, terms.BETWEEN)
_OF_CONTENTION = (terms.OVERHEAD, terms.LATENCY, terms.OVERLAP)
_OF_CLUSTER = (*_RATES, *_OF_CONTENTION, terms.CARDS, terms.JOINED)
_MAY_BE_0 = (terms.OVERHEAD, terms.LATENCY)


@dataclass(frozen=True)
class GroupErrors:
    """Held-out errors of a group of rows.

    Attributes
    ----------
    group
        A cluster and a model, a cluster and a placement, or a job.
    rows
        Rows of the group that were left out once.
    mean, worst
        Mean and greatest absolute relative error.
    """

    group: str
    rows: int
    mean: float
    worst: float


@dataclass(frozen=True)
class TermErrors:
    """A term, and held-out errors with it.

    Attributes
    ----------
    term
        Name of the term; `(8)` for the model without terms.
    mean
        Mean absolute relative error of all rows, each predicted by constants fitted without its
        part.
    worst
        The greatest.
    groups
        The errors by group.
    earns
        Whether the term lowered the mean by `EARNED` of it, and by `SURE` standard errors of the
        difference, and was kept for the next ones.
    """

    term: str
    mean: float
    worst: float
    groups: tuple[GroupErrors, ...]
    earns: bool

    @property
    def mean_of_groups(self) -> float:
        """The mean of the groups' means: a group counts the same however many rows it has."""
        return math.fsum(one.mean for one in self.groups) / len(self.groups)

    @property
    def worst_group(self) -> GroupErrors:
        """The group with the greatest mean."""
        return max(self.groups, key=lambda one: one.mean)


@dataclass(frozen=True)
class AcrossErrors:
    """Errors on a cluster of which only one model was measured by placement.

    Attributes
    ----------
    cluster
        The cluster.
    measured
        The model that was measured there by placement. Of the others only steps on one GPU were
        fitted there; the sizes of their gradients are from the other clusters.
    rows, mean, worst
        Rows of the other models on several GPUs, and their mean and greatest error. The latency is
        0: one model does not tell it from the rate.
    without_terms
        Their mean error without terms.
    """

    cluster: str
    measured: str
    rows: int
    mean: float
    worst: float
    without_terms: float


@dataclass(frozen=True)
class TermConstant:
    """A fitted constant.

    Attributes
    ----------
    name
        Name of the constant, as in an instance.
    cluster, job
        The cluster and the job that it belongs to; None for one of all.
    value
        Its value.
    standard_error
        Standard error; None for a whole number, and where there are too few rows.
    """

    name: str
    cluster: str | None
    job: str | None
    value: float
    standard_error: float | None


@dataclass(frozen=True)
class HeldOut:
    """A row that was predicted by constants fitted without its part.

    Attributes
    ----------
    line
        Line of the file.
    group
        Its group.
    measured, without_terms, predicted
        Measured value, and its predictions without terms and with those that earn their place.
    """

    line: int
    group: str
    measured: float
    without_terms: float
    predicted: float


@dataclass(frozen=True)
class TermComparison:
    """Terms of the model, one after another, on a table of measurements.

    Attributes
    ----------
    source
        The table.
    layout
        What the table has.
    terms
        The terms, in the order in which they were tried.
    across
        Errors across clusters; empty where a table does not tell them.
    constants
        Constants of the terms that earn their place, fitted to all rows.
    rows
        The rows that were held out.
    tested
        Errors on another table, by group; empty without one.
    notes
        Notes, one line each.
    """

    source: str
    layout: str
    terms: tuple[TermErrors, ...]
    across: tuple[AcrossErrors, ...]
    constants: tuple[TermConstant, ...]
    rows: tuple[HeldOut, ...]
    tested: tuple[GroupErrors, ...]
    notes: tuple[str, ...]

    @property
    def best(self) -> TermErrors:
        """The errors with all terms that earn their place."""
        return [one for one in self.terms if one.earns][-1]

    @property
    def verdicts(self) -> tuple[str, ...]:
        """A sentence on each term: whether it earns its place."""
        found = []
        before = self.terms[0]
        for one in self.terms[1:]:
            change = f"the mean held-out error goes from {before.mean:.1%} to {one.mean:.1%}"
            earns = "earns its place" if one.earns else "does not earn its place"
            found.append(f"{one.term}: {earns}, {change}")
            before = one if one.earns else before
        return tuple(found)

    def sections(self) -> dict[str, Any]:
        """The constants as sections of an instance, and profiles of jobs.

        With one cluster these are `cluster`, `contention` and `profiles`, else `clusters` has such
        sections by name. Network cards, which belong to servers, are in `servers`.
        """
        shared: dict[str, dict[str, Any]] = {}
        for one in self.constants:
            if one.cluster is None and one.job is not None:
                shared.setdefault(one.job, {})[one.name] = one.value
        clusters: dict[str, dict[str, Any]] = {}
        for one in self.constants:
            if one.cluster is None:
                continue
            found = clusters.setdefault(one.cluster, {})
            if one.job is None:
                _put(found, one)
            else:
                profiles = found.setdefault("profiles", {})
                profiles.setdefault(one.job, dict(shared.get(one.job, {})))[one.name] = one.value
        if not clusters:
            return {"profiles": shared} if shared else {}
        return next(iter(clusters.values())) if len(clusters) == 1 else {"clusters": clusters}

    def applied(self, instance: Instance) -> Instance:
        """A copy of an instance with the constants of the table's one cluster.

        Raises
        ------
        UsageError
            If the table has no cluster, or several.
        """
        found = self.sections()
        if "cluster" not in found and "contention" not in found:
            why = "several clusters" if "clusters" in found else "no cluster"
            raise UsageError(f"{self.source} has {why}; an instance takes constants of one")
        data = instance.model_dump(mode="json", exclude_unset=True)
        rates = dict(found.get("cluster", {}))
        if not isinstance(instance.cluster.network, StarNetwork):
            rates.pop("network", None)
        data["cluster"].update(rates)
        for server in data["cluster"]["servers"]:
            server.update(found.get("servers", {}))
        fitted = found.get("contention", {}).items()
        data["contention"].update({name: one for name, one in fitted if name in _OF_CONTENTION})
        return parse_instance(data, self.source)

    def summary(self) -> dict[str, Any]:
        """The whole result as plain data."""
        return {
            "source": self.source,
            "layout": self.layout,
            "terms": [
                {
                    "term": one.term,
                    "mean": one.mean,
                    "mean_of_groups": one.mean_of_groups,
                    "worst": one.worst,
                    "earns": one.earns,
                    "groups": [asdict(group) for group in one.groups],
                }
                for one in self.terms
            ],
            "verdicts": list(self.verdicts),
            "across": [asdict(one) for one in self.across],
            "constants": [asdict(one) for one in self.constants],
            "tested": [asdict(one) for one in self.tested],
            "rows": [asdict(one) for one in self.rows],
            "notes": list(self.notes),
        }


def _put(found: dict[str, Any], one: TermConstant) -> None:
    """Put a constant of a cluster where an instance has it."""
    if one.name == terms.BETWEEN:
        found.setdefault("cluster", {})["network"] = {"kind": "star", "gbps": one.value}
    elif one.name in _RATES:
        found.setdefault("cluster", {})[one.name] = one.value
    elif one.name in _OF_CONTENTION:
        value = min(one.value, MAX_OVERLAP) if one.name == terms.OVERLAP else one.value
        found.setdefault("contention", _paper())[one.name] = value
    elif one.name == terms.CARDS:
        found.setdefault("servers", {})[one.name] = int(one.value)


def _paper() -> dict[str, Any]:
    """The numbers of contention that no such table tells: without any loss."""
    return {"concurrency": 1.0, "degradation": {"kind": "linear", "alpha": 0.0}}


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
    constants = tuple(_constants(table, asks, names, best_fit))
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
    both = {row.group: (row.cluster, row.model) for row in table.rows if isinstance(row, Step)}

    def made(name: str, label: str, value: float, error: float | None) -> TermConstant:
        cluster, job = (label, None) if name in _OF_CLUSTER else (None, label)
        if name in {terms.FORWARD, terms.BACKWARD}:
            cluster, job = both[label]
        if len(labels) == 1 and label == EVERYTHING:
            cluster = job = None
        known = None if error is None or np.isnan(error) else _rounded(error)
        return TermConstant(name, cluster, job, _rounded(value), known)

    for one in question.constants:
        labels = one.labels
        values = zip(labels, best.values[one.name], best.errors[one.name], strict=True)
        for label, value, error in values:
            if one.name in _RATES and error > _UNSURE * value:
                continue
            idle = one.name in _MAY_BE_0 and not value > error
            yield made(one.name, label, 0.0 if idle else value, None if np.isinf(error) else error)
    for choice in question.choices:
        labels = choice.labels
        values = zip(labels, best.values[choice.name], choice.options, strict=True)
        for label, value, of in values:
            if len(of) > 1 and np.isfinite(value):
                yield made(choice.name, label, value, None)


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
    if test.layout != table.layout:
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
    notes = []
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
