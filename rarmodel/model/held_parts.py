"""How much of GPUs jobs hold, in whole numbers: for all that counts GPUs held (section 15)."""

from __future__ import annotations

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
    for j, job in enumerate(instance.jobs):
        if job.slices is not None:
            held = {parts_on(instance, j, s, parts) for s in allowed_servers(instance)[j]}
            least[j], most[j] = min(held, default=parts), max(held, default=parts)
    return HeldParts(parts, tuple(least), tuple(most))


def parts_on(instance: Instance, job: int, server: int, of_gpu: int) -> int:
    """Parts that a worker of a job holds on a server, of so many that a GPU has."""
    return int(fraction_held(instance, job, server) * of_gpu)
