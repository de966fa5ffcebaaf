"""Who is on which GPU, where jobs may share them: what is left of it, and what sharing costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from rarmodel.model.caching import once_per_instance
from rarmodel.model.gpu_sharing import (
    fraction_held,
    losses,
    measured_slowdowns,
    memory_units,
    slices_taken,
    slowdown,
)
from rarmodel.model.usage_limits import limits_of_jobs, usage_limits
from rarmodel.schema import Instance

from .arriving_jobs import Jobs

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


class Occupation:
    """Jobs on GPUs, by number in order of arrival.

    Slices and memory of the workers on a GPU fit into it (section 15), and what jobs use into
    resources and caps of tenants, which are the same at all times.

    Parameters
    ----------
    instance, jobs
        The problem, and its jobs.

    Attributes
    ----------
    at
        The GPUs of each job that has some.
    """

    def __init__(self, instance: Instance, jobs: Jobs) -> None:
        self._instance = instance
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
        self._capacities = [limit.capacities[0] for limit in usage_limits(instance)]
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

    def fit(self, k: int, gpus: Gpus) -> bool:
        """Whether a job fits onto all of some GPUs, and into what is left of all limits."""
        return all(self.fits(k, gpu) for gpu in each_gpu(gpus)) and self.within_limits(k, gpus)

    def within_limits(self, k: int, gpus: Gpus) -> bool:
        """Whether what a job would use there is left of resources and of caps of tenants."""
        return all(
            amount <= self._left(limit)
            for limit, amount in self._amounts(k, gpus).items()
            if self._capacities[limit] is not None
        )

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

    def _left(self, limit: int) -> int:
        """What is left of a limit, of which those who ran at slot 0 keep what they have."""
        used = [0, 0]
        for k, gpus in self.at.items():
            used[k in self._kept] += self._amounts(k, gpus).get(limit, 0)
        others, kept = used
        return max(0, (self._capacities[limit] or 0) - kept) - others

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
