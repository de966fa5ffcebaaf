"""Where a job goes now: its servers, and the workers on each, in the way chosen for it."""

from __future__ import annotations

from functools import partial

from rarmodel.engine.compilation import compiled
from rarmodel.engine.formulas import cards_gbps

from .free_gpus import MOST_LEVELS, NOBODY, highest_level, next_server, total_free
from .instance_arrays import InstanceArrays
from .partial_schedule import PartialSchedule
from .placement_options import (
    ANY_ALONE,
    EMPTIEST,
    FEWEST_ALONE,
    FEWEST_PAIRED,
    NEVER_PACKS,
    PACK,
    PACKS_FIRST,
)

_inner = partial(compiled, inner=True)

MOST_GPUS = MOST_RINGS = 2**62
"""No limit."""


@_inner
def place(instance: InstanceArrays, schedule: PartialSchedule, job: int, choice: int) -> int:
    """Choose servers for a job now; how many, 0 if there is no room.

    Parameters
    ----------
    instance, schedule
        The instance, and the schedule so far. It receives the servers and their workers, and
        behind them what else the job uses.
    job
        The job.
    choice
        Which of its options it takes; −1 − i for pin i.
    """
    chosen = schedule.queues.queue[job]
    size = schedule.queues.size[chosen]
    if total_free(schedule.free) < size or not _has_supplies(instance, schedule, job, size):
        return 0
    if choice < 0:
        used = _place_in_pin(instance, schedule, job, -1 - choice)
        return use_supplies(instance, schedule, job, used, size)
    style, packs = instance.options.queue_style[chosen], instance.options.queue_packs[chosen]
    packing = style == PACK or packs == PACKS_FIRST
    used = 0
    for _ in range(2):
        if packing:
            used = _pack(instance, schedule, job, chosen)
        else:
            used = _spread(instance, schedule, job, chosen)
        if used > 0 or style == PACK or packs == NEVER_PACKS:
            break
        packing = not packing
    return use_supplies(instance, schedule, job, used, size)


@_inner
def _has_supplies(instance: InstanceArrays, schedule: PartialSchedule, job: int, size: int) -> bool:
    """Whether there is enough now of all that a job uses beside GPUs of servers."""
    for i in range(instance.use_at[job], instance.use_at[job + 1]):
        supply = instance.use_supply[i]
        amount = instance.use_of_job[i] + size * instance.use_of_gpu[i]
        left = max(0, schedule.capacity[supply] - schedule.kept[supply])
        if schedule.held[supply] + amount > left:
            return False
    return True


@_inner
def use_supplies(
    instance: InstanceArrays, schedule: PartialSchedule, job: int, used: int, size: int
) -> int:
    """Note behind the servers of a job what else it uses; the number of the servers."""
    if used > 0:
        at = instance.place_at[job] + used
        for i in range(instance.use_at[job], instance.use_at[job + 1]):
            schedule.server[at] = instance.use_supply[i]
            schedule.workers[at] = instance.use_of_job[i] + size * instance.use_of_gpu[i]
            at += 1
    return int(used)


@_inner
def holdings(instance: InstanceArrays, job: int, used: int) -> int:
    """How many supplies a job holds something of, if it uses so many servers; 0 if none."""
    return int(used + instance.use_at[job + 1] - instance.use_at[job]) if used > 0 else 0


@_inner
def ring_size(instance: InstanceArrays, job: int, choice: int) -> int:
    """GPUs of a job with one of its options, or in a pin."""
    if choice >= 0:
        return int(instance.options.size[instance.options.at[job] + choice])
    size = 0
    for p in range(instance.pin_at[-1 - choice], instance.pin_at[-choice]):
        size += instance.pin_workers[p]
    return size


@_inner
def _place_in_pin(instance: InstanceArrays, schedule: PartialSchedule, job: int, pin: int) -> int:
    """Put a job exactly where a pin is; 0 if there is no room."""
    at, first = instance.place_at[job], instance.pin_at[pin]
    used = instance.pin_at[pin + 1] - first
    for p in range(used):
        server = instance.pin_server[first + p]
        if schedule.free.idle[server] < instance.pin_workers[first + p]:
            return 0
    for p in range(used):
        schedule.server[at + p] = instance.pin_server[first + p]
        schedule.workers[at + p] = instance.pin_workers[first + p]
    return int(used)


@_inner
def _pack(instance: InstanceArrays, schedule: PartialSchedule, job: int, chosen: int) -> int:
    """Choose the server on which a job leaves the fewest idle GPUs; 0 if there is none."""
    size = instance.options.queue_size[chosen]
    everywhere = len(instance.groups.first) - 1
    server = _tightest(instance, schedule, PACK, chosen, everywhere, size, MOST_GPUS, 0)
    if server == NOBODY:
        return 0
    schedule.server[instance.place_at[job]] = server
    schedule.workers[instance.place_at[job]] = size
    return 1


