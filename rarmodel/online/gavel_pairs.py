"""Gavel's program with pairs of jobs on the same GPUs: which part of the time each pair has.

D. Narayanan and others, OSDI 2020, section 3.1, "space sharing": a combination c is one job, or two
jobs of equally many GPUs on the same ones. `X[c,r]` is the part of the time in which c has GPUs of
type r. τ_jcr are the iterations per slot of job j in c there. The greatest s is sought with

`Σ_{c∋j} Σ_r τ_jcr X_cr ≥ s·n_j` and `Σ_{c∋j} Σ_r X_cr ≤ 1` for each job, and
`Σ_c k_c X_cr ≤ N_r` for each type.

The needs n_j are those of `gavel_programs`. Its program `COST` has pairs likewise: the greatest
`Σ_c Σ_{j∈c} Σ_r τ_jcr/τ_j^best / price_r · X_cr` is sought, with `n_j` in place of `s·n_j`.

A pair whose two jobs together have no more than one of
them alone is left out: jobs that take turns for as long do as much, so nothing is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rarmodel.highs_library import highspy, silent_highs

Floats = npt.NDArray[np.float64]


class Pair(NamedTuple):
    """Two jobs that may share GPUs.

    Attributes
    ----------
    first, second
        Their positions.
    speed
        (2, types) Iterations per slot of both beside each other; 0 where they cannot be.
    """

    first: int
    second: int
    speed: Floats


class Packed(NamedTuple):
    """Result of the program.

    Attributes
    ----------
    alone
        (jobs, types) Part of the time in which each job has GPUs of its own.
    together
        (pairs, types) The same of pairs.
    level
        s.
    """

    alone: Floats
    together: Floats
    level: float


def packed_shares(
    speed: Floats, gpus: Floats, need: Floats, there: Floats, pairs: Sequence[Pair]
) -> Packed | None:
    """Solve the program for the greatest least share; None if nobody needs anything.

    Parameters
    ----------
    speed, gpus, need, there
        As of `gavel_programs.Demand`.
    pairs
        Pairs of jobs with equally many GPUs.
    """
    jobs, types = speed.shape
    needed = _in_parts(need, speed)
    if not needed.any():
        return None
    level = {types + jobs + j: -float(needed[j]) for j in range(jobs) if needed[j]}
    columns = _columns(speed, gpus, pairs)
    cost = [0.0] * len(columns) + [-1.0]
    values = _solved([*columns, level], cost, [*_upper(columns), inf], np.zeros(jobs), there)
    return None if values is None else _packed(values[:-1], float(values[-1]), speed)


def packed_worth(
    speed: Floats,
    gpus: Floats,
    need: Floats,
    there: Floats,
    price: Floats,
    pairs: Sequence[Pair],
) -> Packed | None:
    """Solve the program for the greatest throughput by price; None if needs cannot be met.

    Parameters are those of `packed_shares`, and `price` as of `gavel_programs.Demand`. The level is
    infinite.
    """
    types = len(there)
    columns = _columns(speed, gpus, pairs)
    # The work of a column is that of its jobs; columns go through the types one after another.
    cost = [
        -sum(value for row, value in one.items() if row < 0) / float(price[at % types])
        for at, one in enumerate(columns)
    ]
    values = _solved(columns, cost, _upper(columns), _in_parts(need, speed), there)
    return None if values is None else _packed(values, inf, speed)


def iterations_of(packed: Packed, speed: Floats, pairs: Sequence[Pair]) -> Floats:
    """(jobs) Iterations per slot that jobs do in the mean, alone and in pairs."""
    done: Floats = (speed * packed.alone).sum(axis=1)
    for pair, parts in zip(pairs, packed.together, strict=True):
        done[[pair.first, pair.second]] += (pair.speed * parts).sum(axis=1)
    return done


def _in_parts(need: Floats, speed: Floats) -> Floats:
    """(jobs) Needs in parts of each job's best speed; a job that runs nowhere needs nothing."""
    best = np.maximum(speed.max(axis=1), 1e-12)
    return np.where(speed.max(axis=1) > 0, need / best, 0.0)


def _packed(values: Floats, level: float, speed: Floats) -> Packed:
    jobs, types = speed.shape
    parts = np.clip(values, 0.0, 1.0)
    return Packed(
        parts[: jobs * types].reshape(jobs, types),
        parts[jobs * types :].reshape(-1, types),
        level,
    )


def _columns(speed: Floats, gpus: Floats, pairs: Sequence[Pair]) -> list[dict[int, float]]:
    """Columns of each job on each type, and then of each pair; see `_column`."""
    jobs, types = speed.shape
    best = np.maximum(speed.max(axis=1), 1e-12)
    return [
        _column(types, r, ((j, speed[j, r] / best[j]),), gpus[j])
        for j in range(jobs)
        for r in range(types)
    ] + [
        _column(
            types,
            r,
            tuple(
                (j, pair.speed[side, r] / best[j])
                for side, j in enumerate((pair.first, pair.second))
            ),
            gpus[pair.first],
        )
        for pair in pairs
        for r in range(types)
    ]


def _upper(columns: Sequence[dict[int, float]]) -> list[float]:
    """The greatest part of the time of each column: 0 where its jobs cannot be."""
    return [1.0 if one else 0.0 for one in columns]


def _column(
    types: int, kind: int, members: Sequence[tuple[int, float]], gpus: float
) -> dict[int, float]:
    """Rows of a combination: its type, and the time and the work of its jobs; {} if it is idle.

    Rows are the types, then the time of each job, then its work; `_solved` knows how many jobs
    there are.
    """
    if any(part <= 0 for _, part in members):
        return {}
    column: dict[int, float] = {kind: float(gpus)}
    for j, part in members:
        column[types + j] = 1.0
        column[-1 - j] = float(part)
    return column


def _solved(
    columns: Sequence[dict[int, float]],
    cost: Sequence[float],
    upper: Sequence[float],
    work: Floats,
    there: Floats,
) -> Floats | None:
    """Values of the columns of least cost, if each job does its work; None if they cannot.

    Parameters
    ----------
    columns
        Entries by row.
    cost, upper
        Cost and greatest value of each column; the least is 0.
    work
        (jobs) Least value of the row of each job's work.
    there
        (types) Greatest value of the row of each type.
    """
    library, highs = highspy(), silent_highs()
    types, jobs = len(there), len(work)
    program: Any = library.HighsLp()
    rows = types + 2 * jobs
    program.num_col_, program.num_row_ = len(columns), rows
    program.col_cost_ = np.array(cost, np.float64)
    program.col_lower_ = np.zeros(len(columns))
    program.col_upper_ = np.array(upper, np.float64)
    program.row_lower_ = np.array([-inf] * (types + jobs) + work.tolist())
    program.row_upper_ = np.array([*there.tolist(), *[1.0] * jobs, *[inf] * jobs])
    entries = [
        sorted((row if row >= 0 else types + jobs - 1 - row, value) for row, value in one.items())
        for one in columns
    ]
    program.a_matrix_.format_ = library.MatrixFormat.kColwise
    program.a_matrix_.start_ = np.cumsum([0, *map(len, entries)]).astype(np.int32)
    program.a_matrix_.index_ = np.array([r for one in entries for r, _ in one], np.int32)
    program.a_matrix_.value_ = np.array([value for one in entries for _, value in one])
    highs.setOptionValue("threads", 1)
    highs.passModel(program)
    highs.run()
    if highs.getModelStatus() != library.HighsModelStatus.kOptimal:
        return None
    return np.array(highs.getSolution().col_value)
