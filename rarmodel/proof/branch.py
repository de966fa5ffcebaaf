"""Branch over schedules in the order of time, to find one that ends by a target, or prove none.

A node is the set of running and of waiting jobs in a slot. A branch starts one more job there, in
one of its placements. The last branch starts no job and goes to the next slot at which one may
start. Some arguments prune branches. Of all schedules that end by the target, take one that is
least in this order: all that is left of the jobs, compared slot by slot from the last one back.
None of the arguments prunes this schedule without having kept one that is like it:

- Time and GPUs. The rest of every job, alone in its best placement, must end by the target, and all
  rests together must fit the GPU slots until then.
- Prices, if there are any (`cuts`). No slot is worth more than the dearest configuration, so the
  rests must not be worth more than the slots until the target.
- Earlier starts. A job need not start now if its GPUs were idle a slot earlier and no ring was on
  its links. Started there it is a slot ahead, and others are no later, as less contention never
  makes a ring slower: so the schedule was not the least one.
- Symmetry. Equal jobs start in their order. Equal servers that are idle now and in the slot before
  get workers in descending number.
- Known states. The possible future of a slot depends on the running jobs, their remaining
  iterations, and the waiting jobs, but not on the names of equal servers. If a state was seen
  before, in this slot or an earlier one, in which the same jobs wait, the running ones hold the
  same GPUs, and none has more left, its future held no schedule. If it was the same state, neither
  has this one. If it was better, it can go on as this state would, with less left in each slot: so
  this is not on the way to the least schedule.
"""

from __future__ import annotations

from functools import partial

from rarmodel.engine.arrays import NEVER, Arrays, Ints
from rarmodel.engine.compilation import compiled
from rarmodel.engine.kernel import iteration_seconds, overhead_seconds, slots_needed, speed

from .cuts import appraise
from .known_states import known
from .tree import LEVEL, SEEN, USED, WAITING, Options, Tree

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
        elif _wait(arrays, options, tree, level, target):
            continue
        level -= 1
        if level < 0:
            return NONE
        tree.counters[LEVEL] = level
        tree.choice[tree.job[level]] = WAITING
        tree.option[level] += 1
    return PAUSED


@compiled
def plant(arrays: Arrays, options: Options, tree: Tree) -> None:
    """Start at slot 0."""
    if tree.counters[SEEN] > 0:
        tree.seen[:, 0] = 0
    tree.counters[:] = 0
    tree.clock[0] = tree.job[0] = tree.option[0] = 0
    tree.choice[:] = WAITING
    tree.rings[0] = 0
    for server in range(len(options.gpus)):
        tree.free[0, :, server] = options.gpus[server]
    tree.born[0] = tree.asked[0] = 0
    for job in range(len(options.job)):
        tree.left[0, job] = arrays.modes[options.job[job]].iterations
    for cut in range(options.prices.counters[0]):
        appraise(options, tree, cut)


@compiled
def leave(tree: Tree, level: int) -> bool:
    """Leave the state of a level, which has no schedule; return whether there are other states."""
    for above in range(level - 1, tree.counters[LEVEL]):
        if above >= 0:
            tree.choice[tree.job[above]] = WAITING
    if level == 0:
        return False
    tree.counters[LEVEL] = level - 1
    tree.option[level - 1] += 1
    return True


@_inner
def _next(options: Options, tree: Tree, level: int, target: int) -> bool:
    """Go to the next job and option that may start now; return whether there is one."""
    job, option = tree.job[level], tree.option[level]
    while job < len(options.job):
        if _may_start(options, tree, job):
            option = max(option, options.first[job])
            while option < options.first[job + 1]:
                if (
                    tree.clock[level] + options.slots[option] <= target
                    and _affords(options, tree, level, option, target)
                    and _fits(options, tree, level, option)
                ):
                    tree.job[level], tree.option[level] = job, option
                    return True
                option += 1
        job += 1
        option = 0
    return False


@_inner
def _may_start(options: Options, tree: Tree, job: int) -> bool:
    """Whether a job waits, and no equal job should start before it."""
    twin = options.twin[job]
    return bool(tree.choice[job] == WAITING and (twin < 0 or tree.choice[twin] != WAITING))


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
def _fits(options: Options, tree: Tree, level: int, option: int) -> bool:
    """Whether an option is possible now, was not possible a slot earlier, and is not symmetric."""
    workers = options.workers[option]
    free, before = tree.free[level, 0], tree.free[level, 1]
    new = tree.clock[level] == 0
    for server in range(len(workers)):
        if workers[server] > free[server]:
            return False
        new = new or workers[server] > before[server]
        peer = options.peer[server]
        if workers[server] > 0 and peer >= 0 and _idle(options, tree, level, server):
            while peer >= 0 and not _idle(options, tree, level, peer):
                peer = options.peer[peer]
            if peer >= 0 and workers[peer] < workers[server]:
                return False
    return new or _shares(options, tree.rings[level, 1], option)


@_inner
def _idle(options: Options, tree: Tree, level: int, server: int) -> bool:
    """Whether a server is idle now and was idle in the slot before."""
    gpus = options.gpus[server]
    return bool(tree.free[level, 0, server] == gpus and tree.free[level, 1, server] == gpus)


@_inner
def _shares(options: Options, rings: Ints, option: int) -> bool:
    """Whether a ring in this placement uses a link with other rings."""
    for at in range(options.link_at[option], options.link_at[option + 1]):
        if rings[options.link[at]] > 0:
            return True
    return False


