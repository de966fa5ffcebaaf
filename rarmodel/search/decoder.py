"""List schedules of an instance from Python: takes an order of its jobs, returns a plan."""

from __future__ import annotations

import numpy as np

from rarmodel.engine import NEVER, arrays_of, new_state
from rarmodel.engine.arrays import Ints
from rarmodel.schema import Instance

from .decode import decode
from .layout import MODES, layout_of, new_work
from .plan import Plan, decoded


class Decoder:
    """An instance in the layout of the search, with the memory for decoding.

    Attributes
    ----------
    most_modes
        (jobs) Number of useful modes of each job; see `layout`.
    """

    def __init__(self, instance: Instance) -> None:
        self._arrays, self._layout = arrays_of(instance), layout_of(instance)
        self._state, self._work = new_state(self._arrays), new_work(self._arrays, self._layout)
        self.most_modes: Ints = np.minimum(MODES, self._layout.most_modes)

    def plan(self, order: Ints, mode: Ints, earliest: Ints) -> Plan | None:
        """The plan of an order; None if some ring of it never ends.

        Parameters
        ----------
        order
            (jobs) Jobs, most urgent first.
        mode
            (jobs) Mode of each job, below `most_modes`.
        earliest
            (jobs) Earliest start of each job.
        """
        made = decode(
            self._arrays, self._state, self._layout, self._work, order, mode, earliest, NEVER
        )
        return None if made < 0 else decoded(self._layout, self._work, self._state)
