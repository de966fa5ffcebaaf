"""How fast rings are: equation (8) for every shape that a ring can have, put together once.

A shape is a ring size, the slowest type of GPU that the ring uses, and the number of servers. With
a bandwidth it gives the time of an iteration and the speed. The formula itself is in `timing`: the
verifier calls it without these shapes, and the engine compiles it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import inf
from typing import NamedTuple

from rarmodel.schema import Instance, Job
from rarmodel.schema.base import BILLION

from . import timing
from .caching import once_per_instance
from .gpu_sharing import slowdown
from .sharing_rule import (
    NO_PRESSURE,
    RingOnLinks,
    SharingRule,
    pressure_of,
    sensitivity_of,
)


class Pace(NamedTuple):
    """What an iteration of a job is made of, in one ring size on GPUs of one type.

    Attributes
    ----------
    size
        GPUs of the ring, w_j.
    bits
        Bits that a worker exchanges.
    reduction, compute
        Seconds of reduction, and of forward and backward pass.
    overhead_ms_per_server
        Milliseconds that each server used adds, ξ2.
    slot_seconds
        Length of a slot in seconds.
    iterations
        Training iterations that are left at slot 0.
    latency
        Seconds of latency in an iteration.
    overlap
        How far the exchange overlaps with the passes, γ.
    pressure, sensitivity
        How much its ring slows others down on links, and they it; see `RingOnLinks`.
    """

    size: int
    bits: float
    reduction: float
    compute: float
    overhead_ms_per_server: float
    slot_seconds: float
    iterations: int
    latency: float = 0.0
    overlap: float = 1.0
    pressure: int = NO_PRESSURE
    sensitivity: int = BILLION

    def seconds(self, servers: int, gbps: float) -> float:
        """Time of an iteration in seconds on so many servers at a bandwidth, τ_j: (8)."""
        _, bits, reduction, compute, overhead_ms, _, _, latency, overlap, *_ = self
        overhead = timing.overhead_seconds(overhead_ms, servers)
        return timing.iteration_seconds(bits, gbps, latency, reduction, overhead, compute, overlap)

    def rest(self, servers: int) -> float:
        """Seconds of an iteration without its exchange."""
        return self._replace(bits=0.0, latency=0.0).seconds(servers, 1.0)

    def beside(self, units: int) -> Pace:
        """The same beside others on its GPUs, whose greatest load is so many `UNITS`.

        What the ring counts on links is that of the pace without others.
        """
        return self._replace(compute=self.compute * slowdown(units)) if units else self

    def on_links(self, links: tuple[int, ...], servers: int, most_gbps: float = inf) -> RingOnLinks:
        """The ring on so many servers, as a user of its links.

        Parameters
        ----------
        links
            Indices of the links that it uses.
        servers
            Number of servers.
        most_gbps
            The most in Gbit/s that its network cards reach.
        """
        rest = self._replace(compute=0.0).rest(servers)
        return RingOnLinks(
            *(links, self.bits, rest, self.compute, self.latency, self.overlap, most_gbps),
            *(self.pressure, self.sensitivity),
        )

    def weight(
        self, rule: SharingRule, servers: int, gbps: float, sensitivity: int = BILLION
    ) -> int:
        """What the ring counts on links there, with a bandwidth when alone; see `RingOnLinks`."""
        return self.on_links((), servers).weight(rule, gbps, sensitivity)

    def speed(self, servers: int, gbps: float) -> int:
        """Iterations per slot there, φ_j."""
        return timing.speed(self.slot_seconds, self.seconds(servers, gbps))

    def slots(self, servers: int, gbps: float) -> int | None:
        """Slots until all that is left is done at that speed; None if the speed is 0."""
        speed = self.speed(servers, gbps)
        return timing.slots_needed(self.iterations, speed) if speed else None


_ANY_TYPE = (None,)

Paces = Mapping[tuple[int, str | None], Pace]
"""Paces of a job by ring size and type of GPU; the type is None if it makes no difference."""


@once_per_instance
def paces(instance: Instance) -> tuple[Paces, ...]:
    """(jobs) The paces of each job in all of its ring sizes on all types of GPU."""
    return tuple(each_paces(instance))


def each_paces(instance: Instance) -> Iterator[Paces]:
    """The same job by job, for those who do not keep them."""
    return (paces_of(instance, job) for job in instance.jobs)


def paces_of(instance: Instance, job: Job) -> Paces:
    """The paces of one job."""
    reduction_gbps, slot_seconds = instance.cluster.reduction_gbps, instance.time.slot_seconds
    contention = instance.contention
    return {
        (size, kind): Pace(
            size,
            timing.exchange_bits(job.gradient_mb, size),
            timing.reduction_seconds(job.gradient_mb, size, reduction_gbps),
            timing.compute_seconds(job, size, kind),
            contention.overhead_ms_per_server,
            slot_seconds,
            job.iterations_left,
            timing.latency_seconds(contention.latency_ms, size),
            contention.overlap,
            pressure_of(job),
            sensitivity_of(job),
        )
        for size in job.sizes
        for kind in job.times or _ANY_TYPE
    }


def pace(instance: Instance, job: int, size: int, types: Iterable[str | None] = ()) -> Pace:
    """The pace of a job's ring on GPUs of these types: that of its slowest worker.

    Parameters
    ----------
    instance
        The problem.
    job
        Index of the job.
    size
        Its ring size.
    types
        Types of the GPUs that it uses; they matter only to jobs with `times`.
    """
    return slowest_pace(paces(instance)[job], instance.jobs[job], size, types)


def slowest_pace(known: Paces, job: Job, size: int, types: Iterable[str | None]) -> Pace:
    """The same, from the paces of the job."""
    if job.times is None:
        return known[size, None]
    return max((known[size, kind] for kind in types), key=lambda one: one.compute)


def plain_pace(instance: Instance, job: int) -> Pace:
    """The pace of a job that has one ring size and one pace on all types of GPU."""
    return paces(instance)[job][instance.jobs[job].size, None]
