"""The time of one training iteration, equation (8), and the speed that follows from it.

These are plain functions of numbers that can be compiled without change. The verifier calls them,
the engine compiles them, and both get the same number to the last bit.
"""

from __future__ import annotations

import math

from rarmodel.schema import Instance, Job

SPEED_GUARD = 1e-9
"""Keeps float noise from losing an iteration whose time divides the slot (reading 3)."""

MAX_SPEED = 2.0**53
"""Greatest speed: a job never has more iterations to do, so this changes no schedule."""

MAX_OVERLAP = 1000.0
"""Greatest γ: with more, compute and exchange together take the longer of the two, to 0.07 %."""

ROOM_FOR_POWERS = 900.0
"""Powers are floats up to this exponent of 2, and so is the sum of two."""


def exchange_bits(gradient_mb: float, workers: int) -> float:
    """Bits that a worker sends in one all-reduce, `2·m_j·(w_j−1)/w_j`: 0 for one worker.

    Parameters
    ----------
    gradient_mb
        Size of the gradient in MB (10^6 bytes), m_j.
    workers
        Workers in the ring, w_j.
    """
    return 2.0 * gradient_mb * 8e6 * (workers - 1) / workers


def reduction_seconds(gradient_mb: float, workers: int, reduction_gbps: float) -> float:
    """Seconds for which a worker reduces gradients in one all-reduce, `m_j·(w_j−1)/w_j / C`."""
    return gradient_mb * 8e6 * (workers - 1) / workers / (reduction_gbps * 1e9)


def overhead_seconds(overhead_ms_per_server: float, servers: int) -> float:
    """Seconds of overhead, `ξ2·(number of servers)`; a single server counts too (reading 5)."""
    return overhead_ms_per_server * 1e-3 * servers


def compute_seconds(job: Job, workers: int, gpu_type: str | None = None) -> float:
    """Seconds of the forward and backward pass of a mini-batch, `Δf_j·M_j + Δb_j`.

    Parameters
    ----------
    job
        The job.
    workers
        Workers in the ring, w_j: a global batch is divided among them.
    gpu_type
        Type of GPU; it matters only to a job with `times`.
    """
    forward, backward = job.milliseconds(gpu_type)
    return pass_seconds(forward, job.samples(workers), backward)


def pass_seconds(forward_ms_per_sample: float, samples: int, backward_ms: float) -> float:
    """The same from the numbers of a job."""
    return (forward_ms_per_sample * samples + backward_ms) * 1e-3


def latency_seconds(latency_ms: float, workers: int) -> float:
    """Seconds of latency in one all-reduce, `2(w_j−1)·λ`: each step takes λ more (section 20)."""
    return latency_ms * 1e-3 * (2 * (workers - 1))


def exchange_seconds(bits: float, gbps: float, latency: float) -> float:
    """Seconds of the exchange in one iteration: bits at a bandwidth, and latency.

    Parameters
    ----------
    bits
        Bits that a worker exchanges: `exchange_bits`.
    gbps
        Bandwidth of the ring in Gbit/s, B_j.
    latency
        Seconds of latency: `latency_seconds`.
    """
    return bits / (gbps * 1e9) + latency


def overlapped_seconds(compute: float, exchange: float, overlap: float) -> float:
    """Seconds of compute and exchange of which a part goes on at once, `(c^γ + e^γ)^(1/γ)`.

    It is right to a few units in the last place: `SPEED_GUARD` then makes up for what is lost where
    the time divides a slot. Bounds and proofs rest on it never falling with either time. Powers of
    one exponent, their sum and its root do not, as the C library's powers err by hardly more than
    rounding. Only where powers have no room among floats, the times are divided by a power of two;
    where the next such power begins, the last place may be off by one.

    Parameters
    ----------
    compute, exchange
        Seconds of each alone, at least 0.
    overlap
        γ, from 1 to `MAX_OVERLAP`: with 1 the sum; the greater, the closer to the longer of both.
    """
    less, more = min(compute, exchange), max(compute, exchange)
    if less == 0.0 or more > 1e300:
        return less + more
    scale = 1.0
    if abs(overlap * math.log2(more)) > ROOM_FOR_POWERS:
        scale = math.ldexp(1.0, math.frexp(more)[1])
    powers = math.pow(less / scale, overlap) + math.pow(more / scale, overlap)
    together = scale * math.pow(powers, 1.0 / overlap)
    return min(max(together, compute, exchange), compute + exchange)


def iteration_seconds(
    bits: float,
    gbps: float,
    latency: float,
    reduction: float,
    overhead: float,
    compute: float,
    overlap: float,
) -> float:
    """Time of one iteration in seconds, τ_j: equation (8), with the terms of section 20.

    Parameters
    ----------
    bits, gbps, latency
        What the exchange takes: see `exchange_seconds`.
    reduction, overhead, compute
        Seconds of reduction, per-server overhead, and forward and backward pass.
    overlap
        γ: how far the exchange overlaps with the passes; 1 if it does not, as in (8).
    """
    exchange = exchange_seconds(bits, gbps, latency)
    if overlap == 1.0:
        return exchange + reduction + overhead + compute
    return overlapped_seconds(compute, exchange, overlap) + reduction + overhead


def speed(slot_seconds: float, seconds: float) -> int:
    """Iterations per slot, `φ_j = ⌊slot/τ_j⌋`; 0 if an iteration takes longer than a slot.

    Parameters
    ----------
    slot_seconds
        Length of a slot in seconds.
    seconds
        Time of one iteration in seconds, above 0.
    """
    return math.floor(min(slot_seconds / seconds + SPEED_GUARD, MAX_SPEED))


def slots_needed(iterations: int, iterations_per_slot: int) -> int:
    """Slots until `iterations` are done at a constant speed of at least 1, rounded up."""
    return -(-iterations // iterations_per_slot)


def restore_slots(instance: Instance) -> int:
    """Slots for which a job that goes on holds its GPUs without progress (section 11)."""
    if instance.preemption is None:
        return 0
    return max(
        0, math.ceil(instance.preemption.restore_seconds / instance.time.slot_seconds - 1e-12)
    )
