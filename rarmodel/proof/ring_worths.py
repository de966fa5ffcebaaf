"""Worths of waiting jobs for `least_sums`: what they need, and what fits beside running jobs.

**By size.** A ring of w GPUs is worth w in each slot; or as many whole (k + 1)-ths of the cluster's
GPUs as it exceeds, which counts rings that do not fit beside each other. A job needs that for as
many slots as it takes alone. Some jobs on n GPUs are worth what the dearest of all sets of jobs
with n GPUs or less is.

**By contention.** A *wide* job has more GPUs than any server, so that its ring is always on links.
Take the least size of a wide job, and let each wide ring have only that many GPUs: where a ring
fits, a smaller one does, on no more links. A ring on n servers whose busiest link has p rings is
worth its speed as a part of its greatest speed, and the most of this over all wide jobs. Then a
wide job needs slots of at least a certain worth to do its iterations, by dynamic programming over
the speeds that it can have; and beside r running wide jobs the waiting ones are worth at most what
an exact search over all configurations says, in which r rings must be and are worth nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

import numpy as np

from rarmodel.bounds.pricing_problem import Pricing
from rarmodel.bounds.ring_states import Spreading, ring_states
from rarmodel.engine.arrays import Ints
from rarmodel.schema import Instance

from .cuts import fill_worths
from .tree import Options

PARTS = (1, 2, 3)
"""Numbers k of parts of the cluster."""
SCALE = 1_000
"""Worth of a slot at the greatest speed."""
MOST_ITERATIONS = 1_000_000
"""Jobs of more iterations take too long to look at."""
MOST_WIDE = 40
"""With more wide jobs, an exact search takes too long."""


class Worths(NamedTuple):
    """Worths of jobs and of slots."""

    need: Ints
    """(worths, jobs) What all slots of a job are worth at least."""
    room: Ints
    """(worths, rings + 1, GPUs + 1) What waiting jobs are worth in a slot at most, beside so many
    running wide jobs, on so many idle GPUs."""
    most: Ints
    """(worths, jobs) What a slot of a job is worth at most; 1 where it is worth nothing."""
    wide: Ints
    """(jobs) Whether the job is wide: 1 if so."""


def ring_worths(instance: Instance, options: Options) -> Worths:
    """All worths of the jobs of an instance."""
    sizes, gpus = options.size, int(options.gpus.sum())
    wide = (sizes > options.gpus.max()).astype(np.int64)
    rings = int(wide.sum()) + 1
    need, room, most = [], [], []
    worth_of = [
        np.arange(int(sizes.max()) + 1),
        *((np.arange(int(sizes.max()) + 1) * (k + 1) - 1).clip(0) // gpus for k in PARTS),
    ]
    for worths in worth_of:
        need.append(worths[sizes] * options.least)
        most.append(worths[sizes].clip(1))
        room.append(np.tile(_dearest(sizes, worths, gpus), (rings, 1)))
    if rings > 1 and (found := _by_contention(instance, options, wide)) is not None:
        need.append(found[0])
        room.append(found[1])
        most.append(found[2])
    return Worths(np.array(need, np.int64), np.array(room, np.int64), np.array(most), wide)


def _dearest(sizes: Ints, worths: Ints, gpus: int) -> Ints:
    """(GPUs + 1) The greatest worth of some of the jobs on so many GPUs."""
    best = np.zeros(gpus + 1, np.int64)
    for size in sizes:
        for free in range(gpus, size - 1, -1):
            best[free] = max(best[free], best[free - size] + worths[size])
    return best


def _by_contention(
    instance: Instance, options: Options, wide: Ints
) -> tuple[Ints, Ints, Ints] | None:
    """Needs and rooms of wide jobs; None if the instance is too large."""
    places = np.flatnonzero(wide)
    jobs = [int(options.job[place]) for place in places]
    pricing = Pricing([int(gpus) for gpus in options.gpus], len(jobs))
    if (
        not pricing.fits
        or len(jobs) > MOST_WIDE
        or max(instance.jobs[j].iterations for j in jobs) > MOST_ITERATIONS
    ):
        return None
    spreadings = list(ring_states(instance))
    states = [state for j in jobs for spreading in spreadings[j] for state in spreading]
    greatest = {j: max(one.speed for row in spreadings[j] for one in row) for j in jobs}
    most = max(state.rings for state in states)
    price = {
        (servers, p): max(
            ceil(SCALE * _speed(spreadings[j], servers, p) / greatest[j]) for j in jobs
        )
        for servers in {state.servers for state in states}
        for p in range(1, most + 1)
    }
    need = np.zeros(len(wide), np.int64)
    for place, j in zip(places, jobs, strict=True):
        need[place] = min(
            _least_need(instance.jobs[j].iterations, row, price) for row in spreadings[j]
        )
    size, gpus = int(options.size[places].min()), int(options.gpus.sum())
    dearest = max(price.values())
    room = np.zeros((len(jobs) + 1, gpus + 1), np.int64)
    for running in range(min(len(jobs), gpus // size) + 1):
        must = (len(jobs) + 1) * dearest
        choices = [
            [(size, n, p, must if k < running else one, k) for (n, p), one in price.items()]
            for k in range(len(jobs))
        ]
        exact, best, _ = pricing.above(0, choices)
        if not exact:
            return None
        least = max(0, best - running * must)
        room[running] = np.minimum(np.arange(gpus + 1) // size * dearest, least)
    return need, room, np.full(len(wide), dearest, np.int64)


def _speed(spreadings: Sequence[Spreading], servers: int, rings: int) -> int:
    """The speed on so many servers, beside so many rings; 0 if it makes no progress."""
    return max(
        (
            state.speed
            for spreading in spreadings
            for state in spreading
            if state.servers == servers and state.rings >= rings
        ),
        default=0,
    )


def _least_need(iterations: int, spreading: Spreading, price: dict[tuple[int, int], int]) -> int:
    """What slots are worth at least that do so many iterations, on one number of servers."""
    row = np.zeros(iterations + 1, np.int64)
    speeds = np.array([state.speed for state in spreading], np.int64)
    fill_worths(speeds, np.array([price[state[1:3]] for state in spreading], np.int64), row)
    return int(row[-1])
