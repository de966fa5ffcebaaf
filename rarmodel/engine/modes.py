"""The modes of jobs: what a ring is that may have several sizes, types of GPU and rates.

A mode of a job is a ring size, the slowest type of GPU that the ring uses, and the bandwidth
within its server, if it has one. Modes are rows of `Arrays.modes`, job by job. A job with one
size, on equal GPUs and servers, has one row; if all have, job j is in mode j.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rarmodel.model import Pace
from rarmodel.model.lone import within_gbps
from rarmodel.model.ring_rates import each_paces
from rarmodel.schema import Instance

from .compilation import compiled

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Modes(NamedTuple):
    """How to find a ring's mode; `mode_of` does."""

    first: Ints
    """(jobs) First mode of each job."""
    size_at: Ints
    """(jobs + 1) Offsets into `size`."""
    size: Ints
    """Ring sizes of each job, ascending."""
    types: Ints
    """(jobs) Types of GPU that make a difference to the job; 1 if none does."""
    type_place: Ints
    """(jobs, types of the cluster) Place of each type among them; −1 if the job cannot use it."""
    server_type: Ints
    """(servers) Type of each server's GPUs."""
    server_rate: Ints
    """(servers) Which of the bandwidths within servers each has."""
    rates: int
    """How many of these there are."""


def rates_within(instance: Instance) -> list[float]:
    """The different bandwidths within servers in Gbit/s, ascending."""
    cluster = instance.cluster
    return sorted({within_gbps(cluster, s) for s in range(len(cluster.servers))})


def rows_of(instance: Instance) -> Iterator[tuple[Pace, float]]:
    """Pace, and bandwidth within a server in Gbit/s, of each mode."""
    rates = rates_within(instance)
    for by_shape in each_paces(instance):
        for pace in by_shape.values():
            for gbps in rates:
                yield pace, gbps


def modes_of(instance: Instance) -> Modes:
    """Lay the modes of an instance out for compiled code."""
    cluster, jobs = instance.cluster, instance.jobs
    rates = rates_within(instance)
    kinds = sorted({server.gpu_type or "" for server in cluster.servers})
    sizes = [job.sizes for job in jobs]
    types = [list(job.times) if job.times else [] for job in jobs]
    counts = [len(s) * max(1, len(t)) * len(rates) for s, t in zip(sizes, types, strict=True)]
    place = np.zeros((len(jobs), len(kinds)), np.int64)
    for j, own in enumerate(types):
        if own:
            place[j] = [own.index(kind) if kind in own else -1 for kind in kinds]
    return Modes(
        first=np.cumsum([0, *counts[:-1]], dtype=np.int64),
        size_at=np.cumsum([0, *map(len, sizes)], dtype=np.int64),
        size=np.array([size for each in sizes for size in each], np.int64),
        types=np.array([max(1, len(own)) for own in types], np.int64),
        type_place=place,
        server_type=np.array([kinds.index(s.gpu_type or "") for s in cluster.servers], np.int64),
        server_rate=np.array(
            [rates.index(within_gbps(cluster, s)) for s in range(len(cluster.servers))], np.int64
        ),
        rates=len(rates),
    )


@partial(compiled, inner=True)
def mode_of(
    modes: Modes, compute: Floats, job: int, servers: Ints, workers: Ints, used: int
) -> int:
    """The mode of a ring with `workers[i]` on `servers[i]`, for i below `used`.

    `compute` has the seconds of forward and backward pass of each mode: the slowest type counts.
    """
    size = index = kind = rate = 0
    for i in range(used):
        size += workers[i]
    while modes.size[modes.size_at[job] + index] != size:
        index += 1
    if used == 1:
        rate = modes.server_rate[servers[0]]
    types = modes.types[job]
    row = modes.first[job] + index * types * modes.rates
    if types > 1:
        kind = modes.type_place[job, modes.server_type[servers[0]]]
        for i in range(1, used):
            other = modes.type_place[job, modes.server_type[servers[i]]]
            if compute[row + other * modes.rates] > compute[row + kind * modes.rates]:
                kind = other
    return int(row + kind * modes.rates + rate)


@compiled
def modes_in(
    modes: Modes, compute: Floats, at: Ints, server: Ints, workers: Ints, found: Ints
) -> None:
    """Find the modes of all jobs in their placements."""
    for job in range(len(found)):
        first, end = at[job], at[job + 1]
        ring = server[first:end], workers[first:end], end - first
        found[job] = mode_of(modes, compute, job, *ring)
