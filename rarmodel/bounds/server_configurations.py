"""The server configuration bound: the configuration bound server by server, for many jobs.

A server in a slot holds packed jobs, and pieces of rings that are spread. A ring is *lone* in a
slot if no other ring is on the links of its servers; otherwise it *shares*.

**Proof.** Give prices, at least 0, to a packed job by its size, to a piece of a lone ring by its
GPUs, and to a sharing ring by its form: its job, size and number of servers. Let `V_s` be the price
of the dearest content of server s: packed jobs, and at most one piece. Let E be by how much the
rings of a group that shares links are at most worth more than the cheapest cut of their GPUs into
pieces, one for each server of the group (`ring_groups`); at least 0. Let `v_j` be the cheapest way
for job j to do its iterations: one form, and slots in which it is lone or shares, where a lone one
costs as much as its cheapest cut. Take a schedule of length H. Put a piece of a lone ring in place
of the rings of a group on each of its servers, with as many GPUs: a slot then loses at most E for
each group, and is worth at most `Σ_s V_s`. No group has fewer than two servers. So a slot of S
servers is worth at most `V = Σ_s V_s + ⌊S/2⌋·E`. Job j is worth at least `v_j`, because a lone ring
is no faster than `ring_states` says of a ring beside no other, and a sharing one no faster than
beside one other. A ring that is as fast beside another counts as sharing, which allows more. So
`H ≥ Σ v_j / V`.

Where forms are many, sharing rings have prices by their pieces instead, and a server may hold
several of these. That forgets that the pieces of a ring run at the same time. Where servers are
unequal, it is tried as well: a group forgets which rings are on which of its servers.

Against `configurations`, this forgets who is where within a group, that a job is in one group only,
and how much slower a third ring makes two. It sees the GPUs that rings strand, and what it costs to
share. Prices come from a linear program by column generation. They count as whole numbers, for
which both sides are computed exactly.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from rarmodel.model.objectives import Objective, Value
from rarmodel.schema import Instance
from rarmodel.schema.certificate import (
    EachJob,
    PricedGpus,
    PricedRing,
    ServerContent,
    ServerPrices,
)

from .arguments import of_jobs_alone
from .bound import ON_MAKESPAN, UNINTERRUPTED, Bound, in_slots
from .cheapest_forms import IMPOSSIBLE, LONE, SHARING, Chosen, Cuts, Table, choose, forms_of
from .column_program import ColumnProgram, Floats
from .knapsack import Ints, fill, powers
from .ring_groups import RingGroups

MOST_FORMS = 300_000
"""Most pairs of a ring size and a number of servers, of all jobs."""
MOST_SIZE, MOST_CAPACITY = 512, 256
"""Most GPUs of a job and of a server."""
MOST_GROUPS = 300
"""Most rows of the linear program for jobs; with more jobs, alike ones have one row together."""
MOST_ROUNDS = 500
MOST_SCALE, LEAST_SCALE = 10**12, 10**6
"""Prices are whole multiples of one over such a number, as great as 64 bits allow."""
NOISE = 1e-9
"""Excess of a group, as a share of all servers, that is but rounding."""
Content = dict[int, int]
"""What a server holds: labels, with their numbers."""


class _Labels:
    """What has a price: packed jobs by size, pieces of lone rings by GPUs, and sharing rings.

    The latter have prices as wholes, by their forms; or, if they are many, by pieces as well.
    """

    def __init__(self, packed: Iterable[int], largest: int, whole: Ints | None = None) -> None:
        self.packed = {size: label for label, size in enumerate(sorted(packed))}
        self.lone = range(len(self.packed), len(self.packed) + largest)
        pieces = range(1, largest + 1)
        sharing = pieces if whole is None else whole
        self.gpus = np.array([*self.packed, *pieces, *sharing], np.int64)
        self.whole = range(len(self.gpus) if whole is None else self.lone.stop, len(self.gpus))
        """Labels of sharing rings as wholes."""

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
            if label not in labels.lone and label not in labels.whole
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


class _Proof(NamedTuple):
    """Prices in whole numbers, and what follows from them."""

    prices: Ints
    """(labels)"""
    least: list[int]
    """(jobs) What the slots of each are worth at least."""
    dearest: list[int]
    """(sizes of servers) What such a server holds at most."""
    excess: int
    """By how much a group of rings is worth more than pieces, at most."""


class _Pattern(NamedTuple):
    """What jobs do in a column of the linear program."""

    column: int
    jobs: Ints
    slots: Table
    """(2, jobs) Slots of each kind."""


class ServerConfigurations:
    """The server configuration bound of an instance.

    Parameters
    ----------
    instance
        The problem.
    longest
        Schedules that are longer are not considered; None for all.
    whole
        Whether sharing rings have prices as wholes, if they are few enough.

    Attributes
    ----------
    fits
        Whether the instance and its numbers are small enough.
    whole
        Whether sharing rings have prices as wholes.
    prices
        Prices that prove the greatest bound; None before one is proven.
    sharing
        (jobs) The part of its slots in which each job shares links, where the linear program that
        the prices come from has its optimum; 0 before a bound is proven.
    """

    def __init__(
        self, instance: Instance, longest: int | None = None, *, whole: bool = True
    ) -> None:
        jobs, servers = instance.jobs, instance.cluster.servers
        capacities = Counter(server.gpus for server in servers)
        self._longest = IMPOSSIBLE if longest is None else longest
        self.prices: _Proof | None = None
        self.sharing, self.whole = np.zeros(len(jobs)), False
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
        self._most_groups = len(servers) // 2
        self._rings = rings = RingGroups(forms, [server.gpus for server in servers])
        self.whole = whole and rings.fits
        self._most = int(forms.servers.max()), int(forms.size.max())
        if self.whole:
            # The rings of a group may together have more GPUs, also of one server, than any ring.
            self._labels = _Labels(packed, max(capacities), forms.size[rings.form])
            self._most = max(self._most[0], rings.servers), max(self._most[1], rings.gpus)
        else:
            self._labels = _Labels(packed, min(max(capacities), largest))
        self._servers = [
            (_Server(gpus, self._labels), count) for gpus, count in sorted(capacities.items())
        ]
        slowest = np.where(forms.speeds > 0, forms.speeds, IMPOSSIBLE).min(axis=0)
        slots = int((self._iterations[forms.job] // slowest).max()) + 1
        self._scale = min(MOST_SCALE, IMPOSSIBLE // (2 * int(forms.servers.max()) * slots))
        self.fits = self._scale >= LEAST_SCALE
        self._alike = self._alike_jobs()

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
        program, patterns = self._program()
        labels, proven = len(self._labels.gpus), known
        for _ in range(MOST_ROUNDS):
            solution = program.solve()
            if solution is None:
                break
            self.sharing = self._shared(patterns, solution.columns)
            if stop() or proven >= ceil(solution.multiple - 1e-6):
                break
            scaled = np.minimum(solution.prices[:labels], 1.0) * self._scale
            prices = np.floor(scaled).astype(np.int64)
            worth, added = 0, False
            excess, dearest = 0, []
            for place, (server, number) in enumerate(self._servers):
                value, content = server.dearest(prices)
                worth += number * value
                dearest.append(value)
                if value > solution.supply_prices[place] * self._scale * (1 + 1e-9) + labels:
                    program.add(content, place)
                    added = True
            chosen, cuts = self._cheapest(prices)
            for row, jobs in enumerate(self._alike, labels):
                known_price = solution.prices[row] * self._scale
                if chosen.price[jobs].sum(dtype=float) < known_price * (1 - 1e-7):
                    self._add_pattern(program, patterns, row, chosen, cuts)
                    added = True
            if self.whole:
                found = self._rings.dearest(prices[self._labels.whole.start :], cuts[LONE].costs)
                for group in found:
                    if group.excess > NOISE * self._scale:
                        program.add(self._group(*group[1:], cuts[LONE]))
                        added = True
                excess = max([0, *(group.excess for group in found)])
                worth += excess * self._most_groups
            if worth > 0:  # The sum in Python's numbers, which have no end.
                slots = min(-(-sum(chosen.price.tolist()) // worth), self._longest + 1)
                if slots > proven:
                    proven = slots
                    self.prices = _Proof(prices, chosen.price.tolist(), dearest, excess)
            if not added:
                break
        return proven

    def argument(self, instance: Instance, length: int) -> ServerPrices | None:
        """What refutes schedules of so many slots, once prices are found that do."""
        if self.prices is None:
            return None
        prices, least, dearest, excess = self.prices
        labels, forms = self._labels, self._forms

        def pieces(first: int) -> tuple[PricedGpus, ...]:
            each = zip(count(1), prices[first : first + len(labels.lone)], strict=False)
            return tuple(PricedGpus(gpus=gpus, price=int(price)) for gpus, price in each if price)

        shared: dict[str, Any] = {}
        if self.whole:
            shared["rings"] = tuple(
                PricedRing(
                    job=instance.jobs[int(forms.job[form])].name,
                    gpus=int(forms.size[form]),
                    servers=int(forms.servers[form]),
                    price=int(price),
                )
                for form, price in zip(self._rings.form, prices[labels.whole.start :], strict=True)
                if price
            )
        else:
            shared["sharing"] = pieces(labels.lone.stop)
        gpus = sorted({server.gpus for server in instance.cluster.servers})
        return ServerPrices(
            kind="server-prices",
            length=length,
            packed=tuple(
                PricedGpus(gpus=size, price=int(prices[label]))
                for size, label in labels.packed.items()
                if prices[label]
            ),
            lone=pieces(labels.lone.start),
            least={job.name: one for job, one in zip(instance.jobs, least, strict=True)},
            dearest=tuple(
                ServerContent(gpus=number, dearest=int(one))
                for number, one in zip(gpus, dearest, strict=True)
            ),
            excess=excess,
            **shared,
        )

    def _program(self) -> tuple[ColumnProgram, list[_Pattern]]:
        """The linear program with its first columns: each thing by itself."""
        labels, whole = len(self._labels.gpus), self._labels.whole
        needs = [0.0] * labels + [1.0] * len(self._alike)
        program = ColumnProgram(needs, [number for _, number in self._servers])
        for place, (server, _) in enumerate(self._servers):
            for only in np.eye(labels, dtype=np.int64)[: labels - len(whole)]:
                program.add(server.dearest(only)[1], place)
        chosen, cuts = self._cheapest(self._labels.gpus)
        for ring in range(len(whole)):
            form = self._rings.form[ring]
            servers, size = int(self._forms.servers[form]), int(self._forms.size[form])
            program.add(self._group([ring], servers, size, cuts[LONE]))
        patterns: list[_Pattern] = []
        for row in range(labels, labels + len(self._alike)):
            self._add_pattern(program, patterns, row, chosen, cuts)
        return program, patterns

    def _add_pattern(
        self,
        program: ColumnProgram,
        patterns: list[_Pattern],
        row: int,
        chosen: Chosen,
        cuts: Sequence[Cuts],
    ) -> None:
        """Add what the jobs of a row take."""
        jobs = self._alike[row - len(self._labels.gpus)]
        column = program.add({row: 1.0} | self._pattern(jobs, chosen, cuts))
        patterns.append(_Pattern(column, jobs, chosen.slots[:, jobs]))

    def _shared(self, patterns: Sequence[_Pattern], columns: Floats) -> Floats:
        """(jobs) The part of its slots in which each shares links."""
        slots = np.zeros((2, len(self._iterations)))
        for pattern in patterns:
            slots[:, pattern.jobs] += columns[pattern.column] * pattern.slots
        shared: Floats = slots[SHARING] / np.maximum(slots.sum(axis=0), NOISE)
        return shared

    def _alike_jobs(self) -> list[Ints]:
        """Jobs that have one row: of like size and slowed down alike by sharing."""
        jobs = len(self._iterations)
        last = np.searchsorted(self._forms.job, np.arange(jobs), side="right") - 1
        lone, sharing = self._forms.speeds[:, last]
        order = np.lexsort((sharing / np.maximum(1, lone), self._forms.size[last]))
        return np.array_split(order, min(jobs, MOST_GROUPS))

    def _costs(self, prices: Ints) -> tuple[Table, list[Cuts]]:
        """What a slot of each form costs at these prices of labels, and how its ring is cut."""
        forms, labels = self._forms, self._labels
        pieces = [prices[labels.lone.start : labels.lone.stop]]
        if not self.whole:
            pieces.append(prices[labels.lone.stop :])
        cuts = [Cuts(row, *self._most) for row in pieces]
        packed = np.zeros(int(forms.size.max()) + 1, np.int64)
        packed[list(labels.packed)] = prices[: labels.lone.start]
        spread = [cut.costs[forms.servers, forms.size] for cut in cuts]
        if self.whole:
            spread.append(np.append(prices[labels.whole.start :], 0)[self._rings.ring])
        return np.where(forms.servers == 1, packed[forms.size], np.array(spread)), cuts

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
                if not (slots := float(chosen.slots[kind, j])):
                    continue
                if kind == SHARING and self.whole:
                    content[self._labels.whole[self._rings.ring[form]]] -= slots
                    continue
                for gpus in cuts[kind].pieces(servers, size):
                    content[self._labels.piece(kind, gpus)] -= slots
        return content

    def _group(self, rings: list[int], servers: int, gpus: int, cuts: Cuts) -> dict[int, float]:
        """A slot of each of these rings, and the pieces of servers that they take, as a column."""
        content: dict[int, float] = defaultdict(float)
        content.update({self._labels.whole[ring]: 1.0 for ring in rings})
        for piece in cuts.pieces(servers, gpus):
            content[self._labels.piece(LONE, piece)] -= 1.0
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
        See `destructive_bound`.

    Returns
    -------
    int or None
        None if the bound is not above `known`, or if the instance is too large: servers of more
        than 256 GPUs, jobs of more than 512, or more than 300,000 forms of all jobs.
    """
    longest, proven = None if upper is None else upper - 1, known
    configurations = ServerConfigurations(instance, longest)
    if configurations.fits:
        proven = configurations.prove(proven, stop)
    if configurations.whole and len({server.gpus for server in instance.cluster.servers}) > 1:
        # Of unequal servers, pieces know which can hold them, and sometimes prove more.
        pieces = ServerConfigurations(instance, longest, whole=False)
        proven = pieces.prove(proven, stop) if pieces.fits else proven
    return proven if proven > known else None


def certify(
    instance: Instance, objective: Objective, value: Value
) -> EachJob | ServerPrices | None:
    """Prices of what servers hold that refute all schedules below a value."""
    if (alone := of_jobs_alone(instance, objective, value)) is not None:
        return alone
    length = int(value) - 1
    for whole in (True, False):
        configurations = ServerConfigurations(instance, length, whole=whole)
        if configurations.fits and configurations.prove(0) >= value:
            return configurations.argument(instance, length)
    return None


SERVER_CONFIGURATIONS = Bound(
    "server configurations",
    "lone rings strand GPUs of their servers, and rings that share links slow each other down",
    tighten=in_slots(server_configuration_bound),
    objectives=ON_MAKESPAN,
    handles=UNINTERRUPTED,
    rank=6,
    cost="milliseconds",
    certify=certify,
)
