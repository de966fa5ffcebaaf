"""The speed of a ring in a mode, mostly without the powers that overlap of exchanges asks for.

Powers take longer than all else in a change of speed. But a speed is a whole number, and mostly it
is known from bounds on the time of an iteration. `(c^γ + e^γ)^(1/γ)` is the longer of the two times
its norm by the ratio of the shorter one. The norm grows with the ratio. So its values at both ends
of a part of [0, 1] bound it in between. Where both bounds give one speed, the exact time gives it
too; else the powers are taken.
"""

from __future__ import annotations

from functools import partial

from .arrays import NORM_PARTS, Arrays
from .compilation import compiled
from .formulas import exchange_seconds, iteration_seconds, overhead_seconds, speed

_inner = partial(compiled, inner=True)

MARGIN = 1e-12
"""More than rounding makes of the exact time: see `overlapped_seconds`."""


@_inner
def mode_speed(arrays: Arrays, mode: int, servers: int, gbps: float, compute: float) -> int:
    """Iterations per slot in a mode on so many servers at a bandwidth, φ_j: (8).

    `compute` has the seconds of forward and backward pass: those of the mode, or more of them.
    """
    job, slot = arrays.modes[mode], arrays.slot_seconds
    overhead = overhead_seconds(arrays.overhead_ms_per_server, servers)
    if len(arrays.norm) > 0:
        exchange = exchange_seconds(job.bits, gbps, job.latency)
        less, more = min(compute, exchange), max(compute, exchange)
        if less > 0.0:
            part = int(less / more * NORM_PARTS)
            least = more * arrays.norm[part] * (1.0 - MARGIN)
            most = more * arrays.norm[part + 1] * (1.0 + MARGIN)
            slowest = speed(slot, most + job.reduction + overhead)
            if slowest == speed(slot, least + job.reduction + overhead):
                return slowest
    seconds = iteration_seconds(
        job.bits, gbps, job.latency, job.reduction, overhead, compute, arrays.overlap
    )
    return speed(slot, seconds)
