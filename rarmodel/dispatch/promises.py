"""Whether a start keeps what was promised: deadlines of jobs that run, and room for reservations.

A start is projected where it might break something: all jobs that run are simulated to their ends
without further starts. More contention only comes by a start, so a promise that the last
projection kept stays kept. A ring within a server slows nobody down, so only its own end and its
own server matter. A ring that spreads needs a projection only if some job that runs has a deadline,
or some server would not have room enough for what will be reserved if its jobs stayed for ever.
"""

from __future__ import annotations

from functools import partial

from rarmodel.engine.arrays import BY_COUNT, NEVER, Arrays, State
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

from .facts import Facts
from .work import DEADLINES, ENDS_KNOWN, EXPOSED, Work

_inner = partial(compiled, inner=True)


@_inner
def watch(facts: Facts, work: Work, server: int) -> None:
    """Note whether a server would have too little room if its jobs stayed for ever."""
    left = max(0, work.floor[server] - work.kept[server])
    exposed = int(work.held[server] > left)
    work.promises[EXPOSED] += exposed - work.exposed[server]
    work.exposed[server] = exposed


@_inner
def keeps_promises(
    arrays: Arrays,
    state: State,
    saved: State,
    facts: Facts,
    work: Work,
    job: int,
    mode: int,
    used: int,
    change: int,
) -> bool:
    """Whether everything promised is kept if a job starts in its place now, and nothing later."""
    at = facts.place_at[job]
    # No other ring makes it faster than this.
    end = state.counters[CLOCK] + (arrays.packed[mode] if used == 1 else facts.least_slots[job])
    if end > facts.deadline[job] or _in_the_way(facts, work, job, used, change, end):
        return False
    if facts.can_stall == 0:
        exposed = False
        for p in range(at, at + used):
            server = work.server[p]
            left = max(0, work.floor[server] - work.kept[server])
            exposed |= work.held[server] + work.workers[p] > left
        if used == 1:
            if exposed and not _has_room(arrays, state, saved, facts, work, job, change, end):
                return False
            work.ends[job] = end
            return True
        others = work.promises[EXPOSED] + work.promises[DEADLINES]
        if not exposed and others == 0 and facts.deadline[job] == NEVER:
            work.promises[ENDS_KNOWN] = 0
            return True
    copy(arrays, state, saved)
    servers, workers = work.server[at : at + used], work.workers[at : at + used]
    saved.rings[job].finish = NEVER
    start(arrays, saved, job, mode, servers, workers, used)
    kept = projected(arrays, saved, facts, work, job, used, change)
    work.promises[ENDS_KNOWN] = int(kept)
    return kept


@_inner
def _in_the_way(facts: Facts, work: Work, job: int, used: int, change: int, end: int) -> bool:
    """Whether a reservation that begins before a job can end leaves too few GPUs for it alone."""
    at = facts.place_at[job]
    while change <= facts.last_begin and facts.change_slot[change] < end:
        for p in range(at, at + used):
            if (
                work.server[p] == facts.change_server[change]
                and work.workers[p] > facts.change_left[change]
            ):
                return True
        change += 1
    return False


@_inner
def _has_room(
    arrays: Arrays,
    state: State,
    saved: State,
    facts: Facts,
    work: Work,
    job: int,
    change: int,
    end: int,
) -> bool:
    """Whether reservations have room beside a job on one server until it ends.

    It slows nobody down, so the others on the server end when they would without it.
    """
    next_completion(arrays, state)  # The heap then has all jobs that run.
    if work.promises[ENDS_KNOWN] == 0:
        copy(arrays, state, saved)
        projected(arrays, saved, facts, work, job, 0, change)
        work.promises[ENDS_KNOWN] = 1
    server, workers = work.server[facts.place_at[job]], work.workers[facts.place_at[job]]
    while change <= facts.last_begin and facts.change_slot[change] < end:
        if facts.change_server[change] == server:
            held, kept = workers, 0
            for i in range(state.counters[HEAP]):
                other = state.heap[i].job
                if work.ends[other] <= facts.change_slot[change]:
                    continue
                ran = facts.running_at[other] < facts.running_at[other + 1]
                at = facts.place_at[other]
                for p in range(at, at + work.used[other]):
                    if work.server[p] == server:
                        kept += work.workers[p] if ran else 0
                        held += 0 if ran else work.workers[p]
            if held > max(0, facts.change_left[change] - kept):
                return False
        change += 1
    return True


@_inner
def copy(arrays: Arrays, state: State, to: State) -> None:
    """Copy a simulation: jobs that run, and links."""
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
    if arrays.sharing != BY_COUNT:
        for i in range(len(state.load)):
            to.load[i] = state.load[i]
        for job in range(len(state.duty)):
            to.duty[job] = state.duty[job]


@_inner
def projected(
    arrays: Arrays, saved: State, facts: Facts, work: Work, started: int, used: int, change: int
) -> bool:
    """Whether deadlines and reservations are kept if nothing else starts.

    `started` uses so many servers and is not in `work.held` yet. Notes when jobs end, as far as
    that matters to reservations.
    """
    deadlines = work.promises[DEADLINES] + int(used > 0 and facts.deadline[started] < NEVER)
    capacity, held, kept = work.trial[0], work.trial[1], work.trial[2]
    if change <= facts.last_begin:
        for server in range(len(kept)):
            capacity[server] = work.capacity[server]
            held[server] = work.held[server]
            kept[server] = work.kept[server]
        at = facts.place_at[started]
        for p in range(at, at + used):
            held[work.server[p]] += work.workers[p]
    while saved.counters[RUNNING] > 0:
        if facts.can_stall == 0 and deadlines == 0 and change > facts.last_begin:
            next_completion(arrays, saved)
            for i in range(saved.counters[HEAP]):
                work.ends[saved.heap[i].job] = NEVER
            return True
        completion = next_completion(arrays, saved)
        # What ends in a slot is gone before a reservation begins in it.
        while change <= facts.last_begin and facts.change_slot[change] < completion:
            slot = facts.change_slot[change]
            while change < len(facts.change_slot) and facts.change_slot[change] == slot:
                capacity[facts.change_server[change]] += facts.change_gpus[change]
                change += 1
            for server in range(len(kept)):
                if held[server] > max(0, capacity[server] - kept[server]):
                    return False
        if completion == NEVER:
            return False
        for i in range(complete_next(arrays, saved, work.completed)):
            job = work.completed[i]
            work.ends[job] = completion
            if completion > facts.deadline[job]:
                return False
            deadlines -= int(facts.deadline[job] < NEVER)
            if change > facts.last_begin:
                continue
            at = facts.place_at[job]
            ran = facts.running_at[job] < facts.running_at[job + 1]
            for p in range(at, at + work.used[job]):
                if ran:
                    kept[work.server[p]] -= work.workers[p]
                else:
                    held[work.server[p]] -= work.workers[p]
    return True
