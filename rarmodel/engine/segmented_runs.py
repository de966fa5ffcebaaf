"""Schedules with segments: rings that stop, are restored, and go on in another place or size.

The kernel's rings run from their start to their completion. Here they also stop, and begin again
with what is left. Events within a slot come in this order: completions, ends of segments, begins of
segments, ends of restorations. A segment that ends before its job is complete loses what was done
since the last checkpoint. What jobs without segments take stays as it is: `evaluate` comes here
only if jobs may be interrupted, or share GPUs.
"""

from __future__ import annotations

from functools import partial
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rarmodel.model import timing
from rarmodel.model.gpu_sharing import shares_gpus
from rarmodel.model.interruptions import checkpoint_interval, left_if_moved
from rarmodel.model.plain_paces import columns
from rarmodel.schema import Instance, Schedule

from .arrays import (
    CUT_OFF,
    NEVER,
    NOWHERE,
    OVERFULL,
    STUCK,
    Arrays,
    Floats,
    Ints,
    State,
    arrays_of,
    new_state,
)
from .compilation import compiled
from .formulas import kept_iterations, slots_needed
from .gpu_loads import GpuLoads, SharedGpus
from .kernel import (
    CLOCK,
    RUNNING,
    _heap_place,
    _heap_remove,
    _leave,
    complete_next,
    next_completion,
    reset,
    start,
)
from .modes import Modes, mode_of, modes_of, rates_within, rows_of

Flags = npt.NDArray[np.bool_]
_inner = partial(compiled, inner=True)


class HeldGpus(NamedTuple):
    """Which GPUs segments hold, where jobs share some."""

    at: Ints
    """(segments + 1) Offsets."""
    gpu: Ints
    """GPUs by number, as in `SharedGpus`."""
    taken: Ints
    """(GPUs) Slices that segments hold now."""


class Segments(NamedTuple):
    """What jobs hold, and when; the segments of a job one after another.

    Segment i has the entries `at[i]` to `at[i + 1] − 1` of `server` and `workers`.
    """

    job: Ints
    """(segments) Index of the job."""
    start: Ints
    """(segments) Slot from which on the job holds the GPUs."""
    up: Ints
    """(segments) Slot from which on its ring exchanges gradients, after the restoration."""
    end: Ints
    """(segments) Slot in which the job is interrupted; NEVER if it goes on to its completion."""
    at: Ints
    """(segments + 1) Offsets."""
    server: Ints
    """Server index; those of a segment are distinct."""
    workers: Ints
    """Workers there, at least 1 each."""
    left: Ints
    """(jobs) Iterations to do when the first segment begins."""
    gpus: HeldGpus | None
    """The GPUs; None if none is shared."""


class Work(NamedTuple):
    """What jobs have to do in all, and what they keep of it when they are interrupted."""

    iterations: Ints
    """(jobs) F_j."""
    interval: Ints
    """(jobs) Iterations between two checkpoints; 0 if there are none."""


def work_of(instance: Instance) -> Work:
    """The work of all jobs."""
    intervals = [checkpoint_interval(job) for job in instance.jobs]
    return Work(
        np.array([job.iterations for job in instance.jobs], np.int64), np.array(intervals, np.int64)
    )


def segments_of(instance: Instance, schedule: Schedule) -> Segments:
    """The segments of a schedule that assigns each job once to servers that exist."""
    servers = instance.cluster.servers
    index = {server.name: i for i, server in enumerate(servers)}
    number = {job.name: j for j, job in enumerate(instance.jobs)}
    restore, shared = timing.restore_slots(instance), shares_gpus(instance)
    rows, at, server, workers = [], [0], list[int](), list[int]()
    gpus, gpu_at = list[int](), [0]
    first = dict(zip(index, accumulate((one.gpus for one in servers), initial=0), strict=False))
    left = np.array([job.iterations_left for job in instance.jobs], np.int64)
    for assignment in schedule.assignments:
        job = instance.jobs[number[assignment.job]]
        for i, held in enumerate(assignment.segments):
            begins = i == 0 and (job.running is None or job.running.goes_on(held.start, held.gpus))
            if i == 0 and not begins:
                left[number[job.name]] = left_if_moved(instance, job)
            up = held.start + (0 if begins else restore)
            rows.append((number[job.name], held.start, up, NEVER if held.end is None else held.end))
            some = {index[name]: len(gpus) for name, gpus in held.gpus.items() if gpus}
            server.extend(some)
            workers.extend(some.values())
            at.append(len(server))
            if shared:
                gpus.extend(first[name] + gpu for name, own in held.gpus.items() for gpu in own)
                gpu_at.append(len(gpus))
    # Whatever their number, in one piece of memory: Numba compiles anew for other layouts.
    columns_of = np.ascontiguousarray(np.array(rows, np.int64).reshape(-1, 4).T)
    ragged = [np.array(some, np.int64) for some in (at, server, workers)]
    numbered = None
    if shared:
        total = np.zeros(instance.cluster.total_gpus, np.int64)
        numbered = HeldGpus(np.array(gpu_at, np.int64), np.array(gpus, np.int64), total)
    return Segments(*columns_of, *ragged, left, numbered)  # type: ignore[call-arg]  # Four columns.


