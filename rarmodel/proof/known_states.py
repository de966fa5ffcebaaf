"""States that a branching over schedules has seen, in a hash table."""

from __future__ import annotations

from functools import partial

import numpy as np

from rarmodel.engine.compilation import compiled

from .tree import SEEN, USED, WAITING, Options, Tree

_inner = partial(compiled, inner=True)

PROBES = 64
"""States that one is compared with."""


@_inner
def known(options: Options, tree: Tree, level: int) -> bool:
    """Whether a state was seen that is no worse than the current one; if not, note this one.

    A state is no worse if the same jobs wait, the others are where they are now or have ended, no
    job has more left, the jobs that have ended cost no more, and it was in the same slot or an
    earlier one.
    """
    _encode(options, tree, level)
    jobs, rows = len(options.job), len(tree.seen)
    key = np.uint64(0)
    for place in range(2, jobs + 2):
        key = (key ^ np.uint64(tree.code[place] >> options.left_bits)) * np.uint64(
            0x9E3779B97F4A7C15
        )
        key ^= key >> np.uint64(29)
    row = first = int(np.int64(key % np.uint64(rows)))
    for _ in range(PROBES):
        if tree.seen[row, 0] == 0:
            tree.counters[SEEN] += 1
            break
        better = worse = True
        for place in range(jobs + 2):
            seen, now = tree.seen[row, place], tree.code[place]
            if place > 1 and seen >> options.left_bits != now >> options.left_bits:
                better = worse = False
                break
            better &= seen <= now
            worse &= seen >= now
            if not (better or worse):
                break
        if better:
            return True
        if worse:
            break
        row = row + 1 if row + 1 < rows else 0
    else:
        row = (first + tree.counters[USED] % PROBES) % rows
    for place in range(jobs + 2):
        tree.seen[row, place] = tree.code[place]
    return False


@_inner
def _encode(options: Options, tree: Tree, level: int) -> None:
    """Write the current state: slot, cost, and of each job where it runs and what is left.

    Equal servers count in falling order of what they hold, so that their names do not matter.
    """
    order = tree.order
    for server in range(len(order)):
        place = order[server] = server
        while options.peer[place] >= 0 and _holds_more(
            options, tree, level, order[place], order[options.peer[place]]
        ):
            other = options.peer[place]
            order[place], order[other] = order[other], order[place]
            place = other
    tree.code[0] = tree.clock[level] + 1
    tree.code[1] = tree.cost[level]
    for job in range(len(options.job)):
        option, left = tree.choice[job], tree.left[level, job]
        where = 0
        if option != WAITING and left == 0:
            where = 1
        elif option != WAITING and not options.by_servers:
            where = 2 + option - options.first[job]
        elif option != WAITING:
            for place in range(len(order)):
                server = order[place]
                where = where * (options.gpus[server] + 1) + options.workers[option, server]
            where += 2
        tree.code[job + 2] = (where << options.left_bits) + left


@_inner
def _holds_more(options: Options, tree: Tree, level: int, one: int, other: int) -> bool:
    """Whether a server holds more of the first running job of which two servers hold unequally."""
    if not options.by_servers:
        return False
    for job in range(len(options.job)):
        option = tree.choice[job]
        if option != WAITING and tree.left[level, job] > 0:
            here, there = options.workers[option, one], options.workers[option, other]
            if here != there:
                return bool(here > there)
    return False
