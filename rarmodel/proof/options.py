"""All ways to place the jobs of a plain instance, as `branch` takes them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from itertools import accumulate, islice
from math import prod
from typing import NamedTuple

import numpy as np

from rarmodel.bounds.configurations import Cut
from rarmodel.bounds.ring_states import Spreading
from rarmodel.engine import NEVER, Arrays
from rarmodel.engine.arrays import BY_COUNT, Ints
from rarmodel.engine.compilation import compiled
from rarmodel.model import Topology, plain_pace, spreads, timing, topology
from rarmodel.schema import Instance

from .tree import Options, Prices

MOST_JOBS, MOST_SERVERS, MOST_OPTIONS = 40, 40, 5_000
"""Limits: instances with more jobs, servers or placements of all jobs are not tried."""
MOST_WORTHS = 10_000_000
"""Most numbers in the tables of what is left of jobs."""
TOO_MUCH = 2**61
"""Price of an option in an impossible class."""
MOST = 2**62
"""Upper limit of whole numbers in compiled code."""


def options_of(
    instance: Instance, arrays: Arrays, numbers: Sequence[Collection[int]] | None = None
) -> Options | None:
    """The jobs and their placements, promising ones first; None if there are too many.

    Parameters
    ----------
    instance, arrays
        The problem.
    numbers
        (jobs) Numbers of servers that each job may use; by default all.
    """
    if len(instance.jobs) > MOST_JOBS or len(instance.cluster.servers) > MOST_SERVERS:
        return None
    gpus = [server.gpus for server in instance.cluster.servers]
    ways = {
        size: list(islice(spreads(gpus, size), MOST_OPTIONS + 1))
        for size in {job.size for job in instance.jobs}
    }
    if sum(len(ways[job.size]) for job in instance.jobs) > MOST_OPTIONS:
        return None
    tree = topology(instance.cluster)
    rated = [
        [
            way
            for way in _rated(instance, tree, arrays, j, ways[job.size])
            if numbers is None or len(way.workers) in numbers[j]
        ]
        for j, job in enumerate(instance.jobs)
    ]
    # A job without an option never ends.
    least = [row[0].slots if row else NEVER for row in rated]
    order = sorted(range(len(rated)), key=lambda j: (-instance.jobs[j].size * least[j], j))
    flat = [way for j in order for way in rated[j]]
    if max(job.iterations for job in instance.jobs) * max(map(len, rated)) >= MOST:
        return None
    workers = np.zeros((len(flat), len(gpus)), np.int64)
    for row, way in zip(workers, flat, strict=True):
        row[list(way.workers)] = list(way.workers.values())
    links = {link.node: link for link in tree.links}
    return Options(
        job=np.array(order, np.int64),
        size=np.array([instance.jobs[j].size for j in order], np.int64),
        first=_offsets(len(rated[j]) for j in order),
        workers=workers,
        link_at=_offsets(len(way.links) for way in flat),
        link=np.array([link for way in flat for link in way.links], np.int64),
        weight=np.array([way.weight for way in flat], np.int64),
        alone=np.array([way.alone for way in flat], np.int64),
        slots=np.array([way.slots for way in flat], np.int64),
        least=np.array([least[j] for j in order], np.int64),
        twin=_alike(
            [(arrays.modes[j].tobytes(), tuple(way.slots for way in rated[j])) for j in order]
        ),
        gpus=np.array(gpus, np.int64),
        peer=_alike(
            [
                (server.gpus, links[server.name].parent, links[server.name].gbps)
                for server in instance.cluster.servers
            ]
        ),
        by_servers=max(job.iterations for job in instance.jobs) < MOST // prod(n + 1 for n in gpus),
        prices=Prices(0, *(np.zeros(count, np.int64) for count in (len(order), len(flat), 1, 1))),
    )


def prices_of(
    options: Options, iterations: Sequence[int], spreadings: Sequence[Sequence[Spreading]], cut: Cut
) -> Prices | None:
    """What a cut of the configuration bound says about options; None if that takes too much memory.

    Parameters
    ----------
    options
        The options, in classes for which the cut is.
    iterations, spreadings
        (jobs of the instance) The iterations and the classes of each job.
    cut
        The cut, for the target or a longer schedule.
    """
    if sum((iterations[j] + 1) for j, _ in cut.cheapest) > MOST_WORTHS:
        return None
    rows, row_of, size = [], {}, 0
    for j, k in cut.cheapest:
        row = np.zeros(iterations[j] + 1, np.int64)
        speeds = np.array([state.speed for state in spreadings[j][k]], np.int64)
        _fill_worths(speeds, np.array(cut.prices[j, k], np.int64), row)
        row_of[j, spreadings[j][k][0].servers] = k, size
        rows.append(row)
        size += len(row)
    waiting = [min(cut.cheapest[j, k] for k in cut.classes(j)) for j in options.job]
    more, at = [], []
    for place, j in enumerate(options.job):
        for option in range(options.first[place], options.first[place + 1]):
            servers = int(np.count_nonzero(options.workers[option]))
            k, offset = row_of.get((int(j), servers), (-1, 0))
            more.append(cut.cheapest[j, k] - waiting[place] if k >= 0 else TOO_MUCH)
            at.append(offset)
    return Prices(
        cut.dearest,
        np.array(waiting, np.int64),
        np.array(more, np.int64),
        np.array(at, np.int64),
        np.concatenate(rows),
    )


@compiled
def _fill_worths(speeds: Ints, prices: Ints, row: Ints) -> None:
    """The least price of slots that do so many iterations, at speeds that have prices."""
    row[0] = 0
    for left in range(1, len(row)):
        row[left] = prices[0] + row[max(0, left - speeds[0])]
        for state in range(1, len(speeds)):
            row[left] = min(row[left], prices[state] + row[max(0, left - speeds[state])])


class _Way(NamedTuple):
    """A placement of a job."""

    slots: int
    """Execution time alone."""
    alone: int
    """Iterations per slot alone."""
    workers: Mapping[int, int]
    links: tuple[int, ...]
    weight: int
    """What the ring counts on its links: 1, or its duty."""


def _rated(
    instance: Instance, tree: Topology, arrays: Arrays, j: int, ways: Sequence[Mapping[int, int]]
) -> list[_Way]:
    """The placements of a job in which it makes progress, fast ones first."""
    pace = plain_pace(instance, j)
    rated = []
    for workers in ways:
        links = tree.links_used(workers)
        rates = [float(arrays.gbps[link]) for link in links]
        gbps = min(rates, default=instance.cluster.intra_server_gbps)
        if alone := pace.speed(len(workers), gbps):
            slots = timing.slots_needed(pace.iterations, alone)
            weight = 1 if arrays.sharing == BY_COUNT else pace.duty(len(workers), gbps)
            rated.append(_Way(slots, alone, workers, links, weight))
    return sorted(rated, key=lambda way: (way.slots, len(way.workers)))


def _offsets(lengths: Iterable[int]) -> Ints:
    return np.array([0, *accumulate(lengths)], np.int64)


def _alike(things: Sequence[Hashable]) -> Ints:
    """For each place, the last place before it with an equal entry; −1 if there is none."""
    last: dict[Hashable, int] = {}
    before = []
    for place, thing in enumerate(things):
        before.append(last.get(thing, -1))
        last[thing] = place
    return np.array(before, np.int64)
