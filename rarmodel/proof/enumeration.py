"""Try all schedules of a tiny instance, for a higher lower bound or a shorter schedule.

The first target is the lower bound itself. If no schedule ends by a target, the bound rises to one
slot more, and the next target is longer. If a schedule ends by it, it is the new best. See
`branch`.
"""

from __future__ import annotations

from rarmodel.bounds import ENUMERATION, LowerBound
from rarmodel.engine import Arrays
from rarmodel.model import horizon_of, unhandled
from rarmodel.model.features import BY_DUTY, CARDS
from rarmodel.schema import Instance

from .branch import FOUND, NONE, branch, plant
from .placement_options import MOST, options_of
from .tree import LEVEL, USED, Options, Tree, new_tree
from .verdict import Plan, plan_in

HANDLES = BY_DUTY | {CARDS.name}
"""Features of the instances that it takes."""
NODES = 50_000
"""Nodes in one step: less than 0.1 s."""
MOST_NODES = 20_000_000
"""Most nodes in all."""
TARGET_NODES = 500_000
"""Most nodes for a target above the bound; after that, the bound itself is the target."""


class Enumeration:
    """The enumeration of all schedules of an instance, step by step.

    Parameters
    ----------
    instance, arrays, options
        The problem.

    """

    def __init__(self, instance: Instance, arrays: Arrays, options: Options) -> None:
        self._instance, self._arrays, self._options = instance, arrays, options
        self._left = MOST_NODES
        self._longest = MOST // (instance.cluster.total_gpus * len(instance.jobs))
        self._tree: Tree | None = None
        self._target = 0
        self._stride = 1

    @property
    def over(self) -> bool:
        """Whether the enumeration has finished."""
        return self._left <= 0

    def step(self, makespan: int, bound: int) -> tuple[Plan | None, LowerBound | None]:
        """Continue for a moment; return a shorter schedule and a higher bound, if any.

        Parameters
        ----------
        makespan
            Makespan of the shortest known schedule, in slots.
        bound
            The known lower bound.
        """
        plan, proven, left = None, bound, NODES
        top = min(makespan - 1, horizon_of(self._instance), self._longest)
        while left > 0 and proven <= top and not self.over:
            tree = self._aim(proven, top)
            used = tree.counters[USED]
            answer = branch(self._arrays, self._options, tree, self._target, left)
            used = tree.counters[USED] - used
            left -= used
            self._left -= used
            if answer == FOUND:
                plan = plan_in(tree, self._options)
                last_completion = int(tree.clock[tree.counters[LEVEL]])
                top, self._stride = last_completion - 1, 1
            elif answer == NONE:
                proven = self._target + 1
                self._stride *= 2
            elif tree.counters[USED] >= TARGET_NODES and self._target > proven:
                self._target, self._stride = 0, 1
        return plan, LowerBound(proven, ENUMERATION) if proven > bound else None

    def _aim(self, proven: int, top: int) -> Tree:
        """The tree of a target between makespan and bound."""
        if self._tree is None or not proven <= self._target <= top:
            self._target = min(proven + self._stride - 1, top)
            self._tree = self._tree or new_tree(self._arrays, self._options)
            plant(self._arrays, self._options, self._tree)
        return self._tree


def enumeration_of(instance: Instance, arrays: Arrays) -> Enumeration | None:
    """The enumeration of an instance; None if it is too large, or has other features than cards."""
    if unhandled(instance, HANDLES, "") is not None:
        return None
    options = options_of(instance, arrays)
    return None if options is None else Enumeration(instance, arrays, options)
