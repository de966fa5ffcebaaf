"""From an order of jobs to a list schedule, where jobs share GPUs.

It is as `decode`, but servers are no numbers of idle GPUs: each job chooses its GPUs, in the way
chosen for it. A start may slow down jobs that run, so where deadlines must be kept, or capacities
fall, each start is projected: all jobs that run are simulated to their ends.
"""

from __future__ import annotations

from functools import partial

from rarmodel.engine.arrays import NEVER, Ints
from rarmodel.engine.compilation import compiled
from rarmodel.engine.gpu_loads import GpuLoads, SharedGpus
from rarmodel.engine.kernel import CLOCK, RUNNING, complete_next, next_completion, reset, start
from rarmodel.engine.modes import mode_of

from .commitments import save
from .gpu_placement import OTHERS, RAN, note_supplies, place_on_gpus, slices_of
from .gpu_places import LEFT, NEXT, PASS_NUMBER, GpuPlaces, GpuRoom
from .instance_arrays import InstanceArrays
from .partial_schedule import STOPPED, STUCK, PartialSchedule
from .placement import holdings

_inner = partial(compiled, inner=True)

NO_JOB = -1


@_inner
def decode_on_gpus(
    places: GpuPlaces | None,
    room: GpuRoom | None,
    gpus: SharedGpus | None,
    loads: GpuLoads | None,
    instance: InstanceArrays,
    schedule: PartialSchedule,
    order: Ints,
    option: Ints,
    earliest: Ints,
) -> int:
    """Make a schedule; see `decode`."""
    if places is None or room is None or gpus is None or loads is None:
        return STUCK
    arrays, state, supplies = instance.engine, schedule.state, instance.supplies
    _begin(places, room, gpus, loads, instance, schedule, order, earliest)
    if instance.guarded == 1 and state.counters[RUNNING] > 0:
        # Jobs that run already may miss their deadlines without any other.
        save(instance, schedule)
        if not _projected(room, gpus, loads, instance, schedule, NO_JOB, 0, 0):
            return STUCK
    change = completed = now = 0
    while True:
        if schedule.stop[0] != 0:
            return STOPPED
        while change < len(supplies.slot) and supplies.slot[change] <= now:
            schedule.capacity[supplies.supply[change]] += supplies.growth[change]
            change += 1
        _start_some(places, room, gpus, loads, instance, schedule, option, change, now)
        if state.counters[RUNNING] == 0 and room.counters[LEFT] == 0:
            return int(state.counters[CLOCK])
        completion = next_completion(arrays, state)
        following = min(completion, room.counters[NEXT])
        if change < len(supplies.slot):
            following = min(following, supplies.slot[change])
        if following == NEVER:
            return STUCK
        now = following
        if completion == now:
            for i in range(complete_next(arrays, state, schedule.ended)):
                job = schedule.ended[i]
                schedule.completed[completed] = job
                completed += 1
                _leave(places, room, gpus, loads, instance, schedule, job)
                _release_followers(room, instance, schedule, job, earliest)
        else:
            state.counters[CLOCK] = now


@_inner
def _begin(
    places: GpuPlaces,
    room: GpuRoom,
    gpus: SharedGpus,
    loads: GpuLoads,
    instance: InstanceArrays,
    schedule: PartialSchedule,
    order: Ints,
    earliest: Ints,
) -> None:
    """Slot 0: running jobs hold their GPUs, and all others wait."""
    reset(instance.engine, schedule.state)
    schedule.held[:] = 0
    schedule.kept[:] = 0
    room.slices[:] = 0
    room.memory[:] = 0
    room.users[:] = 0
    room.used[:] = 0
    room.failed[:] = 0
    room.counters[:] = 0
    room.stamp[:] = 0
    for supply in range(len(schedule.capacity)):
        schedule.capacity[supply] = instance.supplies.first[supply]
    for job in range(len(order)):
        schedule.waits_for[job] = instance.waits_for[job]
        room.ready[job] = NEVER
        if schedule.waits_for[job] == 0:
            room.ready[job] = max(instance.release[job], earliest[job])
    for job in order:
        if not _ran(instance, job):
            room.line[room.counters[LEFT]] = job
            room.counters[LEFT] += 1
            continue
        first, end = instance.running_at[job], instance.running_at[job + 1]
        at, used, size = instance.place_at[job], end - first, 0
        for p in range(used):
            schedule.server[at + p] = instance.running_server[first + p]
            schedule.workers[at + p] = instance.running_workers[first + p]
            size += schedule.workers[at + p]
        for i in range(size):
            loads.held[gpus.held_at[job] + i] = places.running[places.running_at[job] + i]
        note_supplies(places, instance, schedule, job, used)
        _enter(places, room, gpus, loads, instance, schedule, job, used)


