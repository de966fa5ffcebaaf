"""The numbers of `cheapest-mix`: kinds of replicas, pieces of time, and what servers have left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import NamedTuple

from rarmodel.model.objectives import COST
from rarmodel.model.services import (
    rate_of,
    servers_of,
    share_of_gpu,
    startup_slots,
    usable,
)
from rarmodel.schema import Instance, Service, Variant
from rarmodel.schema.base import exactly
from rarmodel.schema.tenants import lineages

from .scope import Scope, once_per_scope

Key = tuple[str, str, str]
"""Service, variant, and the first server of a group of equal ones, or `s0:1` for a GPU."""


class Kind(NamedTuple):
    """Replicas of a variant on a group of servers, or on one GPU.

    Attributes
    ----------
    service, variant
        What they run.
    servers
        Indices of the group's servers.
    rate
        Requests per second that each answers, μ.
    gpus
        GPUs that each holds, as a part of one for slices.
    price
        What each costs for a slot.
    startup
        Slots before it is ready.
    on_gpu
        How many share a GPU if they are alone there; 0 for replicas that hold whole GPUs.
    gpu
        Index of the GPU on which replicas of slices are; None if nobody says which one.
    """

    service: Service
    variant: Variant
    servers: tuple[int, ...]
    rate: Fraction
    gpus: Fraction
    price: Fraction
    startup: int
    on_gpu: int
    gpu: int | None = None

    @property
    def accuracy(self) -> Fraction:
        """How good its answers are; 0 where nobody says."""
        return exactly(self.variant.accuracy or 0)


class Piece(NamedTuple):
    """Slots in which no demand and no reservation changes."""

    start: int
    end: int
    rates: dict[str, Fraction]
    """Requests per second, by service."""
    left: tuple[int, ...]
    """(servers) GPUs that neither reservations nor jobs that run at slot 0 hold."""


class Mix(NamedTuple):
    """All of them."""

    kinds: dict[Key, Kind]
    pieces: tuple[Piece, ...]
    caps: dict[str, tuple[int, frozenset[str]]]
    """By tenant with a cap: the GPUs that it leaves, and the services that count towards it."""

    spans: dict[str, tuple[int, int]]
    """By service, the first and the last piece in which something is asked."""

    def asked(self, key: Key, k: int) -> bool:
        """Whether replicas may be of use in a piece: slow ones also where nothing is asked."""
        kind = self.kinds[key]
        name = kind.service.name
        if name not in self.spans:
            return False
        first, last = self.spans[name]
        idle = first <= k <= last and kind.startup > 0
        return idle or bool(self.pieces[k].rates.get(name))

    def most(self, key: Key) -> int:
        """The most replicas of a kind that are of use: with them all that it helps is enough."""
        kind = self.kinds[key]
        least = kind.service.min_accuracy
        levels = {
            other.accuracy
            for c, other in self.kinds.items()
            if c[0] == key[0] and least is not None
        }
        needs = [1 / kind.rate]
        for level in levels:
            lacking = exactly(least or 0) - level
            if lacking > 0 and kind.accuracy > level:
                needs.append(lacking / ((kind.accuracy - level) * kind.rate))
        rates = (piece.rates.get(key[0], Fraction(0)) for piece in self.pieces)
        most = ceil(max(needs) * max(rates))
        return most if kind.gpu is None else min(most, kind.on_gpu)

    def before(self, key: Key, k: int) -> int:
        """Slots for which a replica holds GPUs before it is ready from a piece on.

        One whose start-up would begin before slot 0 is up from slot 0 on.
        """
        return min(self.kinds[key].startup, self.pieces[k].start)


@once_per_scope
def mix_of(scope: Scope) -> Mix:
    """The numbers of a scope's instance."""
    return numbers_of(scope.instance)


@once_per_scope
def slots_of(scope: Scope) -> Mix:
    """The same by single servers and slots: jobs beside them begin and end in any slot.

    Replicas of slices are by GPU.
    """
    instance = scope.instance
    pieces = tuple(
        piece._replace(start=t, end=t + 1)
        for piece in _pieces(instance)
        for t in range(piece.start, piece.end)
    )
    return Mix(dict(_singles(instance)), pieces, _caps(instance), _spans(pieces))


@once_per_scope
def singles_of(scope: Scope) -> Mix:
    """The same by single servers, and by GPU where replicas hold slices, in pieces of time."""
    instance = scope.instance
    return numbers_of(instance)._replace(kinds=dict(_singles(instance)))


def label_on(server: str, gpu: int | None) -> str:
    """The last part of the key of a kind on a server, or on one of its GPUs.

    A variant holds slices or whole GPUs, so no two of its labels are equal.
    """
    return server if gpu is None else f"{server}:{gpu}"


