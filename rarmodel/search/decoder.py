"""List schedules of an instance from Python: takes an order of its jobs, returns a solution."""

from __future__ import annotations

import numpy as np

from rarmodel.engine import NEVER, State, arrays_of, new_state
from rarmodel.engine.arrays import Ints
from rarmodel.packing import Solution
from rarmodel.schema import Instance

from .decode import decode
from .layout import MODES, Layout, Work, layout_of, new_work


class Decoder:
    """An instance in the layout of the search, with the memory for decoding.

    Parameters
    ----------
    instance
        The problem.
    stop
        (1) Another thread sets it to 1 to end what runs at once.

    Attributes
    ----------
    arrays, layout
        The instance.
    most_modes
        (jobs) Number of useful modes of each job; see `layout`.
    """

    def __init__(self, instance: Instance, stop: Ints | None = None) -> None:
        self.arrays, self.layout = arrays_of(instance), layout_of(instance)
        self.most_modes: Ints = np.minimum(MODES, self.layout.most_modes)
        self._state, self._work = new_state(self.arrays), new_work(self.arrays, self.layout, stop)
        self._no_delay = np.zeros(len(instance.jobs), np.int64)

    def makespan(self, order: Ints, mode: Ints, earliest: Ints | None = None) -> int:
        """The makespan of an order in slots, or why there is none; see `decode`.

        Parameters
        ----------
        order
            (jobs) Jobs, most urgent first.
        mode
            (jobs) Mode of each job, below `most_modes`.
        earliest
            (jobs) Earliest start of each job; by default the first slot.
        """
        genes = order, mode, self._no_delay if earliest is None else earliest
        return decode(self.arrays, self._state, self.layout, self._work, *genes, NEVER)

    def last(self) -> Solution:
        """The solution whose makespan was asked for last."""
        return decoded(self.layout, self._work, self._state)

    def solution(self, order: Ints, mode: Ints, earliest: Ints) -> Solution | None:
        """The solution of an order; None if some ring of it never ends."""
        return None if self.makespan(order, mode, earliest) < 0 else self.last()


def decoded(layout: Layout, work: Work, state: State) -> Solution:
    """The decoder's last solution."""
    at = np.concatenate(([0], np.cumsum(work.used)))
    source = np.repeat(layout.place_at[:-1] - at[:-1], work.used) + np.arange(at[-1])
    completions = state.rings["finish"].copy()
    return Solution(
        makespan=int(completions.max()),
        starts=work.starts.copy(),
        completions=completions,
        at=at,
        server=work.server[source],
        workers=work.workers[source],
    )
