"""What waiting jobs cost at least together, by the mean times at which their work is done.

Give rings worths (`ring_worths`). In each slot the waiting jobs do no more worth than there is room
for beside the running ones, which hold their GPUs at least until `end`. A waiting job does worth of
at least its need, none of it before its `head`, and in a slot at most m. Let M be the mean time of
the first such worth, where worth in slot t counts with the time t + 1/2. It is latest if the job
does m in each of its last slots, so it completes no earlier than M + need / 2m.

The sum of the M by weight is least if one machine with all the room does in each slot the worth of
the job, of those past their heads, that has the most weight by need: each unit of worth costs its
time, times that (M. Goemans, M. Queyranne, A. Schulz, M. Skutella, Y. Wang, "Single machine
scheduling with release dates", SIAM Journal on Discrete Mathematics 15, 2002, have this for one
machine of constant speed).

For linear terms this bounds their sum. A tardiness is at least completion less due slot, also where
this is below 0. So it bounds the tardiness of any set of jobs; others cost at least what they do at
`soonest`. All jobs are the first set; then those leave it that seem to be done before they are due.
"""

from __future__ import annotations

from functools import partial

from rarmodel.engine.arrays import NEVER
from rarmodel.engine.compilation import compiled
from rarmodel.model.objectives import Shape

from .sums import Sums
from .tree import WAITING, Options, Tree

_inner = partial(compiled, inner=True)

LINEAR, TARDY = int(Shape.LINEAR), int(Shape.TARDY)
FINE = 2**10
"""Mean times are rounded down to such parts of a slot."""
ROUNDS = 4
"""So often jobs leave the set."""


@_inner
def term(sums: Sums, job: int, end: int) -> int:
    """What a completion costs, by weight 1."""
    slots = end - sums.offset[job]
    if sums.shape == LINEAR:
        return int(slots)
    return int(max(0, slots) if sums.shape == TARDY else min(1, max(0, slots)))


@_inner
def least_busy(
    options: Options, tree: Tree, sums: Sums, level: int, running: int, worth: int
) -> int:
    """What waiting jobs cost at least together, by a worth of rings."""
    best = -NEVER if sums.shape == LINEAR else 0
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
                alone += sums.weight[job] * term(sums, job, sums.soonest[job])
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
