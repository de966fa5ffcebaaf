"""From an order of jobs to a list schedule.

At each event (a completion, a release, a change of a capacity) the jobs that wait are
tried in their order; each starts as soon as it can be placed in the way chosen for it, and no
deadline or capacity that must be kept would be broken. For projects with resources this is the
parallel scheme (R. Kolisch, "Serial and parallel resource-constrained project scheduling methods
revisited", European Journal of Operational Research 90, 1996); for clusters it is list scheduling
with backfilling. Where jobs share GPUs, `gpu_decoding` does it.
"""

from __future__ import annotations

from functools import partial

from rarmodel.engine.arrays import NEVER, Ints
from rarmodel.engine.compilation import compiled
from rarmodel.engine.kernel import (
    CLOCK,
    RUNNING,
    complete_next,
    next_completion,
    reset,
    start,
)
from rarmodel.engine.modes import mode_of

from .commitments import keeps_commitments, projected, save, watch
from .free_gpus import free_all, set_idle, total_free
from .gpu_decoding import decode_on_gpus
from .instance_arrays import InstanceArrays
from .partial_schedule import DEADLINES, ENDS_KNOWN, STOPPED, STUCK, PartialSchedule
from .placement import holdings, place, ring_size, use_supplies
from .placement_options import ANY_ALONE, FEWEST_ALONE
from .queues import (
    ASIDE,
    LEFT,
    OPEN,
    await_slot,
    dequeue,
    empty_queues,
    enqueue,
    next_slot,
    next_to_try,
    open_queue,
    open_queues,
    release,
)

_inner = partial(compiled, inner=True)


@partial(compiled, parallel=True)
def decode(
    instance: InstanceArrays, schedule: PartialSchedule, order: Ints, option: Ints, earliest: Ints
) -> int:
    """Make a schedule; its makespan, or STUCK or STOPPED.

    Parameters
    ----------
    instance, schedule
        The instance, and the memory that receives the schedule.
    order
        (jobs) Jobs, most urgent first.
    option
        (jobs) Which of its options each job takes; −1 − i for pin i.
    earliest
        (jobs) Slot from which on each may start, beside its release.
    """
    return _decode(instance.on_servers, instance, schedule, order, option, earliest)


@_inner
def _decode(
    on_servers: int | None,
    instance: InstanceArrays,
    schedule: PartialSchedule,
    order: Ints,
    option: Ints,
    earliest: Ints,
) -> int:
    """The same. Numba drops what stands behind a question for None if the answer is no."""
    if on_servers is None:
        on_gpus = instance.places, schedule.room, instance.engine.gpus, schedule.state.gpus
        return decode_on_gpus(*on_gpus, instance, schedule, order, option, earliest)
    return _decode_on_servers(instance, schedule, order, option, earliest)


@_inner
def _decode_on_servers(
    instance: InstanceArrays, schedule: PartialSchedule, order: Ints, option: Ints, earliest: Ints
) -> int:
    """The same where no GPU is shared: a server is a number of idle GPUs."""
    arrays, state, queues = instance.engine, schedule.state, schedule.queues
    supplies = instance.supplies
    _begin(instance, schedule, order, option, earliest)
    if instance.guarded == 1 and state.counters[RUNNING] > 0:
        # Jobs that run already may miss their deadlines without any other.
        save(instance, schedule)
        if not projected(instance, schedule, 0, 0, 0):
            return STUCK
        schedule.commitments[ENDS_KNOWN] = 1
    change = completed = now = 0
    while True:
        if schedule.stop[0] != 0:
            return STOPPED
        while change < len(supplies.slot) and supplies.slot[change] <= now:
            supply = supplies.supply[change]
            schedule.capacity[supply] += supplies.growth[change]
            schedule.floor[supply] = supplies.floor[change]
            _refresh(instance, schedule, supply)
            change += 1
        release(queues, now)
        _start_some(instance, schedule, order, option, change)
        if state.counters[RUNNING] == 0 and queues.counters[LEFT] == 0:
            return int(schedule.state.counters[CLOCK])
        completion = next_completion(arrays, state)
        following = min(completion, next_slot(queues))
        if change < len(supplies.slot):
            following = min(following, supplies.slot[change])
        if following == NEVER:
            return STUCK
        now = following
        if completion == now:
            count = complete_next(arrays, state, schedule.ended)
            for i in range(count):
                schedule.completed[completed] = schedule.ended[i]
                completed += 1
                _leave(instance, schedule, schedule.ended[i], earliest, now)
        else:
            state.counters[CLOCK] = now


