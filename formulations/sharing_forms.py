"""What rings leave one another of the links that they share, as data.

Models take sharing rules in two forms. Where all rings on a link weigh alike, the link leaves a
ring a speed for each number of rings. Otherwise each ring counts with a weight, a whole number that
its placement gives: its duty, say. So a load is a weighted sum of binaries, and a speed has a
limit: the greatest load of others that leaves it. Where rings have several sensitivities, each
counts to each of them with a weight of its own, so a link has several loads.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from functools import cache

from rarmodel.model import Pace
from rarmodel.model.link_shares import worst_share
from rarmodel.model.lone import allowed_servers
from rarmodel.model.ring_rates import paces
from rarmodel.schema.base import BILLION

from .scope import Scope, once_per_scope

MOST_LOADS = 256
"""Most different loads of a link that are listed."""


def most_rings(scope: Scope) -> dict[str, int]:
    """By link that rings can use: most rings on it at once, each with workers below and above."""
    wide = sum(job.sizes[-1] > 1 for job in scope.instance.jobs)
    most = zip(scope.links, scope.tree.most_rings, strict=True)
    return {link: min(rings, wide) for link, rings in most if min(rings, wide) > 0}


def capped_speed(pace: Pace, servers: int, gbps: float) -> int:
    """Speed φ_j at a bandwidth, up to the iterations that there are.

    A slot cannot do more than all of them, and without the cap coefficients are wild.
    """
    return min(pace.speed(servers, gbps), pace.iterations)


@once_per_scope
def rings_are_slowed(scope: Scope) -> bool:
    """Whether any ring can be slower beside others than alone."""
    instance = scope.instance
    links = {
        (scope.links[l].gbps, worst_share(instance, scope.links[l].gbps, most))
        for l, most in most_rings(scope).items()
    }
    return any(
        capped_speed(pace, servers, worst) < capped_speed(pace, servers, gbps)
        for job, own, allowed in zip(
            instance.jobs, paces(instance), allowed_servers(instance), strict=True
        )
        for (size, _), pace in own.items()
        for servers in range(2, min(size, len(scope.servers) if job.running else len(allowed)) + 1)
        for gbps, worst in links
    )


class Rings:
    """What links leave a ring beside others that weigh alike, by the number of rings.

    Attributes
    ----------
    most
        By link that rings can use: the most rings on it at once.
    """

    def __init__(self, scope: Scope) -> None:
        self.most = most_rings(scope)
        self._scope = scope
        self._known: dict[tuple[Pace, int, str], tuple[int, ...]] = {}

    def speeds(self, pace: Pace, servers: int, link: str) -> tuple[int, ...]:
        """Speed φ_j with 0, 1, 2, … others on a link."""
        key = pace, servers, link
        if key not in self._known:
            scope = self._scope
            contention, gbps = scope.instance.contention, scope.links[link].gbps
            self._known[key] = tuple(
                capped_speed(pace, servers, scope.sharing.share(contention, gbps, others))
                for others in range(self.most[link])
            )
        return self._known[key]


@once_per_scope
def rings_of(scope: Scope) -> Rings:
    """What rings that weigh alike leave one another, in a scope."""
    return Rings(scope)


def column_of(scope: Scope) -> dict[int, tuple[str, ...]]:
    """By sensitivity: the index of variables for loads; none where all rings have one sensitivity.

    It is the number that is written in the file, such as `0.5`.
    """
    few = scope.sensitivities
    return {to: (f"{to / BILLION:.13g}",) if len(few) > 1 else () for to in few}


class Loads:
    """What rings may count on links by their weights, and what that leaves them.

    Parameters
    ----------
    scope
        The scope of the model.
    weights
        By link and job: the weights that the job's ring may have there.

    Attributes
    ----------
    greatest
        By link and job: the greatest weight.
    """

    def __init__(self, scope: Scope, weights: Mapping[str, Mapping[str, Iterable[int]]]) -> None:
        self._scope = scope
        self.greatest = {
            l: {j: max(some) for j, some in by_job.items()} for l, by_job in weights.items()
        }
        self._sums = {l: _sums(by_job.values()) for l, by_job in weights.items()}
        self._limit = cache(self._limit_of)

    def most_beside(self, job: str, link: str) -> int:
        """The greatest load of a link without a job's own."""
        return sum(weight for j, weight in self.greatest[link].items() if j != job)

    def speed(self, pace: Pace, servers: int, link: str, others: int) -> int:
        """Speed φ_j that a link leaves a ring beside such a load of others."""
        contention, gbps = self._scope.instance.contention, self._scope.links[link].gbps
        share = self._scope.sharing.share(contention, gbps, others)
        return capped_speed(pace, servers, share)

    def speeds(self, pace: Pace, servers: int, link: str) -> set[int]:
        """All speeds that a link may leave a ring, and perhaps others between them."""
        sums = self._sums[link]
        if sums is not None:
            return {self.speed(pace, servers, link, load) for load in sums}
        most = sum(self.greatest[link].values())
        least, alone = (self.speed(pace, servers, link, load) for load in (most, 0))
        return set(range(least, alone + 1))

    def limit(self, pace: Pace, servers: int, link: str, speed: int) -> int:
        """The greatest load of others that leaves a ring a speed that it has alone.

        Where loads are listed, it is in the middle of the gap above, far from any load: so what is
        lost in a solver's arithmetic makes no difference.
        """
        return self._limit(pace, servers, link, speed)

    def _limit_of(self, pace: Pace, servers: int, link: str, speed: int) -> int:
        def slowness(load: int) -> int:
            return -self.speed(pace, servers, link, load)

        most = sum(self.greatest[link].values())
        limit = bisect_right(range(most + 1), -speed, key=slowness) - 1
        sums = self._sums[link]
        if sums is None or limit == most:
            return limit
        above = bisect_right(sums, limit)
        return (sums[above - 1] + sums[above]) // 2


def several_rates(scope: Scope, name: str) -> str | None:
    """Why a formulation refuses a scope with weights: its links have several rates; None if not."""
    rates = {scope.links[l].gbps for l in most_rings(scope)}
    if not scope.sharing.equal_weights and len(rates) > 1:
        return (
            f"{name} takes contention by {scope.sharing.name} where all links have one rate; "
            "time-indexed takes others"
        )
    return None


def _sums(weights: Iterable[Iterable[int]]) -> list[int] | None:
    """All sums of at most one weight of each job, ascending; None if there are too many."""
    sums = {0}
    for some in weights:
        sums |= {load + weight for load in sums for weight in some}
        if len(sums) > MOST_LOADS:
            return None
    return sorted(sums)