def _singles(instance: Instance) -> Iterator[tuple[Key, Kind]]:
    """The kinds by single servers, and by GPU where they hold slices."""
    for (service, variant, _), kind in _kinds(instance).items():
        for s in kind.servers:
            server = instance.cluster.servers[s]
            for gpu in range(server.gpus) if kind.on_gpu else (None,):
                key = service, variant, label_on(server.name, gpu)
                yield key, kind._replace(servers=(s,), gpu=gpu)


Numbers = Callable[[Scope], Mix]
"""Kinds of replicas and pieces of time: `mix_of`, `singles_of`, or `slots_of` beside jobs."""


def numbers_of(instance: Instance) -> Mix:
    """The numbers of an instance."""
    pieces = _pieces(instance)
    return Mix(_kinds(instance), pieces, _caps(instance), _spans(pieces))


def _spans(pieces: Sequence[Piece]) -> dict[str, tuple[int, int]]:
    spans: dict[str, tuple[int, int]] = {}
    for k, piece in enumerate(pieces):
        for name, rate in piece.rates.items():
            if rate:
                spans[name] = spans.get(name, (k, k))[0], k
    return spans


def _kinds(instance: Instance) -> dict[Key, Kind]:
    cluster, prices = instance.cluster, COST.prices_of(instance)
    seconds = instance.time.slot_seconds
    found: dict[Key, Kind] = {}
    for service in instance.services:
        rates = usable(service)
        for variant in service.variants:
            groups: dict[tuple[object, ...], list[int]] = {}
            for s in servers_of(instance, service, variant) if variant.name in rates else ():
                server = cluster.servers[s]
                alike = prices[s], cluster.slices_of(server), cluster.memory_gb_of(server)
                lists = tuple(
                    server.name in one.servers for one in instance.services if one.servers
                )
                groups.setdefault((*alike, server.gpu_type, lists), []).append(s)
            for some in groups.values():
                held = share_of_gpu(instance, variant, some[0])
                found[service.name, variant.name, cluster.servers[some[0]].name] = Kind(
                    *(service, variant, tuple(some), rates[variant.name]),
                    *(held, held * prices[some[0]], startup_slots(variant, seconds)),
                    _on_gpu(instance, variant, some[0]),
                )
    return found


def _on_gpu(instance: Instance, variant: Variant, server: int) -> int:
    """How many replicas of slices share a GPU: by its slices, and by its memory."""
    if variant.slices is None:
        return 0
    cluster = instance.cluster
    there = cluster.servers[server]
    most = cluster.slices_of(there) // variant.slices
    memory = cluster.memory_gb_of(there)
    if memory is not None and variant.memory_gb:
        most = min(most, int(exactly(memory) / exactly(variant.memory_gb)))
    return most


def _pieces(instance: Instance) -> tuple[Piece, ...]:
    demands = [entry for service in instance.services for entry in service.demand]
    last = max((entry.end for entry in demands), default=0)
    cuts = {0, last, *(slot for entry in demands for slot in (entry.start, entry.end))}
    for one in instance.cluster.reservations:
        cuts |= {slot for slot in (one.start, one.end) if slot is not None and slot < last}
    running = running_gpus(instance)
    return tuple(
        Piece(start, end, _rates(instance.services, start), _left(instance, running, start))
        for start, end in pairwise(sorted(cuts))
    )


def running_gpus(instance: Instance) -> Counter[str]:
    """By server, GPUs that jobs hold at slot 0."""
    gpus = {
        (name, gpu)
        for job in instance.jobs
        if job.running is not None
        for name, indices in job.running.gpus.items()
        for gpu in indices
    }
    return Counter(name for name, _ in gpus)


def _rates(services: Sequence[Service], slot: int) -> dict[str, Fraction]:
    return {
        service.name: rate_of(entry)
        for service in services
        for entry in service.demand
        if entry.start <= slot < entry.end
    }


def _left(instance: Instance, running: Counter[str], slot: int) -> tuple[int, ...]:
    cluster = instance.cluster
    away: Counter[str] = Counter()
    for one in cluster.reservations:
        if one.start <= slot and (one.end is None or slot < one.end):
            away[one.server] += one.gpus
    return tuple(
        max(0, server.gpus - away[server.name] - running[server.name]) for server in cluster.servers
    )


def _caps(instance: Instance) -> dict[str, tuple[int, frozenset[str]]]:
    above = lineages(instance.tenants)
    found = {}
    for tenant in instance.tenants:
        below = frozenset(
            one.name
            for one in instance.services
            if one.tenant is not None and tenant.name in above[one.tenant]
        )
        if tenant.gpus is not None and below:
            held = sum(
                sum(map(len, job.running.gpus.values()))
                for job in instance.jobs
                if job.running is not None
                and job.tenant is not None
                and tenant.name in above[job.tenant]
            )
            found[tenant.name] = max(0, tenant.gpus - held), below
    return found
