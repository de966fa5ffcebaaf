"""Who is on which GPU, where jobs may share them: what is left of it, and what sharing costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from math import inf
from typing import NamedTuple

from rarmodel.model.caching import once_per_instance
from rarmodel.model.gpu_sharing import (
    fraction_held,
    losses,
    measured_slowdowns,
    memory_units,
    slices_taken,
    slowdown,
)
from rarmodel.model.usage_limits import limits_of_jobs
from rarmodel.schema import Instance

from .arriving_jobs import Jobs
from .supplies import Supplies

Gpus = Mapping[int, tuple[int, ...]]
"""GPUs of a ring by server: their indices, ascending."""
Gpu = tuple[int, int]
"""A server, and a GPU of it."""


def each_gpu(gpus: Gpus) -> Iterator[Gpu]:
    """The GPUs one by one."""
    return ((server, gpu) for server, some in gpus.items() for gpu in some)


@once_per_instance
def kept_beside(instance: Instance) -> tuple[float, ...]:
    """(jobs) The part of its speed that a job keeps beside one other on a GPU, in the mean.

    It is the mean over the kinds beside which the job's own was measured. A job of no such kind
    counts as beside one of pressure 1. Speed is that of the passes: exchange does not slow down.
    """
    by_kind: dict[str, list[float]] = {}
    for (kind, _), slowed in measured_slowdowns(instance).items():
        by_kind.setdefault(kind, []).append(1.0 / slowed)
    mean = {kind: sum(parts) / len(parts) for kind, parts in by_kind.items()}
    return tuple(mean.get(job.kind or "", 1.0 / (1.0 + job.sensitivity)) for job in instance.jobs)


class Census(NamedTuple):
    """How many GPUs of a server are in use.

    Attributes
    ----------
    kept
        GPUs with a job that runs at slot 0: reservations leave them to it.
    used
        GPUs with other jobs alone: reservations leave so many less.
    firm
        GPUs with other jobs that never give way.
    """

    kept: int
    used: int
    firm: int


class Occupation:
    """Jobs on GPUs, by number in order of arrival.

    Slices and memory of the workers on a GPU fit into it (section 15), the GPUs that jobs use into
    what reservations leave, and what else jobs use into resources and caps of tenants. A job that
    never gives way takes nothing that might be away before it completes.

    Parameters
    ----------
    instance, jobs
        The problem, and its jobs.
    supplies
        What there is of servers and limits; it changes as time goes on.

    Attributes
    ----------
    at
        The GPUs of each job that has some.
    """

    def __init__(self, instance: Instance, jobs: Jobs, supplies: Supplies) -> None:
        self._instance, self._jobs, self._supplies = instance, jobs, supplies
        self._reserved = bool(instance.cluster.reservations)
        self._now = 0
        servers = instance.cluster.servers
        memory = memory_units(instance)
        self._index: list[int] = jobs.index.tolist()
        self._losses = losses(instance)
        self._memory_of = memory.of_job
        self._slices = [[instance.cluster.slices_of(one)] * one.gpus for one in servers]
        self._memory = [
            [size] * one.gpus for one, size in zip(servers, memory.of_server, strict=True)
        ]
        self._users: list[list[tuple[int, ...]]] = [[()] * one.gpus for one in servers]
        self._uses = limits_of_jobs(instance)
        self._kept: set[int] = set()
        self.at: dict[int, Gpus] = {}

    def copy(self) -> Occupation:
        """Another one of the same state, which changes by itself."""
        found = object.__new__(Occupation)
        found.__dict__.update(self.__dict__)
        found._slices = [[*one] for one in self._slices]
        found._memory = [[*one] for one in self._memory]
        found._users = [[*one] for one in self._users]
        found._kept, found.at = set(self._kept), dict(self.at)
        return found

    def take(self, k: int, gpus: Gpus, *, kept: bool = False) -> None:
        """A job holds GPUs from now on; `kept` if it ran there at slot 0."""
        self.at[k] = gpus
        if kept:
            self._kept.add(k)
        self._change(k, gpus, 1)
        for server, gpu in each_gpu(gpus):
            self._users[server][gpu] = (*self._users[server][gpu], k)

    def give(self, k: int) -> None:
        """A job holds its GPUs no longer."""
        gpus = self.at.pop(k)
        self._kept.discard(k)
        self._change(k, gpus, -1)
        for server, gpu in each_gpu(gpus):
            self._users[server][gpu] = tuple(o for o in self._users[server][gpu] if o != k)

    def on(self, gpu: Gpu) -> tuple[int, ...]:
        """The jobs on a GPU."""
        return self._users[gpu[0]][gpu[1]]

    def beside(self, gpus: Gpus) -> set[int]:
        """The jobs on some GPUs."""
        return {k for gpu in each_gpu(gpus) for k in self.on(gpu)}

    def unused(self, server: int) -> int:
        """GPUs of a server on which nobody is."""
        return self._users[server].count(())

    def fits(self, k: int, gpu: Gpu) -> bool:
        """Whether a worker of a job fits onto a GPU."""
        server, index = gpu
        j = self._index[k]
        left = self._memory[server][index]
        return slices_taken(self._instance, j, server) <= self._slices[server][index] and (
            left is None or self._memory_of[j] <= left
        )

    def fit_together(self, some: Iterable[int], server: int) -> bool:
        """Whether workers of some jobs fit together onto one empty GPU of a server."""
        rows = [self._index[k] for k in some]
        cluster, memory = self._instance.cluster, memory_units(self._instance).of_server[server]
        slices = sum(slices_taken(self._instance, j, server) for j in rows)
        needed = sum(self._memory_of[j] for j in rows)
        return slices <= cluster.slices_of(cluster.servers[server]) and (
            memory is None or needed <= memory
        )

    def fit(self, k: int, gpus: Gpus, *, kept: bool = False) -> bool:
        """Whether a job fits onto all of some GPUs, and into what is left of all limits.

        `kept` if it runs there from slot 0 on: then only the others must fit beside it.
        """
        if not all(self.fits(k, gpu) for gpu in each_gpu(gpus)):
            return False
        if not kept:
            listed = [*each_gpu(gpus)]
            return len(self.unreserved(k, listed)) == len(listed) and self.within_limits(k, gpus)
        beside = self.copy()
        beside.take(k, gpus, kept=True)
        return not any(beside.too_many(server) for server in gpus) and all(
            beside.left(limit) >= 0 for limit in self._amounts(k, gpus)
        )

    def within_limits(self, k: int, gpus: Gpus) -> bool:
        """Whether what a job would use there is left of resources and of caps of tenants."""
        amounts = self._amounts(k, gpus)
        if any(amount > self.left(limit) for limit, amount in amounts.items()):
            return False
        if not self._stays_for_good(k):
            return True
        limits = self._supplies.least(self._until(k))[len(self._users) :].tolist()
        return all(
            amount <= self._left_of(limits[limit], limit, firm=True)
            for limit, amount in amounts.items()
        )

    def unreserved(self, k: int, some: Iterable[Gpu]) -> list[Gpu]:
        """Those of some GPUs that a job may take at once, beside what is reserved of servers.

        Of a server the first ones are taken: on which others are already, or which nobody needs.
        """
        if not self._reserved:
            return [*some]
        room: dict[int, tuple[float, float]] = {}
        found = []
        for server, gpu in some:
            if server not in room:
                room[server] = self._room(k, server)
            now, for_good = room[server]
            others = self.on((server, gpu))
            more, firm = not others, not any(map(self._is_firm, others))
            if (now > 0 or not more) and (for_good > 0 or not firm):
                room[server] = now - more, for_good - firm
                found.append((server, gpu))
        return found

    def idle(self, server: int) -> int:
        """GPUs of a server on which nobody is, and that are not reserved."""
        unused = self.unused(server)
        if not self._reserved:
            return unused
        there = self._census(server)
        return max(0, min(unused, self._unreserved(server, there) - there.used))

    def too_many(self, server: int) -> int:
        """GPUs that jobs use of a server beyond what is not reserved."""
        if not self._reserved:
            return 0
        there = self._census(server)
        return max(0, there.used - self._unreserved(server, there))

    def may_leave(self, server: int) -> Iterator[tuple[int, ...]]:
        """The jobs on each GPU of a server that all of them would leave for a reservation."""
        may = self._jobs.may_stop
        for some in self._users[server]:
            if some and not self._kept.intersection(some) and all(may[k] for k in some):
                yield some

    def users_of(self, limit: int) -> list[int]:
        """The jobs that use some of a limit, and would give way."""
        may = self._jobs.may_stop
        return [
            k
            for k, gpus in self.at.items()
            if may[k] and k not in self._kept and self._amounts(k, gpus).get(limit)
        ]

    def go_to(self, slot: int) -> None:
        """Time goes on to a slot."""
        self._now = slot

    def spare(self, gpu: Gpu) -> int:
        """Slices of a GPU that nobody has."""
        return self._slices[gpu[0]][gpu[1]]

    def load(self, k: int, others: Iterable[int]) -> int:
        """What others on a GPU of a job count to it, in `UNITS`."""
        j = self._index[k]
        return sum(self._losses.of(j, self._index[other]) for other in others if other != k)

    def cost(self, k: int, gpu: Gpu) -> float:
        """What a job on a GPU costs: parts of speeds, its own below 1 and what others lose.

        Speeds count as parts of those alone. Sharing is worth it below 1: the job would then have
        more than the others lose.
        """
        others = self.on(gpu)
        if not others:
            return 0.0
        both = (*others, k)
        lost = sum(
            1.0 / slowdown(self.load(o, others)) - 1.0 / slowdown(self.load(o, both))
            for o in others
        )
        return lost + 1.0 - 1.0 / slowdown(self.load(k, others))

    def gpus_held(self, k: int, gpus: Gpus) -> Fraction:
        """GPUs that a job holds there: a worker of some slices holds so much of one."""
        j = self._index[k]
        return sum(
            (len(some) * fraction_held(self._instance, j, s) for s, some in gpus.items()),
            Fraction(0),
        )

    def left(self, limit: int) -> int:
        """What is left of a limit, of which those who ran at slot 0 keep what they have."""
        return self._left_of(int(self._supplies.there[len(self._users) + limit]), limit)

    def _left_of(self, capacity: int, limit: int, *, firm: bool = False) -> int:
        """The same of a capacity; with `firm` but for jobs that give way."""
        used = [0, 0]
        for k, gpus in self.at.items():
            if k in self._kept or not firm or self._is_firm(k):
                used[k in self._kept] += self._amounts(k, gpus).get(limit, 0)
        others, kept = used
        return max(0, capacity - kept) - others

    def _is_firm(self, k: int) -> bool:
        """Whether a job never gives way, and reservations do not leave its GPUs to it."""
        return k not in self._kept and not self._jobs.may_stop[k]

    def _stays_for_good(self, k: int) -> bool:
        """Whether a job must look ahead at what will be away."""
        return not self._jobs.may_stop[k] and self._supplies.may_fall

    def _until(self, k: int) -> int:
        """The slot until which a job that begins now runs at most."""
        return self._now + int(self._jobs.most[k])

    def _census(self, server: int) -> Census:
        kept = used = firm = 0
        for some in self._users[server]:
            if not some:
                continue
            has_kept = not self._kept.isdisjoint(some)
            kept, used = kept + has_kept, used + (not has_kept)
            firm += any(map(self._is_firm, some))
        return Census(kept, used, firm)

    def _unreserved(self, server: int, there: Census) -> int:
        """GPUs of a server that are not reserved, but for those of jobs that run at slot 0."""
        return max(0, int(self._supplies.there[server]) - there.kept)

    def _room(self, k: int, server: int) -> tuple[float, float]:
        """GPUs of a server that a job may use beyond those in use now; and in use for good."""
        there = self._census(server)
        now = self._unreserved(server, there) - there.used
        if self._jobs.may_stop[k]:
            return now, inf
        least = int(self._supplies.least(self._until(k))[server])
        # A GPU may be one of a job that runs at slot 0 as well: then it counts twice until then.
        return now, max(0, least - there.kept) - there.firm

    def _amounts(self, k: int, gpus: Gpus) -> dict[int, int]:
        """What a job uses of each limit there."""
        uses = self._uses[self._index[k]]
        if not uses:
            return {}
        workers = {server: len(some) for server, some in gpus.items()}
        return {limit: use.on(workers) for limit, use in uses.items()}

    def _change(self, k: int, gpus: Gpus, sign: int) -> None:
        j = self._index[k]
        for server, gpu in each_gpu(gpus):
            self._slices[server][gpu] -= sign * slices_taken(self._instance, j, server)
            left = self._memory[server][gpu]
            if left is not None:
                self._memory[server][gpu] = left - sign * self._memory_of[j]
