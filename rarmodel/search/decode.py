"""From an order of jobs to a schedule: list scheduling with backfilling under contention.

At slot 0 and after each completion, every waiting job that finds a place starts, in their order. A
job goes to the server on which it leaves the fewest idle GPUs. If no server has enough idle GPUs,
the job's mode says whether it spreads over several servers now, and how, or waits. Jobs of one size
and mode find the same places. So if the first of them finds none, the others are not tried before
the next completion. This keeps the time near-linear in the number of jobs.
"""

from __future__ import annotations

from functools import partial

from rarmodel.engine.arrays import NEVER, Arrays, Ints, State
from rarmodel.engine.compilation import compiled
from rarmodel.engine.kernel import CLOCK, RUNNING, complete_next, next_completion, reset, start

from .layout import MANY, MODES, PACK, SPREAD, Layout, Work
from .spreading import spread

_inner = partial(compiled, inner=True)

STUCK, CUT_OFF, STOPPED = -1, -2, -3
"""Why there is no makespan: some job never completes; a completion is past the cutoff; another
thread asked to stop.
"""


@partial(compiled, parallel=True)
def decode(
    arrays: Arrays,
    state: State,
    layout: Layout,
    work: Work,
    order: Ints,
    mode: Ints,
    earliest: Ints,
    cutoff: int,
) -> int:
    """Make a schedule; return its makespan, or STUCK, CUT_OFF or STOPPED.

    Parameters
    ----------
    arrays, state, layout, work
        The instance, and working memory. `work` receives the schedule, `state.rings` completions.
    order
        (jobs) The jobs, most urgent first.
    mode
        (jobs) Mode: how each job may spread.
    earliest
        (jobs) Earliest start of each job.
    cutoff
        Give up once a completion is past this slot.
    """
    reset(arrays, state)
    waiting = len(order)
    delayed = _open(layout, work, order, mode, earliest)
    idle = 0
    for server in range(len(work.idle)):
        idle += layout.server_gpus[server]
    released = 0
    finished = 0
    while waiting > 0 or state.counters[RUNNING] > 0:
        if work.stop[0] != 0:
            return STOPPED
        if idle > 0 and waiting > 0:
            before = waiting
            waiting -= _start_all(arrays, state, layout, work, mode, idle)
            if waiting < before:
                idle = 0
                for server in range(len(work.idle)):
                    idle += work.idle[server]
        completion = next_completion(arrays, state)
        release = earliest[work.delayed[released]] if released < delayed else NEVER
        if min(completion, release) > cutoff:
            return STUCK if completion == release == NEVER else CUT_OFF
        if completion == release == NEVER:
            return STUCK
        if completion <= release:
            for i in range(complete_next(arrays, state, work.completed)):
                job = work.completed[i]
                work.finished[finished] = job
                finished += 1
                idle += layout.size[job]
                first = layout.place_at[job]
                for place in range(first, first + work.used[job]):
                    _hold(work, work.server[place], -work.workers[place])
        else:
            state.counters[CLOCK] = release
        while released < delayed and earliest[work.delayed[released]] <= state.counters[CLOCK]:
            _enqueue(layout, work, mode, work.delayed[released])
            released += 1
    return int(state.counters[CLOCK])


@_inner
def _open(layout: Layout, work: Work, order: Ints, mode: Ints, earliest: Ints) -> int:
    """Empty the cluster and queue the jobs; return the number of jobs that must not start yet."""
    work.bucket[:] = -1
    for server in range(len(work.idle) - 1, -1, -1):
        work.idle[server] = layout.server_gpus[server]
        _into_bucket(work, server)
    work.queue[:] = -1
    delayed = 0
    for place in range(len(order) - 1, -1, -1):
        job = order[place]
        work.rank[job] = place
        if earliest[job] > 0:
            i = delayed
            while i > 0 and earliest[work.delayed[i - 1]] > earliest[job]:
                work.delayed[i] = work.delayed[i - 1]
                i -= 1
            work.delayed[i] = job
            delayed += 1
        else:
            queue = layout.size_index[job] * MODES + mode[job]
            work.behind[job] = work.queue[queue]
            work.queue[queue] = job
    return delayed


