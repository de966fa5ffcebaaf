"""What rings get of the links that they share, by the instance's sharing rule.

Exactly, for rings in their placements; and at best and at worst, where only their number is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from rarmodel.schema import Contention, Instance

from .caching import once_per_instance
from .lone import allowed_servers
from .ring_rates import each_paces
from .sharing_rule import RingOnLinks, sharing_rule
from .topology import topology


def bandwidths(
    contention: Contention, gbps: Sequence[float], rings: Sequence[RingOnLinks]
) -> list[float]:
    """Bandwidth of each ring in Gbit/s, B_j: its least share over the links that it uses.

    It is no more than its network cards reach.

    Parameters
    ----------
    contention
        ξ1, f, and the model: the rule by which rings share.
    gbps
        Rate of each link.
    rings
        All active rings between servers.
    """
    rule = sharing_rule(contention)
    weights = [ring.weight(rule, min(gbps[link] for link in ring.links)) for ring in rings]
    load = [0] * len(gbps)
    for ring, own in zip(rings, weights, strict=True):
        for link in ring.links:
            load[link] += own
    return [
        min(
            ring.most_gbps,
            *(rule.share(contention, gbps[link], load[link] - own) for link in ring.links),
        )
        for ring, own in zip(rings, weights, strict=True)
    ]


def best_share(instance: Instance, gbps: float, rings: int) -> float:
    """The most that a ring can get of a link with so many rings, itself included, in Gbit/s.

    Where users are alike this is the share itself. Otherwise the others are the jobs of least
    weight that can use links, each in its placement of least weight: a share never rises with them.
    """
    return _share_beside(instance, gbps, rings - 1, at_worst=False)


def worst_share(instance: Instance, gbps: float, rings: int) -> float:
    """The least that a ring can get of it, likewise."""
    return _share_beside(instance, gbps, rings - 1, at_worst=True)


def _share_beside(instance: Instance, gbps: float, others: int, *, at_worst: bool) -> float:
    contention, load = instance.contention, others
    rule = sharing_rule(contention)
    if not rule.equal_weights:
        sums = _loads_of_others(instance)[at_worst]
        load = sums[min(max(0, others), len(sums) - 1)]
    return rule.share(contention, gbps, load)


@once_per_instance
def _loads_of_others(instance: Instance) -> tuple[list[int], list[int]]:
    """Least and greatest sum of the weights of 0, 1, 2, … jobs."""
    ranges = [found for found in _weight_ranges(instance) if found is not None]
    least, greatest = zip(*ranges, strict=True) if ranges else ((), ())
    return (
        [*accumulate(sorted(least), initial=0)],
        [*accumulate(sorted(greatest, reverse=True), initial=0)],
    )


def _weight_ranges(instance: Instance) -> Iterator[tuple[int, int] | None]:
    """(jobs) Least and greatest weight of a ring between servers; None if there is no such ring.

    A weight falls with the bandwidth alone and with all else in (8): so it is least on the most
    servers and the fastest links, and greatest on two servers and the slowest link.
    Network cards may leave less than that.
    """
    rule = sharing_rule(instance.contention)
    tree = topology(instance.cluster)
    rates = [link.gbps for link in tree.links]
    for job, own, allowed in zip(
        instance.jobs, each_paces(instance), allowed_servers(instance), strict=True
    ):
        limit = len(rates) if job.running else len(allowed)
        if job.spread is not None and job.spread.max_servers and job.running is None:
            limit = min(limit, job.spread.max_servers)
        weights = [
            pace.weight(rule, servers, gbps)
            for (size, _), pace in own.items()
            if size > 1 and rates
            for servers, gbps in (
                (max(2, min(size, limit)), max(rates)),
                (2, min(*rates, tree.least_gbps)),
            )
        ]
        yield (min(weights), max(weights)) if weights else None
