"""All ways to place the jobs of a plain instance, as `branch` takes them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice
from math import prod
from typing import NamedTuple

import numpy as np

from rarmodel.engine import NEVER, Arrays
from rarmodel.engine.arrays import Ints
from rarmodel.model import Topology, plain_pace, sharing_rule, timing, topology, used
from rarmodel.model.features import NETWORK_PRESSURES
from rarmodel.model.link_shares import sensitivities
from rarmodel.model.objectives import objectives_of
from rarmodel.schema import Instance

from .tree import NO_PRICES, Options

MOST_JOBS, MOST_SERVERS, MOST_OPTIONS = 40, 40, 5_000
"""Limits: instances with more jobs, servers or placements of all jobs are not tried."""
MOST = 2**62
"""Upper limit of whole numbers in compiled code."""


def options_of(
    instance: Instance,
    arrays: Arrays,
    numbers: Sequence[Collection[int]] | None = None,
    jobs: Sequence[int] | None = None,
    most: int = MOST_OPTIONS,
) -> Options | None:
    """The jobs and their placements, promising ones first; None if there are too many.

    Parameters
    ----------
    instance, arrays
        The problem.
    numbers
        (jobs of the instance) Numbers of servers that each job may use; by default all.
    jobs
        The jobs that count; by default all.
    most
        Most placements, of all jobs together, and of one of them in any class.
    """
    jobs = range(len(instance.jobs)) if jobs is None else jobs
    if len(jobs) > MOST_JOBS or len(instance.cluster.servers) > MOST_SERVERS:
        return None
    gpus = [server.gpus for server in instance.cluster.servers]
    tree = topology(instance.cluster)
    ways: dict[int, list[Mapping[int, int]]] = {}
    rated: dict[int, list[_Way]] = {}
    for j in jobs:
        size = instance.jobs[j].size
        if size not in ways:
            ways[size] = list(islice(spreads(gpus, size), most + 1))
        some = [way for way in ways[size] if numbers is None or len(way) in numbers[j]]
        if len(ways[size]) > most or sum(map(len, rated.values())) + len(some) > most:
            return None
        rated[j] = _rated(instance, tree, arrays, j, some)
    # A job without an option never ends.
    least = {j: row[0].slots if row else NEVER for j, row in rated.items()}
    order = sorted(rated, key=lambda j: (-instance.jobs[j].size * least[j], j))
    flat = [way for j in order for way in rated[j]]
    left_bits = max(instance.jobs[j].iterations for j in jobs).bit_length()
    if max(map(len, rated.values())) + 2 >= MOST >> left_bits:
        return None
    terms = [one.terms(instance) for one in objectives_of(instance)]
    workers = np.zeros((len(flat), len(gpus)), np.int64)
    for row, way in zip(workers, flat, strict=True):
        row[list(way.workers)] = list(way.workers.values())
    links = {link.node: link for link in tree.links}
    uplinks = [(server, links[server.name]) for server in instance.cluster.servers]
    columns = len(sensitivities(instance)) + _counts_rings(instance)
    return Options(
        job=np.array(order, np.int64),
        size=np.array([instance.jobs[j].size for j in order], np.int64),
        first=_offsets(len(rated[j]) for j in order),
        workers=workers,
        link_at=_offsets(len(way.links) for way in flat),
        link=np.array([link for way in flat for link in way.links], np.int64),
        weight=np.array([way.weights for way in flat], np.int64).reshape(len(flat), columns),
        reach=np.array([way.reach for way in flat], np.float64),
        alone=np.array([way.alone for way in flat], np.int64),
        slots=np.array([way.slots for way in flat], np.int64),
        least=np.array([least[j] for j in order], np.int64),
        release=np.array([max(0, instance.jobs[j].release) for j in order], np.int64),
        twin=_alike(
            [
                (
                    arrays.modes[j].tobytes(),
                    plain_pace(instance, j).pressure,
                    tuple(way.slots for way in rated[j]),
                    max(0, instance.jobs[j].release),
                    tuple(row[j] for row in terms),
                )
                for j in order
            ]
        ),
        gpus=np.array(gpus, np.int64),
        peer=_alike(
            [
                (server.gpus, server.network_cards, link.parent, link.gbps)
                for server, link in uplinks
            ]
        ),
        left_bits=left_bits,
        by_servers=prod(n + 1 for n in gpus) + 2 < MOST >> left_bits,
        prices=NO_PRICES,
    )


class _Way(NamedTuple):
    """A placement of a job."""

    slots: int
    """Execution time alone."""
    alone: int
    """Iterations per slot alone."""
    workers: Mapping[int, int]
    links: tuple[int, ...]
    reach: float
    """The most in Gbit/s that network cards let the ring have; inf within one server."""
    weights: tuple[int, ...]
    """What the ring counts on its links, a column for each class; see `Options.weight`."""


def _rated(
    instance: Instance, tree: Topology, arrays: Arrays, j: int, ways: Sequence[Mapping[int, int]]
) -> list[_Way]:
    """The placements of a job in which it makes progress, fast ones first."""
    pace, rule = plain_pace(instance, j), sharing_rule(instance.contention)
    rated = []
    for workers in ways:
        links = tree.links_used(workers)
        gbps = tree.lone_gbps(workers) if links else instance.cluster.intra_server_gbps
        if alone := pace.speed(len(workers), gbps):
            slots = timing.slots_needed(pace.iterations, alone)
            weights = [pace.weight(rule, len(workers), gbps, to) for to in sensitivities(instance)]
            weights += [1] * _counts_rings(instance)
            reach = tree.cards_gbps(workers)
            rated.append(_Way(slots, alone, workers, links, reach, tuple(weights)))
    return sorted(rated, key=lambda way: (way.slots, len(way.workers)))


def _counts_rings(instance: Instance) -> bool:
    """Whether rings that count nothing to some can meet them all the same."""
    return NETWORK_PRESSURES.name in used(instance)


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


def spreads(capacities: Sequence[int], gpus: int) -> Iterator[dict[int, int]]:
    """Each way to put this many workers on servers with these GPUs, by server index."""

    def further(server: int, left: int, room: int) -> Iterator[dict[int, int]]:
        if left == 0:
            yield {}
        elif left <= room:
            room -= capacities[server]
            for here in range(min(left, capacities[server]), -1, -1):
                for rest in further(server + 1, left - here, room):
                    yield {server: here, **rest} if here else rest

    return further(0, gpus, sum(capacities))