@_inner
def _ran(instance: InstanceArrays, job: int) -> bool:
    """Whether a job runs at slot 0 already."""
    return bool(instance.running_at[job] < instance.running_at[job + 1])


@_inner
def _start_some(
    places: GpuPlaces,
    room: GpuRoom,
    gpus: SharedGpus,
    loads: GpuLoads,
    instance: InstanceArrays,
    schedule: PartialSchedule,
    option: Ints,
    change: int,
    now: int,
) -> None:
    """Start the jobs that can start now, the most urgent first."""
    room.counters[NEXT] = NEVER
    room.counters[PASS_NUMBER] += 1
    this, left, line = room.counters[PASS_NUMBER], 0, room.line
    for i in range(room.counters[LEFT]):
        job = line[i]
        line[left] = job
        left += 1
        if room.ready[job] > now:
            room.counters[NEXT] = min(room.counters[NEXT], room.ready[job])
            continue
        choice = option[job]
        if choice >= 0:
            form = places.form[instance.options.at[job] + choice]
            if room.failed[form] == this:
                continue
        used = place_on_gpus(places, room, gpus, loads, instance, schedule, job, choice)
        if used == 0:
            if choice >= 0:
                room.failed[form] = this  # There is no more room for others that ask for the same.
            continue
        if instance.guarded == 1 and not _keeps(
            room, gpus, loads, instance, schedule, job, used, change
        ):
            continue
        _enter(places, room, gpus, loads, instance, schedule, job, used)
        left -= 1
    room.counters[LEFT] = left


@_inner
def _enter(
    places: GpuPlaces,
    room: GpuRoom,
    gpus: SharedGpus,
    loads: GpuLoads,
    instance: InstanceArrays,
    schedule: PartialSchedule,
    job: int,
    used: int,
) -> None:
    """Start a job on its GPUs now."""
    at, ran = instance.place_at[job], _ran(instance, job)
    schedule.used[job], schedule.starts[job] = used, schedule.state.counters[CLOCK]
    _count_supplies(instance, schedule.kept if ran else schedule.held, schedule, job, 1)
    _take(places, room, gpus, loads, instance, schedule, job, 1)
    _count(room.users, room.used, gpus, loads, instance, schedule, job, 1)
    servers, workers = schedule.server[at : at + used], schedule.workers[at : at + used]
    mode = mode_of(instance.modes, instance.compute, job, servers, workers, used)
    start(instance.engine, schedule.state, job, mode, servers, workers, used)


@_inner
def _leave(
    places: GpuPlaces,
    room: GpuRoom,
    gpus: SharedGpus,
    loads: GpuLoads,
    instance: InstanceArrays,
    schedule: PartialSchedule,
    job: int,
) -> None:
    """A job has completed, and gives all that it held back."""
    held = schedule.kept if _ran(instance, job) else schedule.held
    _count_supplies(instance, held, schedule, job, -1)
    _take(places, room, gpus, loads, instance, schedule, job, -1)
    _count(room.users, room.used, gpus, loads, instance, schedule, job, -1)


@_inner
def _release_followers(
    room: GpuRoom, instance: InstanceArrays, schedule: PartialSchedule, job: int, earliest: Ints
) -> None:
    """Jobs that waited for one that has completed need not any more."""
    if len(instance.follower) == 0:
        return
    for i in range(instance.follower_at[job], instance.follower_at[job + 1]):
        follower = instance.follower[i]
        schedule.waits_for[follower] -= 1
        if schedule.waits_for[follower] == 0:
            room.ready[follower] = max(instance.release[follower], earliest[follower])


@_inner
def _count_supplies(
    instance: InstanceArrays, held: Ints, schedule: PartialSchedule, job: int, sign: int
) -> None:
    """Add what a job uses beside GPUs, or take it off."""
    at, used = instance.place_at[job], schedule.used[job]
    for p in range(at + used, at + holdings(instance, job, used)):
        held[schedule.server[p]] += sign * schedule.workers[p]


@_inner
def _take(
    places: GpuPlaces,
    room: GpuRoom,
    gpus: SharedGpus,
    loads: GpuLoads,
    instance: InstanceArrays,
    schedule: PartialSchedule,
    job: int,
    sign: int,
) -> None:
    """Take slices and memory of a job's GPUs, or give them back."""
    held = gpus.held_at[job]
    for p in range(instance.place_at[job], instance.place_at[job] + schedule.used[job]):
        slices = slices_of(gpus, job, schedule.server[p])
        for _ in range(schedule.workers[p]):
            room.slices[loads.held[held]] += sign * slices
            room.memory[loads.held[held]] += sign * places.need[job]
            held += 1


