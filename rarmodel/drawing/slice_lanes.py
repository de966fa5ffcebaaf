"""Which slices of a shared GPU a picture shows as a job's: nobody says which, so the first free."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from rarmodel.model.gpu_sharing import shares_gpus
from rarmodel.schema import Instance, Job

from .reserved import blocks


class Lane(NamedTuple):
    """Adjacent slices of a GPU.

    Attributes
    ----------
    first, slices
        Lowest index, and number.
    of
        Slices of the GPU.
    """

    first: int
    slices: int
    of: int


class Stay(NamedTuple):
    """A job holds GPUs of a server.

    Attributes
    ----------
    job
        The job; None if the instance has none of this name.
    server, gpus
        Indices of the server, and of the GPUs there.
    start, end
        From a slot until before another.
    """

    job: Job | None
    server: int
    gpus: Sequence[int]
    start: int
    end: float = inf


def slice_lanes(instance: Instance, stays: Sequence[Stay]) -> dict[tuple[int, int], list[Lane]]:
    """Lanes of the jobs that take slices, by index of the stay and of the GPU.

    A job gets the lowest slices that are free when it begins, in one lane or several. Where too few
    are free, as in a schedule that breaks (2), it is drawn over others.
    """
    if not shares_gpus(instance):
        return {}
    cluster = instance.cluster
    until: dict[tuple[int, int], list[float]] = {}
    lanes: dict[tuple[int, int], list[Lane]] = {}
    for i in sorted(range(len(stays)), key=lambda i: stays[i].start):
        job, server, gpus, start, end = stays[i]
        of = cluster.slices_of(cluster.servers[server])
        slices = None if job is None else job.slices
        for gpu in gpus:
            ends = until.setdefault((server, gpu), [-inf] * of)
            by_need = sorted(range(of), key=lambda k: (ends[k] > start, k))
            taken = sorted(by_need[: of if slices is None else slices])
            for k in taken:
                ends[k] = max(ends[k], end)
            if slices is not None:
                lanes[i, gpu] = [Lane(first, count, of) for first, count in blocks(taken)]
    return lanes
