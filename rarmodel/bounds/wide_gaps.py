"""The bound from gaps between wide jobs: servers that few jobs can use well are busy or idle.

Take a width of more than half of every server that has so many GPUs. Jobs that are as wide run one
at a time on these servers, or spread.

**Proof.** Take a schedule of length H. Of m such servers with at most c GPUs, some wide jobs
spread, and the others leave `G = m·H − Σ p_j` slots, the *gaps*: p_j is the time of such a job on
one server. Let every other job, and every ring that spreads, take more than G slots. Then it does
not fit into a gap: where it runs in one, it also runs beside the wide job before or after the gap,
in the `c − w` GPUs that a job of width w leaves at most. So at least `c − 2·(c − w) = 2·w − c` GPUs
are idle in each slot of a gap. To spread a job takes more GPU slots, too. If every choice of jobs
that spread makes busy and idle GPU slots more than the cluster has in H slots, no schedule has H.

If wide jobs take longer than p_j, gaps are shorter, but these jobs are busy with more GPUs than a
gap has idle ones. A dynamic program over the time of the jobs that spread looks at all choices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rarmodel.model import least_slots_by_placement
from rarmodel.model.objectives import Objective, Value
from rarmodel.schema import Instance
from rarmodel.schema.certificate import EachJob, GpuPrices, WideGaps

from .arguments import of_area
from .bound import FIXED_SIZES, ON_MAKESPAN, Bound
from .destructive_bound import destructive_bound
from .least_demands import works
from .simple import area, longest_job

MOST_STATES = 10_000_000
"""Most steps of the dynamic program: wide jobs times slots of those that spread."""
NEVER = int(np.iinfo(np.int64).max) // 2
"""Cost of what cannot be."""


class _WideJobs(NamedTuple):
    """The jobs of a width or more that fit a server."""

    servers: int
    """Number of servers with so many GPUs."""
    idle: int
    """GPUs that are idle at least in each slot of a gap."""
    packed: Sequence[int]
    """(wide jobs) Slots on one server."""
    extra: Sequence[int]
    """(wide jobs) GPU slots that each takes more if it spreads."""
    busy: int
    """GPU slots that all jobs of the instance take, if these do not spread."""
    shortest: int
    """Slots of the shortest other job, or ring that spreads."""
    width: int
    """Their width, at least."""


def wide_gaps(instance: Instance) -> int | None:
    """Where wide jobs take most of the time of their servers, the rest of it is partly idle.

    Returns
    -------
    int or None
        None if this proves no more than the bounds `area` and `longest job`.
    """
    each = _each_width(instance)
    if not each:
        return None
    gpus = instance.cluster.total_gpus
    known = max(longest_job(instance), area(instance))

    def refuted(slots: int) -> bool:
        return any(_least_slots(wide, slots) > gpus * slots for wide in each)

    return destructive_bound(known, None, refuted, lambda: False)


def _each_width(instance: Instance) -> list[_WideJobs]:
    """The wide jobs by width, where the argument may prove something."""
    jobs, servers = instance.jobs, [server.gpus for server in instance.cluster.servers]
    least = least_slots_by_placement(instance)
    found = []
    for width in sorted({job.size for job in jobs if 2 * job.size > max(servers)}):
        packed, extra, short = list[int](), list[int](), list[int]()
        busy = 0
        for job, work, slots in zip(jobs, works(instance), least, strict=True):
            if job.size >= width and slots.packed is not None:
                packed.append(slots.packed)
                more = NEVER if slots.spread is None else slots.spread - slots.packed
                extra.append(min(NEVER, job.size * more))
                busy += job.size * slots.packed
                if slots.spread is not None:
                    short.append(slots.spread)
            else:
                short.append(work.slots)
                busy += work.area
        if packed:
            many = sum(gpus >= width for gpus in servers)
            idle = 2 * width - max(servers)
            found.append(_WideJobs(many, idle, packed, extra, busy, min(short, default=0), width))
    return found


def _least_slots(wide: _WideJobs, slots: int) -> int:
    """The fewest GPU slots, busy and idle, of a schedule so long; 0 if nobody looked."""
    # Of the wide jobs that spread, all together: slots that they must have had, and that make gaps
    # long enough for other jobs.
    must = sum(wide.packed) - wide.servers * slots
    most = must + wide.shortest
    if most <= 0 or len(wide.packed) * most > MOST_STATES:
        return 0
    extra = np.full(most + 1, NEVER)
    extra[0] = 0
    for packed, more in zip(wide.packed, wide.extra, strict=True):
        spread = np.full(most + 1, NEVER)
        rest = min(packed, most)
        spread[rest:] = extra[: most + 1 - rest]
        spread[most] = extra[most - rest :].min()
        extra = np.minimum(extra, np.minimum(spread + more, NEVER))
    first = max(0, must)
    gaps = np.arange(first - must, wide.shortest + 1)
    idle = np.where(gaps < wide.shortest, gaps * wide.idle, 0)
    return wide.busy + int((extra[first:] + idle).min())


def _certify(
    instance: Instance, objective: Objective, value: Value
) -> EachJob | GpuPrices | WideGaps | None:
    """The width of the jobs, and the GPU slots that are busy or idle at the least."""
    if (simple := of_area(instance, objective, value)) is not None:
        return simple
    length = int(value) - 1
    for wide in _each_width(instance):
        needed = _least_slots(wide, length)
        if needed > instance.cluster.total_gpus * length:
            # A sum that no choice of jobs can reach stands for any number.
            busy_or_idle = min(needed, NEVER)
            return WideGaps(
                kind="wide-gaps", length=length, width=wide.width, busy_or_idle=busy_or_idle
            )
    return None


WIDE_GAPS = Bound(
    "wide gaps",
    "the time that wide jobs leave on their servers is too short for other jobs",
    lambda instance, _: wide_gaps(instance),
    objectives=ON_MAKESPAN,
    handles=FIXED_SIZES,
    rank=5,
    certify=_certify,
)