@_inner
def _count(
    users: Ints,
    used: Ints,
    gpus: SharedGpus,
    loads: GpuLoads,
    instance: InstanceArrays,
    schedule: PartialSchedule,
    job: int,
    sign: int,
) -> None:
    """Count a job among the users of its GPUs, and how many GPUs of its servers are used."""
    held, ran = gpus.held_at[job], int(_ran(instance, job))
    for p in range(instance.place_at[job], instance.place_at[job] + schedule.used[job]):
        server = schedule.server[p]
        for _ in range(schedule.workers[p]):
            gpu = loads.held[held]
            held += 1
            used[_row(users, gpu), server] -= int(users[OTHERS, gpu] > 0)
            users[OTHERS, gpu] += sign
            users[RAN, gpu] += sign * ran
            used[_row(users, gpu), server] += int(users[OTHERS, gpu] > 0)


@_inner
def _row(users: Ints, gpu: int) -> int:
    """Where a GPU counts that somebody uses."""
    return RAN if users[RAN, gpu] > 0 else OTHERS


@_inner
def _keeps(
    room: GpuRoom,
    gpus: SharedGpus,
    loads: GpuLoads,
    instance: InstanceArrays,
    schedule: PartialSchedule,
    job: int,
    used: int,
    change: int,
) -> bool:
    """Whether deadlines and capacities are kept if a job starts in its place now."""
    now, at = schedule.state.counters[CLOCK], instance.place_at[job]
    if now + instance.least_slots[job] > instance.deadline[job]:
        return False
    before = schedule.used[job]
    schedule.used[job] = used
    save(instance, schedule)
    saved = schedule.saved.gpus
    if saved is not None:
        held = gpus.held_at[job]
        for p in range(at, at + used):
            for _ in range(schedule.workers[p]):
                saved.held[held] = loads.held[held]
                held += 1
    servers, workers = schedule.server[at : at + used], schedule.workers[at : at + used]
    mode = mode_of(instance.modes, instance.compute, job, servers, workers, used)
    schedule.saved.rings[job].finish = NEVER
    start(instance.engine, schedule.saved, job, mode, servers, workers, used)
    kept = _projected(room, gpus, loads, instance, schedule, job, used, change)
    schedule.used[job] = before
    return kept


@_inner
def _projected(
    room: GpuRoom,
    gpus: SharedGpus,
    loads: GpuLoads,
    instance: InstanceArrays,
    schedule: PartialSchedule,
    started: int,
    used: int,
    change: int,
) -> bool:
    """Whether deadlines and capacities are kept if nothing starts but, perhaps, one job."""
    arrays, saved, supplies = instance.engine, schedule.saved, instance.supplies
    users, on_servers = room.trial_users, room.trial_used
    capacity, held, kept = schedule.trial[0], schedule.trial[1], schedule.trial[2]
    for row in (OTHERS, RAN):
        for gpu in range(users.shape[1]):
            users[row, gpu] = room.users[row, gpu]
        for server in range(on_servers.shape[1]):
            on_servers[row, server] = room.used[row, server]
    for supply in range(len(kept)):
        capacity[supply] = schedule.capacity[supply]
        held[supply] = schedule.held[supply]
        kept[supply] = schedule.kept[supply]
    if started != NO_JOB:
        _count(users, on_servers, gpus, loads, instance, schedule, started, 1)
        _count_supplies(instance, held, schedule, started, 1)
    while saved.counters[RUNNING] > 0:
        completion = next_completion(arrays, saved)
        # What ends in a slot is gone before a capacity falls in it.
        while change < len(supplies.slot) and supplies.slot[change] < completion:
            slot = supplies.slot[change]
            while change < len(supplies.slot) and supplies.slot[change] == slot:
                capacity[supplies.supply[change]] += supplies.growth[change]
                change += 1
            if not _within(on_servers, capacity, held, kept):
                return False
        if completion == NEVER:
            return False
        for i in range(complete_next(arrays, saved, schedule.ended)):
            job = schedule.ended[i]
            if completion > instance.deadline[job]:
                return False
            of_ran = kept if _ran(instance, job) else held
            _count_supplies(instance, of_ran, schedule, job, -1)
            _count(users, on_servers, gpus, loads, instance, schedule, job, -1)
        # Where a job that ran at slot 0 ends, others beside it begin to count.
        while change < len(supplies.slot) and supplies.slot[change] == completion:
            capacity[supplies.supply[change]] += supplies.growth[change]
            change += 1
        if not _within(on_servers, capacity, held, kept):
            return False
    return True


@_inner
def _within(on_servers: Ints, capacity: Ints, held: Ints, kept: Ints) -> bool:
    """Whether no more is used of anything than there is."""
    servers = on_servers.shape[1]
    for server in range(servers):
        left = max(0, capacity[server] - on_servers[RAN, server])
        if on_servers[OTHERS, server] > left:
            return False
    for supply in range(servers, len(kept)):
        if held[supply] > max(0, capacity[supply] - kept[supply]):
            return False
    return True