@_inner
def _spread(instance: InstanceArrays, schedule: PartialSchedule, job: int, chosen: int) -> int:
    """Choose servers below the first switch that has room; 0 if none has.

    Of the switches of EMPTIEST, it is the first one where the ring takes the fewest servers.
    """
    options, style = instance.options, instance.options.queue_style[chosen]
    fewest, most = instance.fewest[job], min(instance.most[job], options.queue_size[chosen])
    if style in (FEWEST_ALONE, FEWEST_PAIRED):
        fewest = most = options.queue_fewest[chosen]
    row = options.queue_switches[chosen]
    used, best, last = 0, NOBODY, NOBODY
    for i in range(options.switch_at[row], options.switch_at[row + 1]):
        group = options.switch[i]
        if schedule.free.in_group[group] < options.queue_size[chosen]:
            continue
        last = group
        found = _gather(instance, schedule, job, chosen, group, fewest, most)
        if found > 0 and (used == 0 or found < used):
            used, best = found, group
        if used > 0 and (style != EMPTIEST or used == fewest):
            break
    if used == 0:
        return 0
    if last != best:  # The pool is to be that of the best one.
        _gather(instance, schedule, job, chosen, best, fewest, most)
    if style in (FEWEST_ALONE, FEWEST_PAIRED):
        _tighten(instance, schedule, job, chosen, best, used)
        _fill_fullest(instance, schedule, job, chosen, used)
    elif len(instance.engine.cards) > 0 and not instance.equal[job]:
        _fill_cards(instance, schedule, job, chosen, used)
    else:
        _fill_emptiest(instance, schedule, job, chosen, best, used)
    return int(used)


@_inner
def _gather(
    instance: InstanceArrays,
    schedule: PartialSchedule,
    job: int,
    chosen: int,
    group: int,
    fewest: int,
    most: int,
) -> int:
    """Put the emptiest servers into the pool, as few as take a ring now; how many, or 0."""
    size, style = instance.options.queue_size[chosen], instance.options.queue_style[chosen]
    allowed = instance.options.sets[instance.options.queue_allowed[chosen]]
    free, groups, pool = schedule.free, instance.groups, schedule.pool
    gathered = checked = together = 0
    for level in range(highest_level(free), 0, -1):
        if free.members[level] == 0:
            continue
        # Only the last of all levels has servers with different numbers of idle GPUs.
        sorted_level = level < MOST_LEVELS - 1
        if sorted_level and together + (most - checked) * level < size:
            return 0
        begin = gathered
        server = next_server(free, groups, group, allowed, level, groups.first[group])
        while True:
            while checked < gathered and (sorted_level or server == NOBODY):
                least = free.idle[pool[checked]]
                together += least
                checked += 1
                if checked >= fewest:
                    if instance.equal[job]:
                        if size % checked == 0 and least >= size // checked:
                            return checked
                    elif together >= size:
                        return checked
                if checked == most:
                    return 0
            if server == NOBODY:
                break
            if _is_open(instance, schedule, style, group, server):
                place = gathered
                while place > begin and free.idle[pool[place - 1]] < free.idle[server]:
                    pool[place] = pool[place - 1]
                    place -= 1
                pool[place] = server
                gathered += 1
            server = next_server(free, groups, group, allowed, level, server + 1)
    return 0


@_inner
def _is_open(
    instance: InstanceArrays, schedule: PartialSchedule, style: int, group: int, server: int
) -> bool:
    """Whether a ring may use the links from a server up to the switch of a group."""
    others = MOST_RINGS
    if style in (ANY_ALONE, FEWEST_ALONE):
        others = 0
    elif style == FEWEST_PAIRED:
        others = 1
    elif schedule.alone_rings[0] == 0:
        return True
    groups, arrays = instance.groups, instance.engine
    i = groups.at[server]
    while groups.group[i] != group:
        i += 1
    first = arrays.path_at[server]
    for p in range(first, first + groups.hops[i]):
        link = arrays.path[p]
        if schedule.alone[link] != 0 or schedule.state.links[link].rings > others:
            return False
    return True