@_inner
def _begin(
    instance: InstanceArrays, schedule: PartialSchedule, order: Ints, option: Ints, earliest: Ints
) -> None:
    """Slot 0: running jobs hold their GPUs, and all others wait."""
    queues, options = schedule.queues, instance.options
    reset(instance.engine, schedule.state)
    schedule.held[:] = 0
    schedule.kept[:] = 0
    schedule.exposed[:] = 0
    schedule.commitments[:] = 0
    schedule.alone[:] = 0
    schedule.alone_rings[0] = 0
    free_all(schedule.free, instance.groups, instance.server_gpus)
    for supply in range(len(schedule.capacity)):
        schedule.capacity[supply] = instance.supplies.first[supply]
        schedule.floor[supply] = instance.supplies.first_floor[supply]
    for queue in range(options.queues):
        queues.size[queue] = options.queue_size[queue]
    for job in range(len(order)):
        schedule.waits_for[job] = instance.waits_for[job]
        # A job in a pin waits alone.
        queue = options.queues + job
        if option[job] >= 0:
            queue = options.queue[options.at[job] + option[job]]
        else:
            queues.size[queue] = ring_size(instance, job, option[job])
        queues.queue[job] = queue
    pins = len(instance.pin_at) > 1
    empty_queues(queues, order, options.queues + (len(order) if pins else 0))
    for job in range(len(order)):
        if not ran_at_begin(instance, job):
            queues.counters[LEFT] += 1
            if schedule.waits_for[job] == 0:
                await_slot(queues, job, max(instance.release[job], earliest[job]), 0)
            continue
        first, end = instance.running_at[job], instance.running_at[job + 1]
        at, used, size = instance.place_at[job], end - first, 0
        for p in range(used):
            server, count = instance.running_server[first + p], instance.running_workers[first + p]
            schedule.server[at + p], schedule.workers[at + p] = server, count
            size += count
        use_supplies(instance, schedule, job, used, size)
        for p in range(at, at + holdings(instance, job, used)):
            schedule.kept[schedule.server[p]] += schedule.workers[p]
            _refresh(instance, schedule, schedule.server[p])
        schedule.starts[job], schedule.used[job] = 0, used
        schedule.commitments[DEADLINES] += int(instance.deadline[job] < NEVER)
        servers, workers = schedule.server[at : at + used], schedule.workers[at : at + used]
        mode = mode_of(instance.modes, instance.compute, job, servers, workers, used)
        start(instance.engine, schedule.state, job, mode, servers, workers, used)


@_inner
def _leave(
    instance: InstanceArrays,
    schedule: PartialSchedule,
    job: int,
    earliest: Ints,
    now: int,
) -> None:
    """A job has completed: its GPUs are idle, and jobs that waited for it need not any more."""
    at = instance.place_at[job]
    ran = ran_at_begin(instance, job)
    if instance.guarded == 1:
        schedule.commitments[DEADLINES] -= int(instance.deadline[job] < NEVER)
    for p in range(at, at + holdings(instance, job, schedule.used[job])):
        if ran:
            schedule.kept[schedule.server[p]] -= schedule.workers[p]
        else:
            schedule.held[schedule.server[p]] -= schedule.workers[p]
        _refresh(instance, schedule, schedule.server[p])
    if not ran and _is_alone(instance, schedule, job):
        _mark_links(instance, schedule, job, 0)
    if len(instance.follower) == 0:
        return
    for i in range(instance.follower_at[job], instance.follower_at[job + 1]):
        follower = instance.follower[i]
        schedule.waits_for[follower] -= 1
        if schedule.waits_for[follower] == 0:
            slot = max(instance.release[follower], earliest[follower])
            await_slot(schedule.queues, follower, slot, now)


