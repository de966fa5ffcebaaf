"""Servers and jobs, as packings need them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import Ints
from rarmodel.model import job_extremes, least_slots_by_placement
from rarmodel.model.caching import once_per_instance
from rarmodel.schema import Instance

MANY = 2**62
"""A slot later than all others."""


class Layout(NamedTuple):
    """Servers and jobs; they never change."""

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

    @property
    def nests(self) -> bool:
        """Whether every job is best on one server, and sizes divide one another."""
        sizes = np.unique(self.size)
        best_alone = bool((self.packed == self.least).all())
        return best_alone and not (sizes[1:] % sizes[:-1]).any()

    @property
    def spreads_faster(self) -> bool:
        """Whether some job fits a server, and is faster on several."""
        return bool((self.packed > self.least).any())

    @property
    def jobs_per_server(self) -> float:
        """Number of jobs for each server."""
        return len(self.size) / len(self.server_gpus)

    @property
    def mostly_packed(self) -> bool:
        """Whether jobs that fit a server are at least half of the work."""
        work = self.size * self.least.astype(np.float64)
        return bool(work[self.packed > 0].sum() >= work.sum() / 2)

    @property
    def packed_bound(self) -> float:
        """Least makespan if every job that fits a server is packed, from jobs of a size or more."""
        fits = self.packed > 0
        return max(
            (
                float(self.packed[fits & (self.size >= size)].sum())
                / float((self.server_gpus // size).sum())
                for size in set(self.size[fits].tolist())
            ),
            default=0.0,
        )


@once_per_instance
def layout_of(instance: Instance) -> Layout:
    """Servers and jobs of an instance."""
    size = np.array([job.size for job in instance.jobs], np.int64)
    packed = np.array([slots.packed or 0 for slots in least_slots_by_placement(instance)], np.int64)
    by_size = np.flatnonzero(packed > 0)
    by_size = by_size[np.lexsort((-packed[by_size], -size[by_size]))]
    size_rank = np.zeros(len(size), np.int64)
    size_rank[by_size] = np.arange(len(by_size))
    return Layout(
        server_gpus=np.array([server.gpus for server in instance.cluster.servers], np.int64),
        size=size,
        least=np.array([extreme.least_slots for extreme in job_extremes(instance)], np.int64),
        packed=packed,
        by_size=by_size,
        size_rank=size_rank,
    )