@_inner
def _start(options: Options, tree: Tree, level: int) -> None:
    """Start the chosen job, on the next level."""
    job, option = tree.job[level], tree.option[level]
    for other in range(len(options.job)):
        tree.left[level + 1, other] = tree.left[level, other]
    for server in range(len(options.gpus)):
        tree.free[level + 1, 0, server] = tree.free[level, 0, server]
        tree.free[level + 1, 1, server] = tree.free[level, 1, server]
    for link in range(tree.rings.shape[2]):
        tree.rings[level + 1, 0, link] = tree.rings[level, 0, link]
        tree.rings[level + 1, 1, link] = tree.rings[level, 1, link]
    tree.clock[level + 1] = tree.start[job] = tree.clock[level]
    for cut in range(options.prices.counters[0]):
        tree.worth[level + 1, cut] = tree.worth[level, cut] + options.prices.more[cut, option]
    tree.born[level + 1], tree.asked[level + 1] = tree.counters[USED], 0
    tree.choice[job] = option
    _hold(options, tree, level + 1, option, 1)
    tree.job[level + 1], tree.option[level + 1] = job + 1, 0
    tree.counters[LEVEL] = level + 1


@_inner
def _hold(options: Options, tree: Tree, level: int, option: int, sign: int) -> None:
    """Take the resources of a ring in this placement, or give them back."""
    for server in range(len(options.gpus)):
        tree.free[level, 0, server] -= sign * options.workers[option, server]
    for at in range(options.link_at[option], options.link_at[option + 1]):
        tree.rings[level, 0, options.link[at]] += sign


@_inner
def _wait(arrays: Arrays, options: Options, tree: Tree, level: int, target: int) -> bool:
    """Start no more jobs now; go to the next slot with a start; return whether it is useful."""
    if known(options, tree, level):
        return False
    clock = tree.clock[level]
    to = _next_completion(arrays, options, tree, level)
    if to > clock + 1 and _may_share(options, tree, level, target):
        to = clock + 1
    if to > target:
        return False
    _go(options, tree, level, to)
    tree.job[level] = tree.option[level] = 0
    tree.born[level], tree.asked[level] = tree.counters[USED], 0
    return _has_room(options, tree, level, target - to)


@_inner
def _ends(arrays: Arrays, options: Options, tree: Tree, target: int) -> bool:
    """Whether all jobs, which have all started, end by the target."""
    level = len(options.job)
    while True:
        to = _next_completion(arrays, options, tree, level)
        if to == NEVER:
            stuck = 0
            for job in range(level):
                stuck += min(1, tree.left[level, job])
            return stuck == 0
        if to > target:
            return False
        _go(options, tree, level, to)


@_inner
def _next_completion(arrays: Arrays, options: Options, tree: Tree, level: int) -> int:
    """Slot of the next completion if no job starts before; NEVER if there is none."""
    completion = NEVER
    for job in range(len(options.job)):
        option = tree.choice[job]
        left = tree.left[level, job]
        if option == WAITING or left == 0:
            continue
        first, end = options.link_at[option], options.link_at[option + 1]
        pace = options.alone[option]
        if first < end:
            gbps = 1e300
            for at in range(first, end):
                link = options.link[at]
                gbps = min(gbps, arrays.share[arrays.row_at[link] + tree.rings[level, 0, link]])
            pace = _pace(arrays, options, job, option, gbps)
        tree.pace[job] = pace
        if pace > 0:
            completion = min(completion, tree.clock[level] + slots_needed(left, pace))
    return completion


@_inner
def _pace(arrays: Arrays, options: Options, job: int, option: int, gbps: float) -> int:
    """Iterations per slot at a bandwidth."""
    servers = 0
    for server in range(len(options.gpus)):
        if options.workers[option, server] > 0:
            servers += 1
    one = arrays.modes[options.job[job]]
    overhead = overhead_seconds(arrays.overhead_ms_per_server, servers)
    seconds = iteration_seconds(one.bits, gbps, one.reduction, overhead, one.compute)
    return speed(arrays.slot_seconds, seconds)


@_inner
def _may_share(options: Options, tree: Tree, level: int, target: int) -> bool:
    """Whether some job could start a slot later, on a link with other rings."""
    for job in range(len(options.job)):
        if _may_start(options, tree, job):
            for option in range(options.first[job], options.first[job + 1]):
                if tree.clock[level] + 1 + options.slots[option] <= target and _shares(
                    options, tree.rings[level, 0], option
                ):
                    fits = True
                    for server in range(len(options.gpus)):
                        if options.workers[option, server] > tree.free[level, 0, server]:
                            fits = False
                            break
                    if fits:
                        return True
    return False


@_inner
def _go(options: Options, tree: Tree, level: int, to: int) -> None:
    """Go to a slot before which no other job completes; `pace` is right."""
    for server in range(len(options.gpus)):
        tree.free[level, 1, server] = tree.free[level, 0, server]
    for link in range(tree.rings.shape[2]):
        tree.rings[level, 1, link] = tree.rings[level, 0, link]
    slots = to - tree.clock[level]
    for job in range(len(options.job)):
        option = tree.choice[job]
        left = tree.left[level, job]
        if option == WAITING or left == 0:
            continue
        # Not the product: a fast job's may be past all numbers.
        if tree.pace[job] > 0 and slots_needed(left, tree.pace[job]) <= slots:
            tree.left[level, job] = 0
            _hold(options, tree, level, option, -1)
        else:
            tree.left[level, job] = left - tree.pace[job] * slots
    tree.clock[level] = to


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
