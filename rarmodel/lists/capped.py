"""The search for the last of several objectives: less of it, and nothing of the others given up.

It starts from a schedule. Each job is pinned to its place there, so that the schedule itself is one
of those that can be made; annealing then reorders jobs, swaps places, and lets some go elsewhere.
The values of the objectives in the schedule are caps: what is above one counts against a schedule
while annealing, and no such schedule is ever kept.
"""

from __future__ import annotations

import numpy as np

from rarmodel.engine import decisions, numbered_gpus
from rarmodel.engine.arrays import Floats, Ints
from rarmodel.limits import Limits
from rarmodel.model.gpu_sharing import shares_gpus
from rarmodel.schema import Instance, Schedule

from .instance_arrays import pinned
from .order_moves import BEST, CURRENT, NOTHING, Encodings
from .order_search import OrderSearch

MOVES_PER_JOB = 100
"""Most moves of a step for each job: with few jobs, there is little to be found."""
AS_IT_IS, UNDELAYED, RULE = range(3)
"""How rounds begin, by turns."""


class CappedSearch(OrderSearch):
    """A search that lowers the last objective of an instance, and raises none of the others.

    Parameters
    ----------
    instance
        The problem, with two objectives or more.
    schedule
        A schedule to start from, feasible.
    limits
        Of these it respects `threads` and `seed`.
    """

    def __init__(self, instance: Instance, schedule: Schedule, limits: Limits) -> None:
        super().__init__(instance, limits, schedule.method)
        self._moves = min(self._moves, MOVES_PER_JOB * len(instance.jobs))
        starts, places = decisions(instance, schedule)
        gpus = numbered_gpus(instance, schedule) if shares_gpus(instance) else ()
        self._starts: Ints = starts
        for annealing in self._annealing:
            lists = annealing.lists
            lists.arrays = pinned(lists.arrays, places, gpus)
        self._pins = -1 - np.arange(len(starts))
        self._cap()

    def _cap(self) -> None:
        """Make the schedule the best one, and its values caps."""
        for annealing in self._annealing:
            encodings = annealing.encodings
            for cap in (np.inf, None):
                encodings.value[BEST] = NOTHING
                annealing.begin(np.argsort(self._starts, kind="stable"), self._pins, self._starts)
                annealing.step(1)
                if cap is not None:
                    encodings.cap[:-1] = encodings.value[BEST, :-1]
        self._take(0)

    def _guide(self) -> None:
        """Do without: there is a schedule to start from, and the first objective has its cap."""

    def _begin(self, i: int) -> None:
        """Begin a round: with the best of all threads, without its delays, or by a rule."""
        super()._begin(i)
        encodings, kind = self._annealing[i].encodings, (self._round[i] + i) % 3
        if kind == RULE:
            return
        for row, best in zip(_rows(encodings), self._shared, strict=True):
            row[CURRENT] = best
        if kind == UNDELAYED:
            encodings.earliest[CURRENT] = 0
            encodings.energy[CURRENT] = NOTHING

    def _take(self, i: int) -> None:
        """Share the best with all threads, between their steps."""
        before = self.best
        super()._take(i)
        if self.best is not before:
            self._shared = [row[BEST].copy() for row in _rows(self._annealing[i].encodings)]


def _rows(encodings: Encodings) -> tuple[Ints | Floats, ...]:
    return encodings.order, encodings.option, encodings.earliest, encodings.value, encodings.energy
