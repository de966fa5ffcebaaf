"""How fast jobs are beside others on a GPU, as parts of what they do alone (section 15).

An iteration of job j takes `1/a_j` GPU slots alone, with `a_j` the most iterations that a worker
stands for in a slot: `φ_jw/w` for rings of w workers, in the best placement. With loads L_u of
others on the GPUs u of its ring, the job does at most `φ_jw(max L_u)` iterations, and so at most
the sum over its GPUs of `φ_jw(L_u)/w`, as φ does not rise with the load. So beside a load L a GPU
that a job is on stands for at most `ρ_j(L) = max φ_jw(L)/(w·a_j)` GPU slots of its work: the
greatest over the placements that may use the GPU's server.

Links that rings share are left out. Loads are rounded down, and parts up. All of this only makes
a GPU seem better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from rarmodel.engine.arrays import Ints
from rarmodel.model import lone_options
from rarmodel.model.gpu_sharing import greatest_loads, losses, memory_units, slowdown
from rarmodel.model.lone import Lone
from rarmodel.model.sharing_rule import UNITS
from rarmodel.model.timing import MAX_SPEED, SPEED_GUARD
from rarmodel.schema import Instance
from rarmodel.schema.base import MAX_INTEGER

from .gpu_sets import Candidates

PARTS = 2**27
"""Parts of a GPU slot."""
LONG = 2**62
"""Whole numbers below it are computed in 64 bits."""
MOST_ITEMS = 600
"""With more kinds of jobs, those that differ by their iterations alone are one."""
MOST_GPU_KINDS, MOST_WORTHS = 8, 2_000
"""With more kinds of GPUs, or more items times kinds, some GPUs are taken as alike."""
MOST_CELLS, MOST_LEVELS, FEWEST_LEVELS = 2**21, 4096, 128
"""Loads at which speeds are known: of all items together, and of each."""
GREATEST_LOAD = 16 * UNITS
"""Above it jobs count as if they were that slow: no more than a seventeenth is left of them."""


class GpuKind(NamedTuple):
    """GPUs that are alike to all jobs.

    Attributes
    ----------
    gpus
        How many there are.
    room
        Slices and memory of each.
    those
        The jobs, alike ones as one item. One that may not use these GPUs takes too many slices.
    parts
        (items, levels) ρ in `PARTS`, beside others whose load is the level times `2^shift`.
    shift
        As above.
    """

    gpus: int
    room: tuple[int, int]
    those: Candidates
    parts: Ints
    shift: int


class Rates(NamedTuple):
    """How fast jobs are beside others.

    Attributes
    ----------
    item
        (jobs) Which item each is.
    alone
        (items) The most iterations that a worker stands for in a slot, a.
    kinds
        The GPUs.
    """

    item: tuple[int, ...]
    alone: tuple[Fraction, ...]
    kinds: tuple[GpuKind, ...]


def companion_rates(instance: Instance) -> Rates:
    """How fast the jobs of an instance are beside others."""
    pace_of = cache(_without_iterations)
    options = [tuple(map(pace_of, own)) for own in lone_options(instance)]
    item = _alike_jobs(instance, options)
    first = np.unique(item, return_index=True)[1].tolist()
    alone = tuple(max(map(_worker_rate, options[j])) for j in first)
    loads, shift = _loads(instance, options, len(first))
    most = min(MOST_GPU_KINDS, max(1, MOST_WORTHS // len(first)))
    lost, memory, number = losses(instance), memory_units(instance), np.bincount(item)
    cluster = instance.cluster
    kinds = []
    for some in _alike_servers(instance, options, most):
        slices = max(cluster.slices_of(cluster.servers[s]) for s in some)
        room = slices, max(_memory(memory.of_server[s]) for s in some)
        taken, parts = [], np.zeros((len(first), len(loads)), np.int64)
        for place, j in enumerate(first):
            here = [one for one in options[j] if any(_on(instance, one, s) for s in some)]
            taken.append((instance.jobs[j].slices or slices) if here else slices + 1)
            for one in here:
                parts[place] = np.maximum(parts[place], _parts(one, loads, alone[place]))
        those = Candidates(
            np.array(lost.units, np.int64),
            _ints(lost.row[j] for j in first),
            _ints(lost.column[j] for j in first),
            _ints(taken),
            _ints(memory.of_job[j] for j in first),
            number.astype(np.int64),
        )
        gpus = sum(cluster.servers[s].gpus for s in some)
        kinds.append(GpuKind(gpus, room, those, parts, shift))
    return Rates(item, alone, tuple(kinds))


def _alike_jobs(instance: Instance, options: Sequence[tuple[Lone, ...]]) -> tuple[int, ...]:
    """(jobs) The item of each, by first appearance: alike jobs have as many iterations as well.

    Where that makes too many items, they need not.
    """
    lost, memory = losses(instance), memory_units(instance)
    keys = [
        (options[j], lost.column[j], lost.row[j], job.slices, memory.of_job[j])
        for j, job in enumerate(instance.jobs)
    ]
    each = [(key, job.iterations_left) for key, job in zip(keys, instance.jobs, strict=True)]
    some: Sequence[object] = each if len(set(each)) <= MOST_ITEMS else keys
    numbers = {key: number for number, key in enumerate(dict.fromkeys(some))}
    return tuple(numbers[key] for key in some)


def _loads(instance: Instance, options: Sequence[tuple[Lone, ...]], items: int) -> tuple[Ints, int]:
    """(levels) Loads at which speeds are known: multiples of a power of 2, and its exponent."""
    coarse = any(one.pace.overlap != 1.0 for own in options for one in own)
    levels = FEWEST_LEVELS if coarse else min(MOST_LEVELS, MOST_CELLS // items)
    highest = min(max(greatest_loads(instance)), GREATEST_LOAD)
    shift = max(0, highest.bit_length() - max(FEWEST_LEVELS, levels).bit_length() + 1)
    return np.arange((highest >> shift) + 1, dtype=np.int64) << shift, shift


def _ints(numbers: Iterable[int]) -> Ints:
    return np.fromiter(numbers, np.int64)


def _memory(of_server: int | None) -> int:
    return MAX_INTEGER if of_server is None else of_server


def _without_iterations(one: Lone) -> Lone:
    return one._replace(pace=one.pace._replace(iterations=0))


def _worker_rate(one: Lone) -> Fraction:
    return Fraction(one.pace.speed(one.servers, one.gbps), one.pace.size)


def _on(instance: Instance, one: Lone, server: int) -> bool:
    """Whether a ring that is placed so may use a server."""
    least = one.pace.size if one.servers == 1 else 1
    return server in one.allowed and instance.cluster.servers[server].gpus >= least


def _alike_servers(
    instance: Instance, options: Sequence[tuple[Lone, ...]], most: int
) -> list[tuple[int, ...]]:
    """Servers whose GPUs are alike to all jobs; if these are more than so many, by less."""
    cluster, memory = instance.cluster, memory_units(instance).of_server
    slices = [*map(cluster.slices_of, cluster.servers)]
    distinct = {
        (one.allowed, one.pace.size if one.servers == 1 else 1): one
        for own in set(options)
        for one in own
    }
    by: list[Callable[[int], object]] = [
        lambda s: (slices[s], tuple(_on(instance, one, s) for one in distinct.values())),
        lambda s: (slices[s], cluster.servers[s].gpu_type),
        lambda _: None,
    ]
    for key in by:
        groups: dict[object, list[int]] = {}
        for s in range(len(cluster.servers)):
            groups.setdefault(key(s), []).append(s)
        if len(groups) <= most:
            break
    each = max(1, most // len(groups))
    return [part for some in groups.values() for part in _by_memory(memory, some, each)]


def _by_memory(
    memory: Sequence[int | None], some: Sequence[int], most: int
) -> Iterator[tuple[int, ...]]:
    """Servers in so many groups, at most, of those with about as much memory."""
    sizes = sorted({_memory(memory[s]) for s in some})
    width = -(-len(sizes) // most)
    for begin in range(0, len(sizes), width):
        there = set(sizes[begin : begin + width])
        yield tuple(s for s in some if _memory(memory[s]) in there)


def _parts(one: Lone, loads: Ints, alone: Fraction) -> Ints:
    """(loads) What a worker does beside others by what it does alone, in `PARTS`, rounded up."""
    speeds = _speeds(one, loads)
    done, of = alone.denominator, one.pace.size * alone.numerator
    if of * PARTS >= LONG:
        speeds = speeds.astype(object)
    parts: Ints = -(-speeds * done * PARTS // of)
    return parts.astype(np.int64)


def _speeds(one: Lone, loads: Ints) -> Ints:
    """(loads) Speeds of a ring beside others."""
    pace: Any = one.pace
    if pace.overlap != 1.0:
        each = (pace.beside(load).speed(one.servers, one.gbps) for load in loads.tolist())
        return _ints(each)
    # The functions of `timing` for all loads at once, to the last bit.
    seconds = pace._replace(compute=pace.compute * slowdown(loads)).seconds(one.servers, one.gbps)  # type: ignore[arg-type]
    speeds: Ints = np.floor(np.minimum(pace.slot_seconds / seconds + SPEED_GUARD, MAX_SPEED))
    return speeds.astype(np.int64)
