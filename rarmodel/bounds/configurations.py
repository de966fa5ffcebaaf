"""The configuration bound: what can run together in a slot, contention included.

A schedule of length H is looked at from two sides.

- From a slot: a configuration is a set of jobs that can run in one slot, each in a state of its
  ring (`ring_states`): its size, its number of servers, and how many rings may share its links.
- From a job: a pattern is a number of slots in each state of one size and one number of servers,
  at most H in all, enough for its iterations. A job keeps its GPUs, so all its slots are of one
  size and one number of servers.

**Proof.** Give each state a price, at least 0. Let V be the price of the dearest configuration,
and `v_j` that of the cheapest pattern of job j. Take a schedule of length H. In each slot every
running job is in a state that is no slower than it is, or makes no progress, and these states are
a configuration: so they are worth at most V, and the whole schedule at most `H·V`. The slots of a
job in its states are a pattern, worth at least `v_j`. So if `Σ v_j > H·V`, there is no such
schedule.

The configurations respect the GPUs of the servers and the rings on the servers' links. They ignore
links further up, lists of servers, types of GPU and caps, and the order of time: so they contain
all that a schedule does where jobs are not interrupted.

Any prices prove something. The best ones are the dual prices of a linear program over
configurations and patterns (G. Dantzig, P. Wolfe, "Decomposition principle for linear programs",
Operations Research 8, 1960), whose columns are generated on both sides. No float is trusted: the
prices are rounded to whole numbers, for which the two sides are computed exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np

from rarmodel.model.objectives import Objective, Value
from rarmodel.schema import Instance
from rarmodel.schema.certificate import EachJob, PricedJob, PricedState, SlotPrices

from .arguments import of_jobs_alone
from .bound import ON_MAKESPAN, UNINTERRUPTED, Bound, in_slots
from .column_program import ColumnProgram, Solution
from .destructive_bound import destructive_bound
from .knapsack import Ints
from .patterns import Pattern, cheapest_pattern
from .pricing_problem import Pricing
from .ring_states import RingState, Spreading, ring_states

PRICE_SCALE = 10**9
MOST_LENGTH = 10**8
"""Longest schedules: times a price, their slots are whole numbers of 64 bits."""
MOST_STATES = 600
"""Most states of all jobs in the linear program."""
MOST_ROUNDS = 400
"""After so many rounds, a length counts as not refuted."""


class Cut(NamedTuple):
    """What prices say about schedules of at most a certain length, in certain classes.

    Attributes
    ----------
    length
        Slots.
    within
        (jobs) The classes that the jobs may take. A job in another one is worth nothing.
    prices
        (job, class) Prices of its states, whole numbers.
    dearest
        The jobs of a slot are worth at most this.
    cheapest
        (job, class) The slots of a job in this class are worth at least this. A class that is
        missing does not do the job's iterations in this length.
    """

    length: int
    within: Sequence[Collection[int]]
    prices: dict[tuple[int, int], tuple[int, ...]]
    dearest: int
    cheapest: dict[tuple[int, int], int]

    def least(self, job: int) -> int | None:
        """The slots of a job are worth at least this, in any class; None if none is possible."""
        return min((price for (j, _), price in self.cheapest.items() if j == job), default=None)

    @property
    def refutes(self) -> bool:
        """Whether the jobs are worth more than all slots, so that there is no such schedule."""
        worths = [self.least(job) for job in range(len(self.within))]
        possible = [worth for worth in worths if worth is not None]
        return len(possible) < len(worths) or sum(possible) > self.length * self.dearest


class _Work(NamedTuple):
    """What is to be done: iterations that are left of each job, in certain classes, in a length."""

    length: int
    within: Sequence[Collection[int]]
    left: Sequence[int]

    def allows(self, j: int, k: int) -> bool:
        """Whether a job has something left, and may take a class."""
        return self.left[j] > 0 and k in self.within[j]


class Configurations:
    """The configuration bound of an instance; it keeps the columns for further lengths.

    Attributes
    ----------
    fits
        Whether the instance is small enough.
    spreadings
        (jobs) The states of each job, by size and number of servers; see `ring_states`.
    """

    def __init__(self, instance: Instance) -> None:
        self._iterations = [job.iterations_left for job in instance.jobs]
        self.spreadings: list[tuple[Spreading, ...]] = []
        self._first: dict[tuple[int, int], int] = {}
        self._count = 0
        capacities = [server.gpus for server in instance.cluster.servers]
        self._pricing = Pricing(capacities, len(instance.jobs))
        self.fits = self._pricing.fits
        # Of a large instance even the states take long, so they are not all made.
        spreadings = ring_states(instance) if self.fits else iter(())
        for j, row in enumerate(spreadings):
            self.spreadings.append(row)
            for k, spreading in enumerate(row):
                self._first[j, k] = self._count
                self._count += len(spreading)
            if self._count > MOST_STATES:
                self.fits = False
                break
        self._owner = [key for key in self._first for _ in self.spreadings[key[0]][key[1]]]
        self._columns: dict[tuple[int, ...], None] = {(i,): None for i in range(self._count)}

    def refuted(
        self,
        length: int,
        stop: Callable[[], bool] = lambda: False,
        within: Sequence[Collection[int]] | None = None,
    ) -> bool:
        """Whether it is proven that no schedule has this length or less.

        Parameters
        ----------
        length
            Slots.
        stop
            Called repeatedly; if it returns True, nothing is proven.
        within
            (jobs) Indices of the spreadings that each job may take; by default all. Then only
            schedules in which the jobs keep to them are refuted.
        """
        cut = self.cut(length, stop, within, only_refuting=True)
        return cut is not None and cut.refutes

    def cut(
        self,
        length: int,
        stop: Callable[[], bool] = lambda: False,
        within: Sequence[Collection[int]] | None = None,
        left: Sequence[int] | None = None,
        *,
        only_refuting: bool = False,
        scale: int = PRICE_SCALE,
    ) -> Cut | None:
        """Prices that say the most about schedules of a length; None if none are found.

        Parameters
        ----------
        length, stop, within
            See `refuted`.
        left
            (jobs) Iterations that are left of each job; by default all. A job without any left is
            not looked at.
        only_refuting
            Whether to give up once it is known that no prices refute the length.
        scale
            Price of a slot, nearly.
        """
        if not self.fits or length > MOST_LENGTH:
            return None
        within = within or [range(len(spreadings)) for spreadings in self.spreadings]
        work = _Work(length, within, self._iterations if left is None else left)
        program = self._program(work)
        if program is None:
            return Cut(length, within, {}, 0, {})
        for _ in range(MOST_ROUNDS):
            solution = program.solve()
            if solution is None or stop():
                return None
            if only_refuting and solution.multiple <= length * (1 + 1e-9):
                return None
            prices = self._whole(solution, PRICE_SCALE)
            patterns = [self._cheapest(j, prices, work) for j in range(len(within))]
            # If no configuration is above this price, the jobs are worth more than all slots.
            total = sum(min(row.values()).price for row in patterns)
            most = max((total - 1) // max(1, length), PRICE_SCALE + self._count)
            exact, dearest, configurations = self._pricing.above(most, self._choices(prices, work))
            if not exact:
                return None  # The next search would hardly be easier.
            cut = self._cut(work, prices, dearest, patterns)
            if cut.refutes:
                return cut
            for column in configurations:
                program.add(dict.fromkeys(column, 1.0), 0)
                self._columns[column] = None
            added = bool(configurations)
            for j, worth in enumerate(solution.prices[self._count :]):
                k, pattern = min(patterns[j].items(), key=lambda item: item[1].price)
                # Each slot of a pattern may have lost a unit where its price was rounded.
                if pattern.price + length < worth * PRICE_SCALE * (1 - 1e-9):
                    program.add(self._column(j, k, pattern))
                    added = True
            if not added:
                prices = self._whole(solution, scale)
                patterns = [self._cheapest(j, prices, work) for j in range(len(within))]
                exact, dearest, _ = self._pricing.above(scale, self._choices(prices, work))
                return self._cut(work, prices, dearest, patterns) if exact else None
        return None

    def _cut(
        self, work: _Work, prices: Ints, dearest: int, patterns: Sequence[dict[int, Pattern]]
    ) -> Cut:
        """What prices say."""
        nothing = np.zeros_like(prices)
        return Cut(
            work.length,
            work.within,
            {
                (j, k): tuple(map(int, given[first : first + len(self.spreadings[j][k])]))
                for (j, k), first in self._first.items()
                for given in (prices if work.allows(j, k) else nothing,)
            },
            dearest,
            {(j, k): pattern.price for j, row in enumerate(patterns) for k, pattern in row.items()},
        )

    def _program(self, work: _Work) -> ColumnProgram | None:
        """The linear program with the known columns; None if a job does not fit the length."""
        program = ColumnProgram([0.0] * self._count + [1.0] * len(self.spreadings), [1])
        # A slot in a fast state can count as one in a slower state: no pattern needs that, so the
        # optimum stays, and fewer prices are possible.
        for (j, k), state in self._first.items():
            for i in range(len(self.spreadings[j][k]) - 1):
                program.add({state + i: -1.0, state + i + 1: 1.0})
        allowed = [work.allows(*self._owner[state]) for state in range(self._count)]
        for column in {tuple(i for i in column if allowed[i]): None for column in self._columns}:
            program.add(dict.fromkeys(column, 1.0), 0)
        free = np.zeros(self._count, np.int64)
        for j in range(len(work.within)):
            patterns = self._cheapest(j, free, work)
            if not patterns:
                return None
            for k, pattern in patterns.items():
                program.add(self._column(j, k, pattern))
        return program

    def _whole(self, solution: Solution, scale: int) -> Ints:
        """(states) The prices in whole numbers."""
        prices: Ints = np.floor(np.minimum(solution.prices[: self._count], 2.0) * scale).astype(
            np.int64
        )
        return prices

    def _column(self, job: int, spreading: int, pattern: Pattern) -> dict[int, float]:
        """A pattern of a job as a column."""
        first = self._first[job, spreading]
        content = {first + i: -number for i, number in enumerate(pattern.slots) if number}
        return content | {self._count + job: 1.0}

    def _cheapest(self, j: int, prices: Ints, work: _Work) -> dict[int, Pattern]:
        """The cheapest patterns of a job, by spreading."""
        found = {}
        for k in work.within[j]:
            spreading, first = self.spreadings[j][k], self._first[j, k]
            own = prices[first : first + len(spreading)]
            pattern = cheapest_pattern(spreading, own, work.left[j], work.length)
            if pattern is not None:
                found[k] = pattern
        return found

    def _choices(self, prices: Ints, work: _Work) -> list[list[tuple[int, int, int, int, int]]]:
        """(jobs) Size, servers, rings, price and number of each state."""
        return [
            [
                (*state[:3], int(prices[first + i]), first + i)
                for k in classes
                for first in (self._first[j, k],)
                for i, state in enumerate(self.spreadings[j][k])
            ]
            if work.left[j] > 0
            else []
            for j, classes in enumerate(work.within)
        ]


def configuration_bound(
    instance: Instance,
    known: int,
    upper: int | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> int | None:
    """The configuration bound.

    Parameters
    ----------
    instance
        The problem.
    known, upper, stop
        See `destructive_bound`.

    Returns
    -------
    int or None
        None if the bound is not above `known`, or if the instance is too large: more states of
        rings than 600, or more servers than their states fit into 62 bits.
    """
    configurations = Configurations(instance)
    if not configurations.fits:
        return None
    return destructive_bound(
        known, upper, lambda length: configurations.refuted(length, stop), stop
    )


def certify(instance: Instance, objective: Objective, value: Value) -> EachJob | SlotPrices | None:
    """Prices of states that refute all schedules below a value."""
    if (alone := of_jobs_alone(instance, objective, value)) is not None:
        return alone
    configurations, length = Configurations(instance), int(value) - 1
    cut = configurations.cut(length, only_refuting=True)
    if cut is None or not cut.refutes:
        return None
    jobs = {}
    for j, job in enumerate(instance.jobs):
        states = tuple(
            PricedState(gpus=state.size, servers=state.servers, rings=state.rings, price=price)
            for k, spreading in enumerate(configurations.spreadings[j])
            for state, price in zip(spreading, cut.prices.get((j, k), ()), strict=False)
            if price
        )
        least = cut.least(j)
        # A job that is not done in this length is worth any number.
        worth = length * cut.dearest + 1 if least is None else least
        jobs[job.name] = PricedJob(states=states, least=worth)
    return SlotPrices(kind="slot-prices", length=length, jobs=jobs, dearest=cut.dearest)


def prepare() -> None:
    """Compile this bound in advance, so that compilation does not count as its time."""
    state = RingState(1, 1, 1, 1)
    cheapest_pattern((state,), np.zeros(1, np.int64), 1, 1)
    Pricing([1], 1).above(0, [[(1, 1, 1, 1, 0)]])


CONFIGURATIONS = Bound(
    "configurations",
    "whole slots of what can run together, links shared, must give every job its iterations",
    tighten=in_slots(configuration_bound),
    objectives=ON_MAKESPAN,
    handles=UNINTERRUPTED,
    rank=8,
    cost="seconds",
    certify=certify,
)
