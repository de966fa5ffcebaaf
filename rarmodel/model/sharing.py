"""What rings get of the links that they share, whichever way an instance counts other rings.

Exactly, for rings in their placements; and at best and at worst, where only their number is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate

from rarmodel.schema import Contention, Instance

from .caching import once_per_instance
from .contention import ring_share
from .duty import UNITS, RingOnLinks, duty_bandwidths, share_by_duty
from .lone import allowed_servers
from .ring_rates import each_paces
from .topology import topology

COUNT, DUTY, FIXED_POINT = MODELS = "count", "duty", "duty-fixed-point"
"""The values of `contention.model`."""


def bandwidths(
    contention: Contention, gbps: Sequence[float], rings: Sequence[RingOnLinks]
) -> list[float]:
    """Bandwidth of each ring in Gbit/s, B_j: its least share over the links that it uses.

    Parameters
    ----------
    contention
        ξ1, f, and the model: by what other rings count.
    gbps
        Rate of each link.
    rings
        All active rings between servers.
    """
    if contention.model != COUNT:
        fixed_point = contention.model == FIXED_POINT
        return duty_bandwidths(contention, gbps, rings, fixed_point=fixed_point)
    users = Counter(link for ring in rings for link in ring.links)
    return [
        min(ring_share(contention, gbps[link], users[link]) for link in ring.links)
        for ring in rings
    ]


def best_share(instance: Instance, gbps: float, rings: int) -> float:
    """The most that a ring can get of a link with so many rings, itself included, in Gbit/s.

    By the count this is the share itself. By duty, the others are the jobs of least duty that can
    use links, each in its placement of least duty: a share never rises with the duties. At the
    fixed point duties are no smaller than alone, so this holds there as well.
    """
    if instance.contention.model == COUNT:
        return ring_share(instance.contention, gbps, rings)
    least, _ = _duties_of_others(instance)
    return share_by_duty(instance.contention, gbps, _sum_of(least, rings - 1))


def worst_share(instance: Instance, gbps: float, rings: int) -> float:
    """The least that a ring can get of it, likewise."""
    contention = instance.contention
    if contention.model == COUNT:
        return ring_share(contention, gbps, rings)
    _, greatest = _duties_of_others(instance)
    fixed_point = contention.model == FIXED_POINT
    others = max(0, rings - 1) * UNITS if fixed_point else _sum_of(greatest, rings - 1)
    return share_by_duty(contention, gbps, others)


def _sum_of(sums: Sequence[int], others: int) -> int:
    return sums[min(max(0, others), len(sums) - 1)]


@once_per_instance
def _duties_of_others(instance: Instance) -> tuple[list[int], list[int]]:
    """Least and greatest sum of the duties of 0, 1, 2, … jobs, in `UNITS`."""
    ranges = [found for found in _duty_ranges(instance) if found is not None]
    least, greatest = zip(*ranges, strict=True) if ranges else ((), ())
    return (
        [*accumulate(sorted(least), initial=0)],
        [*accumulate(sorted(greatest, reverse=True), initial=0)],
    )


def _duty_ranges(instance: Instance) -> Iterator[tuple[int, int] | None]:
    """(jobs) Least and greatest duty of a ring between servers; None if there is no such ring.

    A duty falls with the bandwidth alone and with all else in (8): so it is least on the most
    servers and the fastest links, and greatest on two servers and the slowest link.
    """
    rates = [link.gbps for link in topology(instance.cluster).links]
    for job, own, allowed in zip(
        instance.jobs, each_paces(instance), allowed_servers(instance), strict=True
    ):
        limit = len(rates) if job.running else len(allowed)
        if job.spread is not None and job.spread.max_servers and job.running is None:
            limit = min(limit, job.spread.max_servers)
        duties = [
            pace.duty(servers, gbps)
            for (size, _), pace in own.items()
            if size > 1 and rates
            for servers, gbps in ((max(2, min(size, limit)), max(rates)), (2, min(rates)))
        ]
        yield (min(duties), max(duties)) if duties else None
