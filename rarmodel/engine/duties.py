"""Contention by duty in the compiled simulation: loads of links as sums of duties.

A ring counts on its links with its duty, a constant of its mode and its links. A link has a load,
the sum of the duties of its rings, and each of them meets the others: the load without its own
duty. So the rings on a link get shares of their own. Where all links have one rate, the slowest
link of a ring is that of most load, whatever its duty: loads are compared in place of shares.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rarmodel.model import contention, duty, timing

from .arrays import ROOM, Arrays, State
from .compilation import compiled

_inner = partial(compiled, inner=True)

if TYPE_CHECKING:
    iteration_seconds = timing.iteration_seconds
    overhead_seconds = timing.overhead_seconds
    duty_units = duty.duty_units
    effective_rings = duty.effective_rings
    linear_degradation = contention.linear_degradation
else:
    iteration_seconds = compiled(timing.iteration_seconds, inner=True)
    overhead_seconds = compiled(timing.overhead_seconds, inner=True)
    duty_units = compiled(duty.duty_units, inner=True)
    effective_rings = compiled(duty.effective_rings, inner=True)
    linear_degradation = compiled(contention.linear_degradation, inner=True)


@_inner
def share(arrays: Arrays, link: int, others: int) -> float:
    """What a ring gets of a link in Gbit/s if the others there have so much duty."""
    level = effective_rings(arrays.concurrency, others)
    return float(arrays.gbps[link] / linear_degradation(arrays.alpha, level))


@_inner
def duty_alone(arrays: Arrays, mode: int, servers: int, gbps: float) -> int:
    """Duty of a ring in a mode on so many servers, where its slowest link has this rate."""
    job = arrays.modes[mode]
    overhead = overhead_seconds(arrays.overhead_ms_per_server, servers)
    rest = iteration_seconds(0.0, 1.0, job.reduction, overhead, job.compute)
    return duty_units(iteration_seconds(job.bits, gbps, 0.0, 0.0, 0.0), rest)


@_inner
def load_links(arrays: Arrays, state: State, job: int) -> None:
    """Add the duty of a ring that has joined its links to their loads."""
    ring, first = state.rings[job], arrays.member_at[job]
    gbps = arrays.gbps[state.members[first].link]
    for number in range(first + 1, first + ring.links):
        gbps = min(gbps, arrays.gbps[state.members[number].link])
    own = duty_alone(arrays, ring.mode, ring.servers, gbps)
    state.duty[job] = own
    for number in range(first, first + ring.links):
        state.load[state.members[number].link] += own


@_inner
def share_of(arrays: Arrays, state: State, job: int, link: int, room: float) -> float:
    """What a ring on a link gets in Gbit/s where the link's `share` is `ROOM − load`."""
    return share(arrays, link, int(ROOM - room) - state.duty[job])
