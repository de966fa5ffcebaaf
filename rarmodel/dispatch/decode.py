"""From an order of jobs to a list schedule of a wider instance.

At each event (a completion, a release, a begin or end of a reservation) the jobs that wait are
tried in their order; each starts as soon as it can be placed in the way chosen for it, and no
deadline or reservation that must be kept would be broken.
"""

from __future__ import annotations

from functools import partial

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
from .promises import copy, keeps_promises, projected, watch
from .room import (
    MOST_LEVELS,
    NOBODY,
    TOTAL,
    empty_room,
    highest_level,
    next_server,
    set_idle,
    tightest,
)
from .waiting import (
    ASIDE,
    LEFT,
    LINES,
    OPEN,
    await_slot,
    begin_waiting,
    first_rank,
    join_line,
    leave_line,
    next_slot,
    next_to_try,
    open_line,
    release,
)
from .work import DEADLINES, ENDS_KNOWN, Work

_inner = partial(compiled, inner=True)

STUCK = -1
"""No job runs, none can start, and nothing is to come."""


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

    It is stuck if some job can never start, or jobs that run already miss a deadline.

    Parameters
    ----------
    arrays, modes, compute, facts
        The instance.
    state, saved, work
        Memory; `saved` is a second state.
    order
        (jobs) Jobs, most urgent first.
    option
        (jobs) Which of its options each job takes; −1 − i for pin i.
    earliest
        (jobs) Slot from which on each may start, beside its release.
    """
    _begin(arrays, state, modes, compute, facts, work, order, option, earliest)
    if facts.guarded == 1 and state.counters[RUNNING] > 0:
        # Jobs that run already may miss their deadlines without any other.
        copy(arrays, state, saved)
        if not projected(arrays, saved, facts, work, 0, 0, 0):
            return STUCK
        work.promises[ENDS_KNOWN] = 1
    change = 0
    now = 0
    while True:
        while change < len(facts.change_slot) and facts.change_slot[change] <= now:
            server = facts.change_server[change]
            work.capacity[server] += facts.change_gpus[change]
            work.floor[server] = facts.change_floor[change]
            _refresh(facts, work, server)
            change += 1
        release(work.waiting, now)
        _start_some(arrays, state, saved, modes, compute, facts, work, order, option, change)
        if state.counters[RUNNING] == 0 and work.waiting.counters[LEFT] == 0:
            return 0
        following = min(next_completion(arrays, state), next_slot(work.waiting))
        if change < len(facts.change_slot):
            following = min(following, facts.change_slot[change])
        if following == NEVER:
            return STUCK
        now = following
        if next_completion(arrays, state) == now:
            for i in range(complete_next(arrays, state, work.completed)):
                _leave(facts, work, work.completed[i], earliest, now)
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
    option: Ints,
    earliest: Ints,
) -> None:
    """Slot 0: running jobs hold their GPUs, and all others wait."""
    reset(arrays, state)
    work.held[:] = 0
    work.kept[:] = 0
    work.exposed[:] = 0
    work.promises[:] = 0
    work.tenant_held[:] = 0
    work.tenant_kept[:] = 0
    empty_room(work.room, facts.server_gpus)
    for server in range(len(facts.server_gpus)):
        work.capacity[server] = facts.server_gpus[server]
        work.floor[server] = facts.first_floor[server]
    for job in range(len(order)):
        work.waits_for[job] = facts.waits_for[job]
        # A job in a pin waits alone.
        line = facts.lines + job
        if option[job] >= 0:
            line = facts.option_line[facts.option_at[job] + option[job]]
        work.waiting.line[job] = line
    begin_waiting(work.waiting, order)
    for job in order:
        first, end = facts.running_at[job], facts.running_at[job + 1]
        if first == end:
            work.waiting.counters[LEFT] += 1
            if work.waits_for[job] == 0:
                await_slot(work.waiting, job, max(facts.release[job], earliest[job]), 0)
            continue
        at, used = facts.place_at[job], end - first
        for p in range(used):
            server, count = facts.running_server[first + p], facts.running_workers[first + p]
            work.server[at + p], work.workers[at + p] = server, count
            work.kept[server] += count
            _refresh(facts, work, server)
            if facts.tenant[job] >= 0:
                work.tenant_kept[facts.tenant[job]] += count
        work.starts[job], work.used[job] = 0, used
        work.promises[DEADLINES] += int(facts.deadline[job] < NEVER)
        servers, workers = work.server[at : at + used], work.workers[at : at + used]
        mode = mode_of(modes, compute, job, servers, workers, used)
        start(arrays, state, job, mode, servers, workers, used)


@_inner
def _leave(facts: Facts, work: Work, job: int, earliest: Ints, now: int) -> None:
    """A job has completed: its GPUs are idle, and jobs that waited for it need not any more."""
    at = facts.place_at[job]
    ran = facts.running_at[job] < facts.running_at[job + 1]
    work.promises[DEADLINES] -= int(facts.deadline[job] < NEVER)
    for p in range(at, at + work.used[job]):
        if ran:
            work.kept[work.server[p]] -= work.workers[p]
        else:
            work.held[work.server[p]] -= work.workers[p]
        _refresh(facts, work, work.server[p])
        if facts.tenant[job] >= 0:
            if ran:
                work.tenant_kept[facts.tenant[job]] -= work.workers[p]
            else:
                work.tenant_held[facts.tenant[job]] -= work.workers[p]
    for i in range(facts.follower_at[job], facts.follower_at[job + 1]):
        follower = facts.follower[i]
        work.waits_for[follower] -= 1
        if work.waits_for[follower] == 0:
            slot = max(facts.release[follower], earliest[follower])
            await_slot(work.waiting, follower, slot, now)


@_inner
def _refresh(facts: Facts, work: Work, server: int) -> None:
    """Note how many GPUs of a server a job may take now."""
    left = max(0, work.capacity[server] - work.kept[server])
    set_idle(work.room, server, left - work.held[server])
    if facts.guarded == 1:
        watch(facts, work, server)


@_inner
def _start_some(
    arrays: Arrays,
    state: State,
    saved: State,
    modes: Modes,
    compute: Floats,
    facts: Facts,
    work: Work,
    order: Ints,
    option: Ints,
    change: int,
) -> None:
    """Start the jobs that can start now, the most urgent first."""
    waiting, counters = work.waiting, work.waiting.counters
    counters[OPEN] = counters[ASIDE] = 0
    for i in range(counters[LINES]):
        line = waiting.lines[i]
        if _placed(state, facts, work, order[first_rank(waiting, line)], option) > 0:
            open_line(waiting, line)
    while counters[OPEN] > 0:
        job = order[next_to_try(waiting)]
        used = _placed(state, facts, work, job, option)
        if used == 0:
            continue  # There is no more room for the others of the line.
        leave_line(waiting, waiting.line[job])
        open_line(waiting, waiting.line[job])
        at = facts.place_at[job]
        servers, workers = work.server[at : at + used], work.workers[at : at + used]
        mode = mode_of(modes, compute, job, servers, workers, used)
        work.used[job] = used
        if facts.guarded == 1 and not keeps_promises(
            arrays, state, saved, facts, work, job, mode, used, change
        ):
            waiting.aside[counters[ASIDE]] = job
            counters[ASIDE] += 1
            continue
        start(arrays, state, job, mode, servers, workers, used)
        counters[LEFT] -= 1
        work.starts[job] = state.counters[CLOCK]
        work.promises[DEADLINES] += int(facts.deadline[job] < NEVER)
        for p in range(used):
            work.held[servers[p]] += workers[p]
            _refresh(facts, work, servers[p])
            if facts.tenant[job] >= 0:
                work.tenant_held[facts.tenant[job]] += workers[p]
    for i in range(counters[ASIDE]):
        join_line(waiting, waiting.aside[i])


@_inner
def _placed(state: State, facts: Facts, work: Work, job: int, option: Ints) -> int:
    """Choose servers for a job now; how many, 0 if there is no room or its tenant has its cap."""
    size, tenant = _ring_size(facts, job, option[job]), facts.tenant[job]
    if work.room.sums[TOTAL] < size:
        return 0
    if tenant >= 0:
        left = max(0, facts.tenant_cap[tenant] - work.tenant_kept[tenant])
        if work.tenant_held[tenant] + size > left:
            return 0
    if option[job] < 0:
        return _place_in_pin(facts, work, job, -1 - option[job])
    return _place(state, facts, work, job, facts.option_at[job] + option[job])


@_inner
def _ring_size(facts: Facts, job: int, choice: int) -> int:
    """GPUs of a job with one of its options, or in a pin."""
    if choice >= 0:
        return int(facts.option_size[facts.option_at[job] + choice])
    size = 0
    for p in range(facts.pin_at[-1 - choice], facts.pin_at[-choice]):
        size += facts.pin_workers[p]
    return size


@_inner
def _place_in_pin(facts: Facts, work: Work, job: int, pin: int) -> int:
    """Put a job exactly where a pin is; 0 if there is no room."""
    at, first = facts.place_at[job], facts.pin_at[pin]
    used = facts.pin_at[pin + 1] - first
    for p in range(used):
        if work.room.idle[facts.pin_server[first + p]] < facts.pin_workers[first + p]:
            return 0
    for p in range(used):
        work.server[at + p] = facts.pin_server[first + p]
        work.workers[at + p] = facts.pin_workers[first + p]
    return int(used)


@_inner
def _place(state: State, facts: Facts, work: Work, job: int, chosen: int) -> int:
    """Choose servers for a job in one of its options; how many, 0 if there is no room."""
    size, style = facts.option_size[chosen], facts.option_style[chosen]
    row, rows = facts.option_allowed[chosen], facts.option_rows[chosen]
    at = facts.place_at[job]
    if style == PACK:
        server = tightest(work.room, facts.allowed[row], size)
        if server == NOBODY:
            return 0
        work.server[at], work.workers[at] = server, size
        return 1
    used = _gather(state, facts, work, job, chosen, row)
    if rows > 1:
        # The part of the network with the fewest servers; in it the pool is gathered last.
        best, last = (row if used > 0 else -1), row
        for other in range(row + 1, row + rows):
            last, found = other, _gather(state, facts, work, job, chosen, other)
            if found > 0 and (used == 0 or found < used):
                best, used = other, found
        if used > 0 and best != last:
            used = _gather(state, facts, work, job, chosen, best)
    left = size - used
    for p in range(used):
        server = work.pool[p]
        work.server[at + p] = server
        if facts.equal[job]:
            work.workers[at + p] = size // used
        else:
            more = min(left, work.room.idle[server] - 1)
            work.workers[at + p] = 1 + more
            left -= more
    return used


@_inner
def _gather(state: State, facts: Facts, work: Work, job: int, chosen: int, row: int) -> int:
    """Put the fewest servers that take a ring into the pool, the most idle ones; how many, or 0."""
    size, alone = facts.option_size[chosen], facts.option_style[chosen] == FEWEST_ALONE
    allowed = facts.allowed[row]
    most = min(facts.most[job], size)
    room, pool = work.room, work.pool
    gathered = checked = together = 0
    for level in range(highest_level(room), 0, -1):
        if room.members[level] == 0:
            continue
        # Only the last of all levels has servers with different numbers of idle GPUs.
        sorted_level = level < MOST_LEVELS - 1
        begin = gathered
        server = next_server(room, allowed, level, 0)
        while True:
            while checked < gathered and (sorted_level or server == NOBODY):
                least = room.idle[pool[checked]]
                together += least
                checked += 1
                if checked >= facts.fewest[job]:
                    if facts.equal[job]:
                        if size % checked == 0 and least >= size // checked:
                            return checked
                    elif together >= size:
                        return checked
                if checked == most:
                    return 0
            if server == NOBODY:
                break
            link = facts.server_link[server]
            if not (alone and link >= 0 and state.links[link].rings > 0):
                place = gathered
                while place > begin and room.idle[pool[place - 1]] < room.idle[server]:
                    pool[place] = pool[place - 1]
                    place -= 1
                pool[place] = server
                gathered += 1
            server = next_server(room, allowed, level, server + 1)
    return 0


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
def _weight_of_links(
    state: State, facts: Facts, goals: Goals, work: Work, goal: int, job: int
) -> float:
    """What the links of a ring count: those with some of its servers below, and some above."""
    at, used = facts.place_at[job], work.used[job]
    total = 0.0
    if used == 1:
        return total
    for p in range(at, at + used):
        for i in range(facts.path_at[work.server[p]], facts.path_at[work.server[p] + 1]):
            link = state.links[facts.path[i]]
            link.below += 1
            if link.below == 1:
                total += goals.link[goal, facts.path[i]]
            if link.below == used:
                total -= goals.link[goal, facts.path[i]]
    for p in range(at, at + used):
        for i in range(facts.path_at[work.server[p]], facts.path_at[work.server[p] + 1]):
            state.links[facts.path[i]].below = 0
    return total


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
            if goals.links[goal] == 1:
                total += _weight_of_links(state, facts, goals, work, goal, job)
            if goals.weight[goal, job] == 0.0:
                continue
            term = term_of(goals, goal, job, end)
            if goals.greatest[goal] == 0:
                total += term
            elif first or term > total:
                total = term
            first = False
        into[goal] = total
