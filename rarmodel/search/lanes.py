"""Lanes of a packing: the GPUs of a cluster, each with the jobs that it runs one after another.

Lanes exchange their jobs between two slots at which neither of them is within a job. No job starts
at another slot then, and no server holds more workers than before. So exchanges deal the servers of
a packing anew, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import Ints
from rarmodel.engine.compilation import compiled

_inner = partial(compiled, inner=True)

ONE, OTHER, FIRST, PAST, OTHER_FIRST, OTHER_PAST = range(6)
"""Columns of exchanges: the two lanes; of the first one, the place of the first job to give and the
place past the last one; of the other one, likewise."""


class Lanes(NamedTuple):
    """The lanes of a packing; exchanges change all but the first three arrays."""

    start: Ints
    """(jobs) Start slots."""
    end: Ints
    """(jobs) Slots at which each job frees its lanes."""
    server: Ints
    """(lanes) Server of each lane."""
    job: Ints
    """(lanes, jobs) Jobs of each lane in the order of their starts, in the first `many` places."""
    many: Ints
    """(lanes) Number of jobs of each lane."""
    of_job: Ints
    """(jobs, most GPUs of a job) Lanes of each job, in as many places as it has GPUs."""
    workers: Ints
    """(jobs, servers) Workers of each job on each server."""
    servers: Ints
    """(jobs) Number of servers of each job."""


def lanes_of(
    gpus: Sequence[int], starts: Ints, ends: Ints, workers: Sequence[dict[int, int]]
) -> Lanes:
    """The lanes of a packing.

    Parameters
    ----------
    gpus
        (servers) GPUs of each.
    starts, ends
        (jobs) Slots of each job. No server has more workers than GPUs in any slot.
    workers
        (jobs) Workers by server.
    """
    server = np.repeat(np.arange(len(gpus)), gpus)
    lanes = Lanes(
        starts,
        ends,
        server,
        np.full((len(server), len(starts)), -1),
        np.zeros(len(server), np.int64),
        np.full((len(starts), max(sum(by_server.values()) for by_server in workers)), -1),
        np.zeros((len(starts), len(gpus)), np.int64),
        np.array([len(by_server) for by_server in workers]),
    )
    free = np.zeros(len(server), np.int64)
    for job in np.argsort(starts, kind="stable").tolist():
        taken = list[int]()
        for where, many in workers[job].items():
            idle = np.flatnonzero((server == where) & (free <= starts[job]))
            # Those that were busy until just now; the others may be idle for another job.
            taken += idle[np.argsort(-free[idle], kind="stable")][:many].tolist()
            lanes.workers[job, where] = many
        lanes.job[taken, lanes.many[taken]] = job
        lanes.many[taken] += 1
        lanes.of_job[job, : len(taken)] = taken
        free[taken] = ends[job]
    return lanes


@_inner
def place_at(lanes: Lanes, lane: int, slot: int) -> int:
    """Place of the first job of a lane that starts at a slot or later; −1 if it is within a job."""
    for place in range(lanes.many[lane]):
        job = lanes.job[lane, place]
        if lanes.start[job] >= slot:
            return place
        if lanes.end[job] > slot:
            return -1
    return int(lanes.many[lane])


@_inner
def exchange(lanes: Lanes, swap: Ints, spare: Ints) -> None:
    """Let two lanes exchange some jobs; a second time undoes it.

    Parameters
    ----------
    lanes
        The lanes.
    swap
        (6) The exchange. It changes to the one that undoes it.
    spare
        (2, jobs) Memory.
    """
    one, other, first, other_first = swap[ONE], swap[OTHER], swap[FIRST], swap[OTHER_FIRST]
    given = _take(lanes, one, first, swap[PAST], spare[0])
    returned = _take(lanes, other, other_first, swap[OTHER_PAST], spare[1])
    _put(lanes, one, other, first, spare[1], returned)
    _put(lanes, other, one, other_first, spare[0], given)
    swap[PAST], swap[OTHER_PAST] = first + returned, other_first + given


@_inner
def _take(lanes: Lanes, lane: int, first: int, past: int, taken: Ints) -> int:
    """Take jobs off a lane; return their number. Their rows in `of_job` have the lane still."""
    number = past - first
    for index in range(number):
        taken[index] = lanes.job[lane, first + index]
    for place in range(past, lanes.many[lane]):
        lanes.job[lane, place - number] = lanes.job[lane, place]
    lanes.many[lane] -= number
    where = lanes.server[lane]
    for index in range(number):
        job = taken[index]
        lanes.workers[job, where] -= 1
        lanes.servers[job] -= lanes.workers[job, where] == 0
        # Marked, as the job may have the other lane, too.
        _rename(lanes, job, lane, -2 - lane)
    return int(number)


@_inner
def _put(lanes: Lanes, lane: int, before: int, first: int, taken: Ints, number: int) -> None:
    """Put jobs that another lane had into a lane, from a place on."""
    for place in range(lanes.many[lane] - 1, first - 1, -1):
        lanes.job[lane, place + number] = lanes.job[lane, place]
    lanes.many[lane] += number
    where = lanes.server[lane]
    for index in range(number):
        job = lanes.job[lane, first + index] = taken[index]
        lanes.servers[job] += lanes.workers[job, where] == 0
        lanes.workers[job, where] += 1
        _rename(lanes, job, -2 - before, lane)


@_inner
def _rename(lanes: Lanes, job: int, lane: int, name: int) -> None:
    """Another name for a lane of a job."""
    index = 0
    while lanes.of_job[job, index] != lane:
        index += 1
    lanes.of_job[job, index] = name
