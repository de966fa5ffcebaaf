"""Rings that are not alike, in the compiled simulation: loads of links as sums of weights.

A ring counts on its links with its weight, a constant of its mode and its links: its duty, by the
rule of duty. A link has a load, the sum of the weights of its rings, and each of them meets the
others: the load without its own weight. So the rings on a link get shares of their own. Where all
links have one rate, the slowest link of a ring is that of most load, whatever its weight: loads are
compared in place of shares.

Where jobs have sensitivities, a ring counts to each class of them with a weight of its own, and a
link has a load for each class. A ring compares loads of its own class.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from rarmodel.schema.base import BILLION

from .arrays import BY_CLASS, BY_RING, NOW, ROOM, SETTLED, UNKNOWN, Arrays, State
from .compilation import compiled
from .formulas import (
    exchange_seconds,
    felt_units,
    level,
    linear_degradation,
    overhead_seconds,
    weight,
)

_inner = partial(compiled, inner=True)

PLAIN = -1 - BILLION
"""In `Arrays.felt`: the ring counts its duty, as the sensitivity is 1."""


@_inner
def share(arrays: Arrays, link: int, others: int) -> float:
    """What a ring gets of a link in Gbit/s if the others there count so much to it."""
    factor = linear_degradation(arrays.alpha, level(arrays.concurrency, others))
    return float(arrays.gbps[link] / factor)


@_inner
def duty_at(arrays: Arrays, mode: int, servers: int, gbps: float) -> int:
    """Duty of a ring in a mode on so many servers at a bandwidth."""
    job = arrays.modes[mode]
    rest = job.reduction + overhead_seconds(arrays.overhead_ms_per_server, servers)
    exchange = exchange_seconds(job.bits, gbps, job.latency)
    return weight(exchange, rest, job.compute, arrays.overlap)


@_inner
def _duty_alone(arrays: Arrays, state: State, job: int, gbps: float) -> int:
    """Duty of a job's ring at a bandwidth; mostly it was asked for before, in another schedule."""
    ring = state.rings[job]
    if len(state.known) == 0:
        return duty_at(arrays, ring.mode, ring.servers, gbps)
    last = state.known[job]
    if last.servers != ring.servers or last.mode != ring.mode or last.gbps != gbps:
        last.duty = duty_at(arrays, ring.mode, ring.servers, gbps)
        last.gbps = gbps
        last.mode = ring.mode
        last.servers = ring.servers
    return int(last.duty)


@_inner
def load_links(arrays: Arrays, state: State, job: int) -> None:
    """Add what a ring that has joined its links counts there to their loads."""
    ring, first = state.rings[job], arrays.member_at[job]
    gbps = arrays.gbps[state.members[first].link]
    for number in range(first + 1, first + ring.links):
        gbps = min(gbps, arrays.gbps[state.members[number].link])
    if len(arrays.cards) > 0:
        gbps = min(gbps, state.reach[job])
    duty = _duty_alone(arrays, state, job, gbps)
    for column in range(arrays.classes):
        own = arrays.felt[job * arrays.classes + column]
        if own == PLAIN:
            own = duty
        elif own < 0:
            own = felt_units(duty, -1 - own)
        state.duty[job * arrays.classes + column] = own
    for number in range(first, first + ring.links):
        index = state.members[number].link
        for column in range(arrays.classes):
            own = state.duty[job * arrays.classes + column]
            state.load[NOW, index * arrays.classes + column] += own


@_inner
def unload_link(arrays: Arrays, state: State, job: int, link: int) -> None:
    """Take what a ring counts off the load of a link."""
    for column in range(arrays.classes):
        own = state.duty[job * arrays.classes + column]
        state.load[NOW, link * arrays.classes + column] -= own


@_inner
def column_of(arrays: Arrays, state: State, job: int) -> int:
    """The class of a job's ring."""
    return int(arrays.modes[state.rings[job].mode].column)


@_inner
def load_beside(arrays: Arrays, state: State, job: int, link: int) -> int:
    """What a ring meets on a link of its own: what the others there count to it."""
    column = column_of(arrays, state, job)
    own = state.duty[job * arrays.classes + column]
    return int(state.load[NOW, link * arrays.classes + column] - own)


@_inner
def share_of(arrays: Arrays, state: State, job: int, link: int, room: float) -> float:
    """What a ring on a link gets in Gbit/s where `ROOM − load` of its class is so much."""
    own = state.duty[job * arrays.classes + column_of(arrays, state, job)]
    return share(arrays, link, int(ROOM - room) - own)


@_inner
def note(state: State, job: int, before: float, after: float, changed: int) -> int:
    """Note a ring that a link's new share slows down, or may let go faster.

    It is added to `changed` rings; how many there are then is returned. A ring can change only if
    the link binds it, before or after.
    """
    ring = state.rings[job]
    if (after < before and after < ring.bandwidth) or (before <= ring.bandwidth < after):
        if ring.bandwidth == ring.settled:
            state.changed_rings[changed] = job
            changed += 1
        ring.bandwidth = after if after < before else UNKNOWN
    return changed


@_inner
def note_by_ring(arrays: Arrays, state: State, index: int, changed: int) -> int:
    """Note the rings of a link whose loads have changed, BY_CLASS and BY_RING; see `note`.

    A ring compares the loads of its own class, as what it counts itself does not change.
    """
    link, first = state.links[index], index * arrays.classes
    bound = -np.inf  # A ring with less stays as it is, whatever its class.
    if arrays.sharing == BY_CLASS:
        bound = ROOM
        for place in range(first, first + arrays.classes):
            most = max(state.load[SETTLED, place], state.load[NOW, place])
            bound = min(bound, ROOM - most)
    for at in range(link.row, link.row + link.rings):
        job = state.row[at].job
        if state.rings[job].bandwidth < bound:
            continue
        place = first + column_of(arrays, state, job)
        before, after = ROOM - state.load[SETTLED, place], ROOM - state.load[NOW, place]
        if before == after:
            continue
        if arrays.sharing == BY_RING:
            before = share_of(arrays, state, job, index, before)
            after = share_of(arrays, state, job, index, after)
        changed = note(state, job, before, after, changed)
    for place in range(first, first + arrays.classes):
        state.load[SETTLED, place] = state.load[NOW, place]
    return changed


@_inner
def least_by_ring(arrays: Arrays, state: State, job: int) -> float:
    """The least share of a ring on its links: in Gbit/s BY_RING, and `ROOM − load` BY_CLASS."""
    first, least, column = arrays.member_at[job], np.inf, column_of(arrays, state, job)
    for number in range(first, first + state.rings[job].links):
        link = state.members[number].link
        room = ROOM - state.load[NOW, link * arrays.classes + column]
        if arrays.sharing == BY_RING:
            room = share_of(arrays, state, job, link, room)
        least = min(least, room)
    return float(least)
