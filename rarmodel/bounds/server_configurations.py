"""The server configuration bound: the configuration bound server by server, for many jobs.

A server in a slot holds packed jobs, and pieces of rings that are spread. A ring is *lone* in a
slot if no other ring is on the links of its servers; otherwise it *shares*. So beside packed jobs,
a server holds either one piece of a lone ring, or pieces of sharing rings.

**Proof.** Give prices, at least 0, to a packed job by its size, and to a piece by its GPUs and by
whether its ring is lone. Let `V_s` be the price of the dearest content of server s. Let `v_j` be
the cheapest way for job j to do its iterations: one size, one number of servers, and slots in which
it is lone or shares, where each costs as much as its cheapest cut into so many pieces. Take a
schedule of length H. A server's content is worth at most `V_s` in each slot, so the schedule is
worth at most `H·Σ_s V_s`. Job j is worth at least `v_j`, because a lone ring is no faster than
`ring_states` says of a ring beside no other, and a sharing one no faster than beside one other. A
ring that is as fast beside another counts as sharing, which allows more. So `H ≥ Σ v_j / Σ V_s`.

Against `configurations`, this forgets that the pieces of a ring run at the same time, and how much
slower a third ring makes two. It sees the GPUs that a lone ring strands, and what it costs to
share. Prices come from a linear program by column generation. They count as whole numbers, for
which both sides are computed exactly.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from math import ceil

import numpy as np

from rarmodel.schema import Instance

from .bound import ON_MAKESPAN, UNINTERRUPTED, Bound, in_slots
from .cheapest_forms import IMPOSSIBLE, LONE, SHARING, Chosen, Cuts, Table, choose, forms_of
from .column_program import ColumnProgram, Floats
from .knapsack import Ints, fill, powers

MOST_FORMS = 300_000
"""Most pairs of a ring size and a number of servers, of all jobs."""
MOST_SIZE, MOST_CAPACITY = 512, 256
"""Most GPUs of a job and of a server."""
MOST_GROUPS = 300
"""Most rows of the linear program for jobs; with more jobs, alike ones have one row together."""
MOST_ROUNDS = 500
MOST_SCALE, LEAST_SCALE = 10**12, 10**6
"""Prices are whole multiples of one over such a number, as great as 64 bits allow."""
Content = dict[int, int]
"""What a server holds: labels, with their numbers."""


class _Labels:
    """What has a price: packed jobs by size, pieces of lone rings by GPUs, and of sharing ones."""

    def __init__(self, packed: Iterable[int], largest: int) -> None:
        self.packed = {size: label for label, size in enumerate(sorted(packed))}
        self.lone = range(len(self.packed), len(self.packed) + largest)
        pieces = range(1, largest + 1)
        self.gpus = np.array([*self.packed, *pieces, *pieces], np.int64)

    def piece(self, kind: int, gpus: int) -> int:
        """Label of a piece of a lone or sharing ring."""
        return self.lone.start + kind * len(self.lone) + gpus - 1


class _Server:
    """The dearest content of a server with so many GPUs."""

    def __init__(self, gpus: int, labels: _Labels) -> None:
        self._gpus, self._labels = gpus, labels
        pieces = [
            (label, piece)
            for label, size in enumerate(labels.gpus)
            if label not in labels.lone
            for piece in powers(gpus // int(size))
        ]
        self._pieces = np.array(pieces, np.int64).reshape(-1, 2)
        self._best = np.zeros(gpus + 1, np.int64)
        self._chosen = np.zeros((len(pieces), gpus + 1), np.bool_)

    def dearest(self, prices: Ints) -> tuple[int, Content]:
        """Price and content."""
        value, content = self._filled(prices, self._gpus)
        packed = prices.copy()
        packed[self._labels.lone.start :] = 0
        self._filled(packed, self._gpus)
        beside = self._best.copy()
        for label in self._labels.lone:
            left = self._gpus - int(self._labels.gpus[label])
            if left >= 0 and int(prices[label] + beside[left]) > value:
                value = int(prices[label] + beside[left])
                content = self._filled(packed, left)[1] | {label: 1}
        return value, content

    def _filled(self, prices: Ints, gpus: int) -> tuple[int, Content]:
        """The same without lone rings, in so many GPUs."""
        taken = np.zeros(len(prices), np.int64)
        knapsack = self._pieces, gpus, self._best, self._chosen
        value = fill(self._labels.gpus, prices, *knapsack, taken)
        return value, {int(label): int(taken[label]) for label in np.flatnonzero(taken)}


class ServerConfigurations:
    """The server configuration bound of an instance.

    Parameters
    ----------
    instance
        The problem.
    longest
        Schedules that are longer are not considered; None for all.

    Attributes
    ----------
    fits
        Whether the instance and its numbers are small enough.
    """

    def __init__(self, instance: Instance, longest: int | None = None) -> None:
        jobs, servers = instance.jobs, instance.cluster.servers
        capacities = Counter(server.gpus for server in servers)
        self._longest = IMPOSSIBLE if longest is None else longest
        number = sum(min(size, len(servers)) for job in jobs for size in job.sizes)
        largest = max(size for job in jobs for size in job.sizes)
        small = largest <= MOST_SIZE and max(capacities) <= MOST_CAPACITY
        self.fits = small and number <= MOST_FORMS
        if not self.fits:
            return
        self._iterations = np.array([job.iterations_left for job in jobs], np.int64)
        self._forms = forms = forms_of(instance, self._longest)
        self._possible = len(np.unique(forms.job)) == len(jobs)
        if not self._possible:
            return
        packed = {int(size) for size in forms.size[forms.servers == 1]}
        self._labels = _Labels(packed, min(max(capacities), largest))
        self._prices = self._labels.gpus
        self._servers = [
            (_Server(gpus, self._labels), count) for gpus, count in sorted(capacities.items())
        ]
        slowest = np.where(forms.speeds > 0, forms.speeds, IMPOSSIBLE).min(axis=0)
        slots = int((self._iterations[forms.job] // slowest).max()) + 1
        self._scale = min(MOST_SCALE, IMPOSSIBLE // (2 * int(forms.servers.max()) * slots))
        self.fits = self._scale >= LEAST_SCALE

    def prove(self, known: int, stop: Callable[[], bool] = lambda: False) -> int:
        """The bound in slots, or what is known if that is greater.

        Parameters
        ----------
        known
            A lower bound.
        stop
            Called repeatedly; if it returns True, the best bound so far is returned.
        """
        if not self._possible:
            return max(known, self._longest + 1)
        labels, groups = len(self._labels.gpus), self._groups()
        needs = [0.0] * labels + [1.0] * len(groups)
        program = ColumnProgram(needs, [number for _, number in self._servers])
        for place, (server, _) in enumerate(self._servers):
            for only in np.eye(labels, dtype=np.int64):
                program.add(server.dearest(only)[1], place)
        chosen, cuts = self._cheapest(self._labels.gpus)
        for g, group in enumerate(groups):
            program.add({labels + g: 1.0} | self._pattern(group, chosen, cuts))
        proven, best = known, -1
        for _ in range(MOST_ROUNDS):
            solution = program.solve()
            if solution is None or stop() or proven >= ceil(solution.multiple - 1e-6):
                break
            scaled = np.minimum(solution.prices[:labels], 1.0) * self._scale
            prices = np.floor(scaled).astype(np.int64)
            worth, added = 0, False
            for place, (server, number) in enumerate(self._servers):
                value, content = server.dearest(prices)
                worth += number * value
                if value > solution.supply_prices[place] * self._scale * (1 + 1e-9) + labels:
                    program.add(content, place)
                    added = True
            chosen, cuts = self._cheapest(prices)
            for g, group in enumerate(groups):
                known_price = solution.prices[labels + g] * self._scale
                if chosen.price[group].sum(dtype=float) < known_price * (1 - 1e-7):
                    program.add({labels + g: 1.0} | self._pattern(group, chosen, cuts))
                    added = True
            if worth > 0:  # The sum in Python's numbers, which have no end.
                slots = -(-sum(chosen.price.tolist()) // worth)
                proven = max(proven, min(slots, self._longest + 1))
                if slots > best:
                    best, self._prices = slots, prices
            if not added:
                break
        return proven

    def sharing_costs(self) -> Floats:
        """What each job costs if it shares links all the time, beside if it never does.

        Returns
        -------
        array of float
            (jobs) Ratios of the cheapest ways at the prices that proved the bound: below 1 if
            sharing leaves more to the other jobs, infinite if the job cannot share links.
        """
        forms = self._forms
        costs, _ = self._costs(self._prices)
        slots = -(-self._iterations[forms.job] // np.maximum(1, forms.speeds))
        worth = np.where(forms.speeds > 0, slots * costs.astype(np.float64), np.inf)
        first = np.searchsorted(forms.job, np.arange(len(self._iterations)))
        lone, sharing = np.minimum.reduceat(worth, first, axis=1)
        ratios = np.full(len(lone), np.inf)
        np.divide(sharing, lone, out=ratios, where=(lone > 0) & (sharing < np.inf))
        return ratios

    def _groups(self) -> list[Ints]:
        """Groups of jobs, of like size and slowed down alike by sharing."""
        jobs = len(self._iterations)
        last = np.searchsorted(self._forms.job, np.arange(jobs), side="right") - 1
        lone, sharing = self._forms.speeds[:, last]
        order = np.lexsort((sharing / np.maximum(1, lone), self._forms.size[last]))
        return np.array_split(order, min(jobs, MOST_GROUPS))

    def _costs(self, prices: Ints) -> tuple[Table, list[Cuts]]:
        """What a slot of each form costs at these prices of labels, and how its ring is cut."""
        forms, labels = self._forms, self._labels
        most = int(forms.servers.max()), int(forms.size.max())
        pieces = prices[labels.lone.start :].reshape(2, -1)
        cuts = [Cuts(row, *most) for row in pieces]
        packed = np.zeros(most[1] + 1, np.int64)
        packed[list(labels.packed)] = prices[: labels.lone.start]
        spread = np.array([cut.costs[forms.servers, forms.size] for cut in cuts])
        return np.where(forms.servers == 1, packed[forms.size], spread), cuts

    def _cheapest(self, prices: Ints) -> tuple[Chosen, list[Cuts]]:
        """The cheapest form of each job at these prices, and how its ring is cut."""
        costs, cuts = self._costs(prices)
        jobs = len(self._iterations)
        slots = np.zeros((2, jobs), np.int64)
        chosen = Chosen(np.zeros(jobs, np.int64), np.zeros(jobs, np.int64), slots)
        choose(self._forms, costs, self._iterations, self._longest, chosen)
        return chosen, cuts

    def _pattern(self, jobs: Ints, chosen: Chosen, cuts: Sequence[Cuts]) -> dict[int, float]:
        """What these jobs take of each label, as a column."""
        content: dict[int, float] = defaultdict(float)
        for j in jobs:
            form = chosen.form[j]
            servers, size = int(self._forms.servers[form]), int(self._forms.size[form])
            if servers == 1:
                content[self._labels.packed[size]] -= float(chosen.slots[LONE, j])
                continue
            for kind in (LONE, SHARING):
                if chosen.slots[kind, j]:
                    for gpus in cuts[kind].pieces(servers, size):
                        content[self._labels.piece(kind, gpus)] -= float(chosen.slots[kind, j])
        return content


def server_configuration_bound(
    instance: Instance,
    known: int,
    upper: int | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> int | None:
    """The server configuration bound.

    Parameters
    ----------
    instance
        The problem.
    known, upper, stop
        See `climb.climbed`.

    Returns
    -------
    int or None
        None if the bound is not above `known`, or if the instance is too large: servers of more
        than 256 GPUs, jobs of more than 512, or more than 300,000 forms of all jobs.
    """
    configurations = ServerConfigurations(instance, None if upper is None else upper - 1)
    proven = configurations.prove(known, stop) if configurations.fits else known
    return proven if proven > known else None


SERVER_CONFIGURATIONS = Bound(
    "server configurations",
    "lone rings strand GPUs of their servers, and rings that share links slow each other down",
    tighten=in_slots(server_configuration_bound),
    objectives=ON_MAKESPAN,
    handles=UNINTERRUPTED,
    rank=5,
    cost="milliseconds",
)
