"""Which GPUs are idle, and what is left of resources and of the caps of tenants."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rarmodel.engine.arrays import Ints

from .arriving_jobs import Jobs

Ring = Mapping[int, int]
"""Workers of a ring on each server that it uses, by index."""


class Room:
    """GPUs that jobs may take now.

    A job that runs at slot 0 keeps its GPUs whatever is reserved; the others have what is left. One
    of them that may not be interrupted never gives way, so it must fit into what is left later.

    Attributes
    ----------
    capacity
        (servers) GPUs that are not reserved.
    idle
        (servers) GPUs that jobs may take; below 0 where they hold more than is left.
    free
        (rows of `Jobs.allowed`) Idle GPUs on the servers of each row.
    left
        (limits) How much jobs may still use; below 0 where they use more than there is.
    """

    def __init__(self, first: Ints, jobs: Jobs) -> None:
        self._jobs = jobs
        servers = jobs.allowed.shape[1]
        self.capacity: Ints = first[:servers].copy()
        self.idle = self.capacity.copy()
        self.free: Ints = jobs.allowed.astype(np.int64) @ self.idle
        self._there = first[servers:].copy()
        self.left = self._there.copy()
        self._held, self._kept = np.zeros_like(self.idle), np.zeros_like(self.idle)
        self._used, self._used_on = np.zeros_like(self.left), np.zeros_like(self.left)
        # Held and used by jobs that never give way, but for those that are kept.
        self._firm, self._used_firm = np.zeros_like(self.idle), np.zeros_like(self.left)

    def take(self, k: int, ring: Ring, *, kept: bool = False) -> None:
        """A job holds GPUs from now on; `kept` if it ran there at slot 0."""
        self._change(k, ring, 1, kept=kept)

    def give(self, k: int, ring: Ring, *, kept: bool = False) -> None:
        """A job holds GPUs no longer."""
        self._change(k, ring, -1, kept=kept)

    def grow(self, supply: int, amount: int) -> None:
        """There is so much more of a server, or of a limit behind them; less if below 0."""
        servers = len(self.capacity)
        if supply < servers:
            self.capacity[supply] += amount
            self._refresh(supply)
        else:
            self._there[supply - servers] += amount
            self._refresh_limit(supply - servers)

    def has(self, ring: Ring) -> bool:
        """Whether a ring's GPUs are idle."""
        return all(self.idle[server] >= count for server, count in ring.items())

    def for_good(self, least: Ints) -> tuple[Ints, Ints]:
        """What `idle` and `left` are for a job that never gives way.

        Parameters
        ----------
        least
            (supplies) The least that there will be of each while the job is there.
        """
        on_servers, limits = np.split(least, [len(self.idle)])
        idle = np.maximum(0, on_servers - self._kept) - self._firm
        left = np.maximum(0, limits - self._used_on) - self._used_firm
        return np.minimum(self.idle, idle), np.minimum(self.left, left)

    def without_jobs(self) -> tuple[Ints, Ints]:
        """What `free` and `left` would be if no job held anything."""
        free: Ints = self._jobs.allowed.astype(np.int64) @ np.maximum(self.capacity, self._kept)
        return free, np.maximum(self._there, self._used_on)

    def _change(self, k: int, ring: Ring, sign: int, *, kept: bool) -> None:
        on_servers = self._kept if kept else self._held
        firm = not kept and not self._jobs.may_stop[k]
        for server, count in ring.items():
            on_servers[server] += sign * count
            self._firm[server] += sign * count * firm
            self._refresh(server)
        used = self._used_on if kept else self._used
        for limit, amount in self._jobs.uses.amounts(k, sum(ring.values())).items():
            used[limit] += sign * amount
            self._used_firm[limit] += sign * amount * firm
            self._refresh_limit(limit)

    def _refresh_limit(self, limit: int) -> None:
        left = max(0, self._there[limit] - self._used_on[limit])
        self.left[limit] = left - self._used[limit]

    def _refresh(self, server: int) -> None:
        before = max(0, self.idle[server])
        left = max(0, self.capacity[server] - self._kept[server])
        self.idle[server] = left - self._held[server]
        self.free += self._jobs.allowed[:, server] * (max(0, self.idle[server]) - before)
