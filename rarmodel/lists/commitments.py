"""Whether a start keeps the commitments: deadlines of jobs that run, and capacities that fall.

A start is projected where it might break something: all jobs that run are simulated to their ends
without further starts. More contention only comes by a start, so a commitment that the last
projection kept stays kept. A ring within a server slows nobody down, so only its own end and its
own supplies matter. A ring that spreads needs a projection only if some job that runs has a
deadline, or some supply would fall below what jobs hold of it if they stayed for ever.
"""

from __future__ import annotations

from functools import partial

from rarmodel.engine.arrays import BY_COUNT, NEVER
from rarmodel.engine.compilation import compiled
from rarmodel.engine.gpu_loads import copy_loads, is_on_gpus, jobs_on_gpus
from rarmodel.engine.kernel import (
    CHANGED_LINKS,
    CHANGED_RINGS,
    CLOCK,
    HEAP,
    RUNNING,
    complete_next,
    next_completion,
    start,
)

from .instance_arrays import InstanceArrays
from .partial_schedule import DEADLINES, ENDS_KNOWN, EXPOSED, PartialSchedule
from .placement import holdings

_inner = partial(compiled, inner=True)


@_inner
def watch(schedule: PartialSchedule, supply: int) -> None:
    """Note whether there would be too little of a supply if its jobs stayed for ever."""
    left = max(0, schedule.floor[supply] - schedule.kept[supply])
    exposed = int(schedule.held[supply] > left)
    schedule.commitments[EXPOSED] += exposed - schedule.exposed[supply]
    schedule.exposed[supply] = exposed


@_inner
def keeps_commitments(
    instance: InstanceArrays,
    schedule: PartialSchedule,
    job: int,
    mode: int,
    used: int,
    change: int,
) -> bool:
    """Whether all commitments are kept if a job starts in its place now, and nothing later."""
    at = instance.place_at[job]
    # No other ring makes it faster than this.
    end = schedule.state.counters[CLOCK] + (
        instance.engine.packed[mode] if used == 1 else instance.least_slots[job]
    )
    if end > instance.deadline[job] or _in_the_way(instance, schedule, job, used, change, end):
        return False
    if instance.can_stall == 0:
        exposed = False
        for p in range(at, at + holdings(instance, job, used)):
            supply = schedule.server[p]
            left = max(0, schedule.floor[supply] - schedule.kept[supply])
            exposed |= schedule.held[supply] + schedule.workers[p] > left
        if used == 1:
            if exposed and not _has_room(instance, schedule, job, change, end):
                return False
            schedule.ends[job] = end
            return True
        others = schedule.commitments[EXPOSED] + schedule.commitments[DEADLINES]
        if not exposed and others == 0 and instance.deadline[job] == NEVER:
            schedule.commitments[ENDS_KNOWN] = 0
            return True
    save(instance, schedule)
    servers, workers = schedule.server[at : at + used], schedule.workers[at : at + used]
    schedule.saved.rings[job].finish = NEVER
    start(instance.engine, schedule.saved, job, mode, servers, workers, used)
    kept = projected(instance, schedule, job, used, change)
    schedule.commitments[ENDS_KNOWN] = int(kept)
    return kept


@_inner
def _in_the_way(
    instance: InstanceArrays, schedule: PartialSchedule, job: int, used: int, change: int, end: int
) -> bool:
    """Whether a capacity that falls before a job can end leaves too little for it alone."""
    at, supplies = instance.place_at[job], instance.supplies
    while change <= supplies.last_fall and supplies.slot[change] < end:
        for p in range(at, at + holdings(instance, job, used)):
            if (
                schedule.server[p] == supplies.supply[change]
                and schedule.workers[p] > supplies.left[change]
            ):
                return True
        change += 1
    return False


@_inner
def _has_room(
    instance: InstanceArrays,
    schedule: PartialSchedule,
    job: int,
    change: int,
    end: int,
) -> bool:
    """Whether capacities that fall have room for a job on one server until it ends.

    It slows nobody down, so the others end when they would without it.
    """
    arrays, state, supplies = instance.engine, schedule.state, instance.supplies
    next_completion(arrays, state)  # The heap then has all jobs that run.
    if schedule.commitments[ENDS_KNOWN] == 0:
        save(instance, schedule)
        projected(instance, schedule, job, 0, change)
        schedule.commitments[ENDS_KNOWN] = 1
    first = instance.place_at[job]
    while change <= supplies.last_fall and supplies.slot[change] < end:
        for own in range(first, first + holdings(instance, job, 1)):
            if supplies.supply[change] != schedule.server[own]:
                continue
            held, kept = schedule.workers[own], 0
            for i in range(state.counters[HEAP]):
                other = state.heap[i].job
                if schedule.ends[other] <= supplies.slot[change]:
                    continue
                ran = instance.running_at[other] < instance.running_at[other + 1]
                at = instance.place_at[other]
                for p in range(at, at + holdings(instance, other, schedule.used[other])):
                    if schedule.server[p] == schedule.server[own]:
                        kept += schedule.workers[p] if ran else 0
                        held += 0 if ran else schedule.workers[p]
            if held > max(0, supplies.left[change] - kept):
                return False
        change += 1
    return True


