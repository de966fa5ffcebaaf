"""Turns over orders: hill climbing at first, then annealing from several starts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rarmodel.engine import NEVER
from rarmodel.engine.arrays import Ints
from rarmodel.engine.random_numbers import below_plain
from rarmodel.packing import Solution

from .layout import PACK, SPREAD
from .order_annealing import CURRENT, NOTHING, SHORTEST, anneal_orders
from .thread import ANEW, BEST_SOLUTION, MOMENT, Missed, Thread


class Numbers(NamedTuple):
    """How turns over orders go."""

    work: int = 100_000
    """Approximate number of jobs to schedule in one step: less than 0.1 s."""
    steps: int = 20
    most_steps: int = 160
    """Steps of the first turn, and most steps; each turn is twice as long as the last."""
    hot: float = 0.05
    cold: float = 0.003
    """First and last temperature of a turn, as a share of the mean of GPUs times execution time.
    The first turn is cold, to find a good solution soon."""


NUMBERS = Numbers()


class OrderTurns:
    """The turns of one thread over orders.

    Parameters
    ----------
    thread
        The thread.
    """

    def __init__(self, thread: Thread) -> None:
        self._thread = thread
        layout = thread.layout
        self._nested = thread.nested
        self._target = self._incumbent = 0
        self._temperature, self._cooling = 0.0, 1.0
        self._area = float((layout.size * layout.least).mean())
        self._trials = max(1, NUMBERS.work // (len(layout.size) + 40))
        self.left = self._longest = max(2, int(NUMBERS.steps / thread.many))
        self._most = max(2, int(NUMBERS.most_steps / thread.many))
        if thread.leader is not None:
            self._most = MOMENT

    def wants(self, start: int) -> bool:
        """Take every turn."""
        return True

    def mend(self, missed: Missed, best: Solution | None, bound: int) -> bool:
        """Take no packings."""
        return False

    def begin(self, start: int, best: Solution | None, bound: int) -> None:
        """Start to anneal, from another start if nothing improved since the last time."""
        self._longest = self.left = min(2 * self._longest, self._most)
        if not self._nested:  # Otherwise the turns are too short for that.
            self._temperature = NUMBERS.hot * self._area
            self._cooling = (NUMBERS.cold / NUMBERS.hot) ** (1 / (self._trials * self.left))
        incumbent = NEVER if best is None else best.makespan
        stagnant = incumbent == self._incumbent and not self._nested
        self._incumbent = incumbent
        thread = self._thread
        if best is not None and start == BEST_SOLUTION:
            mode = thread.orders.mode[CURRENT]
            packed = (best.used == 1) & (mode != SPREAD)
            self._reorder_from(np.argsort(best.starts, kind="stable"), np.where(packed, PACK, mode))
        elif stagnant and start == ANEW:
            starts = thread.starts
            self._reorder_from(*starts[below_plain(thread.generator, len(starts))])

    def step(self, best: Solution | None, bound: int) -> Solution | None:
        """Anneal for a moment."""
        thread = self._thread
        incumbent = NEVER if best is None else best.makespan
        target = thread.aim(incumbent, bound)
        if target != self._target:
            self._target = target
            thread.orders.excess[:] = NOTHING
        anneal_orders(
            thread.arrays,
            thread.state,
            thread.layout,
            thread.work,
            thread.orders,
            target,
            self._trials,
            self._temperature,
            self._cooling,
            thread.generator,
        )
        self._temperature *= self._cooling**self._trials
        return thread.decoded(SHORTEST) if thread.orders.makespan[0] < incumbent else None

    def _reorder_from(self, order: Ints, mode: Ints) -> None:
        """Continue with another order."""
        orders = self._thread.orders
        orders.order[CURRENT] = order
        orders.mode[CURRENT] = mode
        orders.earliest[CURRENT] = 0
        orders.excess[:] = NOTHING
