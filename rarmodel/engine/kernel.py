"""The compiled simulation: rings start and complete, and only what changes is computed.

Between two events speeds are constant (reading 7). A start or a completion changes the number of
rings on some links; only rings on those links can change speed, and of them only those that the
link binds, before or after. Changes are collected until speeds are asked for, so that several
events in one slot cost one update. A heap holds the completions to come.

All numbers come from the model's plain functions, compiled as they stand, so that they equal the
verifier's to the last bit.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rarmodel.model import timing

from .arrays import NEVER, Arrays, Ints, State
from .compilation import compiled

_inner = partial(compiled, inner=True)

CLOCK, HEAP, RUNNING, DIRTY_RINGS, DIRTY_LINKS, FREE, USED = range(7)
"""Counters: present slot; sizes of heap, running set, dirty rings and links; first free
membership (-1 if none); memberships ever taken."""


if TYPE_CHECKING:
    iteration_seconds = timing.iteration_seconds
    overhead_seconds = timing.overhead_seconds
    speed = timing.speed
    slots_needed = timing.slots_needed
else:
    iteration_seconds = compiled(timing.iteration_seconds, inner=True)
    overhead_seconds = compiled(timing.overhead_seconds, inner=True)
    speed = compiled(timing.speed, inner=True)
    slots_needed = compiled(timing.slots_needed, inner=True)


@compiled
def reset(arrays: Arrays, state: State) -> None:
    """Begin at slot 0 with nothing running."""
    state.counters[:] = 0
    state.counters[FREE] = -1
    for i in range(len(state.rings)):
        ring = state.rings[i]
        ring.finish = NEVER
        ring.chain = -1
        ring.heap_at = -1
        ring.dirty = 0
    for i in range(len(state.links)):
        link = state.links[i]
        link.rings = 0
        link.share = arrays.share[arrays.row_at[i]]
        link.dirty = 0


@compiled
def start(
    arrays: Arrays, state: State, job: int, servers: Ints, workers: Ints, servers_used: int
) -> None:
    """Start a job now with `workers[i]` workers on `servers[i]`, for i below `servers_used`."""
    ring = state.rings[job]
    ring.remaining = arrays.jobs[job].iterations
    ring.since = state.counters[CLOCK]
    ring.speed = 0
    ring.servers = servers_used
    ring.bandwidth = -1.0
    ring.dirty = 1
    state.dirty_rings[state.counters[DIRTY_RINGS]] = job
    state.counters[DIRTY_RINGS] += 1
    state.counters[RUNNING] += 1
    if servers_used == 1:
        return
    touched = 0
    for i in range(servers_used):
        server = servers[i]
        for p in range(arrays.path_at[server], arrays.path_at[server + 1]):
            link = arrays.path[p]
            if state.links[link].below == 0:
                state.touched[touched] = link
                touched += 1
            state.links[link].below += workers[i]
    for i in range(touched):
        link = state.touched[i]
        if state.links[link].below < arrays.jobs[job].gpus:
            _join(arrays, state, job, link)  # workers below and above: the ring uses the link
        state.links[link].below = 0


@compiled
def next_completion(arrays: Arrays, state: State) -> int:
    """Slot of the next completion if nothing starts before it; NEVER if there is none."""
    _settle(arrays, state)
    if state.counters[HEAP] == 0:
        return NEVER
    return int(state.rings[state.heap[0]].finish)


@compiled
def complete_next(arrays: Arrays, state: State, completed: Ints) -> int:
    """Go to the next completion and complete every job due then; `next_completion` is not NEVER.

    Writes the completed jobs to `completed` and returns how many there are. The rings keep their
    completion times in `finish`.
    """
    now = state.rings[state.heap[0]].finish
    state.counters[CLOCK] = now
    count = 0
    while state.counters[HEAP] > 0 and state.rings[state.heap[0]].finish == now:
        job = state.heap[0]
        _heap_remove(state, job)
        member = state.rings[job].chain
        while member >= 0:
            after = state.members[member].next
            _leave(arrays, state, member)
            member = after
        state.rings[job].chain = -1
        state.counters[RUNNING] -= 1
        completed[count] = job
        count += 1
    return count


@_inner
def _join(arrays: Arrays, state: State, job: int, link: int) -> None:
    """Add a ring to a link it uses."""
    _touch(state, link)
    taken = state.counters[FREE]
    if taken >= 0:
        state.counters[FREE] = state.members[taken].next
    else:
        taken = state.counters[USED]
        state.counters[USED] += 1
    member = state.members[taken]
    member.job = job
    member.link = link
    member.at = arrays.row_at[link] + state.links[link].rings
    member.next = state.rings[job].chain
    state.rings[job].chain = taken
    state.row[member.at] = taken
    state.links[link].rings += 1


@_inner
def _leave(arrays: Arrays, state: State, given: int) -> None:
    """Remove a ring from a link."""
    member = state.members[given]
    link = member.link
    _touch(state, link)
    state.links[link].rings -= 1
    moved = state.row[arrays.row_at[link] + state.links[link].rings]
    state.row[member.at] = moved
    state.members[moved].at = member.at
    member.next = state.counters[FREE]
    state.counters[FREE] = given


@_inner
def _touch(state: State, index: int) -> None:
    """Note that the number of rings on a link is about to change."""
    link = state.links[index]
    if not link.dirty:
        link.dirty = 1
        state.dirty_links[state.counters[DIRTY_LINKS]] = index
        state.counters[DIRTY_LINKS] += 1


@_inner
def _settle(arrays: Arrays, state: State) -> None:
    """Bring speeds and completions up to date with the rings on each link."""
    counters = state.counters
    for i in range(counters[DIRTY_LINKS]):
        link = state.links[state.dirty_links[i]]
        link.dirty = 0
        row = arrays.row_at[state.dirty_links[i]]
        before = link.share
        after = arrays.share[row + link.rings]
        if before == after:
            continue
        link.share = after
        for place in range(row, row + link.rings):
            job = state.members[state.row[place]].job
            ring = state.rings[job]
            # A ring can change only if the link binds it, before or after.
            if not ring.dirty and (after < ring.bandwidth or before <= ring.bandwidth):
                ring.dirty = 1
                state.dirty_rings[counters[DIRTY_RINGS]] = job
                counters[DIRTY_RINGS] += 1
    counters[DIRTY_LINKS] = 0
    for i in range(counters[DIRTY_RINGS]):
        state.rings[state.dirty_rings[i]].dirty = 0
        _update(arrays, state, state.dirty_rings[i])
    counters[DIRTY_RINGS] = 0


@_inner
def _update(arrays: Arrays, state: State, index: int) -> None:
    """Set an active job's bandwidth, speed and completion from the rings on its links."""
    ring = state.rings[index]
    bandwidth = arrays.intra_gbps
    member = ring.chain
    if member >= 0:
        bandwidth = state.links[state.members[member].link].share
        member = state.members[member].next
        while member >= 0:
            bandwidth = min(bandwidth, state.links[state.members[member].link].share)
            member = state.members[member].next
    if bandwidth == ring.bandwidth:
        return
    ring.bandwidth = bandwidth
    job = arrays.jobs[index]
    overhead = overhead_seconds(arrays.overhead_ms_per_server, ring.servers)
    seconds = iteration_seconds(job.bits, bandwidth, job.reduction, overhead, job.compute)
    new_speed = speed(arrays.slot_seconds, seconds)
    if new_speed == ring.speed:
        return
    now = state.counters[CLOCK]
    ring.remaining -= ring.speed * (now - ring.since)
    ring.since = now
    ring.speed = new_speed
    if new_speed == 0:
        ring.finish = NEVER
        _heap_remove(state, index)
    else:
        ring.finish = now + slots_needed(ring.remaining, new_speed)
        _heap_place(state, index)


