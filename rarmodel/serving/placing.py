"""Put replicas where they break up the fewest idle servers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby
from math import inf

from rarmodel.formulations.cheapest_mix_numbers import running_gpus
from rarmodel.model.gpu_assignment import overlapping
from rarmodel.schema import Instance
from rarmodel.schema.base import exactly

from .mix import Wanted


@dataclass
class Unit:
    """One GPU of a server that replicas hold for a while; which one is decided later.

    Attributes
    ----------
    server
        Index of the server.
    start, end
        The slots.
    replicas
        Indices of the replicas that hold it, or slices of it.
    """

    server: int
    start: int
    end: int
    replicas: list[int] = field(default_factory=list)


def place(instance: Instance, wanted: Sequence[Wanted]) -> list[Unit] | str:
    """GPUs for each replica, on one server; or which replica finds no room, in a line.

    Those that begin first are placed first, and of these the largest. A replica goes where others,
    reservations or jobs that run at slot 0 are already, to the server that it fills best. If it
    must break up an idle server, it takes the smallest that has room for all that begin with it, or
    else the largest. So among equal sizes no placement of them breaks up fewer servers. Replicas of
    slices first fill GPUs on which others are. GPUs of jobs that run at slot 0 are left to them for
    ever, since nobody knows yet when these jobs complete.
    """
    state = _Servers(instance)
    units: list[Unit] = []
    order = sorted(range(len(wanted)), key=lambda i: _urgency(wanted[i]))
    for _, some in groupby(order, key=lambda i: wanted[i].start):
        batch = list(some)
        coming = sum(wanted[i].variant.gpus for i in batch)
        for i in batch:
            one = wanted[i]
            if one.variant.slices is not None and state.share(units, wanted, i):
                coming -= 1
                continue
            server = state.best(one, coming)
            if server is None:
                return (
                    f"a replica of service {one.service.name!r}, variant {one.variant.name!r}, "
                    f"finds no server with {one.variant.gpus} idle GPUs from slot {one.start} on"
                )
            coming -= one.variant.gpus
            made = [Unit(server, one.start, one.end, [i]) for _ in range(one.variant.gpus)]
            units += made
            state.hold(made)
    return units


def as_decided(wanted: Sequence[Wanted]) -> list[Unit]:
    """GPUs for replicas whose servers are decided, where those of slices share GPUs, too."""
    units = [
        Unit(one.servers[0], one.start, one.end, [i])
        for i, one in enumerate(wanted)
        if one.gpu is None
        for _ in range(one.variant.gpus)
    ]
    on: dict[tuple[int, int], list[int]] = {}
    for i, one in enumerate(wanted):
        if one.gpu is not None:
            on.setdefault((one.servers[0], one.gpu), []).append(i)
    for (server, _), some in on.items():
        for here in overlapping(some, lambda i: (wanted[i].start, wanted[i].end)):
            end = max(wanted[i].end for i in here)
            units.append(Unit(server, wanted[here[0]].start, end, here))
    return units


def _urgency(one: Wanted) -> tuple[int, int, int]:
    return one.start, -one.variant.gpus, -(one.variant.slices or 0)


def broken_servers(instance: Instance, units: Iterable[Unit]) -> int:
    """How many servers replicas break up that are idle otherwise at slot 0 and in reservations."""
    busy = {one.server for one in instance.cluster.reservations} | set(running_gpus(instance))
    names = [server.name for server in instance.cluster.servers]
    return len({unit.server for unit in units if names[unit.server] not in busy})


class _Servers:
    """What is away of each server, and when."""

    def __init__(self, instance: Instance) -> None:
        self._cluster = instance.cluster
        servers = instance.cluster.servers
        index = {server.name: s for s, server in enumerate(servers)}
        running = running_gpus(instance)
        self._away: list[list[tuple[int, float, int]]] = [
            [(0, inf, running[server.name])] if running[server.name] else [] for server in servers
        ]
        for one in instance.cluster.reservations:
            end = inf if one.end is None else one.end
            self._away[index[one.server]].append((one.start, end, one.gpus))
        self._shared: list[Unit] = []

    def hold(self, units: Iterable[Unit]) -> None:
        """Note GPUs that replicas hold."""
        for unit in units:
            self._away[unit.server].append((unit.start, unit.end, 1))

    def free(self, server: int, start: int, end: int) -> int:
        """GPUs that are idle in all of some slots."""
        away = [one for one in self._away[server] if one[0] < end and one[1] > start]
        slots = {start, *(one[0] for one in away if one[0] > start)}
        most = max(sum(gpus for a, b, gpus in away if a <= slot < b) for slot in slots)
        return self._cluster.servers[server].gpus - most

    def best(self, one: Wanted, coming: int) -> int | None:
        """The server that a replica takes; None if none has room.

        Parameters
        ----------
        one
            The replica.
        coming
            GPUs of all replicas that begin with it and are not placed yet, its own included.
        """
        need = one.variant.gpus
        found: list[tuple[tuple[int, ...], int]] = []
        for s in one.servers:
            free = self.free(s, one.start, one.end)
            if free < need:
                continue
            busy = any(a < one.end and b > one.start for a, b, _ in self._away[s])
            if busy:
                rank: tuple[int, ...] = (0, free)
            else:  # One that was broken up at another time, and then by its size.
                whole = (0, free) if free >= coming else (1, -free)
                rank = (1, not self._away[s], *whole)
            found.append((rank, s))
        return min(found)[1] if found else None

    def share(self, units: list[Unit], wanted: Sequence[Wanted], i: int) -> bool:
        """Put a replica of slices on a GPU on which others are, if one has room for it."""
        one = wanted[i]
        for unit in self._on_shared(units, wanted):
            if unit.server not in one.servers or unit.end <= one.start:
                continue
            others = [wanted[k] for k in unit.replicas if wanted[k].end > one.start]
            if not self._fits(unit.server, [*others, one]):
                continue
            longer = one.end - unit.end
            if longer > 0 and self.free(unit.server, unit.end, one.end) < 1:
                continue
            if longer > 0:
                self._away[unit.server].append((unit.end, one.end, 1))
                unit.end = one.end
            unit.replicas.append(i)
            return True
        return False

    def _on_shared(self, units: list[Unit], wanted: Sequence[Wanted]) -> list[Unit]:
        return [u for u in units if wanted[u.replicas[0]].variant.slices is not None]

    def _fits(self, server: int, replicas: Sequence[Wanted]) -> bool:
        """Whether slices and memory of a GPU are enough for some replicas at once."""
        there = self._cluster.servers[server]
        slices = sum(one.variant.slices or 0 for one in replicas)
        memory = sum((exactly(one.variant.memory_gb or 0) for one in replicas), Fraction(0))
        most = self._cluster.memory_gb_of(there)
        small = most is None or memory <= exactly(most)
        return slices <= self._cluster.slices_of(there) and small
