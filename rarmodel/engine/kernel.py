"""The compiled simulation: rings start and complete, and only what changes is computed.

Between two events speeds are constant (reading 7). A start or a completion changes the number of
rings on some links, or their load by duty (see `duties`); only rings on those links can change
speed, and of them only those that the link binds, before or after. Changes are collected until
speeds are asked for, so that several events in one slot cost one update. A ring that a link slows
down gets the least of the new shares; only one that a link may let go faster goes through its links
again. A heap holds the completions to come.

All numbers come from the model's plain functions (`formulas`), so that they equal the verifier's
to the last bit. Every function here is compiled into its caller, as a call between
compiled functions would hand over each array of `Arrays` and `State`.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from .arrays import (
    BY_CLASS,
    BY_COUNT,
    BY_LOAD,
    BY_RING,
    NEVER,
    NOW,
    NOWHERE,
    ROOM,
    UNKNOWN,
    Arrays,
    Ints,
    State,
)
from .compilation import compiled
from .duties import (
    bandwidth_by_ring,
    least_by_class,
    load_links,
    note,
    note_by_class,
    note_by_ring,
    share_of,
    unload_link,
)
from .formulas import cards_gbps, slots_needed
from .gpu_loads import (
    changed_on_gpus,
    changed_ring,
    empty_gpus,
    join_gpus,
    leave_gpus,
    meet_on_gpus,
    pressed_compute,
    rate_within,
)
from .mode_speeds import mode_speed

_inner = partial(compiled, inner=True)

CLOCK, HEAP, RUNNING, CHANGED_RINGS, CHANGED_LINKS = range(5)
"""Counters: present slot; sizes of heap, running set, changed rings and links."""
ONE = np.uint64(1)
"""Sums of it and other unsigned numbers stay unsigned: an index that cannot be negative."""


@_inner
def reset(arrays: Arrays, state: State) -> None:
    """Begin at slot 0 with nothing running."""
    state.counters[:] = 0
    for i in range(len(state.rings)):
        state.rings[i].finish = NEVER
        state.rings[i].links = 0
    for i in range(len(state.links)):
        link = state.links[i]
        link.rings = 0
        link.share = arrays.share[link.row]
        link.changed = 0
        if arrays.sharing != BY_COUNT:
            link.share = ROOM
    if arrays.sharing != BY_COUNT:
        state.load[:] = 0
    empty_gpus(state.gpus)


@_inner
def start(
    arrays: Arrays,
    state: State,
    job: int,
    mode: int,
    servers: Ints,
    workers: Ints,
    servers_used: int,
) -> None:
    """Start a job in a mode now, with `workers[i]` on `servers[i]` for i below `servers_used`.

    Where GPUs are shared, `GpuLoads.held` has its GPUs.
    """
    ring = state.rings[job]
    ring.mode = mode
    ring.servers = servers_used
    ring.links = 0
    ring.heap_at = NOWHERE
    state.changed_rings[state.counters[CHANGED_RINGS]] = job
    state.counters[CHANGED_RINGS] += 1
    state.counters[RUNNING] += 1
    join_gpus(arrays.gpus, state.gpus, job, arrays.modes[mode].gpus)
    if servers_used == 1 and arrays.gpus is None:
        return
    ring.remaining = arrays.modes[mode].iterations
    ring.since = state.counters[CLOCK]
    ring.speed = 0
    ring.bandwidth = UNKNOWN
    ring.settled = UNKNOWN
    if servers_used == 1:
        return
    touched = 0
    for i in range(servers_used):
        server = servers[i]
        for p in range(arrays.path_at[server], arrays.path_at[server + 1]):
            link = state.links[arrays.path[p]]
            if link.below == 0:
                state.touched[touched] = arrays.path[p]
                touched += 1
            link.below += workers[i]
    for i in range(touched):
        link = state.links[state.touched[i]]
        if link.below < arrays.modes[mode].gpus:  # workers below and above: the ring uses the link
            _join(arrays, state, job, state.touched[i])
        link.below = 0
    if len(arrays.cards) > 0:
        state.reach[job] = reach_of(arrays, servers, workers, servers_used)
    if arrays.sharing != BY_COUNT:
        load_links(arrays, state, job)


@_inner
def reach_of(arrays: Arrays, servers: Ints, workers: Ints, servers_used: int) -> float:
    """The most in Gbit/s that network cards let a ring on several servers have."""
    reach = np.inf
    for i in range(servers_used):
        server = servers[i]
        gbps = arrays.gbps[arrays.path[arrays.path_at[server]]]
        reach = min(reach, cards_gbps(gbps, workers[i], arrays.cards[server]))
    return reach


@_inner
def next_completion(arrays: Arrays, state: State) -> int:
    """Slot of the next completion if nothing starts before it; NEVER if there is none."""
    _settle(arrays, state)
    if state.counters[HEAP] == 0:
        return NEVER
    return int(state.heap[0].finish)


@_inner
def complete_next(arrays: Arrays, state: State, completed: Ints) -> int:
    """Go to the next completion and complete every job due then; `next_completion` is not NEVER.

    Writes the completed jobs to `completed` and returns how many there are. The rings keep their
    completion times in `finish`.
    """
    now = state.heap[0].finish
    state.counters[CLOCK] = now
    count = 0
    while state.counters[HEAP] > 0 and state.heap[0].finish == now:
        job = state.heap[0].job
        _heap_remove(state, job)
        _leave(arrays, state, job)
        state.counters[RUNNING] -= 1
        completed[count] = job
        count += 1
    return count


@_inner
def _join(arrays: Arrays, state: State, job: int, index: int) -> None:
    """Add a ring to a link it uses."""
    _change(state, index)
    ring, link = state.rings[job], state.links[index]
    at = link.row + link.rings
    number = arrays.member_at[job] + ring.links
    member, place = state.members[number], state.row[at]
    member.link = index
    member.at = at
    place.job = job
    place.member = number
    ring.links += 1
    link.rings += 1


@_inner
def _leave(arrays: Arrays, state: State, job: int) -> None:
    """Take a ring off its GPUs and links; the last ring of a link's row moves to its place."""
    leave_gpus(arrays.gpus, state.gpus, job)
    ring = state.rings[job]
    while ring.links > 0:
        ring.links -= 1
        member = state.members[arrays.member_at[job] + ring.links]
        _change(state, member.link)
        link = state.links[member.link]
        link.rings -= 1
        place, last = state.row[member.at], state.row[link.row + link.rings]
        place.job = last.job
        place.member = last.member
        state.members[last.member].at = member.at
        if arrays.sharing != BY_COUNT:
            unload_link(arrays, state, job, member.link)


