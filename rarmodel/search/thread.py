"""One thread of a search, as its neighbourhoods see it, and how such a neighbourhood is recorded.

Turns begin from the thread's own best order, from the best solution of all threads, or anew. Which
it is differs between threads, and between the turns of a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple, Protocol

import numpy as np

from rarmodel.engine import NEVER
from rarmodel.engine.arrays import Floats, Ints
from rarmodel.engine.random_numbers import Generator, below_plain
from rarmodel.lists.instance_arrays import InstanceArrays
from rarmodel.lists.list_schedules import ListSchedules
from rarmodel.lists.objective_arrays import objective_arrays
from rarmodel.lists.order_annealing import OrderAnnealing
from rarmodel.lists.order_moves import BEST, JUSTIFIED, LEAST, NESTED, NOTHING
from rarmodel.lists.placement_options import (
    ANY,
    ANY_ALONE,
    FEWEST_ALONE,
    NEVER_PACKS,
    PACK,
    PlacementOptions,
)
from rarmodel.methods import Neighbourhood
from rarmodel.packing import Layout, Solution
from rarmodel.packing.server_orders import Packing
from rarmodel.schema import Instance

from .starts import decoded, styled

BEST_ORDER, BEST_SOLUTION, ANEW = range(3)
"""Starts of a turn: the thread's best order, the best solution of all threads, or anew: another
start order, or, over packings, jobs dealt out anew."""
STARTS = (ANEW, BEST_SOLUTION, ANEW, BEST_ORDER)
NESTED_STARTS = (ANEW, ANEW, BEST_SOLUTION)
"""Starts of successive turns, the second where turns over buddy blocks lead."""
TARGETS = (0.5, 0.25, 0.75, 0.0)
"""Targets of successive turns, as positions between incumbent (0) and bound (1)."""
SERVERS_NAME, BLOCKS_NAME = "servers", "buddy-blocks"
"""Names of the neighbourhoods that share the turns over packings."""
MOMENT = 2
"""Steps of a turn where another neighbourhood leads: it only gives that one other rings."""
MANY_JOBS = 2_000
"""With more jobs, turns over orders get shorter, as one more order then gains little, and turns
over servers get longer, so that every server gets its share of the moves."""


class Moves(Protocol):
    """A neighbourhood at work on one thread, in turns of several steps.

    Attributes
    ----------
    left
        Steps left of the turn.
    """

    left: int

    def wants(self, start: int) -> bool:
        """Whether it takes turns that begin in such a way."""

    def begin(self, start: int, best: Solution | None, bound: int) -> None:
        """Begin a turn; see `step`."""

    def step(self, best: Solution | None, bound: int) -> Solution | None:
        """Search for a moment; return a solution if it is shorter than the best.

        Parameters
        ----------
        best
            The shortest known solution of any thread; None if there is none.
        bound
            A lower bound on the makespan in slots.
        """

    def mend(self, missed: Missed, best: Solution | None, bound: int) -> bool:
        """Begin a turn with a packing that misses its target; return whether it does so."""


class Missed(NamedTuple):
    """A packing that misses its target by little, for another neighbourhood to go on with."""

    skeleton: Solution
    packing: Packing


def _never(layout: Layout) -> bool:
    return False


@dataclass(frozen=True)
class OnThreads(Neighbourhood):
    """A neighbourhood that takes turns with others on each thread of the search.

    Attributes
    ----------
    changes
        What it changes. A thread takes turns over orders and over packings.
    start
        Makes the moves of one thread.
    leads
        Whether it gains so much more than others that their turns are short.
    """

    runs: ClassVar[str] = "in each thread"

    changes: Literal["orders", "packings"] = field(kw_only=True)
    start: Callable[[Thread], Moves] = field(kw_only=True)
    leads: Callable[[Layout], bool] = field(default=_never, kw_only=True)


class Thread:
    """The instance as a thread has it, its random numbers, and its orders of the jobs.

    Parameters
    ----------
    instance, arrays, layout
        The instance, also for list schedules and for packings.
    index
        Number of the thread.
    starts
        Orders and options to start from, the best one first.
    odds
        (jobs) How often a new option lets each job share links; they may change between steps.
    generator
        The thread's random numbers.
    stop
        (1) Another thread sets it to 1 to stop a step.
    some
        The neighbourhoods that take turns.

    Attributes
    ----------
    leader
        Name of the one that leads; None if none does.
    turn
        Number of the turn.
    orders
        The annealing of the thread's orders.
    missed
        A packing for another neighbourhood to go on with.
    """

    def __init__(
        self,
        instance: Instance,
        arrays: InstanceArrays,
        layout: Layout,
        index: int,
        starts: Sequence[tuple[Ints, Ints]],
        odds: Floats,
        generator: Generator,
        stop: Ints,
        some: Sequence[OnThreads],
    ) -> None:
        self.layout, self.index, self.starts = layout, index, starts
        self.generator, self.stop = generator, stop
        self.names = frozenset(one.name for one in some)
        self.leader = next((one.name for one in some if one.leads(layout)), None)
        lists = ListSchedules(instance, arrays, stop)
        # Short turns between those over blocks only have to find good schedules, of any value.
        numbers = NESTED if self.nested else JUSTIFIED
        self.orders = OrderAnnealing(lists, objective_arrays(instance), numbers, generator)
        self.orders.encodings = self.orders.encodings._replace(
            odds=odds, bulk=layout.size / layout.size.mean()
        )
        self.orders.begin(*starts[index % len(starts)])
        self.turn = 0
        self.missed: Missed | None = None

    @property
    def many(self) -> float:
        """By how much there are more jobs than many; 1 if there are not."""
        return max(1.0, len(self.layout.size) / MANY_JOBS)

    @property
    def nested(self) -> bool:
        """Whether turns over buddy blocks lead."""
        return self.leader == BLOCKS_NAME

    @property
    def options(self) -> PlacementOptions:
        """The options of the jobs."""
        return self.orders.lists.arrays.options

    @property
    def known(self) -> bool:
        """Whether some order of the thread has a schedule."""
        return bool(self.orders.encodings.energy[BEST] < NOTHING)

    def in_turn(self, choices: Sequence[int]) -> int:
        """The choice for this turn: it differs between threads and between turns."""
        return choices[(self.turn // 2 + self.index) % len(choices)]

    def aim(self, incumbent: int, bound: int, parts: Sequence[float] = TARGETS) -> int:
        """The target makespan of this turn."""
        if incumbent == NEVER:
            return bound
        part = parts[(self.index + self.turn // 2) % len(parts)]
        return max(bound, incumbent - 1 - int((incumbent - 1 - bound) * part))

    def own(self, best: Solution | None) -> Solution | None:
        """The solution of the thread's order of least energy; the best of all if there is none.

        It is of the present aim and the present start: the shortest order that the thread ever had
        would lead packings to the same place again and again.
        """
        if self.nested:
            return self.decoded(BEST) if self.known else best
        least = self.orders.encodings.energy[LEAST]
        return self.decoded(LEAST) if least < NOTHING else best

    def decoded(self, row: int) -> Solution:
        """The solution of one of the orders, whoever asked to stop."""
        self.orders.decode(row)
        return decoded(self.orders.lists)

    def begun(self, start: int, best: Solution | None) -> Solution:
        """The solution from which a turn over packings begins."""
        own = best if best is not None and start == BEST_SOLUTION else self.own(best)
        if own is None:
            raise ValueError("a turn over packings needs a solution")
        shuffles = start == ANEW and not self.layout.packed.all()
        if shuffles and below_plain(self.generator, 2) == 0:
            return self._shuffled() or own
        return own

    def _shuffled(self) -> Solution | None:
        """A solution that starts jobs that fit no server among the first; None if some never end.

        The jobs that start before them decide on which servers they spread.
        """
        fits = self.layout.packed > 0
        random = np.random.default_rng(below_plain(self.generator, 2**62))
        before = fits & (random.random(len(fits)) < random.random())
        order = np.lexsort((random.random(len(fits)), np.where(before, 0, np.where(fits, 2, 1))))
        ways = [
            styled(self.layout, self.options, PACK, NEVER_PACKS, style)
            for style in (FEWEST_ALONE, ANY_ALONE, ANY)
        ]
        option = np.choose(random.integers(len(ways), size=len(fits)), ways)
        lists = self.orders.lists
        return decoded(lists) if lists.made(order, option) else None
