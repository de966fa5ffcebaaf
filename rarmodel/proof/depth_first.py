"""The question whether a schedule is as short as a target, for rarmodel's own engine: see `branch`.

It is decided in whole numbers, and shares no code with `timetable` but the classes. Where a state
has taken many nodes, the configuration bound is asked about it: what is left of each job must fit
the slots that are left. If the bound does not refute that, its prices are a further cut for all
nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from rarmodel.bounds.configurations import Configurations, Cut
from rarmodel.engine import arrays_of
from rarmodel.schema import Instance

from .branch import FOUND, NONE, branch, plant
from .cuts import appraise, class_of, forms, with_room, write_cut
from .event_steps import leave
from .placement_options import options_of
from .tree import LEVEL, USED, Options, new_tree
from .verdict import NOT_KNOWN, Verdict, plan_in

STEP = 20_000
"""Nodes between two looks at the clock: less than 0.1 s."""
MEMORY = 256_000_000
"""Size in bytes of the table of known nodes."""
MOST_OPTIONS = 20_000
"""Most placements of all jobs."""
CUTS = 10
"""Most cuts in use; a further one replaces the oldest but the first."""
PATIENCE = 50_000
"""After so many nodes, the configuration bound is asked about a state."""


class DepthFirst:
    """A depth-first search for a schedule of jobs of a plain instance; it can stop and continue.

    Parameters
    ----------
    instance
        The problem.
    bound
        The configuration bound of the instance; no other thread may use it at the same time.
    target
        Most slots of the schedule.
    within
        (jobs) The classes that each job may take, by index.
    jobs
        The jobs to schedule; by default all.
    cuts
        Most cuts of the bound in use; 0 for a search without the bound.
    """

    def __init__(
        self,
        instance: Instance,
        bound: Configurations,
        target: int,
        within: Sequence[Collection[int]],
        jobs: Sequence[int] | None = None,
        cuts: int = CUTS,
    ) -> None:
        self._target, self._bound, self._arrays = target, bound, arrays_of(instance)
        self._within = [frozenset(classes) for classes in within]
        self._iterations = [job.iterations_left for job in instance.jobs]
        numbers = [
            {bound.spreadings[j][k][0].servers for k in classes} for j, classes in enumerate(within)
        ]
        options = options_of(instance, self._arrays, numbers, jobs, MOST_OPTIONS)
        if options is None:
            self._options = None
            return
        if cuts > 0:
            options = with_room(options, self._iterations, bound.spreadings, cuts)
        self._options, self._next = options, 0
        self._classes = [class_of(bound.spreadings[j], servers) for j, servers in forms(options)]
        self._tree = new_tree(self._arrays, options, MEMORY)
        plant(self._arrays, options, self._tree)

    @property
    def able(self) -> bool:
        """Whether there are few enough placements for an answer."""
        return self._options is not None

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
            if not self._ask(options, stop):
                return Verdict(impossible=True)
            answer = branch(self._arrays, options, tree, self._target, STEP)
            if answer == NONE:
                return Verdict(impossible=True)
            if answer == FOUND:
                return Verdict(impossible=False, plan=plan_in(tree, options))
        return NOT_KNOWN

    def _ask(self, options: Options, stop: Callable[[], bool]) -> bool:
        """Ask the bound about the first state on the path that has taken many nodes.

        Returns whether there are states left to look at.
        """
        tree, room = self._tree, len(options.prices.slot)
        for level in range(tree.counters[LEVEL] + 1 if room else 0):
            if level and tree.counters[USED] - tree.born[level] < PATIENCE:
                return True
            if tree.asked[level]:
                continue
            tree.asked[level] = 1
            cut = self._cut(options, level, stop)
            if cut is None:
                return True
            if cut.refutes:
                return leave(tree, level)
            write_cut(options, self._next, cut, self._iterations, self._bound.spreadings)
            appraise(options, tree, self._next)
            # The first cut is the one of all states.
            self._next = self._next + 1 if self._next + 1 < room else min(1, room - 1)
            return True
        return True

    def _cut(self, options: Options, level: int, stop: Callable[[], bool]) -> Cut | None:
        """What the bound says about the state of a level."""
        tree = self._tree
        left = [0] * len(self._iterations)
        for place, j in enumerate(options.job):
            left[j] = int(tree.left[level, place])
        within = self._within.copy()
        for place, option in zip(tree.job[:level], tree.option[:level], strict=True):
            within[options.job[place]] = frozenset({self._classes[option]})
        return self._bound.cut(self._target - int(tree.clock[level]), stop, within, left)