@_inner
def _change(state: State, index: int) -> None:
    """Note that the number of rings on a link is about to change."""
    link = state.links[index]
    if link.changed == 0:
        link.changed = 1
        state.changed_links[state.counters[CHANGED_LINKS]] = index
        state.counters[CHANGED_LINKS] += 1


@_inner
def _settle(arrays: Arrays, state: State) -> None:
    """Bring speeds and completions up to date with the rings on each link, and on each GPU."""
    meet_on_gpus(arrays.gpus, state.gpus)
    counters = state.counters
    rings = counters[CHANGED_RINGS]
    for i in range(counters[CHANGED_LINKS]):
        index = state.changed_links[i]
        link = state.links[index]
        link.changed = 0
        if arrays.sharing >= BY_CLASS:
            rings = note_by_class(arrays, state, index, rings)
            continue
        before = link.share
        if arrays.sharing == BY_COUNT:
            link.share = arrays.share[link.row + link.rings]
        else:
            link.share = ROOM - state.load[NOW, index]
        after = link.share
        if before == after:
            continue
        if arrays.sharing == BY_RING:
            rings = note_by_ring(arrays, state, index, before, after, rings)
            continue
        for at in range(link.row, link.row + link.rings):
            rings = note(state, state.row[at].job, before, after, rings)
    for i in range(rings):
        _update(arrays, state, state.changed_rings[i])
    for i in range(changed_on_gpus(state.gpus)):
        _set_speed(arrays, state, changed_ring(state.gpus, i))
    counters[CHANGED_LINKS] = counters[CHANGED_RINGS] = 0


