"""The servers of a job that spreads: which are open to it, and how many workers each gets.

A job takes servers of the first group that has enough open ones: those with idle GPUs whose links
its mode allows. On as few servers as possible, it takes the fullest ones that have room together,
and fills the fullest of them first. So idle GPUs stay together, and rings that share links form
chains: each begins on the server on which the one before it ends. On any number of servers, a job
takes the emptiest ones.
"""

from __future__ import annotations

from functools import partial

from rarmodel.engine.arrays import Arrays, Ints, State
from rarmodel.engine.compilation import compiled

from .layout import ANY_ALONE, FEWEST_PAIRED, MANY, Layout, Work

_inner = partial(compiled, inner=True)


@_inner
def spread(arrays: Arrays, state: State, layout: Layout, work: Work, mode: Ints, job: int) -> int:
    """Choose servers for a job that spreads; return their number, or 0 if it finds no place.

    Parameters
    ----------
    arrays, state, layout, work
        The instance, and the schedule so far. `work` receives the servers and their workers.
    mode
        (jobs) Mode: how each job may spread.
    job
        The job.
    """
    rings = MANY
    if mode[job] <= FEWEST_PAIRED:
        rings = 2 if mode[job] == FEWEST_PAIRED else 1
    fewest = mode[job] <= FEWEST_PAIRED and mode[job] != ANY_ALONE
    for group in range(len(layout.group_at) - 1):
        count = _open_servers(arrays, state, layout, work, mode, job, group, rings)
        if count > 0:
            if fewest:
                used = _take_fullest(layout, work, job, count)
            else:
                used = _take_emptiest(layout, work, job, count)
            if used > 0:
                return used
    return 0


@_inner
def _open_servers(
    arrays: Arrays,
    state: State,
    layout: Layout,
    work: Work,
    mode: Ints,
    job: int,
    group: int,
    rings: int,
) -> int:
    """Put the servers of a group that are open to a job into the pool.

    They have fewer than so many rings on each link up to the group's switch, and none that keeps
    the link to itself. Return their number, or 0 if they have no room together.
    """
    count = room = 0
    for entry in range(layout.group_at[group], layout.group_at[group + 1]):
        server = layout.group_server[entry]
        if work.idle[server] > 0:
            first = arrays.path_at[server]
            free = True
            for place in range(first, first + layout.group_hops[entry]):
                if not _admits(state, mode, arrays.path[place], rings):
                    free = False
                    break
            if free:
                work.pool[count] = server
                count += 1
                room += work.idle[server]
    return count if room >= layout.size[job] else 0


@_inner
def _admits(state: State, mode: Ints, index: int, rings: int) -> bool:
    """Whether a link has fewer than so many rings, and none that keeps it to itself."""
    link = state.links[index]
    admits = bool(link.rings < rings)
    for at in range(link.row, link.row + link.rings):
        admits = admits and bool(mode[state.row[at].job] > ANY_ALONE)
    return admits


@_inner
def _take_fullest(layout: Layout, work: Work, job: int, count: int) -> int:
    """Use as few servers of the pool as possible, those with the fewest idle GPUs that do."""
    servers = layout.fewest[job]
    if count < servers:
        return 0
    pool, idle = work.pool, work.idle
    spare = -layout.size[job]
    for place in range(servers):
        for other in range(place + 1, count):
            if idle[pool[other]] > idle[pool[place]]:
                pool[place], pool[other] = pool[other], pool[place]
        spare += idle[pool[place]]
    if spare < 0:
        return 0
    for place in range(servers - 1, -1, -1):
        fullest = place
        for other in range(servers, count):
            if idle[pool[place]] - spare <= idle[pool[other]] < idle[pool[fullest]]:
                fullest = other
        spare -= idle[pool[place]] - idle[pool[fullest]]
        pool[place], pool[fullest] = pool[fullest], pool[place]
    left = layout.size[job]
    at = layout.place_at[job]
    for used in range(servers):
        others = servers - 1 - used
        work.server[at + used] = pool[others]
        work.workers[at + used] = min(idle[pool[others]], left - others)
        left -= work.workers[at + used]
    return int(servers)


@_inner
def _take_emptiest(layout: Layout, work: Work, job: int, count: int) -> int:
    """Use the servers of the pool with most idle GPUs; the last one fits tightly."""
    left = layout.size[job]
    pool = work.pool
    for place in range(count // 2 - 1, -1, -1):
        _sink(work, place, count)
    used = 0
    at = layout.place_at[job]
    while left > 0:
        if count == 0:
            return 0
        chosen = pool[0]
        if left < layout.size[job] and work.idle[chosen] >= left:
            for place in range(1, count):
                idle = work.idle[pool[place]]
                if left <= idle < work.idle[chosen]:
                    chosen = pool[place]
        work.server[at + used] = chosen
        # The first one leaves a worker to the others: on one server alone it would be packed.
        work.workers[at + used] = min(left, work.idle[chosen], layout.size[job] - 1)
        left -= work.workers[at + used]
        used += 1
        count -= 1
        pool[0] = pool[count]
        _sink(work, 0, count)
    return used


@_inner
def _sink(work: Work, place: int, count: int) -> None:
    """Move a server down the heap: most idle GPUs first, ties in server order."""
    pool, idle = work.pool, work.idle
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and (idle[pool[child + 1]], -pool[child + 1]) > (
            idle[pool[child]],
            -pool[child],
        ):
            child += 1
        if (idle[pool[place]], -pool[place]) >= (idle[pool[child]], -pool[child]):
            return
        pool[place], pool[child] = pool[child], pool[place]
        place = child
