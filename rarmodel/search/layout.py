"""Facts about an instance for searches over packings, beside the engine's arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rarmodel.engine.arrays import Ints
from rarmodel.model import job_extremes, least_slots_by_placement
from rarmodel.schema import Instance

MANY = 2**62


class Layout(NamedTuple):
    """Facts about jobs and servers; they never change."""

    server_gpus: Ints
    """(servers) GPUs of each server, O_s."""
    size: Ints
    """(jobs) GPUs of the job, G_j."""
    least: Ints
    """(jobs) Least execution time in slots."""
    packed: Ints
    """(jobs) Least execution time in slots on one server; 0 if the job fits none."""
    by_size: Ints
    """(packed jobs) Jobs that fit a server, by descending size, then execution time."""
    size_rank: Ints
    """(jobs) Index of the job in `by_size`."""
    spreads: npt.NDArray[np.bool_]
    """(jobs) Whether the job may use several servers."""
    spreads_faster: npt.NDArray[np.bool_]
    """(jobs) Whether it fits a server, and is faster on several."""


def layout_of(instance: Instance) -> Layout:
    """Compute the layout of an instance."""
    cluster = instance.cluster
    least = least_slots_by_placement(instance)
    size = np.array([job.size for job in instance.jobs], np.int64)
    packed = np.array([slots.packed or 0 for slots in least], np.int64)
    by_size = np.flatnonzero(packed > 0)
    by_size = by_size[np.lexsort((-packed[by_size], -size[by_size]))]
    size_rank = np.zeros(len(size), np.int64)
    size_rank[by_size] = np.arange(len(by_size))
    return Layout(
        server_gpus=np.array([server.gpus for server in cluster.servers], np.int64),
        size=size,
        least=np.array([extreme.least_slots for extreme in job_extremes(instance)], np.int64),
        packed=packed,
        by_size=by_size,
        size_rank=size_rank,
        spreads=np.array([bool(slots.spread) for slots in least]),
        spreads_faster=np.array(
            [bool(one.packed and one.spread and one.spread < one.packed) for one in least]
        ),
    )
