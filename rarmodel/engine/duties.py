"""Rings that are not alike, in the compiled simulation: loads of links as sums of weights.

A ring counts on its links with its weight, a constant of its mode and its links: its duty, by the
rule of duty. A link has a load, the sum of the weights of its rings, and each of them meets the
others: the load without its own weight. So the rings on a link get shares of their own. Where all
links have one rate, the slowest link of a ring is that of most load, whatever its weight: loads are
compared in place of shares.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from .arrays import ROOM, UNKNOWN, Arrays, State
from .compilation import compiled
from .formulas import (
    exchange_seconds,
    level,
    linear_degradation,
    overhead_seconds,
    weight,
)

_inner = partial(compiled, inner=True)


@_inner
def share(arrays: Arrays, link: int, others: int) -> float:
    """What a ring gets of a link in Gbit/s if the others there have so much duty."""
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
def load_links(arrays: Arrays, state: State, job: int) -> None:
    """Add the duty, alone, of a ring that has joined its links to their loads."""
    ring, first = state.rings[job], arrays.member_at[job]
    gbps = arrays.gbps[state.members[first].link]
    for number in range(first + 1, first + ring.links):
        gbps = min(gbps, arrays.gbps[state.members[number].link])
    if len(arrays.cards) > 0:
        gbps = min(gbps, state.reach[job])
    state.duty[job] = 0
    _set_duty(arrays, state, job, duty_at(arrays, ring.mode, ring.servers, gbps))


@_inner
def _set_duty(arrays: Arrays, state: State, job: int, own: int) -> None:
    """Change the duty of a ring on its links."""
    first = arrays.member_at[job]
    for number in range(first, first + state.rings[job].links):
        state.load[state.members[number].link] += own - state.duty[job]
    state.duty[job] = own


@_inner
def share_of(arrays: Arrays, state: State, job: int, link: int, room: float) -> float:
    """What a ring on a link gets in Gbit/s where the link's `share` is `ROOM − load`."""
    return share(arrays, link, int(ROOM - room) - state.duty[job])


@_inner
def note_by_ring(
    arrays: Arrays, state: State, index: int, before: float, after: float, changed: int
) -> int:
    """Note the rings that a link's new share may slow down or let go faster, BY_RING.

    They are added to `changed` rings; how many there are then is returned.
    """
    link = state.links[index]
    for at in range(link.row, link.row + link.rings):
        job = state.row[at].job
        ring = state.rings[job]
        was = share_of(arrays, state, job, index, before)
        becomes = share_of(arrays, state, job, index, after)
        if (becomes < was and becomes < ring.bandwidth) or (was <= ring.bandwidth < becomes):
            if ring.bandwidth == ring.settled:
                state.changed_rings[changed] = job
                changed += 1
            ring.bandwidth = becomes if becomes < was else UNKNOWN
    return changed


@_inner
def bandwidth_by_ring(arrays: Arrays, state: State, job: int) -> float:
    """The least share of a ring on its links in Gbit/s."""
    first, own, least = arrays.member_at[job], state.duty[job], np.inf
    for number in range(first, first + state.rings[job].links):
        link = state.members[number].link
        least = min(least, share(arrays, link, state.load[link] - own))
    return float(least)
