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

from rarmodel.schema import Instance

from .bound import ON_MAKESPAN, UNINTERRUPTED, Bound, in_slots
from .climb import climbed
from .column_program import ColumnProgram, Solution
from .dearest import Pricing
from .knapsack import Ints
from .patterns import Pattern, cheapest_pattern
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
    prices
        (job, spreading) Prices of its states, whole numbers.
    dearest
        The jobs of a slot are worth at most this.
    cheapest
        (job, spreading) The slots of a job in this class are worth at least this. A class that is
        missing is impossible.
    """

    prices: dict[tuple[int, int], tuple[int, ...]]
    dearest: int
    cheapest: dict[tuple[int, int], int]

    def classes(self, job: int) -> list[int]:
        """The classes of a job that are possible."""
        return [k for j, k in self.cheapest if j == job]

    def least(self, job: int) -> int:
        """The slots of a job are worth at least this, in any class."""
        return min(self.cheapest[job, k] for k in self.classes(job))


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
        self._columns: list[tuple[int, ...]] = [(state,) for state in range(self._count)]

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
        if not self.fits or length > MOST_LENGTH:
            return False
        within = within or [range(len(spreadings)) for spreadings in self.spreadings]
        program = self._program(length, within)
        if program is None:
            return True
        for _ in range(MOST_ROUNDS):
            solution = program.solve()
            if solution is None or stop() or solution.multiple <= length * (1 + 1e-9):
                return False
            refuted, added = self._priced(program, solution, length, within)
            if refuted or not added:
                return refuted
        return False

    def cut(
        self,
        length: int,
        within: Sequence[Collection[int]],
        stop: Callable[[], bool],
        scale: int = PRICE_SCALE,
    ) -> Cut | None:
        """Prices that say the most about schedules of a length; None if none are found.

        Parameters
        ----------
        length, within, stop
            See `refuted`.
        scale
            Price of a slot, nearly.
        """
        program = self._program(length, within)
        if not self.fits or program is None:
            return None
        solution = None
        for _ in range(MOST_ROUNDS):
            solution = program.solve()
            if solution is None or stop():
                return None
            if not self._priced(program, solution, length, within)[1]:
                break
        if solution is None:
            return None
        prices = self._whole(solution, scale)
        exact, dearest, _ = self._pricing.above(scale, self._choices(prices, within))
        if not exact:
            return None
        return Cut(
            {
                (j, k): tuple(int(price) for price in prices[first : first + len(spreading)])
                for (j, k), first in self._first.items()
                for spreading in (self.spreadings[j][k],)
            },
            dearest,
            {
                (j, k): pattern.price
                for j, classes in enumerate(within)
                for k, pattern in self._cheapest(j, prices, length, classes).items()
            },
        )

    def _program(self, length: int, within: Sequence[Collection[int]]) -> ColumnProgram | None:
        """The linear program with the known columns; None if a job does not fit the length."""
        program = ColumnProgram([0.0] * self._count + [1.0] * len(self.spreadings), [1])
        # A slot in a fast state can count as one in a slower state: no pattern needs that, so the
        # optimum stays, and fewer prices are possible.
        for (j, k), state in self._first.items():
            for i in range(len(self.spreadings[j][k]) - 1):
                program.add({state + i: -1.0, state + i + 1: 1.0})
        for column in self._columns:
            program.add(dict.fromkeys(column, 1.0), 0)
        free = np.zeros(self._count, np.int64)
        for j, classes in enumerate(within):
            patterns = self._cheapest(j, free, length, classes)
            if not patterns:
                return None
            for k, pattern in patterns.items():
                program.add(self._column(j, k, pattern))
        return program

    def _priced(
        self,
        program: ColumnProgram,
        solution: Solution,
        length: int,
        within: Sequence[Collection[int]],
    ) -> tuple[bool, bool]:
        """Whether the prices of a solution refute a length; whether there are new columns."""
        prices = self._whole(solution, PRICE_SCALE)
        total, added = 0, False
        for j, worth in enumerate(solution.prices[self._count :]):
            # Prices do not change what is possible, so there still is one.
            patterns = self._cheapest(j, prices, length, within[j])
            k, pattern = min(patterns.items(), key=lambda item: item[1].price)
            total += pattern.price
            # Each slot of a pattern may have lost a unit where its price was rounded.
            if pattern.price + length < worth * PRICE_SCALE * (1 - 1e-9):
                program.add(self._column(j, k, pattern))
                added = True
        # If no configuration is above this price, the jobs are worth more than all slots.
        enough = (total - 1) // length
        least = max(enough, PRICE_SCALE + self._count)
        exact, dearest, configurations = self._pricing.above(least, self._choices(prices, within))
        if not exact:
            return False, False  # The next search would hardly be easier.
        if dearest <= enough:
            return True, False
        for column in configurations:
            program.add(dict.fromkeys(column, 1.0), 0)
            self._columns.append(column)
        return False, added or bool(configurations)

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

    def _cheapest(
        self, j: int, prices: Ints, length: int, within: Collection[int]
    ) -> dict[int, Pattern]:
        """The cheapest patterns of a job, by spreading."""
        found = {}
        for k in within:
            spreading, first = self.spreadings[j][k], self._first[j, k]
            own = prices[first : first + len(spreading)]
            pattern = cheapest_pattern(spreading, own, self._iterations[j], length)
            if pattern is not None:
                found[k] = pattern
        return found

    def _choices(
        self, prices: Ints, within: Sequence[Collection[int]]
    ) -> list[list[tuple[int, int, int, int, int]]]:
        """(jobs) Size, servers, rings, price and number of each state."""
        return [
            [
                (*state[:3], int(prices[first + i]), first + i)
                for k in classes
                for first in (self._first[j, k],)
                for i, state in enumerate(self.spreadings[j][k])
            ]
            for j, classes in enumerate(within)
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
        See `climb.climbed`.

    Returns
    -------
    int or None
        None if the bound is not above `known`, or if the instance is too large: more states of
        rings than 600, or more servers than their states fit into 62 bits.
    """
    configurations = Configurations(instance)
    if not configurations.fits:
        return None
    return climbed(known, upper, lambda length: configurations.refuted(length, stop), stop)


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
    rank=7,
    cost="seconds",
)
