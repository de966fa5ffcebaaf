"""Through the jobs in order of urgency: which of them fit; compiled, as jobs may be thousands."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from rarmodel.engine.arrays import Ints
from rarmodel.engine.compilation import compiled

from .arriving_jobs import Uses

Truths = npt.NDArray[np.bool_]

NONE_FITS = -1
"""No job fits any more."""


@partial(compiled, inner=True)
def _within(uses: Uses, left: Ints, job: int, gpus: int) -> bool:
    """Whether so much is left of all that a job uses with so many GPUs."""
    for i in range(uses.at[job], uses.at[job + 1]):
        if uses.of_job[i] + gpus * uses.of_gpu[i] > left[uses.limit[i]]:
            return False
    return True


@compiled
def next_fit(
    order: Ints,
    at: int,
    wanted: Ints,
    holds: Truths,
    row: Ints,
    free: Ints,
    uses: Uses,
    left: Ints,
    spare: Ints,
    blocks: int,
) -> int:
    """Place in the order, from a place on, of the first job that waits and fits by its number.

    Parameters
    ----------
    order, at
        Jobs, most urgent first, and where to begin.
    wanted, holds, row
        (jobs) GPUs that each is to have; whether it holds some; its servers.
    free
        GPUs that are left on the servers of each row.
    uses, left
        What jobs use beside that, and how much is left of it.
    spare
        (jobs) GPUs that others would give back to each, and what they use beside that.
    blocks
        1 if a job that does not fit keeps those after it from starting.
    """
    for i in range(at, len(order)):
        job = order[i]
        if holds[job] or wanted[job] == 0:
            continue
        room = free[row[job]] + spare[job]
        if wanted[job] <= room and (spare[job] > 0 or _within(uses, left, job, wanted[job])):
            return i
        if blocks == 1:
            return NONE_FITS
    return NONE_FITS


@compiled
def choose(
    order: Ints,
    wanted: Ints,
    row: Ints,
    within: Truths,
    free: Ints,
    uses: Uses,
    left: Ints,
    blocks: int,
    chosen: Truths,
) -> None:
    """Who is to hold GPUs if running jobs may stop: in order, each that fits by its number.

    A job takes GPUs of all rows that have its servers. Where rows overlap in part, this says who
    may hold GPUs at most; whoever then finds no place waits.

    Parameters
    ----------
    order, wanted, row, uses, blocks
        As for `next_fit`.
    within
        `within[r, q]`: row q has no server that row r lacks.
    free, left
        GPUs of each row, and what there is beside that, if no job held anything; written to.
    chosen
        (jobs) Set to True for those that are chosen.
    """
    for i in range(len(order)):
        job = order[i]
        size, own = wanted[job], row[job]
        if size == 0:
            continue
        if size > free[own] or not _within(uses, left, job, size):
            if blocks == 1:
                return
            continue
        chosen[job] = True
        for u in range(uses.at[job], uses.at[job + 1]):
            left[uses.limit[u]] -= uses.of_job[u] + size * uses.of_gpu[u]
        for r in range(len(free)):
            if within[r, own]:
                free[r] -= size
