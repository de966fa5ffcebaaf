"""One thread of a search, as its neighbourhoods see it, and how such a neighbourhood is recorded.

Turns begin from the thread's own best order, from the best solution of all threads, or anew. Which
it is differs between threads, and between the turns of a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple, Protocol

import numpy as np

from rarmodel.engine import NEVER, Arrays, new_state
from rarmodel.engine.arrays import Floats, Ints
from rarmodel.engine.random_numbers import Generator, below_plain
from rarmodel.methods import Neighbourhood
from rarmodel.packing import Layout as PackingLayout
from rarmodel.packing import Solution
from rarmodel.packing.server_orders import Packing

from .decode import decode
from .decoder import decoded
from .layout import ANY, ANY_ALONE, FEWEST_ALONE, PACK, Layout, new_work
from .order_annealing import BEST, NOTHING, new_orders

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


def _never(layout: PackingLayout) -> bool:
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
    leads: Callable[[PackingLayout], bool] = field(default=_never, kw_only=True)


class Thread:
    """The instance as a thread has it, its random numbers, and its orders of the jobs.

    Parameters
    ----------
    arrays, layout, packing
        The instance: for the engine, for list schedules and for packings.
    index
        Number of the thread.
    starts
        Orders and modes to start from, the best one first.
    odds
        (jobs) How often a new mode lets each job share links; they may change between steps.
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
        The thread's orders.
    missed
        A packing for another neighbourhood to go on with.
    """

    def __init__(
        self,
        arrays: Arrays,
        layout: Layout,
        packing: PackingLayout,
        index: int,
        starts: Sequence[tuple[Ints, Ints]],
        odds: Floats,
        generator: Generator,
        stop: Ints,
        some: Sequence[OnThreads],
    ) -> None:
        self.arrays, self.layout, self.packing = arrays, layout, packing
        self.index, self.starts = index, starts
        self.generator, self.stop = generator, stop
        self.names = frozenset(one.name for one in some)
        self.leader = next((one.name for one in some if one.leads(packing)), None)
        self.state, self.work = new_state(arrays), new_work(arrays, layout, stop)
        # What was found is worth a last schedule, whoever asked to stop.
        self._unstopped = self.work._replace(stop=np.zeros(1, np.int64))
        self.orders = new_orders(*starts[index % len(starts)], odds)
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
        """The solution of the thread's best order; the best of all if that is not known."""
        return self.decoded(BEST) if self.orders.excess[BEST] < NOTHING else best

    def decoded(self, row: int) -> Solution:
        """The solution of one of the orders."""
        genes = (self.orders.order[row], self.orders.mode[row], self.orders.earliest[row])
        decode(self.arrays, self.state, self.layout, self._unstopped, *genes, NEVER)
        return decoded(self.layout, self.work, self.state)

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
        mode = np.where(fits, PACK, random.choice((FEWEST_ALONE, ANY_ALONE, ANY), len(fits)))
        genes = order, mode, np.zeros(len(fits), np.int64)
        if decode(self.arrays, self.state, self.layout, self._unstopped, *genes, NEVER) < 0:
            return None
        return decoded(self.layout, self.work, self.state)
