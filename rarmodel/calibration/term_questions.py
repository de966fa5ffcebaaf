"""Which constants a table in a published layout is asked for, with which terms.

A rate, the latency, the overlap and the cards belong to a cluster; the size of the gradient belongs
to a job, wherever it runs; forward and backward pass belong to a job on a cluster's GPUs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, cast

import numpy as np

from rarmodel.workloads.model_profiles import known_model, profiles

from . import terms
from .asked import EVERYTHING, Asked, Term, parts_of
from .colocation_questions import colocated_asked
from .published_tables import (
    ALL_REDUCES,
    COLOCATED,
    PAIRS,
    STEPS,
    AllReduce,
    Pair,
    PublishedTable,
    Step,
)
from .scoped_fit import PULL, Choice, Column, Constant, Question, labelled

UNKNOWN_MB = 100.0
"""Start of a gradient of which nothing is known."""
PULL_OF_KNOWN = 0.01
"""Pull of a gradient to its known size: rates and sizes that all grow alike predict the same."""
_MOST_CARDS = 8
_GROUPS = (2, 4)

ALONE = "(8)"
"""The model without terms."""


def asked_of(table: PublishedTable, seed: int) -> Asked:
    """What a table is asked.

    Parameters
    ----------
    table
        The table.
    seed
        Seed of the draw of the parts of a cross-validation.

    Raises
    ------
    InputError
        If the table has too few rows to leave any out.
    """
    asked = {
        STEPS.name: _steps,
        ALL_REDUCES.name: _all_reduces,
        PAIRS.name: _pairs,
        COLOCATED: colocated_asked,
    }
    return asked[table.layout.name](table, seed)


def gradient_of(model: str) -> float | None:
    """Size in MB of a model's gradient by its parameters, or None if these are not known."""
    name = known_model(model)
    found = None if name is None else profiles()[name][0]
    return None if found is None or found.fitted else found.gradient_mb


def _rings(rows: Sequence[Step] | Sequence[AllReduce]) -> terms.Rings:
    placed = [row.gpus_by_server for row in rows]
    return terms.Rings(
        workers=np.array([sum(one) for one in placed], float),
        servers=np.array([len(one) for one in placed], float),
        least=np.array([min(one) for one in placed], float),
        samples=np.array([row.batch_per_gpu if isinstance(row, Step) else 0 for row in rows]),
        message_mb=np.array(
            [row.bytes / 1e6 if isinstance(row, AllReduce) else np.nan for row in rows]
        ),
    )


def _of_cluster(
    rows: Sequence[Step] | Sequence[AllReduce], names: Collection[str], rate_gbps: float
) -> tuple[list[Constant], list[Choice]]:
    """The constants of clusters."""
    labels, scope = labelled([row.cluster for row in rows])
    starts = {
        terms.WITHIN: (10 * rate_gbps, 0.0),
        terms.BETWEEN: (rate_gbps, 0.0),
        terms.OVERHEAD: (0.1, 0.0),
        terms.LATENCY: (0.01, 0.0),
        terms.OVERLAP: (2.0, 1.0),
    }
    constants = [
        Constant(name, labels, {name: scope}, np.full(len(labels), start), floor)
        for name, (start, floor) in starts.items()
        if name in names
    ]
    choices = [
        Choice(name, labels, scope, tuple(options(_placements(rows, label)) for label in labels))
        for name, options in ((terms.JOINED, _groups), (terms.CARDS, _cards))
        if name in names
    ]
    return constants, choices


def _placements(rows: Sequence[Step] | Sequence[AllReduce], cluster: str) -> set[tuple[int, ...]]:
    return {row.gpus_by_server for row in rows if row.cluster == cluster}


def _cards(placed: Collection[tuple[int, ...]]) -> tuple[float, ...]:
    """Numbers of cards that rings between servers can tell apart."""
    most = max((min(one) for one in placed if len(one) > 1), default=1)
    return tuple(float(n) for n in range(1, min(most, _MOST_CARDS) + 1))


def _groups(placed: Collection[tuple[int, ...]]) -> tuple[float, ...]:
    """GPUs that fast links may join: none tell where rings use several servers."""
    if any(len(one) > 1 for one in placed):
        return (np.inf,)
    most = max(map(sum, placed))
    return (np.inf, *(float(g) for g in _GROUPS if g < most))


def _of_rings(rings: terms.Rings) -> Callable[[Any, Column], Column]:
    def predict(values: Any, rows: Column) -> Column:
        return terms.ring_seconds(rings.taken(rows), values)

    return predict


