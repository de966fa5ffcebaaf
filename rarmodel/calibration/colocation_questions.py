"""What a table of pairs of jobs on the same GPUs is asked.

Speed is a part of that alone, `1 / (1 + σ_j·π_i)`: the slowdown of section 15, where the compute
term of a job with one GPU is multiplied by `1 + σ_j·π_i`. Sensitivity and pressure belong to a kind
on a type of GPU.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any, cast

import numpy as np

from . import pair_predictors as published
from . import terms
from .asked import EVERYTHING, Asked, Predictor, Term, parts_of
from .colocated_pairs import SpeedBeside
from .pair_predictors import Pairs
from .published_tables import PublishedTable
from .scoped_fit import Column, Constant, Question, labelled

_NOTHING = "nothing"
_START = 0.6


def colocated_asked(table: PublishedTable, seed: int) -> Asked:
    """What such a table is asked. All measurements of a pair of kinds are in one part."""
    rows = cast("tuple[SpeedBeside, ...]", table.rows)
    measured = np.array([row.measured for row in rows])
    labels, index = labelled([row.job for row in rows] + [row.other for row in rows])
    job, other = index[: len(rows)], index[len(rows) :]
    types, of_type = labelled([row.gpu_type or EVERYTHING for row in rows])
    start = np.full(len(labels), _START)
    known = (
        Constant(_NOTHING, (EVERYTHING,), {_NOTHING: np.zeros(len(rows), int)}, np.array([0.5])),
        Constant(
            terms.LOSS_OF_ALL, types, {terms.SENSITIVITY: of_type}, np.full(len(types), _START / 2)
        ),
        Constant(terms.LOSS_OF_KIND, labels, {terms.SENSITIVITY: job}, start / 2),
        Constant(terms.GPU_SENSITIVITY, labels, {terms.SENSITIVITY: job}, start),
        Constant(terms.GPU_PRESSURE, labels, {terms.PRESSURE: other}, start),
    )

    def predict(values: Any, some: Column) -> Column:
        slowed = values.get(terms.SENSITIVITY, np.zeros(len(some)))
        return terms.ratio_beside(slowed, values.get(terms.PRESSURE, 1.0))

    def question(names: Collection[str], _: Column) -> Question:
        return Question(measured, predict, tuple(one for one in known if one.name in names))

    _, kind = labelled([row.kind for row in rows] + [row.beside for row in rows])
    kinds = [(row.gpu_type, *sorted((row.kind, row.beside))) for row in rows]
    pairs = Pairs(
        ratio=measured,
        kind=kind[: len(rows)],
        column=other,
        job=job,
        other=other,
        gpu_type=of_type,
    )
    return Asked(
        measured,
        tuple(row.group for row in rows),
        (
            Term("no slowdown", (_NOTHING,)),
            Term("one constant for all", (terms.LOSS_OF_ALL,), instead=True),
            Term("one for each kind", (terms.LOSS_OF_KIND,), instead=True),
            Term(
                "sensitivity × pressure",
                (terms.GPU_SENSITIVITY, terms.GPU_PRESSURE),
                instead=True,
            ),
        ),
        parts_of(kinds, (), seed, table, "pair of kinds"),
        question,
        (
            Predictor("mean of the pairs", partial(published.mean_by_type, pairs)),
            Predictor("matrix completion (Gavel)", partial(published.completed, pairs, seed=seed)),
            Predictor("nearest kind (Gavel)", partial(published.nearest, pairs, seed=seed)),
            Predictor("sharing scores (Lucid)", partial(published.by_scores, pairs)),
        ),
    )