@_inner
def _update(arrays: Arrays, state: State, index: int) -> None:
    """Set an active job's speed and completion from the shares of its links."""
    ring, now = state.rings[index], state.counters[CLOCK]
    if ring.links == 0:
        if arrays.gpus is not None:
            _set_speed(arrays, state, index)
        elif arrays.packed[ring.mode] < NEVER:
            ring.finish = now + arrays.packed[ring.mode]
            _heap_place(state, index)
        return
    if ring.bandwidth == UNKNOWN and arrays.sharing == BY_RING:
        ring.bandwidth = bandwidth_by_ring(arrays, state, index)
    elif ring.bandwidth == UNKNOWN and arrays.sharing >= BY_CLASS:
        ring.bandwidth = least_by_class(arrays, state, index)
    elif ring.bandwidth == UNKNOWN:
        first = arrays.member_at[index]
        bandwidth = state.links[state.members[first].link].share
        for number in range(first + 1, first + ring.links):
            bandwidth = min(bandwidth, state.links[state.members[number].link].share)
        ring.bandwidth = bandwidth
    if ring.bandwidth == ring.settled:
        return
    ring.settled = ring.bandwidth
    _set_speed(arrays, state, index)


@_inner
def _set_speed(arrays: Arrays, state: State, index: int) -> None:
    """Set an active job's speed and completion from what links leave it, and others on its GPUs."""
    ring, now = state.rings[index], state.counters[CLOCK]
    if arrays.gpus is not None and ring.links == 0:
        gbps = rate_within(arrays.gpus, ring.mode)
    else:
        gbps = settled_gbps(arrays, state, index)
    new_speed = speed_at(arrays, state, index, gbps)
    if new_speed == ring.speed:
        return
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
def speed_at(arrays: Arrays, state: State, job: int, gbps: float) -> int:
    """Iterations per slot of a ring that has a bandwidth, φ_j."""
    ring = state.rings[job]
    if len(arrays.cards) > 0 and (arrays.gpus is None or ring.links > 0):
        gbps = min(gbps, state.reach[job])
    compute = pressed_compute(state.gpus, job, arrays.modes[ring.mode].compute)
    return mode_speed(arrays, ring.mode, ring.servers, gbps, compute)


@_inner
def settled_gbps(arrays: Arrays, state: State, job: int) -> float:
    """What links left a ring on them in Gbit/s when speeds were last right."""
    settled = state.rings[job].settled
    if arrays.sharing in (BY_LOAD, BY_CLASS):
        return share_of(arrays, state, job, 0, settled)
    return float(settled)


@_inner
def _heap_place(state: State, job: int) -> None:
    """Put a job into the heap, or to its right place in it."""
    place = state.rings[job].heap_at
    if place == NOWHERE:
        place = np.uint32(state.counters[HEAP])
        state.counters[HEAP] += 1
    _sift(state, job, state.rings[job].finish, place)


@_inner
def _heap_remove(state: State, job: int) -> None:
    """Take a job out of the heap if it is in it."""
    place = state.rings[job].heap_at
    if place == NOWHERE:
        return
    state.rings[job].heap_at = NOWHERE
    state.counters[HEAP] -= 1
    last = state.heap[state.counters[HEAP]]
    if last.job != job:
        _sift(state, last.job, last.finish, place)


@_inner
def _sift(state: State, job: int, finish: int, start: int) -> None:
    """Put a job at a place of the heap, then move it up or down to where it belongs."""
    heap = state.heap
    place = np.uint64(start)
    while place > 0:
        parent = (place - ONE) >> ONE
        if heap[parent].finish <= finish:
            break
        _set(state, place, heap[parent].job, heap[parent].finish)
        place = parent
    size = np.uint64(state.counters[HEAP])
    while True:
        child = place + place + ONE
        if child >= size:
            break
        if child + ONE < size:
            child += np.uint64(heap[child + ONE].finish < heap[child].finish)
        if heap[child].finish >= finish:
            break
        _set(state, place, heap[child].job, heap[child].finish)
        place = child
    _set(state, place, job, finish)


@_inner
def _set(state: State, place: np.uint64, job: int, finish: int) -> None:
    """Fill a place of the heap."""
    state.heap[place].job = job
    state.heap[place].finish = finish
    state.rings[job].heap_at = place
