"""The question whether a schedule has a sum of terms of at most a limit, for `branch_sums`.

It takes the paper's problem with releases, and objectives that are sums of terms of one shape, in
whole numbers. The search goes on from limit to limit: where a schedule is found, the next one is to
cost less, and what was refuted stays refuted.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rarmodel.engine import Arrays, arrays_of
from rarmodel.model import horizon_of, unhandled
from rarmodel.model.features import CARDS, OBJECTIVES, RELEASES, TERMS
from rarmodel.model.objectives import objectives_of
from rarmodel.schema import Instance

from .branch import FOUND, NONE
from .branch_sums import branch_sums, plant_sums
from .event_steps import back
from .placement_options import MOST, options_of
from .ring_worths import ring_worths
from .sums import Sums
from .tree import USED, Options, new_tree
from .verdict import NOT_KNOWN, Verdict, plan_in

HANDLES = TERMS | {OBJECTIVES.name, RELEASES.name, CARDS.name}
"""Features of the instances that it takes."""
STEP = 10_000
"""Nodes between two looks at the clock: less than 0.2 s."""
MEMORY = 256_000_000
"""Size in bytes of the table of known states."""
MOST_JOBS = 20
"""With more jobs, there is no proof within minutes."""
MOST_SUM = 2**49
"""Greatest values of an objective; times `FINE` and some units more, they are whole numbers."""


class SumSearch:
    """A depth-first search for schedules of small sums; it can stop and continue.

    Parameters
    ----------
    arrays, options, sums
        The problem; see `sum_search`.

    Attributes
    ----------
    least
        What every schedule costs at least.
    """

    def __init__(self, arrays: Arrays, options: Options, sums: Sums) -> None:
        self._arrays, self._options, self._sums = arrays, options, sums
        self._tree = new_tree(arrays, options, MEMORY)
        self.least = plant_sums(arrays, options, self._tree, sums)

    def search(self, most: int, nodes: int, stop: Callable[[], bool]) -> Verdict:
        """Go on for some nodes, unless there is an answer before.

        Parameters
        ----------
        most
            The limit; it never rises from call to call.
        nodes
            Most nodes from now on.
        stop
            Called repeatedly; if it returns True, the search stops.
        """
        tree = self._tree
        last = tree.counters[USED] + nodes
        if self.least > most:
            return Verdict(impossible=True)
        while tree.counters[USED] < last and not stop():
            answer = branch_sums(self._arrays, self._options, tree, self._sums, most, STEP)
            if answer == NONE:
                return Verdict(impossible=True)
            if answer == FOUND:
                plan = plan_in(tree, self._options)
                back(tree)
                return Verdict(impossible=False, plan=plan)
        return NOT_KNOWN


def sum_search(instance: Instance) -> SumSearch | None:
    """The search for an instance; None if it is too large, or asks for something else."""
    first, *others = objectives_of(instance)
    terms = first.terms(instance)
    counted = [term for term in terms if term is not None]
    if (
        others
        or len(instance.jobs) > MOST_JOBS
        or first.greatest
        or len({term.shape for term in counted}) != 1
        or any(term.divisor != 1 for term in counted)
        or unhandled(instance, HANDLES, "") is not None
    ):
        return None
    horizon = horizon_of(instance)
    if sum(term.weight * (horizon + abs(term.offset)) for term in counted) > MOST_SUM:
        return None
    arrays = arrays_of(instance)
    options = options_of(instance, arrays)
    if options is None or options.least.max() > horizon:
        return None
    worths = ring_worths(instance, options)
    by_place = [terms[j] for j in options.job]
    weight = np.array([0 if term is None else term.weight for term in by_place], np.int64)
    jobs, servers = len(by_place), len(options.gpus)
    if int(worths.need.max()) * max(3 * horizon, int(weight.max())) >= MOST:
        return None
    return SumSearch(
        arrays,
        options,
        Sums(
            horizon=horizon,
            shape=int(counted[0].shape),
            weight=weight,
            offset=np.array([0 if term is None else term.offset for term in by_place], np.int64),
            worths=worths,
            end=np.zeros((jobs + 1, jobs), np.int64),
            since=np.zeros((jobs + 1, len(options.slots)), np.int64),
            head=np.zeros(jobs, np.int64),
            busy=np.zeros(jobs, np.int64),
            soonest=np.zeros(jobs, np.int64),
            order=np.zeros(jobs, np.int64),
            idle=np.zeros((servers, int(options.gpus.max()) + 1), np.int64),
            counted=np.zeros(jobs, np.int64),
            rest=np.zeros(jobs, np.int64),
        ),
    )