@_inner
def _enqueue(layout: Layout, work: Work, mode: Ints, job: int) -> None:
    """Insert a job into its queue."""
    queue = layout.size_index[job] * MODES + mode[job]
    ahead = -1
    other = work.queue[queue]
    while other >= 0 and work.rank[other] < work.rank[job]:
        ahead = other
        other = work.behind[other]
    work.behind[job] = other
    if ahead < 0:
        work.queue[queue] = job
    else:
        work.behind[ahead] = job


@_inner
def _start_all(
    arrays: Arrays, state: State, layout: Layout, work: Work, mode: Ints, idle: int
) -> int:
    """Start every waiting job that finds a place now, most urgent first; return their number."""
    work.shut[:] = 0
    count = 0
    while idle > 0:
        first = MANY
        chosen = -1
        for index in range(len(layout.sizes)):
            if layout.sizes[index] > idle:
                break
            for queue in range(index * MODES, index * MODES + MODES):
                job = work.queue[queue]
                if job >= 0 and work.shut[queue] == 0 and work.rank[job] < first:
                    first = work.rank[job]
                    chosen = queue
        if chosen < 0:
            break
        job = work.queue[chosen]
        used = _place(arrays, state, layout, work, mode, job)
        if used == 0:
            work.shut[chosen] = 1
            continue
        at = layout.place_at[job]
        for place in range(at, at + used):
            _hold(work, work.server[place], work.workers[place])
        servers, workers = work.server[at : at + used], work.workers[at : at + used]
        start(arrays, state, job, job, servers, workers, used)
        work.starts[job] = state.counters[CLOCK]
        work.used[job] = used
        work.queue[chosen] = work.behind[job]
        idle -= layout.size[job]
        count += 1
    return count


@_inner
def _place(arrays: Arrays, state: State, layout: Layout, work: Work, mode: Ints, job: int) -> int:
    """Choose servers for a job; return their number, or 0 if it finds no place."""
    used = 0
    if mode[job] == SPREAD:
        used = spread(arrays, state, layout, work, mode, job)
    if used == 0 and layout.packed[job] > 0:
        used = _pack(layout, work, job)
    if used > 0 or mode[job] == SPREAD or (mode[job] == PACK and layout.packed[job] > 0):
        return used
    return spread(arrays, state, layout, work, mode, job)


@_inner
def _pack(layout: Layout, work: Work, job: int) -> int:
    """Choose the server on which a job leaves the fewest idle GPUs; return 1, or 0 for none."""
    server = _tightest(work, layout.size[job])
    if server < 0:
        return 0
    work.server[layout.place_at[job]] = server
    work.workers[layout.place_at[job]] = layout.size[job]
    return 1


@_inner
def _tightest(work: Work, size: int) -> int:
    """The server with the fewest idle GPUs among those with enough; -1 if there is none."""
    if len(work.idle) > 64 and len(work.bucket) <= len(work.idle) + 64:
        for idle in range(size, len(work.bucket)):
            if work.bucket[idle] >= 0:
                return int(work.bucket[idle])
        return -1
    tightest = -1
    for server in range(len(work.idle)):
        idle = work.idle[server]
        if idle >= size and (tightest < 0 or idle < work.idle[tightest]):
            tightest = server
    return tightest


@_inner
def _hold(work: Work, server: int, gpus: int) -> None:
    """Take idle GPUs of a server, or give them back."""
    ahead, follower = work.before[server], work.after[server]
    if ahead < 0:
        work.bucket[work.idle[server]] = follower
    else:
        work.after[ahead] = follower
    if follower >= 0:
        work.before[follower] = ahead
    work.idle[server] -= gpus
    _into_bucket(work, server)


@_inner
def _into_bucket(work: Work, server: int) -> None:
    """Add a server to the front of the list of servers with as many idle GPUs."""
    first = work.bucket[work.idle[server]]
    work.bucket[work.idle[server]] = server
    work.before[server] = -1
    work.after[server] = first
    if first >= 0:
        work.before[first] = server
