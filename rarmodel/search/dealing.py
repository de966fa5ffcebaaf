"""The servers of a packing dealt anew, so that no ring holds its GPUs longer than it may.

A program of joined blocks forgets servers, so its packing may spread many rings, over many servers.
All start slots are kept here. Jobs exchange their GPUs with others by simulated annealing, until
each ring that spreads ends before the next job on its GPUs starts, however its servers and the
other rings on its links slow it down. Most jobs then have one server.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import log
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import Ints
from rarmodel.engine.compilation import compiled
from rarmodel.engine.random_numbers import Generator, below, fraction
from rarmodel.model import plain_pace, topology
from rarmodel.model.sharing import worst_share
from rarmodel.schema import Instance

from .block_program import Packed
from .block_sizes import kinds_of
from .lanes import (
    FIRST,
    ONE,
    OTHER,
    OTHER_FIRST,
    OTHER_PAST,
    PAST,
    Lanes,
    exchange,
    lanes_of,
    place_at,
)
from .layout import layout_of

_inner = partial(compiled, inner=True)

MOVES = 2_000_000
"""Exchanges that are tried: about a second at 160 jobs on 260 GPUs."""
ROUND = 100_000
"""Exchanges between two questions whether to stop."""
HOT, COLD = 0.5, 0.05
"""Temperature at the first exchange and at the last one, in costs."""
LATE, LATE_SLOT = 1.0, 0.3
"""What a ring costs that ends too late, and what each slot costs by which it does."""
MOST_LATE = 20
"""Later slots than these cost no more."""
SERVER, SHARED = 0.05, 0.02
"""What a further server of a ring costs, and a further ring on its fullest link."""
MOST_SERVERS, MOST_RINGS = 5, 6
"""A ring on more servers is taken as far too late; more rings on a link as these."""
NEVER = 2**31
"""Execution time of a ring that makes no progress or has too many servers."""
SPREAD_SHARE = 0.6
"""Share of the exchanges that begin at a job that spreads."""
OWN_SHARE = 0.7
"""Chance that a job that spreads gets GPUs of a server that it has already."""


class Jobs(NamedTuple):
    """The jobs of a packing."""

    size: Ints
    """(jobs) GPUs of each."""
    slots: Ints
    """(jobs, servers, rings) Execution time by the number of servers, and on these by the number of
    rings on the fullest link, itself included; the first row and column are not used."""


class Memory(NamedTuple):
    """Memory that exchanges use."""

    swaps: Ints
    """(lanes, 6) The exchanges of one step, see `exchange`."""
    spare: Ints
    """(2, jobs) Jobs that change lanes."""
    spread: Ints
    """(2, jobs) The jobs that spread, before a step and after it."""


def slots_by_spread(instance: Instance) -> Ints:
    """(jobs, servers, rings) The execution times of an instance, as in `Jobs`.

    Each job fits a server, and has one ring size and one pace. A ring uses the slowest links.
    """
    links = topology(instance.cluster).links
    gbps = min(link.gbps for link in links)
    shares = [worst_share(instance, gbps, rings) for rings in range(1, MOST_RINGS + 1)]
    slots = np.full((len(instance.jobs), MOST_SERVERS + 2, MOST_RINGS + 1), NEVER)
    for job, kind in enumerate(kinds_of(layout_of(instance))):
        slots[job, 1] = kind.slots
        pace = plain_pace(instance, job)
        for servers in range(2, min(MOST_SERVERS, kind.size) + 1):
            slots[job, servers, 1:] = [pace.slots(servers, share) or NEVER for share in shares]
    return slots


def dealt(
    gpus: Sequence[int],
    packed: Packed,
    slots: Ints,
    target: int,
    random: np.random.Generator,
    stop: Callable[[], bool],
) -> Packed | None:
    """A packing with the same starts in which no ring ends too late; None if none is found.

    Parameters
    ----------
    gpus
        (servers) GPUs of each.
    packed
        A packing in which each job has its GPUs for as long as it takes on one server.
    slots
        Execution times, see `slots_by_spread`.
    target
        Slot by which all jobs must end.
    random
        Random numbers.
    stop
        Asked again and again; if it returns True, none is found.
    """
    ends = packed.starts + slots[:, 1, 1]
    lanes = lanes_of(gpus, packed.starts, ends, packed.workers)
    size = lanes.workers.sum(axis=1)
    shapes = (len(lanes.server), 6), (2, len(size)), (2, len(size))
    memory = Memory(*(np.zeros(shape, np.int64) for shape in shapes))
    generator = random.integers(2**63, size=1, dtype=np.uint64)
    jobs = Jobs(size, slots)
    for first in range(0, MOVES, ROUND):
        if stop():
            return None
        if _anneal(jobs, target, lanes, memory, generator, first):
            placed = [
                {int(at): int(row[at]) for at in np.flatnonzero(row)} for row in lanes.workers
            ]
            return Packed(packed.starts, placed)
    return None


@partial(compiled, parallel=True)
def _anneal(
    jobs: Jobs, target: int, lanes: Lanes, memory: Memory, generator: Generator, first: int
) -> bool:
    """Anneal for a round, which begins with that exchange; return whether no ring ends too late."""
    spread, new_spread = memory.spread[0], memory.spread[1]
    many = _spread(lanes.servers, spread)
    cost, late = _cost(jobs, target, lanes, spread, many)
    cooling = (COLD / HOT) ** (1.0 / MOVES)
    temperature = HOT * cooling**first
    for _ in range(ROUND):
        if late == 0:
            break
        temperature *= cooling
        if fraction(generator) < SPREAD_SHARE:
            job = spread[below(generator, many)]
        else:
            job = below(generator, len(jobs.size))
        where = _server(lanes.workers[job], jobs.size[job], generator)
        count = _swaps(jobs, lanes, job, where, memory.swaps, generator)
        if count == 0:
            continue
        for index in range(count):
            exchange(lanes, memory.swaps[index], memory.spare)
        new_many = _spread(lanes.servers, new_spread)
        new, new_late = _cost(jobs, target, lanes, new_spread, new_many)
        if new - cost <= -temperature * log(fraction(generator)):
            cost, late, many = new, new_late, new_many
            spread, new_spread = new_spread, spread
            continue
        for index in range(count):
            exchange(lanes, memory.swaps[index], memory.spare)
    return late == 0


@_inner
def _server(workers: Ints, size: int, generator: Generator) -> int:
    """The server of which a job is to get GPUs."""
    where = below(generator, len(workers))
    if workers[where] < size and fraction(generator) < OWN_SHARE:
        while workers[where] == 0:
            where = below(generator, len(workers))
    return where


@_inner
def _swaps(
    jobs: Jobs, lanes: Lanes, job: int, where: int, swaps: Ints, generator: Generator
) -> int:
    """Exchanges by which a job gets GPUs of a server; return their number.

    The job gives all of its lanes on other servers, or on one of them. They are exchanged from its
    start on, either for good or until it ends.
    """
    slot, size, count = lanes.start[job], jobs.size[job], 0
    giver = lanes.server[lanes.of_job[job, below(generator, size)]]
    one_giver = below(generator, 2) == 0
    for index in range(size):
        lane = lanes.of_job[job, index]
        if lanes.server[lane] != where and (not one_giver or lanes.server[lane] == giver):
            swaps[count, ONE] = lane
            swaps[count, FIRST] = place_at(lanes, lane, slot)
            swaps[count, PAST] = lanes.many[lane]
            count += 1
    found = 0
    for lane in range(len(lanes.server)):
        if lanes.server[lane] == where:
            place = place_at(lanes, lane, slot)
            if place >= 0 and (place == lanes.many[lane] or lanes.job[lane, place] != job):
                swaps[found, OTHER] = lane
                swaps[found, OTHER_FIRST] = place
                swaps[found, OTHER_PAST] = lanes.many[lane]
                found += 1
    if found < count:
        return 0
    _group(lanes, swaps, found, count, generator)
    if below(generator, 2) == 0 and _between(lanes, swaps, count, lanes.end[job]):
        for index in range(count):
            for lane, past in ((ONE, PAST), (OTHER, OTHER_PAST)):
                swaps[index, past] = place_at(lanes, swaps[index, lane], lanes.end[job])
    return count


@_inner
def _group(lanes: Lanes, swaps: Ints, found: int, count: int, generator: Generator) -> None:
    """Choose so many of the lanes found, by chance, but such that run the same job next together.

    Else an exchange would nearly always tear a job apart.
    """
    chosen = 0
    while chosen < count:
        _bring(swaps, chosen, chosen + below(generator, found - chosen))
        following = _next_job(lanes, swaps, chosen)
        chosen += 1
        for index in range(chosen, found):
            if chosen < count and _next_job(lanes, swaps, index) == following:
                _bring(swaps, chosen, index)
                chosen += 1


@_inner
def _bring(swaps: Ints, index: int, other: int) -> None:
    """Exchange two of the lanes found."""
    for column in (OTHER, OTHER_FIRST, OTHER_PAST):
        held = swaps[index, column]
        swaps[index, column] = swaps[other, column]
        swaps[other, column] = held


@_inner
def _next_job(lanes: Lanes, swaps: Ints, index: int) -> int:
    """The job that one of the lanes found runs next; −1 if none."""
    lane, place = swaps[index, OTHER], swaps[index, OTHER_FIRST]
    return int(lanes.job[lane, place]) if place < lanes.many[lane] else -1


@_inner
def _between(lanes: Lanes, swaps: Ints, count: int, slot: int) -> bool:
    """Whether all of the chosen lanes are between jobs at a slot."""
    between = 0
    while between < count and place_at(lanes, swaps[between, OTHER], slot) >= 0:
        between += 1
    return between == count


@_inner
def _spread(servers: Ints, spread: Ints) -> int:
    """Write down the jobs that spread; return their number."""
    many = 0
    for job in range(len(servers)):
        if servers[job] > 1:
            spread[many] = job
            many += 1
    return many


@_inner
def _cost(jobs: Jobs, target: int, lanes: Lanes, spread: Ints, many: int) -> tuple[float, int]:
    """Cost of the jobs that spread, and how many of them end too late."""
    cost, late = 0.0, 0
    for index in range(many):
        job = spread[index]
        servers, rings = lanes.servers[job], 1
        for where in range(lanes.workers.shape[1]):
            if lanes.workers[job, where]:
                rings = max(rings, _rings(lanes, spread, many, job, where))
        used, shared = min(servers, MOST_SERVERS + 1), min(rings, MOST_RINGS)
        end = lanes.start[job] + jobs.slots[job, used, shared]
        past = end - _until(jobs, target, lanes, job)
        cost += SERVER * (servers - 1) + SHARED * (rings - 1)
        if past > 0:
            cost += LATE + LATE_SLOT * min(past, MOST_LATE)
            late += 1
    return cost, late


@_inner
def _rings(lanes: Lanes, spread: Ints, many: int, job: int, where: int) -> int:
    """Rings on the link of a server while a job runs there, itself included.

    Slow ones count until they would end on one server. The engine knows better.
    """
    rings = 0
    for index in range(many):
        other = spread[index]
        together = lanes.start[other] < lanes.end[job] and lanes.start[job] < lanes.end[other]
        rings += together and lanes.workers[other, where] > 0
    return rings


@_inner
def _until(jobs: Jobs, target: int, lanes: Lanes, job: int) -> int:
    """Slot at which the first of a job's lanes is needed by another job."""
    until = target
    for index in range(jobs.size[job]):
        lane, place = lanes.of_job[job, index], 0
        while lanes.job[lane, place] != job:
            place += 1
        if place + 1 < lanes.many[lane]:
            until = min(until, lanes.start[lanes.job[lane, place + 1]])
    return until
