"""From state to state in the order of time: what the searches for schedules have in common.

A state is the set of running and of waiting jobs in a slot. A step starts one more job there, in
one of its placements, or starts no job and goes to the next slot at which one may start. Some
arguments prune steps. They hold where a schedule is looked for whose value is at most a limit, and
no earlier completion raises the value. Of all these schedules, take one that is least in this
order: all that is left of the jobs, compared slot by slot from the last one back. None of the
arguments prunes this schedule without having kept one that is like it:

- Earlier starts. A job need not start now if it was released a slot earlier, its GPUs were idle
  then, and no ring was on its links, or none that it meets. Started there it is a slot ahead, and
  others are no later, as less contention never makes a ring slower: so the schedule was not the
  least one.
- Symmetry. Jobs that are equal in all that counts start in their order. Equal servers that are idle
  now and in the slot before get workers in descending number.
- Known states. The possible future of a state depends on the running jobs, their remaining
  iterations, and the waiting jobs, but not on the names of equal servers. If a state was seen
  before, in this slot or an earlier one, in which the same jobs wait, the running ones hold the
  same GPUs, none has more left, and those that have ended cost no more, its future held no
  schedule. If it was the same state, neither has this one. If it was better, it can go on as this
  state would, with less left in some slots and more in none: so this is not on the way to the least
  schedule. A state in which no job makes progress is not noted: it would rule out its own future.
"""

from __future__ import annotations

from functools import partial

from rarmodel.engine.arrays import BY_COUNT, NEVER, Arrays, Ints
from rarmodel.engine.compilation import compiled
from rarmodel.engine.duties import share
from rarmodel.engine.formulas import slots_needed
from rarmodel.engine.mode_speeds import mode_speed

from .known_states import known
from .tree import LEVEL, SEEN, USED, WAITING, Options, Tree

_inner = partial(compiled, inner=True)


@_inner
def reset(arrays: Arrays, options: Options, tree: Tree) -> None:
    """Go to slot 0, with no job started and no state known."""
    if tree.counters[SEEN] > 0:
        tree.seen[:, 0] = 0
    tree.counters[:] = 0
    tree.clock[0] = tree.job[0] = tree.option[0] = tree.cost[0] = 0
    tree.choice[:] = WAITING
    tree.rings[0] = 0
    for server in range(len(options.gpus)):
        tree.free[0, :, server] = options.gpus[server]
    tree.born[0] = tree.asked[0] = 0
    for job in range(len(options.job)):
        tree.left[0, job] = arrays.modes[options.job[job]].iterations


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
def back(tree: Tree) -> bool:
    """Go back to before the last start, with the next option; return whether there is one."""
    level = tree.counters[LEVEL] - 1
    if level < 0:
        return False
    tree.counters[LEVEL] = level
    tree.choice[tree.job[level]] = WAITING
    tree.option[level] += 1
    return True


@_inner
def next_start(options: Options, tree: Tree, level: int, latest: int) -> bool:
    """Go to the next job and option that may start now; return whether there is one.

    Parameters
    ----------
    options, tree, level
        The state, and what it tries next.
    latest
        Alone in its option, the job must complete by this slot.
    """
    job, option = tree.job[level], tree.option[level]
    while job < len(options.job):
        if _may_start(options, tree, level, job):
            option = max(option, options.first[job])
            while option < options.first[job + 1]:
                if tree.clock[level] + options.slots[option] <= latest and _fits(
                    options, tree, level, job, option
                ):
                    tree.job[level], tree.option[level] = job, option
                    return True
                option += 1
        job += 1
        option = 0
    return False


@_inner
def _may_start(options: Options, tree: Tree, level: int, job: int) -> bool:
    """Whether a job waits and is released, and no equal job should start before it."""
    twin = options.twin[job]
    return bool(
        tree.choice[job] == WAITING
        and options.release[job] <= tree.clock[level]
        and (twin < 0 or tree.choice[twin] != WAITING)
    )


@_inner
def _fits(options: Options, tree: Tree, level: int, job: int, option: int) -> bool:
    """Whether an option is possible now, was not possible a slot earlier, and is not symmetric."""
    workers = options.workers[option]
    free, before = tree.free[level, 0], tree.free[level, 1]
    new = tree.clock[level] == options.release[job]
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
    return new or shares(options, tree.rings[level, 1], option)


