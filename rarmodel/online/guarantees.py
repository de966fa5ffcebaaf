"""Borrowing and reclaiming: which tenants hold less than they are guaranteed, and who gives way.

Reading of section 18. A tenant holds what its jobs and those of all tenants below it hold. All that
is above its guarantee is borrowed. A job that waits may take GPUs back on the strength of a tenant
above it (or of its own) that has room for it within the guarantee. It takes them from preemptible
jobs that are not below that tenant; and each tenant above such a job that is not above the waiting
one holds more than its guarantee. A tenant without `guaranteed` is guaranteed nothing. Jobs of no
tenant, and jobs of a tenant beside those of its parts, are taken from likewise.

Where an order or priorities interrupt jobs, GPUs would go to and fro if those who borrow came
first: so jobs that keep a tenant within its guarantee are first in an order, and do not give way to
a priority that would borrow.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rarmodel.engine.arrays import Ints
from rarmodel.schema import Instance
from rarmodel.schema.tenants import lineages

from .arriving_jobs import Jobs

NO_TENANT = -1


class Guarantees:
    """What tenants are guaranteed, by index; jobs by number in order of arrival.

    Attributes
    ----------
    any
        Whether some tenant is guaranteed something.
    """

    def __init__(self, instance: Instance, jobs: Jobs) -> None:
        tenants = instance.tenants
        index = {one.name: t for t, one in enumerate(tenants)}
        self._guaranteed = np.array([one.guaranteed or 0 for one in tenants], np.int64)
        self.any = bool(self._guaranteed.any())
        above = lineages(tenants)
        self._path = [tuple(index[name] for name in above[one.name]) for one in tenants]
        numbers = jobs.index.tolist() if self.any else ()  # Jobs may be a million.
        self._tenant: Ints = np.array(
            [index.get(instance.jobs[j].tenant or "", NO_TENANT) for j in numbers], np.int64
        )

    def held(self, some: Ints, gpus: Ints) -> Ints:
        """(tenants) GPUs that each holds, with all below it, if some jobs hold so many each."""
        own = np.zeros(len(self._path), np.int64)
        tenant = self._tenant[some]
        known = tenant != NO_TENANT
        np.add.at(own, tenant[known], gpus[known])
        found = np.zeros_like(own)
        for t, path in enumerate(self._path):
            found[[*path]] += own[t]
        return found

    def may_lend(self, some: Ints, held: Ints) -> npt.NDArray[np.bool_]:
        """Which of some jobs others might take GPUs from: those of no other tenant need look.

        A tenant that holds no more than its guarantee lends to its own parts alone.
        """
        parted = np.zeros(len(self._path) + 1, np.bool_)
        for path in self._path:
            parted[[*path[1:]]] = True
        parted[:-1] |= held > self._guaranteed
        parted[NO_TENANT] = True
        found: npt.NDArray[np.bool_] = parted[self._tenant[some]]
        return found

    def room(self, some: Ints, held: Ints) -> Ints:
        """(jobs) GPUs that each of some may have within the guarantee of a tenant above it."""
        left = self._guaranteed - held
        most = np.zeros(len(self._path) + 1, np.int64)
        most[:-1] = [max(0, *left[[*path]]) for path in self._path]
        found: Ints = most[self._tenant[some]]
        return found

    def first(self, order: Ints, wanted: Ints, held: Ints) -> Ints:
        """The order, with the jobs first that keep a tenant above them within its guarantee.

        Parameters
        ----------
        order, wanted
            Jobs, and how many GPUs each of them is to have.
        held
            (tenants) GPUs that jobs hold which go before all of these.
        """
        left = (self._guaranteed - held).tolist()
        rooms = sum(gpus > 0 for gpus in left)
        within = np.zeros(len(order), np.bool_)
        tenants = self._tenant[order]
        some = np.flatnonzero((tenants != NO_TENANT) & (wanted > 0))
        for at, t, gpus in zip(
            some.tolist(), tenants[some].tolist(), wanted[some].tolist(), strict=True
        ):
            if not rooms:
                break
            path = self._path[t]
            if any(gpus <= left[u] for u in path):
                within[at] = True
                for u in path:
                    rooms -= 0 < left[u] <= gpus
                    left[u] -= gpus
        return np.concatenate([order[within], order[~within]])

    def keeps(self, other: int, k: int, gpus: int, held: Ints) -> bool:
        """Whether a job that runs is within a guarantee where another one would borrow.

        Then it does not give way to the other, whatever their priorities.
        """
        mine, theirs = self._above(k), self._above(other)
        guaranteed = self._guaranteed
        return any(held[t] <= guaranteed[t] for t in theirs if t not in mine) and not any(
            held[t] + gpus <= guaranteed[t] for t in mine if t not in theirs
        )

    def gives_way(self, other: int, k: int, gpus: int, held: Ints) -> bool:
        """Whether one job gives way to another that is to have so many GPUs."""
        mine, theirs = self._above(k), self._above(other)
        guaranteed = self._guaranteed
        return any(held[t] + gpus <= guaranteed[t] for t in mine if t not in theirs) and all(
            held[t] > guaranteed[t] for t in theirs if t not in mine
        )

    def without(self, other: int, gpus: int, held: Ints) -> None:
        """A job no longer holds so many GPUs; writes to `held`."""
        held[[*self._above(other)]] -= gpus

    def _above(self, k: int) -> tuple[int, ...]:
        tenant = int(self._tenant[k])
        return () if tenant == NO_TENANT else self._path[tenant]
