"""Whether a start keeps the commitments: deadlines of jobs that run, and GPUs for reservations.

A start is projected where it might break something: all jobs that run are simulated to their ends
without further starts. More contention only comes by a start, so a commitment that the last
projection kept stays kept. A ring within a server slows nobody down, so only its own end and its
own server matter. A ring that spreads needs a projection only if some job that runs has a deadline,
or some server would not have room enough for what will be reserved if its jobs stayed for ever.
"""

from __future__ import annotations

from functools import partial

from rarmodel.engine.arrays import BY_COUNT, NEVER
from rarmodel.engine.compilation import compiled
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

_inner = partial(compiled, inner=True)


@_inner
def watch(instance: InstanceArrays, schedule: PartialSchedule, server: int) -> None:
    """Note whether a server would have too little room if its jobs stayed for ever."""
    left = max(0, schedule.floor[server] - schedule.kept[server])
    exposed = int(schedule.held[server] > left)
    schedule.commitments[EXPOSED] += exposed - schedule.exposed[server]
    schedule.exposed[server] = exposed


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
        for p in range(at, at + used):
            server = schedule.server[p]
            left = max(0, schedule.floor[server] - schedule.kept[server])
            exposed |= schedule.held[server] + schedule.workers[p] > left
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
    """Whether a reservation that begins before a job can end leaves too few GPUs for it alone."""
    at = instance.place_at[job]
    while change <= instance.reserved.last_begin and instance.reserved.slot[change] < end:
        for p in range(at, at + used):
            if (
                schedule.server[p] == instance.reserved.server[change]
                and schedule.workers[p] > instance.reserved.left[change]
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
    """Whether reservations have room beside a job on one server until it ends.

    It slows nobody down, so the others on the server end when they would without it.
    """
    arrays, state = instance.engine, schedule.state
    next_completion(arrays, state)  # The heap then has all jobs that run.
    if schedule.commitments[ENDS_KNOWN] == 0:
        save(instance, schedule)
        projected(instance, schedule, job, 0, change)
        schedule.commitments[ENDS_KNOWN] = 1
    server, workers = (
        schedule.server[instance.place_at[job]],
        schedule.workers[instance.place_at[job]],
    )
    while change <= instance.reserved.last_begin and instance.reserved.slot[change] < end:
        if instance.reserved.server[change] == server:
            held, kept = workers, 0
            for i in range(state.counters[HEAP]):
                other = state.heap[i].job
                if schedule.ends[other] <= instance.reserved.slot[change]:
                    continue
                ran = instance.running_at[other] < instance.running_at[other + 1]
                at = instance.place_at[other]
                for p in range(at, at + schedule.used[other]):
                    if schedule.server[p] == server:
                        kept += schedule.workers[p] if ran else 0
                        held += 0 if ran else schedule.workers[p]
            if held > max(0, instance.reserved.left[change] - kept):
                return False
        change += 1
    return True


@_inner
def save(instance: InstanceArrays, schedule: PartialSchedule) -> None:
    """Save the simulation: jobs that run, and links."""
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
        for i in range(len(state.load)):
            to.load[i] = state.load[i]
        for job in range(len(state.duty)):
            to.duty[job] = state.duty[job]


@_inner
def projected(
    instance: InstanceArrays, schedule: PartialSchedule, started: int, used: int, change: int
) -> bool:
    """Whether deadlines and reservations are kept if nothing else starts.

    `started` uses so many servers and is not in `schedule.held` yet. Notes when jobs end, as far as
    that matters to reservations.
    """
    arrays, saved = instance.engine, schedule.saved
    deadlines = schedule.commitments[DEADLINES] + int(
        used > 0 and instance.deadline[started] < NEVER
    )
    capacity, held, kept = schedule.trial[0], schedule.trial[1], schedule.trial[2]
    if change <= instance.reserved.last_begin:
        for server in range(len(kept)):
            capacity[server] = schedule.capacity[server]
            held[server] = schedule.held[server]
            kept[server] = schedule.kept[server]
        at = instance.place_at[started]
        for p in range(at, at + used):
            held[schedule.server[p]] += schedule.workers[p]
    while saved.counters[RUNNING] > 0:
        if instance.can_stall == 0 and deadlines == 0 and change > instance.reserved.last_begin:
            next_completion(arrays, saved)
            for i in range(saved.counters[HEAP]):
                schedule.ends[saved.heap[i].job] = NEVER
            return True
        completion = next_completion(arrays, saved)
        # What ends in a slot is gone before a reservation begins in it.
        while (
            change <= instance.reserved.last_begin and instance.reserved.slot[change] < completion
        ):
            slot = instance.reserved.slot[change]
            while change < len(instance.reserved.slot) and instance.reserved.slot[change] == slot:
                capacity[instance.reserved.server[change]] += instance.reserved.gpus[change]
                change += 1
            for server in range(len(kept)):
                if held[server] > max(0, capacity[server] - kept[server]):
                    return False
        if completion == NEVER:
            return False
        for i in range(complete_next(arrays, saved, schedule.completed)):
            job = schedule.completed[i]
            schedule.ends[job] = completion
            if completion > instance.deadline[job]:
                return False
            deadlines -= int(instance.deadline[job] < NEVER)
            if change > instance.reserved.last_begin:
                continue
            at = instance.place_at[job]
            ran = instance.running_at[job] < instance.running_at[job + 1]
            for p in range(at, at + schedule.used[job]):
                if ran:
                    kept[schedule.server[p]] -= schedule.workers[p]
                else:
                    held[schedule.server[p]] -= schedule.workers[p]
    return True
