"""Which GPUs are idle: servers, what is reserved, what jobs hold, and the caps of tenants."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rarmodel.engine.arrays import Ints
from rarmodel.schema import Cluster

from .arriving_jobs import NOBODY, Jobs

Ring = Mapping[int, int]
"""Workers of a ring on each server that it uses, by index."""


class Room:
    """GPUs that jobs may take now.

    A job that runs at slot 0 keeps its GPUs whatever is reserved; the others have what is left.

    Attributes
    ----------
    capacity
        (servers) GPUs that are not reserved.
    idle
        (servers) GPUs that jobs may take; below 0 where they hold more than is left.
    free
        (rows of `Jobs.allowed`) Idle GPUs on the servers of each row.
    quota
        (tenants with a cap) GPUs that their jobs may still take.
    """

    def __init__(self, cluster: Cluster, jobs: Jobs) -> None:
        self._jobs = jobs
        self.capacity: Ints = np.array([server.gpus for server in cluster.servers], np.int64)
        self.idle = self.capacity.copy()
        self.free: Ints = jobs.allowed.astype(np.int64) @ self.idle
        self.quota = jobs.cap.copy()
        self._held, self._kept = np.zeros_like(self.idle), np.zeros_like(self.idle)
        self._held_by, self._kept_by = np.zeros_like(self.quota), np.zeros_like(self.quota)

    def take(self, k: int, ring: Ring, *, kept: bool = False) -> None:
        """A job holds GPUs from now on; `kept` if it ran there at slot 0."""
        self._change(k, ring, 1, kept=kept)

    def give(self, k: int, ring: Ring, *, kept: bool = False) -> None:
        """A job holds GPUs no longer."""
        self._change(k, ring, -1, kept=kept)

    def reserve(self, server: int, gpus: int) -> None:
        """So many more GPUs of a server are away; fewer if below 0."""
        self.capacity[server] -= gpus
        self._refresh(server)

    def has(self, ring: Ring) -> bool:
        """Whether a ring's GPUs are idle."""
        return all(self.idle[server] >= count for server, count in ring.items())

    def without_jobs(self) -> tuple[Ints, Ints]:
        """What `free` and `quota` would be if no job held anything."""
        free: Ints = self._jobs.allowed.astype(np.int64) @ np.maximum(self.capacity, self._kept)
        return free, np.maximum(self._jobs.cap, self._kept_by)

    def _change(self, k: int, ring: Ring, sign: int, *, kept: bool) -> None:
        on_servers = self._kept if kept else self._held
        for server, count in ring.items():
            on_servers[server] += sign * count
            self._refresh(server)
        tenant = self._jobs.tenant[k]
        if tenant != NOBODY:
            of_tenant = self._kept_by if kept else self._held_by
            of_tenant[tenant] += sign * sum(ring.values())
            left = max(0, self._jobs.cap[tenant] - self._kept_by[tenant])
            self.quota[tenant] = left - self._held_by[tenant]

    def _refresh(self, server: int) -> None:
        before = max(0, self.idle[server])
        left = max(0, self.capacity[server] - self._kept[server])
        self.idle[server] = left - self._held[server]
        self.free += self._jobs.allowed[:, server] * (max(0, self.idle[server]) - before)
