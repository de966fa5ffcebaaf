"""Turns over orders: hill climbing at first, then annealing from several starts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rarmodel.engine import NEVER
from rarmodel.engine.random_numbers import below_plain
from rarmodel.lists.order_moves import BEST, CURRENT, JUSTIFIED
from rarmodel.lists.placement_options import NEVER_PACKS, PACK, PACKS_LAST, option_of_style
from rarmodel.packing import Solution

from .thread import ANEW, BEST_SOLUTION, MOMENT, Missed, Thread


class Numbers(NamedTuple):
    """How turns over orders go."""

    work: int = 100_000
    """Approximate number of jobs to schedule in one step: less than 0.1 s."""
    steps: int = 20
    most_steps: int = 160
    """Steps of the first turn, and most steps; each turn is twice as long as the last."""
    hot: float = 0.05
    warm: float = 0.03
    cold: float = 0.003
    """First temperature of a turn, of the first turn, and the last one, as a share of the mean
    execution time, by which all jobs together are past the target. The first turn is less hot, to
    find a good solution soon; without any heat it would soon be stuck."""


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
        self._incumbent, self._begun = 0, False
        self._least = float(layout.least.mean())
        self._packed = option_of_style(thread.options, PACK, NEVER_PACKS)
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
        thread, orders = self._thread, self._thread.orders
        encodings = orders.encodings
        if not self._nested:  # Otherwise the turns are too short for that.
            self._heat(NUMBERS.hot)
        incumbent = NEVER if best is None else best.makespan
        stagnant = incumbent == self._incumbent and not self._nested
        self._incumbent = incumbent
        if best is not None and start == BEST_SOLUTION:
            option, options = encodings.option[CURRENT], thread.options
            spread = options.packs[options.at[:-1] + option] == PACKS_LAST
            packed = (best.used == 1) & ~spread & (self._packed >= 0)
            order = np.argsort(best.starts, kind="stable")
            orders.begin(order, np.where(packed, self._packed, option))
        elif stagnant and start == ANEW:
            starts = thread.starts
            orders.begin(*starts[below_plain(thread.generator, len(starts))])

    def step(self, best: Solution | None, bound: int) -> Solution | None:
        """Anneal for a moment."""
        thread = self._thread
        incumbent = NEVER if best is None else best.makespan
        orders = thread.orders
        orders.aim_at(thread.aim(incumbent, bound))
        if not (self._nested or self._begun):
            self._begun = orders.step(1)
            if self._begun:
                self._heat(NUMBERS.warm)
        orders.step(self._trials)
        return thread.decoded(BEST) if orders.encodings.value[BEST, 0] < incumbent else None

    def _heat(self, hot: float) -> None:
        """Cool during this turn, from a temperature on."""
        orders = self._thread.orders
        scale = max(1.0, orders.encodings.scale[0])  # It is 0 while no order has a schedule.
        unit = JUSTIFIED.excess * self._least / (scale * len(self._thread.layout.size))
        orders.heat(hot * unit, NUMBERS.cold * unit, self._trials * self.left)
