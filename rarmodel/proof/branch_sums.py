"""Branch over schedules in the order of time, for sums of what completions cost.

The question is whether a schedule costs at most a limit. A node is a state of `steps`, whose
arguments prune branches. Two more are:

- Cost. `least_sums` says what a state costs at least.
- Holes. A waiting job does not let an option pass that is idle for as long as the job takes there
  alone, with no ring on its links: in that time the job would complete, and keep up nobody. This
  lowers what is left of the job in some slot and raises nothing, as an earlier start does, so it
  contradicts no other argument.
"""

from __future__ import annotations

from functools import partial

from rarmodel.engine.arrays import Arrays
from rarmodel.engine.compilation import compiled

from .branch import FOUND, NONE, PAUSED
from .event_steps import back, next_start, reset, shares, start, wait
from .least_sums import least, look_ahead
from .sums import Sums
from .tree import LEVEL, USED, WAITING, Options, Tree

_inner = partial(compiled, inner=True)


@partial(compiled, parallel=True)
def branch_sums(
    arrays: Arrays, options: Options, tree: Tree, sums: Sums, most: int, nodes: int
) -> int:
    """Visit this many nodes, unless a schedule is found or excluded: FOUND, NONE or PAUSED.

    Parameters
    ----------
    arrays, options
        The instance.
    tree, sums
        The state of the search; `plant_sums` resets it. If a schedule is found, it is in `choice`
        and `start`; to search on, `back` leaves it.
    most
        The limit of the cost.
    nodes
        Number of nodes.
    """
    for _ in range(nodes):
        tree.counters[USED] += 1
        level = tree.counters[LEVEL]
        if level == len(options.job):
            return FOUND
        if next_start(options, tree, level, sums.horizon):
            start(options, tree, level)
            for option in range(len(options.slots)):
                sums.since[level + 1, option] = sums.since[level, option]
            look_ahead(arrays, options, tree, sums, level + 1)
            if least(options, tree, sums, level + 1) <= most:
                continue
        elif (
            wait(arrays, options, tree, level, sums.horizon)
            and _without_holes(options, tree, sums, level)
            and least(options, tree, sums, level) <= most
        ):
            continue
        if not back(tree):
            return NONE
    return PAUSED


@compiled
def plant_sums(arrays: Arrays, options: Options, tree: Tree, sums: Sums) -> int:
    """Start at slot 0; return what every schedule costs at least."""
    reset(arrays, options, tree)
    for job in range(len(options.job)):
        for option in range(options.first[job], options.first[job + 1]):
            sums.since[0, option] = options.release[job]
    return least(options, tree, sums, 0)


@_inner
def _without_holes(options: Options, tree: Tree, sums: Sums, level: int) -> bool:
    """Note since when options are idle, after a step in time; whether none was so for too long."""
    clock, free, rings = tree.clock[level], tree.free[level, 1], tree.rings[level, 1]
    for job in range(len(options.job)):
        if tree.choice[job] != WAITING or options.release[job] >= clock:
            continue
        for option in range(options.first[job], options.first[job + 1]):
            idle = not shares(options, rings, option)
            for server in range(len(free)):
                if options.workers[option, server] > free[server]:
                    idle = False
                    break
            if not idle:
                sums.since[level, option] = clock
            elif sums.since[level, option] + options.slots[option] <= clock:
                return False
    return True
