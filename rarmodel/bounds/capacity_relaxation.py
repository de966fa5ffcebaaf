"""An instance whose capacity is relaxed at prices, for `rarmodel.bounds.gpu_prices`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import Floats, Ints
from rarmodel.model import horizon_of, lone_options, windows
from rarmodel.model.caching import once_per_instance
from rarmodel.schema import Instance

from .subgradient import CapacityRelaxation

Kinds = tuple[int, ...]
"""(servers) Which kind of server each is."""

MOST_KINDS = 24
STEP_WORK = 1_000_000
"""Offers times blocks, at most; otherwise blocks get wider."""

Offer = tuple[int, int, int]
"""Kind, GPUs and least slots of a way to hold GPUs."""


class Partition(NamedTuple):
    """The servers in kinds.

    Attributes
    ----------
    kinds
        (servers) Which kind each is.
    offers
        (jobs) What each job may hold: with a ring of w GPUs that touches a kind, it takes so many
        slots at least.
    """

    kinds: Kinds
    offers: tuple[tuple[Offer, ...], ...]


@once_per_instance
def partitions(instance: Instance) -> tuple[Partition, ...]:
    """Kinds of servers, and finer ones by the GPUs of a server.

    Servers are of one kind if they are in the same sets of `lone_options`. Where that makes too
    many kinds, those of the same type of GPU are one.
    """
    servers = instance.cluster.servers
    sets = {option.allowed for options in lone_options(instance) for option in options}
    inside: list[list[int]] = [[] for _ in servers]
    for number, allowed in enumerate(sets):
        for s in allowed:
            inside[s].append(number)
    keys: list[Sequence[object]] = [
        [tuple(numbers) for numbers in inside],
        [server.gpu_type for server in servers],
        [None] * len(servers),
    ]
    coarse = next(k for k in map(_numbered, keys) if max(k) < MOST_KINDS or len(set(k)) == 1)
    fine = _numbered([(kind, one.gpus) for kind, one in zip(coarse, servers, strict=True)])
    found = (coarse, fine) if max(coarse) < max(fine) < MOST_KINDS else (coarse,)
    return tuple(Partition(kinds, _offers(instance, kinds)) for kinds in found)


def _numbered(keys: Sequence[object]) -> Kinds:
    numbers: dict[object, int] = {}
    return tuple(numbers.setdefault(key, len(numbers)) for key in keys)


def _offers(instance: Instance, kinds: Kinds) -> tuple[tuple[Offer, ...], ...]:
    servers = instance.cluster.servers

    @cache
    def touched(allowed: frozenset[int], least: int) -> frozenset[int]:
        return frozenset(kinds[s] for s in allowed if servers[s].gpus >= least)

    found = []
    for options in lone_options(instance):
        best: dict[tuple[int, int], int] = {}
        for option in options:
            slots = option.pace.slots(option.servers, option.gbps)
            if slots is None:
                continue
            size = option.pace.size
            for kind in touched(option.allowed, size if option.servers == 1 else 1):
                best[kind, size] = min(slots, best.get((kind, size), slots))
        # A ring of more GPUs that is no faster on the same kind always pays more.
        found.append(
            tuple(
                (kind, size, slots)
                for (kind, size), slots in sorted(best.items())
                if not any(k == kind and w < size and n <= slots for (k, w), n in best.items())
            )
        )
    return tuple(found)


def relaxation_of(
    instance: Instance, partition: Partition, latest: Sequence[int], length: int
) -> CapacityRelaxation:
    """The relaxation without terms.

    Parameters
    ----------
    instance
        The problem.
    partition
        Kinds of servers, and what jobs may hold.
    latest
        (jobs) Slot by which each completes.
    length
        Slots in which GPUs cost something, about.
    """
    offers = partition.offers
    flat = [offer for each in offers for offer in each]
    blocks = max(1, min(length, STEP_WORK // max(1, len(flat))))
    width = -(-length // blocks)
    blocks = -(-length // width)
    jobs = instance.jobs
    never = np.iinfo(np.int64).max // 4
    starts = (window.start for window in windows(instance, horizon_of(instance)))
    return CapacityRelaxation(
        width=width,
        capacity=_capacity(instance, partition.kinds, width, blocks),
        offer_at=_ints([0, *accumulate(map(len, offers))]),
        size=_ints(size for _, size, _ in flat),
        slots=_ints(slots for _, _, slots in flat),
        kind=_ints(kind for kind, _, _ in flat),
        start=_ints(starts),
        last_start=_ints(never if job.running is None else 0 for job in jobs),
        end=_ints(latest),
        weight=np.zeros(len(jobs)),
        offset=_ints([0] * len(jobs)),
        shape=_ints([0] * len(jobs)),
    )


def _ints(values: Iterable[int]) -> Ints:
    return np.fromiter(values, np.int64)


def _capacity(instance: Instance, kinds: Kinds, width: int, blocks: int) -> Floats:
    """(kinds, blocks) GPU slots that jobs can hold.

    On a server of O GPUs of which n are reserved, the jobs that run since slot 0 keep what they
    hold, and others have what is left of `O − n`: at most the greater of both.
    """
    servers = instance.cluster.servers
    index = {server.name: s for s, server in enumerate(servers)}
    kept = [0] * len(servers)
    for job in instance.jobs:
        for name, gpus in (job.running.gpus if job.running else {}).items():
            kept[index[name]] += len(gpus)
    changes: dict[int, list[tuple[int, int]]] = {}
    for one in instance.cluster.reservations:
        own = changes.setdefault(index[one.server], [])
        own.append((one.start, one.gpus))
        if one.end is not None:
            own.append((one.end, -one.gpus))
    edges = np.arange(blocks + 1, dtype=np.int64) * width
    capacity = np.zeros((max(kinds) + 1, blocks))
    for s, server in enumerate(servers):
        own = sorted(changes.get(s, []))
        slots = np.array([0, *(max(0, slot) for slot, _ in own)], np.int64)
        away = np.array([0, *accumulate(gpus for _, gpus in own)], np.int64)
        left = np.maximum(server.gpus - away, kept[s])
        before = np.concatenate(([0], np.cumsum(left[:-1] * np.diff(slots))))
        at = np.searchsorted(slots, edges, side="right") - 1
        capacity[kinds[s]] += np.diff(before[at] + left[at] * (edges - slots[at]))
    return capacity