def within_speeds(instance: Instance) -> Ints:
    """(modes) Iterations per slot of a ring on one server."""
    rates, slot = rates_within(instance), instance.time.slot_seconds
    if len(rates) == 1 and (found := columns(instance)):
        seconds = np.zeros(len(instance.jobs))
        for jobs, pace in found:
            seconds[jobs] = pace.seconds(1, rates[0])
        return np.array([timing.speed(slot, one) for one in seconds.tolist()], np.int64)
    return np.array([pace.speed(1, gbps) for pace, gbps in rows_of(instance)], np.int64)


def evaluated(instance: Instance, segments: Segments, limit: int) -> tuple[int, Ints]:
    """Makespan of segments, or why there is none, and the completion times; see `Evaluation`."""
    arrays = arrays_of(instance)
    state = new_state(arrays)
    modes, jobs = segments.job, len(instance.jobs)
    if len(arrays.modes) > jobs:
        of, compute = modes_of(instance), arrays.modes["compute"].copy()
        modes = np.zeros(len(segments.job), np.int64)
        modes_in(of, compute, segments, modes)
    makespan = carry_out(
        arrays,
        state,
        segments,
        modes,
        within_speeds(instance),
        work_of(instance),
        np.argsort(segments.end, kind="stable"),
        np.argsort(segments.start, kind="stable"),
        np.argsort(segments.up, kind="stable"),
        limit,
        np.zeros(jobs, np.int64),
        np.full(jobs, NOTHING),
        np.zeros(jobs, np.bool_),
    )
    done = state.rings["finish"].copy()
    if makespan < 0:
        done[done > state.counters[CLOCK]] = NEVER
    return int(makespan), done


NOTHING = -1
"""The segment of a job that holds nothing."""


@compiled
def carry_out(
    arrays: Arrays,
    state: State,
    segments: Segments,
    modes: Ints,
    within: Ints,
    work: Work,
    by_end: Ints,
    by_start: Ints,
    by_up: Ints,
    limit: int,
    completed: Ints,
    holds: Ints,
    active: Flags,
) -> int:
    """Makespan of segments in their modes, or why there is none.

    A segment that begins after its job has completed holds nothing. `work` is what jobs have to do,
    and `within` has the speeds of modes on one server; the orders sort the segments.
    `completed`, `holds` and `active` are scratch: jobs, the segment of each, or NOTHING, and
    whether its ring exchanges gradients.
    """
    reset(arrays, state)
    state.busy[:] = 0
    _free_all(segments.gpus)
    jobs, count = len(segments.left), len(by_start)
    for job in range(jobs):
        state.rings[job].remaining = segments.left[job]
    ended = begun = upped = 0
    makespan = 0
    while True:
        slot = next_completion(arrays, state)
        completion = slot
        if ended < count:
            slot = min(slot, segments.end[by_end[ended]])
        if begun < count:
            slot = min(slot, segments.start[by_start[begun]])
        if upped < count:
            slot = min(slot, segments.up[by_up[upped]])
        if slot == NEVER:
            break
        if slot > limit:
            return CUT_OFF
        if completion == slot:
            for i in range(complete_next(arrays, state, completed)):
                job = completed[i]
                _free(arrays, state, segments, holds[job])
                holds[job] = NOTHING
                active[job] = False
                state.rings[job].remaining = 0
                makespan = slot
        state.counters[CLOCK] = slot
        while ended < count and segments.end[by_end[ended]] == slot:
            segment = by_end[ended]
            ended += 1
            job = segments.job[segment]
            if holds[job] == segment:
                _free(arrays, state, segments, segment)
                holds[job] = NOTHING
                if active[job]:
                    stop(state, arrays, job)
                    lose(state, work, job)
                    active[job] = False
        while begun < count and segments.start[by_start[begun]] == slot:
            segment = by_start[begun]
            begun += 1
            job = segments.job[segment]
            if state.rings[job].remaining > 0:
                holds[job] = segment
                if not _hold(arrays, state, segments, segment):
                    return OVERFULL
        while upped < count and segments.up[by_up[upped]] == slot:
            segment = by_up[upped]
            upped += 1
            job = segments.job[segment]
            if holds[job] == segment:
                first, end = segments.at[segment], segments.at[segment + 1]
                ring = segments.server[first:end], segments.workers[first:end], end - first
                _place(arrays.gpus, state.gpus, segments.gpus, segment, job)
                begin(arrays, state, within, job, modes[segment], *ring)
                active[job] = True
    for job in range(jobs):
        if state.rings[job].remaining > 0:
            return STUCK
    return int(makespan)


