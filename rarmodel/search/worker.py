"""The turns of one thread of the search: over orders and over packings, as far as there are any."""

from __future__ import annotations

from collections.abc import Sequence

from rarmodel.packing import Solution

from .thread import ANEW, NESTED_STARTS, STARTS, Moves, OnThreads, Thread


class Worker:
    """Lets the neighbourhoods of one thread take turns.

    Turns over orders and over packings alternate. Of several neighbourhoods that change the same,
    those that want a turn with such a start take turns, too.

    Parameters
    ----------
    thread
        The thread.
    some
        The neighbourhoods, of which there is one at least.
    """

    def __init__(self, thread: Thread, some: Sequence[OnThreads]) -> None:
        self._thread = thread
        self._orders: list[Moves] = []
        self._packings: list[Moves] = []
        for one in some:
            group = self._orders if one.changes == "orders" else self._packings
            group.append(one.start(thread))
        self._starts = NESTED_STARTS if thread.nested else STARTS
        # Orders have the first turn, from where they are: they soon find a good solution.
        self._now: Moves | None = self._orders[0] if self._orders else None

    def step(self, best: Solution | None, bound: int) -> Solution | None:
        """Search for a moment; return a solution if it is shorter than the best.

        Parameters
        ----------
        best
            The shortest known solution of any thread; None if there is none.
        bound
            A lower bound on the makespan in slots.
        """
        if self._now is None or self._now.left == 0:
            self._thread.turn += 1
            self._now, start = self._next(best)
            if self._now is None:
                return None
            self._now.begin(start, best, bound)
        self._now.left -= 1
        found = self._now.step(best, bound)
        if (missed := self._thread.missed) is not None:
            self._thread.missed = None
            menders = (one for one in self._packings if one.mend(missed, best, bound))
            self._now = next(menders, self._now)
        return found

    def _next(self, best: Solution | None) -> tuple[Moves | None, int]:
        """Whose turn it is, and how it begins."""
        start = self._thread.in_turn(self._starts)
        by_orders = self._now in self._orders
        if self._orders:
            known = self._thread.known
            packings = self._wanting(self._packings, start) if known and by_orders else []
            return self._in_turn(packings or self._wanting(self._orders, start)), start
        if best is None:  # There is nothing to begin from.
            return None, start
        packings = self._wanting(self._packings, start)
        if not packings:
            start, packings = ANEW, self._wanting(self._packings, ANEW)
        return self._in_turn(packings), start

    def _wanting(self, some: Sequence[Moves], start: int) -> list[Moves]:
        return [one for one in some if one.wants(start)]

    def _in_turn(self, some: Sequence[Moves]) -> Moves | None:
        return some[self._thread.turn // 2 % len(some)] if some else None