@_inner
def _tightest(
    instance: InstanceArrays,
    schedule: PartialSchedule,
    style: int,
    chosen: int,
    group: int,
    least: int,
    below: int,
    used: int,
) -> int:
    """The server with the fewest idle GPUs, at least so many and below so many, or NOBODY.

    It is open, and none of the first `used` servers of the pool.
    """
    free, groups, last = schedule.free, instance.groups, MOST_LEVELS - 1
    allowed = instance.options.sets[instance.options.queue_allowed[chosen]]
    best, highest = NOBODY, min(below - 1, highest_level(free))
    for level in range(min(least, last), min(highest, last) + 1):
        if free.members[level] == 0:
            continue
        server = next_server(free, groups, group, allowed, level, groups.first[group])
        while server != NOBODY:
            idle = free.idle[server]
            if (
                least <= idle < below
                and (best == NOBODY or idle < free.idle[best])
                and (style == PACK or _may_join(instance, schedule, style, group, server, used))
            ):
                best = server
                if level < last:
                    return best
            server = next_server(free, groups, group, allowed, level, server + 1)
    return best


@_inner
def _may_join(
    instance: InstanceArrays,
    schedule: PartialSchedule,
    style: int,
    group: int,
    server: int,
    used: int,
) -> bool:
    """Whether a server is open, and none of the first `used` ones of the pool."""
    for p in range(used):
        if schedule.pool[p] == server:
            return False
    return _is_open(instance, schedule, style, group, server)


@_inner
def _tighten(
    instance: InstanceArrays,
    schedule: PartialSchedule,
    job: int,
    chosen: int,
    group: int,
    used: int,
) -> None:
    """Replace servers of the pool by fuller ones, as long as all have room together.

    So idle GPUs stay together.
    """
    size, style = instance.options.queue_size[chosen], instance.options.queue_style[chosen]
    idle, pool = schedule.free.idle, schedule.pool
    spare = -size
    for p in range(used):
        spare += idle[pool[p]]
    for p in range(used - 1, -1, -1):
        own = idle[pool[p]]
        least = size // used if instance.equal[job] else max(1, own - spare)
        other = _tightest(instance, schedule, style, chosen, group, least, own, used)
        if other != NOBODY:
            spare -= own - idle[other]
            pool[p] = other


@_inner
def _fill_fullest(
    instance: InstanceArrays, schedule: PartialSchedule, job: int, chosen: int, used: int
) -> None:
    """Fill the servers of the pool, the last one first.

    So rings that share links form chains: each begins where the one before it ends.
    """
    left, at = instance.options.queue_size[chosen], instance.place_at[job]
    share = left // used
    for p in range(used):
        others = used - 1 - p
        server = schedule.pool[others]
        workers = share
        if not instance.equal[job]:
            workers = min(schedule.free.idle[server], left - others)
        schedule.server[at + p], schedule.workers[at + p] = server, workers
        left -= workers


@_inner
def _fill_cards(
    instance: InstanceArrays, schedule: PartialSchedule, job: int, chosen: int, used: int
) -> None:
    """Fill the servers of the pool so that network cards slow the ring down least.

    A worker more goes where the cards reach least. Where they reach all, the first one is filled.
    """
    arrays, idle, pool = instance.engine, schedule.free.idle, schedule.pool
    at, left = instance.place_at[job], instance.options.queue_size[chosen] - used
    for p in range(used):
        schedule.server[at + p], schedule.workers[at + p] = pool[p], 1
    while left > 0:
        chosen_at, least = -1, 0.0
        for p in range(used):
            server, workers = pool[p], schedule.workers[at + p]
            if workers < idle[server]:
                gbps = arrays.gbps[arrays.path[arrays.path_at[server]]]
                reach = cards_gbps(gbps, workers, arrays.cards[server])
                if chosen_at < 0 or reach < least:
                    chosen_at, least = p, reach
        server, workers = pool[chosen_at], schedule.workers[at + chosen_at]
        more = 1
        if workers >= arrays.cards[server]:
            more = min(left, idle[server] - workers)
        schedule.workers[at + chosen_at] += more
        left -= more


@_inner
def _fill_emptiest(
    instance: InstanceArrays,
    schedule: PartialSchedule,
    job: int,
    chosen: int,
    group: int,
    used: int,
) -> None:
    """Fill the servers of the pool, the first one first; a tight one may take the rest."""
    left, at = instance.options.queue_size[chosen], instance.place_at[job]
    style, pool, share = instance.options.queue_style[chosen], schedule.pool, left // used
    for p in range(used):
        server = pool[p]
        workers = share
        if not instance.equal[job]:
            others = used - 1 - p
            if others == 0 and style != EMPTIEST:
                own = schedule.free.idle[server]
                other = _tightest(instance, schedule, style, chosen, group, left, own, p)
                server = server if other == NOBODY else other
            workers = min(schedule.free.idle[server], left - others)
        schedule.server[at + p], schedule.workers[at + p] = server, workers
        left -= workers
