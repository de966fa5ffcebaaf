"""What a state of a search costs at least, where the value is a sum of what completions cost.

- **Running jobs.** Jobs that start later never make a running job faster. So it completes no
  earlier than if no job started any more (`look_ahead`), and holds its GPUs until then.
- **Waiting jobs, one by one.** A job in an option completes no earlier than if it started as soon
  as it is released and these GPUs are idle, and were alone there; `soonest` is the least of this
  over its options.
- **Waiting jobs together.** Give each size of a ring a worth per slot, at least 0. In a slot in
  which running jobs leave n GPUs idle, the waiting jobs' rings are worth at most as much as the
  dearest of their sets with n GPUs or less. A job needs its worth per slot, for as many slots as it
  takes alone. So the waiting jobs are no faster than on one machine whose speed changes with n.
  There, to go on with the job of the least rest completes as many jobs by any time as can be
  (L. Schrage, "A proof of the optimality of the shortest remaining processing time discipline",
  Operations Research 16, 1968; that the speed changes only stretches the time). So the k-th
  completion is no earlier than the k-th there, for each worth; and no earlier than the k-th least
  of `soonest`.

From bounds `c_1 ≤ c_2 ≤ …` on the first, second, … completion of jobs of weight 1 follows one on
their sum: it is at least `Σ c_k` less the offsets for linear terms. For tardiness, let the due
slots be `d_1 ≤ d_2 ≤ …`: the completions in their order, matched with these, cost the least, as the
term is convex in the difference of both; so it is at least `Σ max(0, c_k − d_k)`. For late jobs, at
most as many are on time as `c_k` can be matched with due slots that are no earlier. Each sum is
also at least what the jobs cost at `soonest`.

**Weights.** Let the weights be `v_1 < v_2 < …`. A sum by weight is `v_1` times the sum of all jobs'
terms, and `v_2 − v_1` times that of the jobs of weight `v_2` or more, and so on. Each of these sums
has its bound.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from rarmodel.engine.arrays import NEVER, Arrays, Ints
from rarmodel.engine.compilation import compiled
from rarmodel.model.objectives import Shape

from .ring_worths import Worths
from .steps import go, next_completion, shares
from .tree import WAITING, Options, Tree

_inner = partial(compiled, inner=True)

TOO_MUCH = 2**62
"""The cost of a state without a schedule."""
LINEAR, TARDY, LATE = int(Shape.LINEAR), int(Shape.TARDY), int(Shape.LATE)
FINE = 2**10
"""Mean times are rounded down to such parts of a slot."""
ROUNDS = 4
"""So often jobs are left out of a sum of tardiness."""


class Sums(NamedTuple):
    """What completions cost, and what is known of the states on the path to the current node."""

    horizon: int
    """All jobs complete by this slot."""
    shape: int
    """Shape of the terms."""
    weight: Ints
    """(jobs) Weight of the term; 0 if the job does not count."""
    offset: Ints
    """(jobs) Offset of the term."""
    levels: Ints
    """(weights) The different weights above 0, ascending."""
    worths: Worths
    """Worths of jobs and of slots."""
    end: Ints
    """(jobs + 1, jobs) When started jobs complete if no more start."""
    since: Ints
    """(jobs + 1, options) The slot since which an option is idle, and its job is released."""
    head: Ints
    """(jobs) Scratch: when a waiting job starts at the earliest."""
    soonest: Ints
    """(jobs) Scratch: when it completes at the earliest."""
    order: Ints
    """(jobs) Scratch: running jobs by completion."""
    idle: Ints
    """(servers, GPUs + 1) Scratch: when so many GPUs are idle at the earliest."""
    counted: Ints
    """(jobs) Scratch: jobs of a sum."""
    rest: Ints
    """(jobs) Scratch: what is left of them on one machine; −1 if nothing."""
    first: Ints
    """(jobs) Scratch: bounds on the first, second, … of their completions."""
    due: Ints
    """(jobs) Scratch: their offsets, ascending."""
    busy: Ints
    """(jobs) Scratch: worth done of a job, each unit times twice the time in the middle of its
    slot."""


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
            cost = sums.weight[job] * _term(sums, job, end)
            total += cost
            if tree.left[level, job] == 0:
                tree.cost[level] += cost
    if level == jobs:
        return total
    running = _sort_running(options, tree, sums, level)
    _find_idle(options, tree, sums, level, running)
    for job in range(jobs):
        if tree.choice[job] == WAITING:
            _find_soonest(options, tree, sums, level, job)
            if sums.soonest[job] > sums.horizon:
                return TOO_MUCH
    waiting = before = 0
    for step in range(len(sums.levels)):
        weight = sums.levels[step]
        waiting += (weight - before) * _least_alike(options, tree, sums, level, running, weight)
        before = weight
    if sums.shape != LATE:
        for worth in range(len(sums.worths.need)):
            waiting = max(waiting, _least_busy(options, tree, sums, level, running, worth))
    return total + waiting


@_inner
def _term(sums: Sums, job: int, end: int) -> int:
    """What a completion costs, by weight 1."""
    slots = end - sums.offset[job]
    if sums.shape == LINEAR:
        return int(slots)
    return int(max(0, slots) if sums.shape == TARDY else min(1, max(0, slots)))


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


@_inner
def _least_alike(
    options: Options, tree: Tree, sums: Sums, level: int, running: int, weight: int
) -> int:
    """What waiting jobs of at least a weight cost at least together, as if each had weight 1."""
    jobs = alone = 0
    for job in range(len(options.job)):
        if tree.choice[job] == WAITING and sums.weight[job] >= weight:
            sums.counted[jobs] = job
            _insert(sums.first, jobs, sums.soonest[job])
            _insert(sums.due, jobs, sums.offset[job])
            alone += _term(sums, job, sums.soonest[job])
            jobs += 1
    for worth in range(len(sums.worths.need)):
        _by_least_rest(options, tree, sums, level, running, jobs, worth)
    together = 0
    if sums.shape == LINEAR:
        for place in range(jobs):
            together += sums.first[place] - sums.due[place]
    elif sums.shape == TARDY:
        for place in range(jobs):
            together += max(0, sums.first[place] - sums.due[place])
    else:
        together = jobs
        for place in range(jobs):
            if sums.first[jobs - together] <= sums.due[place]:
                together -= 1
    return max(alone, together)


@_inner
def _insert(row: Ints, length: int, value: int) -> None:
    """Insert a value into a sorted row."""
    place = length
    while place > 0 and row[place - 1] > value:
        row[place] = row[place - 1]
        place -= 1
    row[place] = value


@_inner
def _by_least_rest(
    options: Options, tree: Tree, sums: Sums, level: int, running: int, jobs: int, worth: int
) -> None:
    """Raise the bounds on completions to those of one machine, by a worth of sizes."""
    free = done = ended = rings = 0
    for server in range(len(options.gpus)):
        free += tree.free[level, 0, server]
    for place in range(jobs):
        sums.rest[place] = sums.worths.need[worth, sums.counted[place]]
    for place in range(running):
        rings += sums.worths.wide[sums.order[place]]
    time = tree.clock[level]
    while True:
        until = NEVER
        if ended < running:
            until = sums.end[level, sums.order[ended]]
        for place in range(jobs):
            head = sums.head[sums.counted[place]]
            if head > time:
                until = min(until, head)
        speed, used = sums.worths.room[worth, rings, free], 0
        while True:
            least = -1
            for place in range(jobs):
                rest = sums.rest[place]
                if (
                    rest >= 0
                    and sums.head[sums.counted[place]] <= time
                    and (least < 0 or rest < sums.rest[least])
                ):
                    least = place
            if least < 0:
                break
            rest = sums.rest[least]
            if rest > 0 and until < NEVER and used + rest > speed * (until - time):
                sums.rest[least] = used + rest - speed * (until - time)
                break
            used += rest
            sums.rest[least] = -1
            at = time if used == 0 else time - used // -speed
            sums.first[done] = max(sums.first[done], at)
            done += 1
        if done == jobs:
            break
        time = until
        while ended < running and sums.end[level, sums.order[ended]] <= time:
            free += options.size[sums.order[ended]]
            rings -= sums.worths.wide[sums.order[ended]]
            ended += 1


@_inner
def _least_busy(
    options: Options, tree: Tree, sums: Sums, level: int, running: int, worth: int
) -> int:
    """What waiting jobs cost at least by their mean busy times, for a worth of sizes.

    Jobs that are done before they cost anything are left out, one after another.
    """
    best = 0
    if sums.shape == LINEAR:
        best = -TOO_MUCH
    for job in range(len(options.job)):
        counts = tree.choice[job] == WAITING and sums.weight[job] > 0
        sums.counted[job] = int(counts and sums.worths.need[worth, job] > 0)
    for _ in range(ROUNDS):
        _be_busy(options, tree, sums, level, running, worth)
        twice = alone = dropped = 0
        for job in range(len(options.job)):
            if tree.choice[job] != WAITING:
                continue
            if sums.counted[job] == 0:
                alone += sums.weight[job] * _term(sums, job, sums.soonest[job])
                continue
            need = sums.worths.need[worth, job]
            mean = FINE * (sums.busy[job] // need) + FINE * (sums.busy[job] % need) // need
            late = mean + FINE * (need // sums.worths.most[worth, job] - 2 * sums.offset[job])
            twice += sums.weight[job] * late
            if late < 0 and sums.shape == TARDY:
                sums.counted[job] = 0
                dropped += 1
        best = max(best, alone - twice // (-2 * FINE))
        if dropped == 0:
            break
    return best


@_inner
def _be_busy(
    options: Options, tree: Tree, sums: Sums, level: int, running: int, worth: int
) -> None:
    """Do the counted jobs on one machine slot by slot, those of most weight by worth first."""
    jobs = len(options.job)
    free = ended = rings = open_jobs = 0
    for server in range(len(options.gpus)):
        free += tree.free[level, 0, server]
    for place in range(running):
        rings += sums.worths.wide[sums.order[place]]
    for job in range(jobs):
        sums.busy[job] = 0
        sums.rest[job] = sums.worths.need[worth, job] * sums.counted[job]
        open_jobs += sums.counted[job]
    time = tree.clock[level]
    while open_jobs > 0:
        until = NEVER
        if ended < running:
            until = sums.end[level, sums.order[ended]]
        for job in range(jobs):
            if sums.rest[job] > 0 and sums.head[job] > time:
                until = min(until, sums.head[job])
        speed = sums.worths.room[worth, rings, free]
        room = speed
        while time < until:
            first = -1
            for job in range(jobs):
                if (
                    sums.rest[job] > 0
                    and sums.head[job] <= time
                    and (first < 0 or _goes_first(sums, worth, job, first))
                ):
                    first = job
            if first < 0 or speed == 0:
                time = until
                break
            rest = sums.rest[first]
            if room == speed and rest >= speed:
                slots = min(until - time, rest // speed)
                sums.busy[first] += speed * slots * (2 * time + slots)
                rest -= speed * slots
                time += slots
            else:
                done = min(room, rest)
                sums.busy[first] += done * (2 * time + 1)
                rest -= done
                room -= done
                if room == 0:
                    room = speed
                    time += 1
            sums.rest[first] = rest
            if rest == 0:
                open_jobs -= 1
                if open_jobs == 0:
                    break
        while ended < running and sums.end[level, sums.order[ended]] <= time:
            free += options.size[sums.order[ended]]
            rings -= sums.worths.wide[sums.order[ended]]
            ended += 1


@_inner
def _goes_first(sums: Sums, worth: int, one: int, other: int) -> bool:
    """Whether a job has more weight by worth than another one."""
    needs = sums.worths.need[worth]
    return bool(sums.weight[one] * needs[other] > sums.weight[other] * needs[one])