@_inner
def ran_at_begin(instance: InstanceArrays, job: int) -> bool:
    """Whether a job runs at slot 0 already."""
    if len(instance.running_server) == 0:
        return False
    return bool(instance.running_at[job] < instance.running_at[job + 1])


@_inner
def _is_alone(instance: InstanceArrays, schedule: PartialSchedule, job: int) -> bool:
    """Whether a ring has its links to itself as it is placed."""
    if schedule.used[job] == 1 or schedule.queues.queue[job] >= instance.options.queues:
        return False
    style = instance.options.queue_style[schedule.queues.queue[job]]
    return bool(style in (ANY_ALONE, FEWEST_ALONE))


@_inner
def _mark_links(instance: InstanceArrays, schedule: PartialSchedule, job: int, alone: int) -> None:
    """Note that a ring has its links to itself, or has them no more."""
    if alone == 1:
        schedule.alone_links[job] = schedule.state.rings[job].links
    first = instance.engine.member_at[job]
    for number in range(first, first + schedule.alone_links[job]):
        schedule.alone[schedule.state.members[number].link] = alone
    if schedule.alone_links[job] > 0:
        schedule.alone_rings[0] += 2 * alone - 1


@_inner
def _refresh(instance: InstanceArrays, schedule: PartialSchedule, supply: int) -> None:
    """Note how many GPUs of a server a job may take now, and whether its capacity may fall short.

    Other supplies are looked at when a job is placed.
    """
    if supply < len(instance.server_gpus):
        left = max(0, schedule.capacity[supply] - schedule.kept[supply])
        set_idle(schedule.free, instance.groups, supply, left - schedule.held[supply])
    if instance.guarded == 1:
        watch(schedule, supply)


@_inner
def _start_some(
    instance: InstanceArrays, schedule: PartialSchedule, order: Ints, option: Ints, change: int
) -> None:
    """Start the jobs that can start now, the most urgent first."""
    queues, counters = schedule.queues, schedule.queues.counters
    free = total_free(schedule.free)
    if free == 0:
        return
    open_queues(queues, free, instance.options.queues)
    while counters[OPEN] > 0:
        job = order[next_to_try(queues)]
        used = place(instance, schedule, job, option[job])
        if used == 0:
            continue  # There is no more room for the others of the queue.
        dequeue(queues, queues.queue[job])
        open_queue(queues, queues.queue[job])
        at = instance.place_at[job]
        servers, workers = schedule.server[at : at + used], schedule.workers[at : at + used]
        mode = mode_of(instance.modes, instance.compute, job, servers, workers, used)
        schedule.used[job] = used
        if instance.guarded == 1 and not keeps_commitments(
            instance, schedule, job, mode, used, change
        ):
            queues.aside[counters[ASIDE]] = job
            counters[ASIDE] += 1
            continue
        start(instance.engine, schedule.state, job, mode, servers, workers, used)
        if _is_alone(instance, schedule, job):
            _mark_links(instance, schedule, job, 1)
        counters[LEFT] -= 1
        schedule.starts[job] = schedule.state.counters[CLOCK]
        if instance.guarded == 1:
            schedule.commitments[DEADLINES] += int(instance.deadline[job] < NEVER)
        for p in range(at, at + holdings(instance, job, used)):
            schedule.held[schedule.server[p]] += schedule.workers[p]
            _refresh(instance, schedule, schedule.server[p])
    for i in range(counters[ASIDE]):
        enqueue(queues, queues.aside[i])