@compiled
def modes_in(modes: Modes, compute: Floats, segments: Segments, found: Ints) -> None:
    """Find the modes of jobs in their segments."""
    for i in range(len(found)):
        first, end = segments.at[i], segments.at[i + 1]
        ring = segments.server[first:end], segments.workers[first:end], end - first
        found[i] = mode_of(modes, compute, segments.job[i], *ring)


@_inner
def _hold(arrays: Arrays, state: State, segments: Segments, segment: int) -> bool:
    """Hold the GPUs of a segment; whether there are enough."""
    if arrays.gpus is not None:
        return _take(arrays.gpus, segments.gpus, segment, segments.job[segment])
    for p in range(segments.at[segment], segments.at[segment + 1]):
        state.busy[segments.server[p]] += segments.workers[p]
        if state.busy[segments.server[p]] > arrays.server_gpus[segments.server[p]]:
            return False
    return True


@_inner
def _free(arrays: Arrays, state: State, segments: Segments, segment: int) -> None:
    """Give the GPUs of a segment back."""
    if arrays.gpus is not None:
        _give_back(arrays.gpus, segments.gpus, segment, segments.job[segment])
        return
    for p in range(segments.at[segment], segments.at[segment + 1]):
        state.busy[segments.server[p]] -= segments.workers[p]


@_inner
def _free_all(held: HeldGpus | None) -> None:
    """Nobody holds any GPU."""
    if held is not None:
        held.taken[:] = 0


@_inner
def _take(gpus: SharedGpus | None, held: HeldGpus | None, segment: int, job: int) -> bool:
    """Hold slices of the GPUs of a segment; whether there are enough."""
    if gpus is None or held is None:
        return True
    for p in range(held.at[segment], held.at[segment + 1]):
        gpu = held.gpu[p]
        most = gpus.row_at[gpu + 1] - gpus.row_at[gpu]
        held.taken[gpu] += gpus.taken[job] if gpus.taken[job] > 0 else most
        if held.taken[gpu] > most:
            return False
    return True


@_inner
def _give_back(gpus: SharedGpus | None, held: HeldGpus | None, segment: int, job: int) -> None:
    """Give the slices of a segment back."""
    if gpus is None or held is None:
        return
    for p in range(held.at[segment], held.at[segment + 1]):
        gpu = held.gpu[p]
        most = gpus.row_at[gpu + 1] - gpus.row_at[gpu]
        held.taken[gpu] -= gpus.taken[job] if gpus.taken[job] > 0 else most


@_inner
def _place(
    gpus: SharedGpus | None,
    loads: GpuLoads | None,
    held: HeldGpus | None,
    segment: int,
    job: int,
) -> None:
    """Tell the simulation on which GPUs the ring of a segment is."""
    if gpus is None or loads is None or held is None:
        return
    first = held.at[segment]
    for p in range(first, held.at[segment + 1]):
        loads.held[gpus.held_at[job] + p - first] = held.gpu[p]


@_inner
def begin(
    arrays: Arrays,
    state: State,
    within: Ints,
    job: int,
    mode: int,
    servers: Ints,
    workers: Ints,
    used: int,
) -> None:
    """A job's ring exchanges gradients from now on, with what is left of its iterations."""
    ring, now = state.rings[job], state.counters[CLOCK]
    left = ring.remaining
    if used > 1 or arrays.gpus is not None:
        start(arrays, state, job, mode, servers, workers, used)
        ring.remaining = left
        return
    ring.mode = mode
    ring.servers = 1
    ring.links = 0
    ring.heap_at = NOWHERE
    ring.since = now
    ring.speed = within[mode]
    ring.finish = NEVER
    state.counters[RUNNING] += 1
    if ring.speed > 0:
        ring.finish = now + slots_needed(left, ring.speed)
        _heap_place(state, job)


@_inner
def stop(state: State, arrays: Arrays, job: int) -> None:
    """A ring that began before this slot exchanges no gradients any more; iterations are kept."""
    ring, now = state.rings[job], state.counters[CLOCK]
    ring.remaining -= ring.speed * (now - ring.since)
    ring.since = now
    ring.speed = 0
    ring.finish = NEVER
    _heap_remove(state, job)
    _leave(arrays, state, job)
    state.counters[RUNNING] -= 1


@_inner
def lose(state: State, work: Work, job: int) -> int:
    """A job that is interrupted loses what it did since its last checkpoint; how much that is."""
    ring = state.rings[job]
    done = work.iterations[job] - ring.remaining
    kept = kept_iterations(done, work.interval[job])
    ring.remaining = work.iterations[job] - kept
    return int(done - kept)