@_inner
def save(instance: InstanceArrays, schedule: PartialSchedule) -> None:
    """Save the simulation: jobs that run, links, and shared GPUs."""
    state, to = schedule.state, schedule.saved
    for i in range(len(state.counters)):
        to.counters[i] = state.counters[i]
    for i in range(state.counters[HEAP]):
        to.heap[i] = state.heap[i]
        to.rings[state.heap[i].job] = state.rings[state.heap[i].job]
    for i in range(state.counters[CHANGED_RINGS]):
        job = state.changed_rings[i]
        to.changed_rings[i] = job
        to.rings[job] = state.rings[job]
    for i in range(state.counters[CHANGED_LINKS]):
        to.changed_links[i] = state.changed_links[i]
    for i in range(len(state.links)):
        link = state.links[i]
        to.links[i] = link
        for at in range(link.row, link.row + link.rings):
            place = state.row[at]
            to.row[at] = place
            to.members[place.member] = state.members[place.member]
            to.rings[place.job] = state.rings[place.job]
    if instance.engine.sharing != BY_COUNT:
        for row in range(len(state.load)):
            for i in range(state.load.shape[1]):
                to.load[row, i] = state.load[row, i]
        for job in range(len(state.duty)):
            to.duty[job] = state.duty[job]
    for job in range(len(state.reach)):
        to.reach[job] = state.reach[job]
    for job in range(jobs_on_gpus(state.gpus)):
        if is_on_gpus(state.gpus, job):  # Slow ones may stand nowhere else.
            to.rings[job] = state.rings[job]
    copy_loads(instance.engine.gpus, state.gpus, to.gpus)


@_inner
def projected(
    instance: InstanceArrays, schedule: PartialSchedule, started: int, used: int, change: int
) -> bool:
    """Whether deadlines and capacities are kept if nothing else starts.

    `started` uses so many servers and is not in `schedule.held` yet. Notes when jobs end, as far as
    that matters to capacities.
    """
    arrays, saved, supplies = instance.engine, schedule.saved, instance.supplies
    deadlines = schedule.commitments[DEADLINES] + int(
        used > 0 and instance.deadline[started] < NEVER
    )
    capacity, held, kept = schedule.trial[0], schedule.trial[1], schedule.trial[2]
    if change <= supplies.last_fall:
        for supply in range(len(kept)):
            capacity[supply] = schedule.capacity[supply]
            held[supply] = schedule.held[supply]
            kept[supply] = schedule.kept[supply]
        at = instance.place_at[started]
        for p in range(at, at + holdings(instance, started, used)):
            held[schedule.server[p]] += schedule.workers[p]
    while saved.counters[RUNNING] > 0:
        if instance.can_stall == 0 and deadlines == 0 and change > supplies.last_fall:
            next_completion(arrays, saved)
            for i in range(saved.counters[HEAP]):
                schedule.ends[saved.heap[i].job] = NEVER
            return True
        completion = next_completion(arrays, saved)
        # What ends in a slot is gone before a capacity falls in it.
        while change <= supplies.last_fall and supplies.slot[change] < completion:
            slot = supplies.slot[change]
            while change < len(supplies.slot) and supplies.slot[change] == slot:
                capacity[supplies.supply[change]] += supplies.growth[change]
                change += 1
            for supply in range(len(kept)):
                if held[supply] > max(0, capacity[supply] - kept[supply]):
                    return False
        if completion == NEVER:
            return False
        for i in range(complete_next(arrays, saved, schedule.completed)):
            job = schedule.completed[i]
            schedule.ends[job] = completion
            if completion > instance.deadline[job]:
                return False
            deadlines -= int(instance.deadline[job] < NEVER)
            if change > supplies.last_fall:
                continue
            at = instance.place_at[job]
            ran = instance.running_at[job] < instance.running_at[job + 1]
            for p in range(at, at + holdings(instance, job, schedule.used[job])):
                if ran:
                    kept[schedule.server[p]] -= schedule.workers[p]
                else:
                    held[schedule.server[p]] -= schedule.workers[p]
    return True
