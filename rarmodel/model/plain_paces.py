"""The paces of many plain jobs at once: equation (8) on arrays, with the same numbers.

Each operation on arrays does to each number what it does to one. So a `Pace` of arrays gives the
seconds of all jobs, in a small part of the time that one job after another takes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from rarmodel.schema import Instance

from . import timing
from .caching import once_per_instance
from .ring_rates import Pace

MANY = 1_000
"""Jobs of an instance from which on this is worth while."""


class Column(NamedTuple):
    """Jobs with the same ring, which may be on the same servers.

    Attributes
    ----------
    jobs
        The jobs, by index.
    pace
        Their paces: what differs from job to job is an array.
    """

    jobs: list[int]
    pace: Pace


@once_per_instance
def columns(instance: Instance) -> tuple[Column, ...]:
    """The jobs of an instance in columns; none if there are few, or some are not plain.

    Nor are there any where the exchange overlaps with the passes, which tells times apart.

    A plain job has one ring size and a batch for each GPU, takes these GPUs whole, runs alike on
    all types of GPU, and does not run at slot 0.
    """
    if len(instance.jobs) < MANY or instance.contention.overlap != 1.0:
        return ()
    kinds: dict[tuple[object, ...], list[int]] = {}
    for j, job in enumerate(instance.jobs):
        if job.times is not None or job.batch_size is None or job.running is not None:
            return ()
        if job.slices is not None:
            return ()
        kinds.setdefault((job.gpus, job.servers, job.spread, job.memory_gb), []).append(j)
    return tuple(Column(some, _pace(instance, some)) for some in kinds.values())


def _pace(instance: Instance, some: list[int]) -> Pace:
    import numpy as np  # noqa: PLC0415 - to read a file of few jobs, nobody needs it

    jobs = [instance.jobs[j] for j in some]
    size = jobs[0].size

    def each(values: list[float | None], kind: type = float) -> Any:
        return np.array(values, kind)

    gradient = each([job.gradient_mb for job in jobs])
    forward = each([job.forward_ms_per_sample for job in jobs])
    samples = each([job.batch_size for job in jobs], int)
    backward = each([job.backward_ms for job in jobs])
    return Pace(
        size=size,
        bits=timing.exchange_bits(gradient, size),
        reduction=timing.reduction_seconds(gradient, size, instance.cluster.reduction_gbps),
        compute=timing.pass_seconds(forward, samples, backward),
        overhead_ms_per_server=instance.contention.overhead_ms_per_server,
        slot_seconds=instance.time.slot_seconds,
        iterations=each([job.iterations for job in jobs], int),
        latency=timing.latency_seconds(instance.contention.latency_ms, size),
    )
