"""Through the jobs in order of urgency: which of them fit; compiled, as jobs may be thousands."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rarmodel.engine.arrays import Ints
from rarmodel.engine.compilation import compiled

Truths = npt.NDArray[np.bool_]

NONE_FITS = -1
"""No job fits any more."""


@compiled
def next_fit(
    order: Ints,
    at: int,
    wanted: Ints,
    holds: Truths,
    row: Ints,
    free: Ints,
    tenant: Ints,
    quota: Ints,
    blocks: int,
) -> int:
    """Place in the order, from a place on, of the first job that waits and fits by its number.

    Parameters
    ----------
    order, at
        Jobs, most urgent first, and where to begin.
    wanted, holds, row, tenant
        (jobs) GPUs that each is to have; whether it holds some; its servers; its tenant.
    free, quota
        GPUs that are left on the servers of each row, and to each tenant.
    blocks
        1 if a job that does not fit keeps those after it from starting.
    """
    for i in range(at, len(order)):
        job = order[i]
        if holds[job] or wanted[job] == 0:
            continue
        if wanted[job] <= free[row[job]] and (tenant[job] < 0 or wanted[job] <= quota[tenant[job]]):
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
    tenant: Ints,
    quota: Ints,
    blocks: int,
    chosen: Truths,
) -> None:
    """Who is to hold GPUs if running jobs may stop: in order, each that fits by its number.

    A job takes GPUs of all rows that have its servers. Where rows overlap in part, this says who
    may hold GPUs at most; whoever then finds no place waits.

    Parameters
    ----------
    order, wanted, row, tenant, blocks
        As for `next_fit`.
    within
        `within[r, q]`: row q has no server that row r lacks.
    free, quota
        GPUs of each row and tenant if no job held any; written to.
    chosen
        (jobs) Set to True for those that are chosen.
    """
    for i in range(len(order)):
        job = order[i]
        size, own = wanted[job], row[job]
        if size == 0:
            continue
        if size > free[own] or (tenant[job] >= 0 and size > quota[tenant[job]]):
            if blocks == 1:
                return
            continue
        chosen[job] = True
        if tenant[job] >= 0:
            quota[tenant[job]] -= size
        for r in range(len(free)):
            if within[r, own]:
                free[r] -= size
