"""From an order of jobs to a list schedule of a wider instance.

At each event (a completion, a release, a begin or end of a reservation) the jobs that wait are
tried in their order; each starts as soon as it can be placed in the way chosen for it. Where a
deadline or a reservation must be kept, a start is first projected: all jobs that run are simulated
to their ends without further starts, and if some promise would be broken the job waits on. More
contention only comes by a start, so a promise that was kept by the last projection stays kept.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import NEVER, Arrays, Floats, Ints, State
from rarmodel.engine.compilation import compiled
from rarmodel.engine.kernel import (
    CLOCK,
    RUNNING,
    complete_next,
    next_completion,
    reset,
    start,
)
from rarmodel.engine.modes import Modes, mode_of

from .facts import FEWEST_ALONE, PACK, Facts, Goals

_inner = partial(compiled, inner=True)

STUCK = -1
"""No job runs, none can start, and nothing is to come."""

IDLE, WAITING, DONE = range(3)


class Work(NamedTuple):
    """Working memory, and the schedule that was made last."""

    starts: Ints
    """(jobs) Start slots a_j."""
    used: Ints
    """(jobs) Number of servers used."""
    server: Ints
    """Servers of each job, from `Facts.place_at[j]` on."""
    workers: Ints
    """Workers on each of them."""
    capacity: Ints
    """(servers) GPUs that no reservation holds now."""
    held: Ints
    """(servers) GPUs that jobs hold, but for those that ran at slot 0."""
    kept: Ints
    """(servers) GPUs that jobs hold which ran at slot 0."""
    tenant_held: Ints
    """(tenants) The same by tenant with a cap."""
    tenant_kept: Ints
    """(tenants) And by those that ran at slot 0."""
    waits_for: Ints
    """(jobs) Jobs that each still waits for."""
    behind: Ints
    """(jobs + 1) The next job that waits, in their order; the last entry is the first one."""
    pool: Ints
    """(servers) Scratch: servers to spread over."""
    completed: Ints
    """(jobs) Scratch for the engine."""
    trial: Ints
    """(2, servers) Scratch of the projection: capacity and held."""
    kept_trial: Ints
    """(servers) And kept."""


def new_work(facts: Facts) -> Work:
    """Memory for one thread."""
    jobs, servers = len(facts.release), len(facts.server_gpus)

    def room(length: int) -> Ints:
        return np.zeros(length, np.int64)

    return Work(
        starts=room(jobs),
        used=room(jobs),
        server=room(int(facts.place_at[-1])),
        workers=room(int(facts.place_at[-1])),
        capacity=room(servers),
        held=room(servers),
        kept=room(servers),
        tenant_held=room(len(facts.tenant_cap)),
        tenant_kept=room(len(facts.tenant_cap)),
        waits_for=room(jobs),
        behind=room(jobs + 1),
        pool=room(servers),
        completed=room(jobs),
        trial=np.zeros((2, servers), np.int64),
        kept_trial=room(servers),
    )


@compiled
def decode(
    arrays: Arrays,
    state: State,
    saved: State,
    modes: Modes,
    compute: Floats,
    facts: Facts,
    work: Work,
    order: Ints,
    option: Ints,
    earliest: Ints,
) -> int:
    """Make a schedule; 0, or STUCK. Rings keep their completion times in `state.rings`.

    Parameters
    ----------
    arrays, modes, compute, facts
        The instance.
    state, saved, work
        Memory; `saved` is a second state.
    order
        (jobs) Jobs, most urgent first.
    option
        (jobs) Which of its options each job takes.
    earliest
        (jobs) Slot from which on each may start, beside its release.
    """
    jobs = len(order)
    _begin(arrays, state, modes, compute, facts, work, order)
    change = 0
    now = 0
    while True:
        while change < len(facts.change_slot) and facts.change_slot[change] <= now:
            work.capacity[facts.change_server[change]] += facts.change_gpus[change]
            change += 1
        last = jobs
        job = work.behind[last]
        while job >= 0:
            if (
                work.waits_for[job] == 0
                and max(facts.release[job], earliest[job]) <= now
                and _try(arrays, state, saved, modes, compute, facts, work, job, option, change)
            ):
                work.behind[last] = work.behind[job]
            else:
                last = job
            job = work.behind[last]
        if state.counters[RUNNING] == 0 and work.behind[jobs] < 0:
            return 0
        following = next_completion(arrays, state)
        if change < len(facts.change_slot):
            following = min(following, facts.change_slot[change])
        job = work.behind[jobs]
        while job >= 0:
            release = max(facts.release[job], earliest[job])
            if release > now and work.waits_for[job] == 0:
                following = min(following, release)
            job = work.behind[job]
        if following == NEVER:
            return STUCK
        now = following
        if next_completion(arrays, state) == now:
            for i in range(complete_next(arrays, state, work.completed)):
                _leave(facts, work, work.completed[i])
        else:
            state.counters[CLOCK] = now


@_inner
def _begin(
    arrays: Arrays,
    state: State,
    modes: Modes,
    compute: Floats,
    facts: Facts,
    work: Work,
    order: Ints,
) -> None:
    """Slot 0: running jobs hold their GPUs, and all others wait in their order."""
    reset(arrays, state)
    work.held[:] = 0
    work.kept[:] = 0
    work.tenant_held[:] = 0
    work.tenant_kept[:] = 0
    for server in range(len(facts.server_gpus)):
        work.capacity[server] = facts.server_gpus[server]
    for job in range(len(order)):
        work.waits_for[job] = facts.waits_for[job]
    last = len(order)
    for i in range(len(order)):
        job = order[i]
        first, end = facts.running_at[job], facts.running_at[job + 1]
        if first == end:
            work.behind[last] = job
            last = job
            continue
        at, used = facts.place_at[job], end - first
        for p in range(used):
            work.server[at + p] = facts.running_server[first + p]
            work.workers[at + p] = facts.running_workers[first + p]
            work.kept[facts.running_server[first + p]] += facts.running_workers[first + p]
            if facts.tenant[job] >= 0:
                work.tenant_kept[facts.tenant[job]] += facts.running_workers[first + p]
        work.starts[job], work.used[job] = 0, used
        servers, workers = work.server[at : at + used], work.workers[at : at + used]
        mode = mode_of(modes, compute, job, servers, workers, used)
        start(arrays, state, job, mode, servers, workers, used)
    work.behind[last] = -1


@_inner
def _leave(facts: Facts, work: Work, job: int) -> None:
    """A job has completed: its GPUs are idle, and jobs that waited for it need not any more."""
    at = facts.place_at[job]
    ran = facts.running_at[job] < facts.running_at[job + 1]
    for p in range(at, at + work.used[job]):
        if ran:
            work.kept[work.server[p]] -= work.workers[p]
        else:
            work.held[work.server[p]] -= work.workers[p]
        if facts.tenant[job] >= 0:
            if ran:
                work.tenant_kept[facts.tenant[job]] -= work.workers[p]
            else:
                work.tenant_held[facts.tenant[job]] -= work.workers[p]
    for i in range(facts.follower_at[job], facts.follower_at[job + 1]):
        work.waits_for[facts.follower[i]] -= 1


@_inner
def _idle(work: Work, server: int) -> int:
    """GPUs of a server that a job may take now."""
    return int(max(0, work.capacity[server] - work.kept[server]) - work.held[server])


@_inner
def _try(
    arrays: Arrays,
    state: State,
    saved: State,
    modes: Modes,
    compute: Floats,
    facts: Facts,
    work: Work,
    job: int,
    option: Ints,
    change: int,
) -> bool:
    """Start a job now if there is room for it, and no promise is broken."""
    chosen = facts.option_at[job] + option[job]
    size = facts.option_size[chosen]
    tenant = facts.tenant[job]
    if tenant >= 0:
        left = max(0, facts.tenant_cap[tenant] - work.tenant_kept[tenant])
        if work.tenant_held[tenant] + size > left:
            return False
    used = _place(state, facts, work, job, chosen)
    if used == 0:
        return False
    at = facts.place_at[job]
    servers, workers = work.server[at : at + used], work.workers[at : at + used]
    mode = mode_of(modes, compute, job, servers, workers, used)
    work.used[job] = used
    if facts.guarded == 1:
        _copy(state, saved)
        start(arrays, saved, job, mode, servers, workers, used)
        if not _kept(arrays, saved, facts, work, job, change):
            return False
    start(arrays, state, job, mode, servers, workers, used)
    work.starts[job] = state.counters[CLOCK]
    for p in range(used):
        work.held[servers[p]] += workers[p]
    if tenant >= 0:
        work.tenant_held[tenant] += size
    return True


@_inner
def _place(state: State, facts: Facts, work: Work, job: int, chosen: int) -> int:
    """Choose servers for a job now; how many, 0 if there is no room."""
    size, style = facts.option_size[chosen], facts.option_style[chosen]
    allowed = facts.allowed[facts.option_allowed[chosen]]
    at = facts.place_at[job]
    if style == PACK:
        best = -1
        least = 0
        for server in range(len(allowed)):
            if allowed[server]:
                idle = _idle(work, server)
                if idle >= size and (best < 0 or idle < least):
                    best = server
                    least = idle
        if best < 0:
            return 0
        work.server[at], work.workers[at] = best, size
        return 1
    count = 0
    for server in range(len(allowed)):
        if allowed[server] and _idle(work, server) > 0:
            link = facts.server_link[server]
            if style == FEWEST_ALONE and link >= 0 and state.links[link].rings > 0:
                continue
            _insert(work, count, server)
            count += 1
    used = _servers_needed(facts, work, job, size, count)
    if used == 0:
        return 0
    left = size - used
    for p in range(used):
        server = work.pool[p]
        work.server[at + p] = server
        if facts.equal[job]:
            work.workers[at + p] = size // used
        else:
            more = min(left, _idle(work, server) - 1)
            work.workers[at + p] = 1 + more
            left -= more
    return used


@_inner
def _insert(work: Work, count: int, server: int) -> None:
    """Put a server into the pool, which has the most idle GPUs first."""
    place = count
    idle = _idle(work, server)
    while place > 0 and _idle(work, work.pool[place - 1]) < idle:
        work.pool[place] = work.pool[place - 1]
        place -= 1
    work.pool[place] = server


@_inner
def _servers_needed(facts: Facts, work: Work, job: int, size: int, count: int) -> int:
    """The fewest servers, from the front of the pool, that take a ring; 0 if they do not."""
    most = min(count, facts.most[job], size)
    room = 0
    for used in range(1, most + 1):
        least = _idle(work, work.pool[used - 1])
        room += least
        if used < facts.fewest[job]:
            continue
        if facts.equal[job]:
            if size % used == 0 and least >= size // used:
                return used
        elif room >= size:
            return used
    return 0


@_inner
def _copy(state: State, to: State) -> None:
    """Copy a simulation."""
    for i in range(len(state.counters)):
        to.counters[i] = state.counters[i]
    for i in range(len(state.rings)):
        to.rings[i] = state.rings[i]
        to.changed_rings[i] = state.changed_rings[i]
        to.heap[i] = state.heap[i]
    for i in range(len(state.links)):
        to.links[i] = state.links[i]
        to.changed_links[i] = state.changed_links[i]
    for i in range(len(state.members)):
        to.members[i] = state.members[i]
    for i in range(len(state.row)):
        to.row[i] = state.row[i]


@_inner
def _kept(
    arrays: Arrays, saved: State, facts: Facts, work: Work, started: int, change: int
) -> bool:
    """Whether deadlines and reservations are kept if nothing else starts."""
    capacity, held, kept = work.trial[0], work.trial[1], work.kept_trial
    for server in range(len(kept)):
        capacity[server] = work.capacity[server]
        held[server] = work.held[server]
        kept[server] = work.kept[server]
    at = facts.place_at[started]
    for p in range(at, at + work.used[started]):
        held[work.server[p]] += work.workers[p]
    while saved.counters[RUNNING] > 0:
        completion = next_completion(arrays, saved)
        # What ends in a slot is gone before a reservation begins in it.
        while change < len(facts.change_slot) and facts.change_slot[change] < completion:
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
            if completion > facts.deadline[job]:
                return False
            at = facts.place_at[job]
            ran = facts.running_at[job] < facts.running_at[job + 1]
            for p in range(at, at + work.used[job]):
                if ran:
                    kept[work.server[p]] -= work.workers[p]
                else:
                    held[work.server[p]] -= work.workers[p]
    return True


@_inner
def term_of(goals: Goals, goal: int, job: int, end: int) -> float:
    """The term of a job that completes at a slot."""
    slots = end - goals.offset[goal, job]
    if goals.shape[goal, job] == 1:
        slots = max(0, slots)
    elif goals.shape[goal, job] == 2:
        slots = 1 if slots > 0 else 0
    return float(goals.weight[goal, job] * slots)


@_inner
def values(state: State, facts: Facts, goals: Goals, work: Work, into: Floats) -> None:
    """The values of the objectives for the schedule that was made last."""
    for goal in range(len(goals.greatest)):
        total = 0.0
        first = True
        for job in range(len(facts.release)):
            end = state.rings[job].finish
            at = facts.place_at[job]
            for p in range(at, at + work.used[job]):
                price = goals.price[goal, work.server[p]]
                total += price * work.workers[p] * (end - work.starts[job])
            if goals.weight[goal, job] == 0.0:
                continue
            term = term_of(goals, goal, job, end)
            if goals.greatest[goal] == 0:
                total += term
            elif first or term > total:
                total = term
            first = False
        into[goal] = total