def _steps(table: PublishedTable, seed: int) -> Asked:
    rows = cast("tuple[Step, ...]", table.rows)
    rings = _rings(rows)
    measured = np.array([row.measured for row in rows])
    groups = [row.group for row in rows]
    keys = [(row.cluster, tuple(sorted(row.gpus_by_server))) for row in rows]
    folds = parts_of(keys, [key for key in keys if sum(key[1]) == 1], seed, table)
    models, model = labelled([row.model for row in rows])
    pairs, pair = labelled(groups)
    known = [gradient_of(name) for name in models]

    def question(names: Collection[str], some: Column) -> Question:
        forward, backward = _passes(rings, measured, pair, len(pairs), some)
        constants, choices = _of_cluster(rows, names, 10.0)
        own = [
            Constant(terms.FORWARD, pairs, {terms.FORWARD: pair}, forward),
            Constant(terms.BACKWARD, pairs, {terms.BACKWARD: pair}, backward),
            Constant(
                terms.GRADIENT,
                models,
                {terms.GRADIENT: model},
                np.array([one or UNKNOWN_MB for one in known]),
                pull=np.array([PULL if one is None else PULL_OF_KNOWN for one in known]),
            ),
        ]
        return Question(measured, _of_rings(rings), (*own, *constants), tuple(choices))

    base = (terms.FORWARD, terms.BACKWARD, terms.GRADIENT)
    rates = (terms.WITHIN, terms.BETWEEN, terms.OVERHEAD)
    tried = (
        Term(ALONE, (*base, *rates)),
        Term("overlap", (terms.OVERLAP,)),
        Term("latency", (terms.LATENCY,)),
        Term("network cards", (terms.CARDS,)),
        Term("GPUs joined in groups", (terms.JOINED,)),
    )
    return Asked(measured, tuple(groups), tried, folds, question)


def _passes(
    rings: terms.Rings, measured: Column, pair: Column, pairs: int, some: Column
) -> tuple[Column, Column]:
    """Starts of forward and backward pass in ms: from the rows with the fewest workers."""
    forward, backward = np.full(pairs, np.nan), np.full(pairs, np.nan)
    for one in range(pairs):
        own = some[pair[some] == one]
        if not len(own):
            continue
        own = own[rings.workers[own] == min(rings.workers[own])]
        seconds, samples = measured[own], rings.samples[own]
        columns = np.column_stack([samples, np.ones(len(own))]) / seconds[:, None]
        found = np.linalg.lstsq(columns, np.ones(len(own)), rcond=None)[0]
        least = float(min(seconds))
        forward[one] = 1e3 * max(found[0], 1e-3 * least / float(max(samples)))
        backward[one] = 1e3 * max(found[1], 1e-3 * least)
    for starts in (forward, backward):
        starts[np.isnan(starts)] = np.nanmedian(starts)
    return forward, backward


def _all_reduces(table: PublishedTable, seed: int) -> Asked:
    rows = cast("tuple[AllReduce, ...]", table.rows)
    rings = _rings(rows)
    measured = np.array([row.measured for row in rows])

    def question(names: Collection[str], _: Column) -> Question:
        constants, choices = _of_cluster(rows, names, 100.0)
        return Question(measured, _of_rings(rings), tuple(constants), tuple(choices))

    tried = (
        Term(ALONE, (terms.WITHIN, terms.BETWEEN, terms.OVERHEAD)),
        Term("GPUs joined in groups", (terms.JOINED,)),
        Term("network cards", (terms.CARDS,)),
        Term("latency", (terms.LATENCY,)),
    )
    folds = parts_of(range(len(rows)), (), seed, table)
    return Asked(measured, tuple(row.group for row in rows), tried, folds, question)


_EACH, _DUTY = "each job", "duty"
_NOTHING = "nothing"


def _pairs(table: PublishedTable, seed: int) -> Asked:
    rows = cast("tuple[Pair, ...]", table.rows)
    measured = np.array([row.measured for row in rows])
    labels, index = labelled([row.job for row in rows] + [row.beside for row in rows])
    job, beside = index[: len(rows)], index[len(rows) :]
    start = np.full(len(labels), 0.6)
    everyone = np.zeros(len(rows), int)
    of_all = np.array([0.3])
    known = (
        Constant(_NOTHING, (EVERYTHING,), {_NOTHING: everyone}, of_all),
        Constant(terms.CONCURRENCY, (EVERYTHING,), {terms.SENSITIVITY: everyone}, of_all),
        Constant(_EACH, labels, {terms.SENSITIVITY: job}, start / 2),
        Constant(_DUTY, labels, {terms.SENSITIVITY: job, terms.PRESSURE: beside}, start),
        Constant(terms.SENSITIVITY, labels, {terms.SENSITIVITY: job}, start),
        Constant(terms.PRESSURE, labels, {terms.PRESSURE: beside}, start),
    )

    def predict(values: Any, some: Column) -> Column:
        slowed = values.get(terms.SENSITIVITY, np.zeros(len(some)))
        return terms.ratio_beside(slowed, values.get(terms.PRESSURE, 1.0))

    def question(names: Collection[str], _: Column) -> Question:
        return Question(measured, predict, tuple(one for one in known if one.name in names))

    tried = (
        Term("no contention", (_NOTHING,)),
        Term("one constant for all", (terms.CONCURRENCY,), instead=True),
        Term("one for each job", (_EACH,), instead=True),
        Term("duty × duty", (_DUTY,), instead=True),
        Term("sensitivity × pressure", (terms.SENSITIVITY, terms.PRESSURE), instead=True),
    )
    folds = parts_of(range(len(rows)), (), seed, table)
    return Asked(measured, tuple(row.group for row in rows), tried, folds, question)
