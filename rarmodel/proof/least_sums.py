"""What a state of a search costs at least, where the value is a sum of what completions cost.

- Running jobs. Jobs that start later never make a running job faster. So it completes no earlier
  than if no job started any more (`look_ahead`), and holds its GPUs until then.
- Waiting jobs, one by one. A job starts no earlier than it is released and the GPUs of some option
  are idle (`head`). It completes no earlier than if it were alone in an option from when that can
  be (`soonest`).
- Waiting jobs together. See `busy_times`.
"""

from __future__ import annotations

from functools import partial

from rarmodel.engine.arrays import NEVER, Arrays
from rarmodel.engine.compilation import compiled
from rarmodel.model.objectives import Shape

from .busy_times import least_busy, term
from .event_steps import go, next_completion, shares
from .sums import Sums
from .tree import WAITING, Options, Tree

_inner = partial(compiled, inner=True)

TOO_MUCH = 2**62
"""The cost of a state without a schedule."""
LATE = int(Shape.LATE)


@_inner
def look_ahead(arrays: Arrays, options: Options, tree: Tree, sums: Sums, level: int) -> None:
    """Find out when the started jobs complete, after the last one has started."""
    for job in range(len(options.job)):
        sums.end[level, job] = sums.end[level - 1, job]
    started, option = tree.job[level - 1], tree.option[level - 1]
    if not shares(options, tree.rings[level - 1, 0], option):
        sums.end[level, started] = tree.clock[level] + options.slots[option]
        return
    ahead = len(options.job) + 1
    tree.clock[ahead] = tree.clock[level]
    for server in range(len(options.gpus)):
        tree.free[ahead, 0, server] = tree.free[level, 0, server]
    for link in range(tree.rings.shape[2]):
        tree.rings[ahead, 0, link] = tree.rings[level, 0, link]
    for job in range(len(options.job)):
        tree.left[ahead, job] = tree.left[level, job]
        if tree.choice[job] != WAITING and tree.left[level, job] > 0:
            sums.end[level, job] = NEVER
    to = next_completion(arrays, options, tree, ahead)
    while to < NEVER:
        go(options, tree, ahead, to)
        for job in range(len(options.job)):
            if sums.end[level, job] == NEVER and tree.left[ahead, job] == 0:
                sums.end[level, job] = to
        to = next_completion(arrays, options, tree, ahead)


@_inner
def least(options: Options, tree: Tree, sums: Sums, level: int) -> int:
    """What a state costs at least; it also notes what completed jobs cost."""
    jobs = len(options.job)
    tree.cost[level] = total = 0
    for job in range(jobs):
        if tree.choice[job] != WAITING:
            end = sums.end[level, job]
            if end > sums.horizon:
                return TOO_MUCH
            cost = sums.weight[job] * term(sums, job, end)
            total += cost
            if tree.left[level, job] == 0:
                tree.cost[level] += cost
    if level == jobs:
        return total
    running = _sort_running(options, tree, sums, level)
    _find_idle(options, tree, sums, level, running)
    waiting = 0
    for job in range(jobs):
        if tree.choice[job] == WAITING:
            _find_soonest(options, tree, sums, level, job)
            if sums.soonest[job] > sums.horizon:
                return TOO_MUCH
            waiting += sums.weight[job] * term(sums, job, sums.soonest[job])
    if sums.shape != LATE:
        for worth in range(len(sums.worths.need)):
            waiting = max(waiting, least_busy(options, tree, sums, level, running, worth))
    return int(total + waiting)


@_inner
def _sort_running(options: Options, tree: Tree, sums: Sums, level: int) -> int:
    """Sort the running jobs by completion; return how many there are."""
    running = 0
    for job in range(len(options.job)):
        if tree.choice[job] != WAITING and tree.left[level, job] > 0:
            place = running
            while place > 0 and sums.end[level, sums.order[place - 1]] > sums.end[level, job]:
                sums.order[place] = sums.order[place - 1]
                place -= 1
            sums.order[place] = job
            running += 1
    return running


@_inner
def _find_idle(options: Options, tree: Tree, sums: Sums, level: int, running: int) -> None:
    """Find out when how many GPUs of each server are idle at the earliest."""
    for server in range(len(options.gpus)):
        free = tree.free[level, 0, server]
        for gpus in range(free + 1):
            sums.idle[server, gpus] = tree.clock[level]
        for place in range(running):
            job = sums.order[place]
            for _ in range(options.workers[tree.choice[job], server]):
                free += 1
                sums.idle[server, free] = sums.end[level, job]


@_inner
def _find_soonest(options: Options, tree: Tree, sums: Sums, level: int, job: int) -> None:
    """Find out when a waiting job starts and completes at the earliest."""
    earliest = max(tree.clock[level], options.release[job])
    sums.head[job] = sums.soonest[job] = NEVER
    for option in range(options.first[job], options.first[job + 1]):
        if sums.head[job] == earliest and earliest + options.slots[option] >= sums.soonest[job]:
            break
        begin = earliest
        for server in range(len(options.gpus)):
            begin = max(begin, sums.idle[server, options.workers[option, server]])
        sums.head[job] = min(sums.head[job], begin)
        sums.soonest[job] = min(sums.soonest[job], begin + options.slots[option])
