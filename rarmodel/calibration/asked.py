"""What a table in a published layout is asked: terms to try, parts to leave out, predictors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from rarmodel.errors import InputError, Problem

from .published_tables import PublishedTable
from .scoped_fit import Column, Question

PARTS = 5
"""Parts of a cross-validation."""
EVERYTHING = "all"
"""The scope of a constant that all rows share."""


@dataclass(frozen=True)
class Term:
    """A term that a table can be asked for.

    Attributes
    ----------
    name
        Its name in words.
    constants
        Names of the constants that it adds.
    instead
        Whether it takes the place of the terms before it.
    """

    name: str
    constants: tuple[str, ...]
    instead: bool = False


@dataclass(frozen=True)
class Predictor:
    """A published way to predict rows, which no instance has: it stands beside the terms.

    Attributes
    ----------
    name
        Its name in words.
    predict
        Predictions for some rows, the second argument, from others, the first.
    """

    name: str
    predict: Callable[[Column, Column], Column]


@dataclass(frozen=True)
class Asked:
    """A table as columns, with the terms that it can be asked for.

    Attributes
    ----------
    measured
        Measured values.
    groups
        What errors of a row are told apart by.
    terms
        The terms, in the order in which they are tried.
    folds
        Part of each row in a cross-validation; −1 for a row that is never left out.
    question
        The question for some names of constants, with starts that come from some rows.
    predictors
        Published predictors to compare with.
    """

    measured: Column
    groups: tuple[str, ...]
    terms: tuple[Term, ...]
    folds: Column
    question: Callable[[Collection[str], Column], Question]
    predictors: tuple[Predictor, ...] = ()


def parts_of(
    keys: Sequence[Any],
    never: Collection[Any],
    seed: int,
    table: PublishedTable,
    what: str = "placement or row with two GPUs or more",
) -> Column:
    """The part of each row by its key; rows of one key are in one part.

    Raises
    ------
    InputError
        If there are too few keys to leave any out.
    """
    drawn = sorted(set(keys) - set(never))
    if len(drawn) < 2:
        message = f"one {what}; at least two are expected"
        raise InputError([Problem("", message)], table.source)
    Random(seed).shuffle(drawn)  # noqa: S311 - no secrets here
    part = {key: i % min(PARTS, len(drawn)) for i, key in enumerate(drawn)}
    return np.array([part.get(key, -1) for key in keys])
