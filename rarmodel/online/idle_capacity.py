"""Which GPUs are idle, and what is left of resources and of the caps of tenants."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rarmodel.engine.arrays import Ints
from rarmodel.lists.capacity_profile import CapacityProfile

from .arriving_jobs import Jobs

Ring = Mapping[int, int]
"""Workers of a ring on each server that it uses, by index."""


class Room:
    """GPUs that jobs may take now.

    A job that runs at slot 0 keeps its GPUs whatever is reserved; the others have what is left.
    Jobs that are not preemptible never give way (section 18), so together they may take no more
    than what is always left from now on: none is started where it might meet a reservation, or the
    fall of a capacity, that jobs which give way leave no room for.

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

    def __init__(self, supplies: CapacityProfile, jobs: Jobs) -> None:
        self._jobs = jobs
        servers = jobs.allowed.shape[1]
        self.capacity: Ints = supplies.first[:servers].copy()
        self.idle = self.capacity.copy()
        self.free: Ints = jobs.allowed.astype(np.int64) @ self.idle
        self._there = supplies.first[servers:].copy()
        self.left = self._there.copy()
        self._held, self._kept = np.zeros_like(self.idle), np.zeros_like(self.idle)
        self._used, self._used_on = np.zeros_like(self.left), np.zeros_like(self.left)
        self._firm, self._firmly_used = np.zeros_like(self.idle), np.zeros_like(self.left)
        self._floor = supplies.first_floor.copy()

    def take(self, k: int, ring: Ring, *, kept: bool = False) -> None:
        """A job holds GPUs from now on; `kept` if it ran there at slot 0."""
        self._change(k, ring, 1, kept=kept)

    def give(self, k: int, ring: Ring, *, kept: bool = False) -> None:
        """A job holds GPUs no longer."""
        self._change(k, ring, -1, kept=kept)

    def grow(self, supply: int, amount: int, floor: int) -> None:
        """There is so much more of a server, or of a limit behind them; less if below 0.

        The floor is the least that there is of it from now on.
        """
        servers = len(self.capacity)
        self._floor[supply] = floor
        if supply < servers:
            self.capacity[supply] += amount
            self._refresh(supply)
        else:
            self._there[supply - servers] += amount
            self._refresh_limit(supply - servers)

    def idle_for(self, k: int) -> Ints:
        """(servers) Idle GPUs that a job may take; not to be written to."""
        if self._jobs.preemptible[k]:
            return self.idle
        always = np.maximum(0, self._floor[: len(self.idle)] - self._kept) - self._firm
        found: Ints = np.minimum(self.idle, always)
        return found

    def has(self, k: int, ring: Ring) -> bool:
        """Whether a job may take a ring's GPUs."""
        idle = self.idle_for(k)
        return all(idle[server] >= count for server, count in ring.items())

    def within_limits(self, k: int, gpus: int) -> bool:
        """Whether enough is left of what a job uses beside GPUs of servers."""
        return not self.short(k, gpus)

    def short(self, k: int, gpus: int) -> list[int]:
        """The limits of which a job uses more than is left for it."""
        used = self._jobs.uses.amounts(k, gpus)
        if self._jobs.preemptible[k]:
            return [limit for limit, amount in used.items() if amount > self.left[limit]]
        floor = self._floor[len(self.idle) :]
        return [
            limit
            for limit, amount in used.items()
            if amount > self.left[limit]
            or amount > max(0, floor[limit] - self._used_on[limit]) - self._firmly_used[limit]
        ]

    def without_jobs(self) -> tuple[Ints, Ints]:
        """What `free` and `left` would be if no job held anything."""
        free: Ints = self._jobs.allowed.astype(np.int64) @ np.maximum(self.capacity, self._kept)
        return free, np.maximum(self._there, self._used_on)

    def _change(self, k: int, ring: Ring, sign: int, *, kept: bool) -> None:
        on_servers = self._kept if kept else self._held
        firm = not kept and not self._jobs.preemptible[k]
        for server, count in ring.items():
            on_servers[server] += sign * count
            self._firm[server] += sign * count * firm
            self._refresh(server)
        used = self._used_on if kept else self._used
        for limit, amount in self._jobs.uses.amounts(k, sum(ring.values())).items():
            used[limit] += sign * amount
            self._firmly_used[limit] += sign * amount * firm
            self._refresh_limit(limit)

    def _refresh_limit(self, limit: int) -> None:
        left = max(0, self._there[limit] - self._used_on[limit])
        self.left[limit] = left - self._used[limit]

    def _refresh(self, server: int) -> None:
        before = max(0, self.idle[server])
        left = max(0, self.capacity[server] - self._kept[server])
        self.idle[server] = left - self._held[server]
        self.free += self._jobs.allowed[:, server] * (max(0, self.idle[server]) - before)
