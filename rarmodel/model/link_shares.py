"""What rings get of the links that they share, by the instance's sharing rule.

Exactly, for rings in their placements; and at best and at worst, where only their number is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from rarmodel.schema import Contention, Instance
from rarmodel.schema.base import BILLION

from .caching import once_per_instance
from .lone import allowed_servers
from .ring_rates import each_paces
from .sharing_rule import RingOnLinks, sensitivity_of, sharing_rule
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
    alone = [min(gbps[link] for link in ring.links) for ring in rings]
    found = [0.0] * len(rings)
    for sensitivity in {ring.sensitivity for ring in rings}:
        both = zip(rings, alone, strict=True)
        weights = [ring.weight(rule, rate, sensitivity) for ring, rate in both]
        load = [0] * len(gbps)
        for ring, own in zip(rings, weights, strict=True):
            for link in ring.links:
                load[link] += own
        for i, (ring, own) in enumerate(zip(rings, weights, strict=True)):
            if ring.sensitivity == sensitivity:
                found[i] = min(
                    ring.most_gbps,
                    *(rule.share(contention, gbps[link], load[link] - own) for link in ring.links),
                )
    return found


@once_per_instance
def sensitivities(instance: Instance) -> tuple[int, ...]:
    """The different sensitivities of rings in billionths, ascending; one where users are alike.

    Those of jobs that use no links do not count.
    """
    if sharing_rule(instance.contention).equal_weights:
        return (BILLION,)
    found = {sensitivity_of(job) for job in instance.jobs if job.sizes[-1] > 1}
    return tuple(sorted(found)) or (BILLION,)


@once_per_instance
def sensitivity_classes(instance: Instance) -> tuple[int, ...]:
    """(jobs) Which of `sensitivities` the ring of each job has; 0 for a job that uses no links."""
    number = {one: k for k, one in enumerate(sensitivities(instance))}
    if len(number) == 1:
        return (0,) * len(instance.jobs)
    return tuple(number[sensitivity_of(job)] if job.sizes[-1] > 1 else 0 for job in instance.jobs)


def best_share(
    instance: Instance, gbps: float, rings: int, sensitivity: int | None = None
) -> float:
    """The most that a ring can get of a link with so many rings, itself included, in Gbit/s.

    Where users are alike this is the share itself. Otherwise the others are the jobs of least
    weight that can use links, each in its placement of least weight: a share never rises with them.

    Parameters
    ----------
    instance
        The problem.
    gbps
        Rate of the link.
    rings
        Rings on it.
    sensitivity
        Sensitivity of the ring; by default the least of all.
    """
    few = sensitivities(instance)
    return _share_beside(instance, gbps, rings - 1, few[0] if sensitivity is None else sensitivity)


def worst_share(instance: Instance, gbps: float, rings: int) -> float:
    """The least that any ring can get of it, likewise."""
    return _share_beside(instance, gbps, rings - 1, sensitivities(instance)[-1], at_worst=True)


def _share_beside(
    instance: Instance, gbps: float, others: int, sensitivity: int, *, at_worst: bool = False
) -> float:
    contention, load = instance.contention, others
    rule = sharing_rule(contention)
    if not rule.equal_weights:
        sums = _loads_of_others(instance)[sensitivity][at_worst]
        load = sums[min(max(0, others), len(sums) - 1)]
    return rule.share(contention, gbps, load)


@once_per_instance
def _loads_of_others(instance: Instance) -> dict[int, tuple[list[int], list[int]]]:
    """By sensitivity: least and greatest sum of the weights of 0, 1, 2, … jobs."""
    found = {}
    for sensitivity in sensitivities(instance):
        ranges = [one for one in _weight_ranges(instance, sensitivity) if one is not None]
        least, greatest = zip(*ranges, strict=True) if ranges else ((), ())
        found[sensitivity] = (
            [*accumulate(sorted(least), initial=0)],
            [*accumulate(sorted(greatest, reverse=True), initial=0)],
        )
    return found


def _weight_ranges(instance: Instance, sensitivity: int) -> Iterator[tuple[int, int] | None]:
    """(jobs) Least and greatest weight of a ring between servers; None if there is no such ring.

    A weight falls with the bandwidth alone and with all else in (8): so it is least on the most
    servers and the fastest links, and greatest on two servers and the slowest link. Network cards
    may leave less than that. Of a job with a pressure nothing of this counts.
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
            pace.weight(rule, servers, gbps, sensitivity)
            for (size, _), pace in own.items()
            if size > 1 and rates
            for servers, gbps in (
                (max(2, min(size, limit)), max(rates)),
                (2, min(*rates, tree.least_gbps)),
            )
        ]
        yield (min(weights), max(weights)) if weights else None
