"""Where a job goes now if GPUs are shared: its GPUs, in the way chosen for it.

GPUs of a server on which a job meets the same others, with the same room, are one candidate: the
first of them is taken.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from rarmodel.engine.arrays import Ints
from rarmodel.engine.compilation import compiled
from rarmodel.engine.gpu_loads import GpuLoads, SharedGpus, load_on
from rarmodel.model.sharing_rule import UNITS

from .gpu_places import ALONE, JOIN, LEAST, STAMP, GpuPlaces, GpuRoom
from .instance_arrays import InstanceArrays
from .partial_schedule import PartialSchedule
from .placement import holdings
from .placement_options import EMPTIEST, NEVER_PACKS, PACK, PACKS_FIRST

_inner = partial(compiled, inner=True)

NOBODY = -1
NO_ROOM = np.inf
"""Score of a GPU on which a job has no room, or does not want to be."""
LAST = 1e12
"""Score of a GPU on which it would rather not be."""
WORTH = 1.0
"""A loss of all together up to which two jobs on a GPU do more than one after the other: the speeds
`1/(1 + a) + 1/(1 + b)` exceed 1 if `a·b < 1`."""
OTHERS, RAN = range(2)
"""Rows of `GpuRoom.used`: GPUs with jobs that start here, and GPUs with one that ran at slot 0."""


@_inner
def slices_of(gpus: SharedGpus, job: int, server: int) -> int:
    """Slices that a worker takes on a server."""
    own = gpus.taken[job]
    return int(own if own > 0 else gpus.slices[server])


@_inner
def place_on_gpus(
    places: GpuPlaces,
    room: GpuRoom,
    gpus: SharedGpus,
    loads: GpuLoads,
    instance: InstanceArrays,
    schedule: PartialSchedule,
    job: int,
    choice: int,
) -> int:
    """Choose GPUs for a job now; on how many servers, 0 if there is no room.

    The schedule receives the servers, and `GpuLoads.held` the GPUs; see `place` for the rest.
    """
    if choice < 0:
        used = _place_in_pin(places, room, gpus, loads, instance, schedule, job, -1 - choice)
        return _with_supplies(places, instance, schedule, job, used)
    row = instance.options.at[job] + choice
    size = instance.options.size[row]
    if _measure(places, room, gpus, loads, instance, schedule, job, row) < size:
        return 0
    style, packs = instance.options.style[row], instance.options.packs[row]
    packing = style == PACK or packs == PACKS_FIRST
    used = 0
    for _ in range(2):
        if packing:
            used = _pack(room, gpus, loads, instance, schedule, job, size)
        else:
            used = _spread(places, room, gpus, loads, instance, schedule, job, row)
        if used > 0 or style == PACK or packs == NEVER_PACKS:
            break
        packing = not packing
    return _with_supplies(places, instance, schedule, job, used)


@_inner
def _with_supplies(
    places: GpuPlaces, instance: InstanceArrays, schedule: PartialSchedule, job: int, used: int
) -> int:
    """The number of servers of a job; 0 if there is too little of what it uses beside GPUs."""
    if used == 0:
        return 0
    note_supplies(places, instance, schedule, job, used)
    at = instance.place_at[job]
    for p in range(at + used, at + holdings(instance, job, used)):
        supply = schedule.server[p]
        left = max(0, schedule.capacity[supply] - schedule.kept[supply])
        if schedule.held[supply] + schedule.workers[p] > left:
            return 0
    return used


@_inner
def note_supplies(
    places: GpuPlaces, instance: InstanceArrays, schedule: PartialSchedule, job: int, used: int
) -> None:
    """Note behind the servers of a job what it uses beside GPUs."""
    at = instance.place_at[job]
    end = at + used
    for i in range(instance.use_at[job], instance.use_at[job + 1]):
        schedule.server[end] = instance.use_supply[i]
        amount = instance.use_of_job[i]
        for p in range(at, at + used):
            amount += schedule.workers[p] * places.use_of_gpu[i, schedule.server[p]]
        schedule.workers[end] = amount
        end += 1


@_inner
def _spare(room: GpuRoom, schedule: PartialSchedule, server: int) -> int:
    """How many GPUs of a server on which nobody is may be taken."""
    left = max(0, schedule.capacity[server] - room.used[RAN, server])
    return int(max(0, left - room.used[OTHERS, server]))


@_inner
def _fits(
    places: GpuPlaces, room: GpuRoom, gpus: SharedGpus, job: int, server: int, gpu: int
) -> bool:
    """Whether a GPU has slices and memory for a worker."""
    slices = room.slices[gpu] + slices_of(gpus, job, server)
    memory = room.memory[gpu] + places.need[job]
    return bool(slices <= gpus.slices[server] and memory <= places.memory[server])


@_inner
def _measure(
    places: GpuPlaces,
    room: GpuRoom,
    gpus: SharedGpus,
    loads: GpuLoads,
    instance: InstanceArrays,
    schedule: PartialSchedule,
    job: int,
    row: int,
) -> int:
    """Score the GPUs for an option of a job; how many have room for it."""
    allowed, way, total = instance.options.allowed[row], places.way[row], 0
    for server in range(len(room.rooms)):
        room.rooms[server] = 0
        if not places.allowed[allowed, server]:
            continue
        idle = joined = 0
        for gpu in range(gpus.first[server], gpus.first[server + 1]):
            score = NO_ROOM
            if _fits(places, room, gpus, job, server, gpu):
                if room.users[OTHERS, gpu] == 0:
                    score = LAST if way == JOIN else 0.0
                    idle += 1
                elif way != ALONE:
                    score = _loss(places, gpus, loads, job, gpu)
                    if way == LEAST and score > WORTH:
                        score = NO_ROOM
                    joined += int(score < NO_ROOM)
            room.score[gpu] = score
        room.rooms[server] = joined + min(idle, _spare(room, schedule, server))
        total += room.rooms[server]
    return total


@_inner
def _loss(places: GpuPlaces, gpus: SharedGpus, loads: GpuLoads, job: int, gpu: int) -> float:
    """What a job loses by the others on a GPU, and they by it: parts of an iteration each."""
    total = places.passes[job] * load_on(gpus, loads, gpu, job)
    first = gpus.row_at[gpu]
    for place in range(first, first + loads.users[gpu]):
        other = loads.row[place]
        total += places.passes[other] * gpus.units[gpus.row[job], gpus.column[other]]
    return float(total / UNITS)


@_inner
def _pick(
    room: GpuRoom,
    gpus: SharedGpus,
    schedule: PartialSchedule,
    server: int,
    count: int,
    into: Ints,
    at: int,
) -> float:
    """Choose the GPUs of a server with the least scores; what they are together."""
    room.counters[STAMP] += 1
    stamp, idle, total = room.counters[STAMP], _spare(room, schedule, server), 0.0
    for place in range(at, at + count):
        best, least = NOBODY, NO_ROOM
        for gpu in range(gpus.first[server], gpus.first[server + 1]):
            if room.score[gpu] >= least or room.stamp[gpu] == stamp:
                continue
            if idle > 0 or room.users[OTHERS, gpu] > 0:
                best, least = gpu, room.score[gpu]
        room.stamp[best] = stamp
        idle -= int(room.users[OTHERS, best] == 0)
        into[place] = best
        total += least
    return total


@_inner
def _pack(
    room: GpuRoom,
    gpus: SharedGpus,
    loads: GpuLoads,
    instance: InstanceArrays,
    schedule: PartialSchedule,
    job: int,
    size: int,
) -> int:
    """Choose the server on which a job scores least, of those the fullest; 0 if there is none."""
    best, least, at = NOBODY, NO_ROOM, gpus.held_at[job]
    for server in range(len(room.rooms)):
        if room.rooms[server] < size:
            continue
        total = _pick(room, gpus, schedule, server, size, loads.held, at)
        fuller = best != NOBODY and total == least and room.rooms[server] < room.rooms[best]
        if total < least or fuller:
            best, least = server, total
    if best == NOBODY:
        return 0
    _pick(room, gpus, schedule, best, size, loads.held, at)
    schedule.server[instance.place_at[job]] = best
    schedule.workers[instance.place_at[job]] = size
    return 1


@_inner
def _spread(
    places: GpuPlaces,
    room: GpuRoom,
    gpus: SharedGpus,
    loads: GpuLoads,
    instance: InstanceArrays,
    schedule: PartialSchedule,
    job: int,
    row: int,
) -> int:
    """Choose servers below the first switch that has room; 0 if none has.

    Of the switches of EMPTIEST, it is the first one where the ring takes the fewest servers.
    """
    options, style = instance.options, instance.options.style[row]
    switches = options.queue_switches[options.queue[row]]
    used, best, last = 0, NOBODY, NOBODY
    for i in range(options.switch_at[switches], options.switch_at[switches + 1]):
        last = options.switch[i]
        found = _gather(places, room, instance, schedule, job, row, last)
        if found > 0 and (used == 0 or found < used):
            used, best = found, last
        if used > 0 and style != EMPTIEST:
            break
    if used == 0:
        return 0
    if last != best:  # The pool is to be that of the best one.
        _gather(places, room, instance, schedule, job, row, best)
    left, at, held = options.size[row], instance.place_at[job], gpus.held_at[job]
    share = left // used
    for p in range(used):
        server, workers = schedule.pool[p], share
        if not instance.equal[job]:
            workers = min(room.rooms[server], left - (used - 1 - p))
        schedule.server[at + p], schedule.workers[at + p] = server, workers
        _pick(room, gpus, schedule, server, workers, loads.held, held)
        held += workers
        left -= workers
    return int(used)


@_inner
def _gather(
    places: GpuPlaces,
    room: GpuRoom,
    instance: InstanceArrays,
    schedule: PartialSchedule,
    job: int,
    row: int,
    group: int,
) -> int:
    """Put the servers of a group with most room into the pool, as few as take a ring; or 0."""
    pool, size, gathered = schedule.pool, instance.options.size[row], 0
    for server in range(len(room.rooms)):
        if room.rooms[server] == 0 or not places.below[group, server]:
            continue
        place = gathered
        while place > 0 and room.rooms[pool[place - 1]] < room.rooms[server]:
            pool[place] = pool[place - 1]
            place -= 1
        pool[place] = server
        gathered += 1
    together = 0
    for used in range(1, min(gathered, instance.most[job], size) + 1):
        least = room.rooms[pool[used - 1]]
        together += least
        if used < instance.fewest[job]:
            continue
        if instance.equal[job]:
            if size % used == 0 and least >= size // used:
                return used
        elif together >= size:
            return used
    return 0


@_inner
def _place_in_pin(
    places: GpuPlaces,
    room: GpuRoom,
    gpus: SharedGpus,
    loads: GpuLoads,
    instance: InstanceArrays,
    schedule: PartialSchedule,
    job: int,
    pin: int,
) -> int:
    """Put a job exactly on the GPUs of a pin; 0 if there is no room."""
    size = places.pin_at[pin + 1] - places.pin_at[pin]
    at, first = instance.place_at[job], instance.pin_at[pin]
    used, taken = instance.pin_at[pin + 1] - first, places.pin_at[pin]
    for p in range(used):
        server, workers = instance.pin_server[first + p], instance.pin_workers[first + p]
        idle = _spare(room, schedule, server)
        for i in range(taken, taken + workers):
            if not _fits(places, room, gpus, job, server, places.pin[i]):
                return 0
            idle -= int(room.users[OTHERS, places.pin[i]] == 0)
        if idle < 0:
            return 0
        schedule.server[at + p], schedule.workers[at + p] = server, workers
        taken += workers
    for i in range(size):
        loads.held[gpus.held_at[job] + i] = places.pin[places.pin_at[pin] + i]
    return int(used)
