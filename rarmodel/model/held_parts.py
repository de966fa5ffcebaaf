"""How much of GPUs jobs hold, in whole numbers: for all that counts GPUs held (section 15)."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from rarmodel.schema import Instance

from .caching import once_per_instance
from .gpu_sharing import fraction_held, shares_gpus
from .lone import allowed_servers


class HeldParts(NamedTuple):
    """Parts of a GPU that a worker of each job holds.

    Attributes
    ----------
    of_gpu
        Parts that a GPU has: 1 where no GPU is shared.
    least, most
        (jobs) Parts that a worker holds, over the servers that its job may use. They differ only
        where these divide their GPUs unlike.
    """

    of_gpu: int
    least: tuple[int, ...]
    most: tuple[int, ...]


@once_per_instance
def held_parts(instance: Instance) -> HeldParts:
    """Parts of GPUs such that each job holds a whole number of them on each server."""
    if not shares_gpus(instance):
        whole = (1,) * len(instance.jobs)
        return HeldParts(1, whole, whole)
    parts = instance.cluster.parts
    least, most = [parts] * len(instance.jobs), [parts] * len(instance.jobs)
    slices = [instance.cluster.slices_of(server) for server in instance.cluster.servers]

    @cache  # Many jobs may use the same servers, and these may be many.
    def slices_there(servers: frozenset[int]) -> list[int]:
        return sorted({slices[s] for s in servers})

    for j, job in enumerate(instance.jobs):
        if job.slices is not None and (there := slices_there(allowed_servers(instance)[j])):
            least[j], most[j] = (job.slices * parts // there[end] for end in (-1, 0))
    return HeldParts(parts, tuple(least), tuple(most))


def parts_on(instance: Instance, job: int, server: int, of_gpu: int) -> int:
    """Parts that a worker of a job holds on a server, of so many that a GPU has."""
    return int(fraction_held(instance, job, server) * of_gpu)
