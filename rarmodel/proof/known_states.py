"""States that a branching over schedules has seen, in a hash table."""

from __future__ import annotations

from functools import partial

import numpy as np

from rarmodel.engine.compilation import compiled

from .tree import SEEN, WAITING, Options, Tree

_inner = partial(compiled, inner=True)


@_inner
def known(options: Options, tree: Tree, level: int) -> bool:
    """Whether the current state was seen before, in this slot or earlier; if not, note it."""
    _encode(options, tree, level)
    jobs = len(options.job)
    rows = len(tree.seen)
    key = np.uint64(0)
    for job in range(jobs):
        key = (key ^ np.uint64(tree.code[job + 1])) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    row = int(np.int64(key % np.uint64(rows)))
    while tree.seen[row, 0] > 0:
        same = True
        for place in range(1, jobs + 1):
            if tree.seen[row, place] != tree.code[place]:
                same = False
                break
        if same:
            is_known = bool(tree.seen[row, 0] <= tree.code[0])
            tree.seen[row, 0] = min(tree.seen[row, 0], tree.code[0])
            return is_known
        row = row + 1 if row + 1 < rows else 0
    if 2 * tree.counters[SEEN] < rows:
        tree.counters[SEEN] += 1
        for place in range(jobs + 1):
            tree.seen[row, place] = tree.code[place]
    return False


@_inner
def _encode(options: Options, tree: Tree, level: int) -> None:
    """Write the current state: slot, and of each job what is left and where it runs.

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
    for job in range(len(options.job)):
        option, left = tree.choice[job], tree.left[level, job]
        code = 0
        if option != WAITING:
            code = left
            if left > 0 and not options.by_servers:
                code = left * (options.first[job + 1] - options.first[job])
                code += option - options.first[job]
            elif left > 0:
                for place in range(len(order)):
                    server = order[place]
                    code = code * (options.gpus[server] + 1) + options.workers[option, server]
            code += 1
        tree.code[job + 1] = code


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
