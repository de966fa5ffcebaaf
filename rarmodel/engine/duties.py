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

from rarmodel.model.sharing_rule import NO_PRESSURE

from .arrays import BY_RING, ROOM, UNKNOWN, Arrays, State
from .compilation import compiled
from .formulas import (
    felt_units,
    iteration_seconds,
    level,
    linear_degradation,
    overhead_seconds,
    weight,
)

_inner = partial(compiled, inner=True)


@_inner
def share(arrays: Arrays, link: int, others: int) -> float:
    """What a ring gets of a link in Gbit/s if the others there count so much to it."""
    factor = linear_degradation(arrays.alpha, level(arrays.concurrency, others))
    return float(arrays.gbps[link] / factor)


@_inner
def duty_at(arrays: Arrays, mode: int, servers: int, gbps: float) -> int:
    """Duty of a ring in a mode on so many servers at a bandwidth."""
    job = arrays.modes[mode]
    overhead = overhead_seconds(arrays.overhead_ms_per_server, servers)
    rest = iteration_seconds(0.0, 1.0, job.reduction, overhead, job.compute)
    return weight(iteration_seconds(job.bits, gbps, 0.0, 0.0, 0.0), rest)


@_inner
def load_links(arrays: Arrays, state: State, job: int) -> None:
    """Add what a ring that has joined its links counts there to their loads."""
    ring, first, classes = state.rings[job], arrays.member_at[job], len(arrays.sensitivity)
    gbps = arrays.gbps[state.members[first].link]
    for number in range(first + 1, first + ring.links):
        gbps = min(gbps, arrays.gbps[state.members[number].link])
    duty = duty_at(arrays, ring.mode, ring.servers, gbps)
    for column in range(classes):
        own = arrays.pressed[job * classes + column]
        if own == NO_PRESSURE:
            own = felt_units(duty, arrays.sensitivity[column])
        state.duty[job * classes + column] = own
        for number in range(first, first + ring.links):
            state.load[state.members[number].link * classes + column] += own


@_inner
def unload_link(arrays: Arrays, state: State, job: int, link: int) -> None:
    """Take what a ring counts off the load of a link."""
    classes = len(arrays.sensitivity)
    for column in range(classes):
        state.load[link * classes + column] -= state.duty[job * classes + column]


@_inner
def load_beside(arrays: Arrays, state: State, job: int, link: int) -> int:
    """What a ring meets on a link of its own: what the others there count to it."""
    classes, column = len(arrays.sensitivity), arrays.class_of[job]
    own = state.duty[job * classes + column]
    return int(state.load[link * classes + column] - own)


@_inner
def share_of(arrays: Arrays, state: State, job: int, link: int, room: float) -> float:
    """What a ring on a link gets in Gbit/s where the link's `share` is `ROOM − load`."""
    own = state.duty[job * len(arrays.sensitivity) + arrays.class_of[job]]
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
def note_by_ring(
    arrays: Arrays, state: State, index: int, before: float, after: float, changed: int
) -> int:
    """Note the rings of a link whose share has changed, BY_RING; see `note`."""
    link = state.links[index]
    for at in range(link.row, link.row + link.rings):
        job = state.row[at].job
        was = share_of(arrays, state, job, index, before)
        becomes = share_of(arrays, state, job, index, after)
        changed = note(state, job, was, becomes, changed)
    return changed


@_inner
def note_by_class(arrays: Arrays, state: State, index: int, changed: int) -> int:
    """Note the rings of a link whose loads have changed, with several classes; see `note`.

    A ring compares the loads of its own class: what it counts itself does not change.
    """
    link, classes = state.links[index], len(arrays.sensitivity)
    for at in range(link.row, link.row + link.rings):
        job = state.row[at].job
        place = index * classes + arrays.class_of[job]
        before, after = ROOM - state.settled_load[place], ROOM - state.load[place]
        if before == after:
            continue
        if arrays.sharing == BY_RING:
            before = share_of(arrays, state, job, index, before)
            after = share_of(arrays, state, job, index, after)
        changed = note(state, job, before, after, changed)
    for place in range(index * classes, (index + 1) * classes):
        state.settled_load[place] = state.load[place]
    return changed


@_inner
def room_by_class(arrays: Arrays, state: State, job: int) -> float:
    """`ROOM − load` of the link of a ring that has the greatest load to its class."""
    first, classes, least = arrays.member_at[job], len(arrays.sensitivity), ROOM
    for number in range(first, first + state.rings[job].links):
        place = state.members[number].link * classes + arrays.class_of[job]
        least = min(least, ROOM - state.load[place])
    return least


@_inner
def bandwidth_by_ring(arrays: Arrays, state: State, job: int) -> float:
    """The least share of a ring on its links in Gbit/s."""
    first, least = arrays.member_at[job], np.inf
    for number in range(first, first + state.rings[job].links):
        link = state.members[number].link
        least = min(least, share(arrays, link, load_beside(arrays, state, job, link)))
    return float(least)
