"""The question whether a schedule is as short as a target, for rarmodel's own engine: see `branch`.

It is decided in whole numbers, and shares no code with `timetable` but the classes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from rarmodel.bounds.configurations import Cut
from rarmodel.bounds.ring_states import Spreading
from rarmodel.engine import arrays_of
from rarmodel.schema import Instance

from .branch import FOUND, NONE, branch, plant
from .options import options_of, prices_of
from .tree import USED, new_tree
from .verdict import NOT_KNOWN, Verdict, plan_in

STEP = 50_000
"""Nodes between two looks at the clock: less than 0.1 s."""
MEMORY = 256_000_000
"""Size in bytes of the table of known nodes."""


class DepthFirst:
    """A depth-first search for a schedule of a plain instance; it can stop and continue.

    Parameters
    ----------
    instance
        The problem.
    spreadings
        (jobs) The classes of placements of each job.
    target
        Most slots of the schedule.
    within
        (jobs) The classes that each job may take, by index.
    cut
        What prices say about schedules of these classes and this length, if known.
    """

    def __init__(
        self,
        instance: Instance,
        spreadings: Sequence[Sequence[Spreading]],
        target: int,
        within: Sequence[Collection[int]],
        cut: Cut | None,
    ) -> None:
        self._target, self._arrays = target, arrays_of(instance)
        numbers = [
            {spreadings[j][k][0].servers for k in classes} for j, classes in enumerate(within)
        ]
        self._options = options_of(instance, self._arrays, numbers)
        if self._options is None:
            return
        if cut is not None:
            iterations = [job.iterations_left for job in instance.jobs]
            prices = prices_of(self._options, iterations, spreadings, cut)
            self._options = self._options._replace(prices=prices or self._options.prices)
        self._tree = new_tree(self._arrays, self._options, MEMORY)
        plant(self._arrays, self._options, self._tree)

    def search(self, nodes: int, stop: Callable[[], bool]) -> Verdict:
        """Go on for some nodes, unless there is an answer before.

        Parameters
        ----------
        nodes
            Most nodes from now on.
        stop
            Called repeatedly; if it returns True, the search stops.
        """
        options = self._options
        if options is None:
            return NOT_KNOWN
        tree = self._tree
        most = tree.counters[USED] + nodes
        while tree.counters[USED] < most and not stop():
            answer = branch(self._arrays, options, tree, self._target, STEP)
            if answer == NONE:
                return Verdict(impossible=True)
            if answer == FOUND:
                return Verdict(impossible=False, plan=plan_in(tree, options))
        return NOT_KNOWN