@_inner
def _heap_place(state: State, job: int) -> None:
    """Put a job into the heap, or to its right place in it."""
    place = state.rings[job].heap_at
    if place < 0:
        place = state.counters[HEAP]
        state.counters[HEAP] += 1
    _sift(state, job, place)


@_inner
def _heap_remove(state: State, job: int) -> None:
    """Take a job out of the heap if it is in it."""
    place = state.rings[job].heap_at
    if place < 0:
        return
    state.rings[job].heap_at = -1
    state.counters[HEAP] -= 1
    last = state.heap[state.counters[HEAP]]
    if last != job:
        _sift(state, last, place)


@_inner
def _sift(state: State, job: int, place: int) -> None:
    """Put a job at a place of the heap, then move it up or down to where it belongs."""
    heap, rings = state.heap, state.rings
    key = rings[job].finish
    while place > 0:
        parent = (place - 1) >> 1
        if rings[heap[parent]].finish <= key:
            break
        heap[place] = heap[parent]
        rings[heap[place]].heap_at = place
        place = parent
    size = state.counters[HEAP]
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and rings[heap[child + 1]].finish < rings[heap[child]].finish:
            child += 1
        if rings[heap[child]].finish >= key:
            break
        heap[place] = heap[child]
        rings[heap[place]].heap_at = place
        place = child
    heap[place] = job
    rings[job].heap_at = place
