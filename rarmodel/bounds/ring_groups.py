"""Groups of rings that share links: which there can be, and what they are worth.

The rings that share links in a slot fall into *groups*: two rings that are on one server are in one
group. A ring that shares with nobody, but is as fast as if it did, may be a group of its own. A
ring without any progress counts as absent. A group's servers are those of its rings. Let ring i be
on `n_i` of them.

- Whoever goes from ring to server to ring reaches the whole group. So it has at least as many pairs
  of a ring and a server on which it is as it has rings and servers, less one: a group has at most
  `1 + Σ (n_i − 1)` servers.
- Each of its servers holds GPUs of its rings. So these GPUs together are cut into as many pieces as
  the group has servers, like one ring that is alone on them.

A group is worth at most its servers if the prices of its rings are no more than the cheapest such
cut. By how much they exceed it at most is computed exactly, over all sets of rings and numbers of
servers, by dynamic programming over the jobs. This forgets which GPUs are whose, and which rings
are on which servers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rarmodel.engine.compilation import compiled

from .cheapest_forms import IMPOSSIBLE, SHARING, Forms, Table
from .knapsack import Ints

MOST_RINGS = 1_500
"""Most forms in which rings can share links."""
MOST_WORK = 10_000_000
"""Most forms, or GPUs of a server, times servers times GPUs that a group can have: about the steps
of the dynamic program, and of the cheapest cuts."""
Tables = np.ndarray[tuple[int, int, int], np.dtype[np.int32]]


class Group(NamedTuple):
    """Rings that share links.

    Attributes
    ----------
    excess
        By how much their prices exceed the cheapest cut; negative if they do not.
    rings
        Numbers of the rings.
    servers, gpus
        Servers of the group, and GPUs of its rings.
    """

    excess: int
    rings: list[int]
    servers: int
    gpus: int


class RingGroups:
    """The groups that the forms of jobs allow.

    Parameters
    ----------
    forms
        The forms of all jobs.
    capacities
        GPUs of each server of the cluster.

    Attributes
    ----------
    servers, gpus
        The most that a group can have.
    form
        (rings) The forms in which rings can share links; the other numbers of rings refer to these.
    ring
        (forms) The number of the ring of each form; −1 if it cannot share links.
    fits
        Whether there are few enough.
    """

    def __init__(self, forms: Forms, capacities: Sequence[int]) -> None:
        self.form = np.flatnonzero((forms.servers > 1) & (forms.speeds[SHARING] > 0))
        self.ring = np.full(len(forms.job), -1)
        self.ring[self.form] = np.arange(len(self.form))
        self._size, self._more = forms.size[self.form], forms.servers[self.form] - 1
        jobs, owner = np.unique(forms.job[self.form], return_inverse=True)
        most = np.zeros((2, len(jobs)), np.int64)
        np.maximum.at(most[0], owner, self._more)
        np.maximum.at(most[1], owner, self._size)
        servers = self.servers = min(len(capacities), 1 + int(most[0].sum()))
        gpus = self.gpus = min(sum(capacities), int(most[1].sum()))
        work = max(len(self.form), *capacities) * servers * gpus
        self.fits = len(self.form) <= MOST_RINGS and work <= MOST_WORK
        if not self.fits:
            return
        self._bounds = np.searchsorted(owner, np.arange(len(jobs) + 1))
        self._worth = np.zeros((servers, gpus + 1), np.int64)
        self._chosen = np.zeros((len(jobs), servers, gpus + 1), np.int32)
        self._found = np.zeros((servers + 1, 3), np.int64)

    def dearest(self, prices: Ints, costs: Table) -> list[Group]:
        """The group of greatest excess on each number of servers.

        Parameters
        ----------
        prices
            (rings) What each is worth in a slot, at least 0.
        costs
            (servers, GPUs) What the cheapest cut of so many GPUs into so many pieces costs.
        """
        _fill(self._bounds, self._size, self._more, prices, self._worth, self._chosen)
        _exceed(self._worth, costs, self._found)
        return [
            Group(int(excess), self._rings(int(more), int(gpus)), servers, int(gpus))
            for servers, (excess, more, gpus) in enumerate(self._found)
            if excess > -IMPOSSIBLE
        ]

    def _rings(self, more: int, gpus: int) -> list[int]:
        """The set of greatest worth, among those of so many GPUs and further servers."""
        found = []
        for chosen in reversed(self._chosen):
            if (choice := int(chosen[more, gpus])) >= 0:
                ring, more = divmod(choice, len(self._worth))
                found.append(ring)
                gpus -= int(self._size[ring])
        return found


@compiled
def _fill(bounds: Ints, size: Ints, more: Ints, prices: Ints, worth: Table, chosen: Tables) -> None:
    """The greatest worth of sets of rings, at most one of a job, by their servers and GPUs.

    Rows of `worth` are for the servers beyond the first of each ring, the last one for as many or
    more; −1 is for no set. `chosen` has the last ring of the set, if any, and the row without it.
    """
    rows, last = worth.shape[0], worth.shape[0] - 1
    worth[:] = -1
    worth[0, 0] = 0
    chosen[:] = -1
    for job in range(len(bounds) - 1):
        for gpus in range(worth.shape[1] - 1, 0, -1):  # So sets of fewer GPUs are without this job.
            for row in range(rows):
                # Rings without a price as well: they can make a group of more servers.
                for ring in range(bounds[job], bounds[job + 1]):
                    if size[ring] > gpus:
                        continue
                    least = row - more[ring]
                    for before in range(max(0, least), (last if row == last else least) + 1):
                        without = worth[before, gpus - size[ring]]
                        if without >= 0 and without + prices[ring] > worth[row, gpus]:
                            worth[row, gpus] = without + prices[ring]
                            chosen[job, row, gpus] = ring * rows + before


@compiled
def _exceed(worth: Table, costs: Table, found: Table) -> None:
    """The greatest excess of worth over costs for each number of servers, with its row and GPUs."""
    for servers in range(len(found)):
        found[servers, 0] = -IMPOSSIBLE
        for row in range(max(1, servers - 1), worth.shape[0] if servers > 1 else 0):
            for gpus in range(servers, worth.shape[1]):
                cost = costs[servers, gpus]
                if worth[row, gpus] >= 0 and cost < IMPOSSIBLE:
                    excess = worth[row, gpus] - cost
                    if excess > found[servers, 0]:
                        found[servers, 0] = excess
                        found[servers, 1], found[servers, 2] = row, gpus
