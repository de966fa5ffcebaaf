"""Step functions of time: GPUs held, rings on a link."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Steps:
    """A step function of time: 0 before the first change.

    Attributes
    ----------
    slots
        Slots at which the value changes, ascending.
    values
        The value from each of these slots until before the next; the last value stays.
    """

    slots: tuple[int, ...]
    values: tuple[int, ...]

    @property
    def greatest(self) -> int:
        """The greatest value."""
        return max(self.values, default=0)

    def integral(self, end: float) -> float:
        """Sum of the values over the slots from 0 until before `end`: GPU slots, ring slots."""
        return float(self._integrals(np.array([0.0, end]))[-1])

    def means(self, edges: Floats) -> Floats:
        """Mean value between each edge and the next.

        Parameters
        ----------
        edges
            (bins + 1) In slots, ascending.
        """
        means: Floats = np.diff(self._integrals(edges)) / np.diff(edges)
        return means

    def maxima(self, edges: Floats) -> Floats:
        """Greatest value from each edge until before the next; parameters as `means`."""
        slots = np.array(self.slots, float)
        values = np.array([0, *self.values, 0], float)  # `reduceat` wants one more than it reads.
        first = np.searchsorted(slots, edges[:-1], "right")
        after = np.searchsorted(slots, edges[1:], "left") + 1
        pairs = np.column_stack([first, after]).ravel()
        greatest: Floats = np.maximum.reduceat(values, pairs)[::2]
        return greatest

    def _integrals(self, edges: Floats) -> Floats:
        """Integral from the first change, or the first edge, to each edge."""
        knots = np.array([min([edges[0], *self.slots[:1]]), *self.slots], float)
        knots = np.append(knots, max(edges[-1], knots[-1]))
        areas = np.diff(knots) * np.array([0, *self.values], float)
        totals = np.concatenate([[0.0], np.cumsum(areas)])
        at: Floats = np.interp(edges, knots, totals)
        integrals: Floats = at - at[0]
        return integrals


def steps_of(changes: Iterable[tuple[int, int]]) -> Steps:
    """Add up changes, each at its slot."""
    total: Counter[int] = Counter()
    for slot, change in changes:
        total[slot] += change
    slots = sorted(slot for slot, change in total.items() if change)
    values = np.cumsum([total[slot] for slot in slots], dtype=np.int64)
    return Steps(tuple(slots), tuple(values.tolist()))


def time_bins(end: int, most: int) -> Floats:
    """Edges that divide the slots from 0 to `end` (at least 1) evenly, in at most `most` bins."""
    return np.linspace(0, end, min(end, most) + 1)
