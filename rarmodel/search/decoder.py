"""List schedules of an instance from Python: an order of its jobs goes in, a solution comes out."""

from __future__ import annotations

import numpy as np

from rarmodel.engine import NEVER, arrays_of, new_state
from rarmodel.engine.arrays import Ints
from rarmodel.schema import Instance

from .decode import decode
from .layout import MODES, layout_of, new_work
from .solution import Solution, decoded


class Decoder:
    """An instance laid out, with the memory that decoding needs.

    Attributes
    ----------
    most_modes
        (jobs) How many ways to spread make sense for each job; see `layout`.
    """

    def __init__(self, instance: Instance) -> None:
        self._arrays, self._layout = arrays_of(instance), layout_of(instance)
        self._state, self._work = new_state(self._arrays), new_work(self._arrays, self._layout)
        self.most_modes: Ints = np.minimum(MODES, self._layout.most_modes)

    def solution(self, order: Ints, mode: Ints, earliest: Ints) -> Solution | None:
        """The solution of an order; None if some ring of it never ends.

        Parameters
        ----------
        order
            (jobs) Jobs, most urgent first.
        mode
            (jobs) How each may spread, below `most_modes`.
        earliest
            (jobs) Slot from which on each may start.
        """
        made = decode(
            self._arrays, self._state, self._layout, self._work, order, mode, earliest, NEVER
        )
        return None if made < 0 else decoded(self._layout, self._work, self._state)
