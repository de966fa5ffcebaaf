"""Published predictors of how jobs slow each other down on a GPU, to compare with.

None of them rests on code of others; facts of the papers and of the published programs are used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .scoped_fit import Column

FACTORS, DAMPING = 10, 1e-2
"""Factors of a completed matrix, and the weight of their squares, as in Gavel's program."""
_ENOUGH, _MOST = 1e-3, 100
"""Change of the mean entry below which the completion ends, and its most rounds; likewise."""
SLOW, SLOWER = 0.95, 0.85
"""Mean speeds below which Lucid gives a job the scores 1 and 2."""


@dataclass(frozen=True)
class Pairs:
    """Measured pairs as columns.

    Attributes
    ----------
    ratio
        Speed of a job beside another one, as a part of that alone.
    kind
        Index of the job's kind.
    column
        Index of the other one's kind, on its type of GPU.
    job, other
        Index of the job's kind on its type of GPU, and of the other one's; of one numbering.
    gpu_type
        Index of the type of GPU.
    """

    ratio: Column
    kind: Column
    column: Column
    job: Column
    other: Column
    gpu_type: Column


def mean_by_type(pairs: Pairs, known: Column, asked: Column) -> Column:
    """The mean ratio of the known pairs on the same type of GPU; of all where it has none."""
    return _means(pairs.ratio, pairs.gpu_type, known, asked)


def completed(pairs: Pairs, known: Column, asked: Column, seed: int) -> Column:
    """Complete the matrix of kinds and neighbours, as Gavel does for pairs not measured.

    Rows are kinds; columns are neighbours on each type of GPU, so that what is known on one type
    says something about others. Gavel (OSDI 2020) completes it by probabilistic matrix
    factorisation with ten factors, and clips at 0 and 1.

    Parameters
    ----------
    pairs
        The pairs.
    known, asked
        Indices of the pairs that are known, and of those to predict.
    seed
        Seed of the factors' start.
    """
    filled, _ = _filled(pairs, known, seed)
    predicted: Column = filled[pairs.kind[asked], pairs.column[asked]]
    return predicted


def nearest(pairs: Pairs, known: Column, asked: Column, seed: int) -> Column:
    """The ratio of the most similar other kind, which is how Gavel uses the completed matrix.

    Gavel gives a new job the measured ratios of that reference job whose row of the completed
    matrix has the least cosine distance. Here each other kind is a reference.
    """
    filled, matrix = _filled(pairs, known, seed)
    rows: Column = np.where(np.isnan(matrix), filled, matrix)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    units = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    similar = units @ units.T
    np.fill_diagonal(similar, -np.inf)
    predicted: Column = rows[similar.argmax(axis=1)[pairs.kind[asked]], pairs.column[asked]]
    return predicted


def by_scores(pairs: Pairs, known: Column, asked: Column) -> Column:
    """The mean ratio of pairs with the same two scores of Lucid (ASPLOS 2023).

    Lucid scores each job 0, 1 or 2 by its mean speed beside others, and lets jobs share a GPU where
    both scores add up to 2 at most. Its decision tree predicts the scores of jobs that were not
    measured in pairs from their utilisation and memory alone. Here all were measured, so that
    scores are counted from the known pairs: no tree can do better.
    """
    score = np.zeros(1 + max(pairs.job.max(), pairs.other.max()), int)
    for one in np.unique(pairs.job[known]):
        mean = pairs.ratio[known][pairs.job[known] == one].mean()
        score[one] = int(mean < SLOW) + int(mean < SLOWER)
    both = 3 * score[pairs.job] + score[pairs.other]
    return _means(pairs.ratio, both, known, asked)


def _means(ratio: Column, group: Column, known: Column, asked: Column) -> Column:
    """The mean of known pairs in a group; of all known where a group has none."""
    predicted = np.full(len(asked), ratio[known].mean())
    for one in np.unique(group[asked]):
        own = ratio[known][group[known] == one]
        if len(own):
            predicted[group[asked] == one] = own.mean()
    return predicted


def _filled(pairs: Pairs, known: Column, seed: int) -> tuple[Column, Column]:
    """The completed matrix, and that of known entries with NaN elsewhere."""
    shape = 1 + pairs.kind.max(), 1 + pairs.column.max()
    total, times = np.zeros(shape), np.zeros(shape)
    np.add.at(total, (pairs.kind[known], pairs.column[known]), pairs.ratio[known])
    np.add.at(times, (pairs.kind[known], pairs.column[known]), 1.0)
    matrix = np.where(times > 0, total / np.maximum(times, 1.0), np.nan)
    return np.clip(factorised(matrix, np.random.default_rng(seed)), 0.0, 1.0), matrix


def factorised(
    matrix: Column,
    random: np.random.Generator,
    factors: int = FACTORS,
    damping: float = DAMPING,
) -> Column:
    """Complete a matrix by probabilistic matrix factorisation.

    The product `U V'` that minimises the squares of its errors on the known entries and `damping`
    times those of `U` and `V` (Salakhutdinov and Mnih, NIPS 2007), by alternating least squares.

    Parameters
    ----------
    matrix
        The matrix; NaN where it is not known.
    random
        Numbers for the start of `U` and `V`, drawn in this order.
    factors
        Columns of `U` and of `V`.
    damping
        Weight of their squares.
    """
    mask = ~np.isnan(matrix)
    values = np.where(mask, matrix, 0.0)
    left = random.standard_normal((matrix.shape[0], factors))
    right = random.standard_normal((matrix.shape[1], factors))
    product = left @ right.T
    for _ in range(_MOST):
        _solve_rows(left, right, values, mask, damping)
        _solve_rows(right, left, values.T, mask.T, damping)
        before, product = product, left @ right.T
        if np.linalg.norm(product - before) / matrix.size < _ENOUGH:
            break
    return product


def _solve_rows(left: Column, right: Column, values: Column, mask: Column, damping: float) -> None:
    """Each row of one factor by least squares, with the other one held."""
    for i, used in enumerate(mask):
        weighted = right * used[:, None]
        square = right.T @ weighted + damping * np.eye(right.shape[1])
        left[i] = np.linalg.solve(square, weighted.T @ values[i])
