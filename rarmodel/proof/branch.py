"""Branch over schedules in the order of time, to find one that ends by a target, or prove none.

A node is a state of `steps`, whose arguments prune branches. Two more are about the target:

- Time and GPUs. The rest of every job, alone in its best placement, must end by the target, and all
  rests together must fit the GPU slots until then.
- Prices, if there are any (`cuts`). No slot is worth more than the dearest configuration, so the
  rests must not be worth more than the slots until the target.
"""

from __future__ import annotations

from functools import partial

from rarmodel.engine.arrays import NEVER, Arrays
from rarmodel.engine.compilation import compiled
from rarmodel.engine.formulas import slots_needed

from .cuts import appraise
from .event_steps import back, go, next_completion, next_start, reset, start, wait
from .tree import LEVEL, USED, WAITING, Options, Tree

_inner = partial(compiled, inner=True)

FOUND, NONE, PAUSED = 1, 0, -1
"""Results: a schedule that ends by the target was found; there is none; not known yet."""


@partial(compiled, parallel=True)
def branch(arrays: Arrays, options: Options, tree: Tree, target: int, nodes: int) -> int:
    """Visit this many nodes, unless a schedule is found or excluded: FOUND, NONE or PAUSED.

    Parameters
    ----------
    arrays, options
        The instance.
    tree
        The state of the search; `plant` resets it. If a schedule is found, it is in `choice` and
        `start`.
    target
        The makespan to reach in slots.
    nodes
        Number of nodes.
    """
    jobs = len(options.job)
    for _ in range(nodes):
        tree.counters[USED] += 1
        level = tree.counters[LEVEL]
        if level == jobs:
            if _ends(arrays, options, tree, target):
                return FOUND
        elif _next(options, tree, level, target):
            _start(options, tree, level)
            continue
        elif wait(arrays, options, tree, level, target) and _has_room(
            options, tree, level, target - tree.clock[level]
        ):
            continue
        if not back(tree):
            return NONE
    return PAUSED


@compiled
def plant(arrays: Arrays, options: Options, tree: Tree) -> None:
    """Start at slot 0."""
    reset(arrays, options, tree)
    for cut in range(options.prices.counters[0]):
        appraise(options, tree, cut)


@_inner
def _next(options: Options, tree: Tree, level: int, target: int) -> bool:
    """Go to the next job and option that may start now; return whether there is one."""
    while next_start(options, tree, level, target):
        if _affords(options, tree, level, tree.option[level], target):
            return True
        tree.option[level] += 1
    return False


@_inner
def _affords(options: Options, tree: Tree, level: int, option: int, target: int) -> bool:
    """Whether the slots until the target can be worth what is left with an option."""
    prices = options.prices
    slots = target - tree.clock[level]
    for cut in range(prices.counters[0]):
        worth = tree.worth[level, cut] + prices.more[cut, option]
        if worth > prices.slot[cut] * slots and slots <= prices.length[cut]:
            return False
    return True


@_inner
def _start(options: Options, tree: Tree, level: int) -> None:
    """Start the chosen job, on the next level."""
    start(options, tree, level)
    for cut in range(options.prices.counters[0]):
        more = options.prices.more[cut, tree.option[level]]
        tree.worth[level + 1, cut] = tree.worth[level, cut] + more


@_inner
def _ends(arrays: Arrays, options: Options, tree: Tree, target: int) -> bool:
    """Whether all jobs, which have all started, end by the target."""
    level = len(options.job)
    while True:
        to = next_completion(arrays, options, tree, level)
        if to == NEVER:
            stuck = 0
            for job in range(level):
                stuck += min(1, tree.left[level, job])
            return stuck == 0
        if to > target:
            return False
        go(options, tree, level, to)


@_inner
def _has_room(options: Options, tree: Tree, level: int, slots: int) -> bool:
    """Whether quick tests allow the rest to end within this many slots."""
    prices = options.prices
    gpus = 0
    for server in range(len(options.gpus)):
        gpus += options.gpus[server]
    area = wide = long = 0
    for cut in range(prices.counters[0]):
        tree.worth[level, cut] = 0
    for job in range(len(options.job)):
        left = tree.left[level, job]
        if left == 0:
            continue
        option = tree.choice[job]
        length = options.least[job]
        if option != WAITING:
            length = slots_needed(left, options.alone[option])
        if length > slots:
            return False
        for cut in range(prices.counters[0]):
            if option == WAITING:
                tree.worth[level, cut] += prices.waiting[cut, job]
            else:
                tree.worth[level, cut] += prices.left[cut, prices.at[option] + left]
        size = options.size[job]
        area += length * size
        if 2 * size > gpus:
            wide += length
        if 2 * length > slots:
            long += size
    for cut in range(prices.counters[0]):
        worth = tree.worth[level, cut]
        if worth > prices.slot[cut] * slots and slots <= prices.length[cut]:
            return False
    return bool(area <= gpus * slots and wide <= slots and long <= gpus)