@_inner
def _idle(options: Options, tree: Tree, level: int, server: int) -> bool:
    """Whether a server is idle now and was idle in the slot before."""
    gpus = options.gpus[server]
    return bool(tree.free[level, 0, server] == gpus and tree.free[level, 1, server] == gpus)


@_inner
def shares(options: Options, rings: Ints, option: int) -> bool:
    """Whether a ring in this placement uses a link with other rings."""
    columns = options.weight.shape[1]
    for at in range(options.link_at[option], options.link_at[option + 1]):
        if rings[(options.link[at] + 1) * columns - 1] > 0:
            return True
    return False


@_inner
def start(options: Options, tree: Tree, level: int) -> None:
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
    tree.cost[level + 1] = tree.cost[level]
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
    columns = options.weight.shape[1]
    for at in range(options.link_at[option], options.link_at[option + 1]):
        for column in range(columns):
            place = options.link[at] * columns + column
            tree.rings[level, 0, place] += sign * options.weight[option, column]


@_inner
def wait(arrays: Arrays, options: Options, tree: Tree, level: int, latest: int) -> bool:
    """Start no more jobs now; go to the next slot with a start; return whether that may be useful.

    Parameters
    ----------
    arrays, options, tree, level
        The state.
    latest
        There is none after this slot.
    """
    clock = tree.clock[level]
    to = next_completion(arrays, options, tree, level)
    if to < NEVER:
        if known(options, tree, level):
            return False
    elif _stuck(options, tree, level):
        return False
    for job in range(len(options.job)):
        if tree.choice[job] == WAITING and options.release[job] > clock:
            to = min(to, options.release[job])
    if to > clock + 1 and _may_share(options, tree, level, latest):
        to = clock + 1
    if to > latest:
        return False
    go(options, tree, level, to)
    tree.job[level] = tree.option[level] = 0
    tree.born[level], tree.asked[level] = tree.counters[USED], 0
    return True


@_inner
def _stuck(options: Options, tree: Tree, level: int) -> bool:
    """Whether a job runs: where none makes progress, more jobs do not help."""
    for job in range(len(options.job)):
        if tree.choice[job] != WAITING and tree.left[level, job] > 0:
            return True
    return False


@_inner
def next_completion(arrays: Arrays, options: Options, tree: Tree, level: int) -> int:
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
            gbps = options.reach[option]
            for at in range(first, end):
                gbps = min(gbps, _share(arrays, options, tree, level, job, options.link[at]))
            pace = _pace(arrays, options, job, option, gbps)
        tree.pace[job] = pace
        if pace > 0:
            completion = min(completion, tree.clock[level] + slots_needed(left, pace))
    return completion


@_inner
def _share(arrays: Arrays, options: Options, tree: Tree, level: int, job: int, link: int) -> float:
    """What a ring gets of a link in Gbit/s."""
    column = arrays.modes[options.job[job]].column
    load = tree.rings[level, 0, link * options.weight.shape[1] + column]
    if arrays.sharing == BY_COUNT:
        return float(arrays.share[arrays.row_at[link] + load])
    return share(arrays, link, load - options.weight[tree.choice[job], column])


@_inner
def _pace(arrays: Arrays, options: Options, job: int, option: int, gbps: float) -> int:
    """Iterations per slot at a bandwidth."""
    servers = 0
    for server in range(len(options.gpus)):
        if options.workers[option, server] > 0:
            servers += 1
    mode = options.job[job]
    return mode_speed(arrays, mode, servers, gbps, arrays.modes[mode].compute)


@_inner
def _may_share(options: Options, tree: Tree, level: int, latest: int) -> bool:
    """Whether some job could start a slot later, on a link with other rings."""
    for job in range(len(options.job)):
        if _may_start(options, tree, level, job):
            for option in range(options.first[job], options.first[job + 1]):
                if tree.clock[level] + 1 + options.slots[option] <= latest and shares(
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
def go(options: Options, tree: Tree, level: int, to: int) -> None:
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
