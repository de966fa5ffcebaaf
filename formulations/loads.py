"""Loads of links by duty as data: what rings count, and up to which load a ring has a speed.

Each ring on a link counts with its duty, a whole number that its placement gives. So a load is a
weighted sum of binaries, and a speed has a limit: the greatest load of others that leaves it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from functools import cache

from rarmodel.model import Pace, sharing_rule

from .formulation import Scope
from .placements import most_rings

MOST_LOADS = 256
"""Most different loads of a link that are listed."""


class Loads:
    """What rings may count on links, and what that leaves them.

    Parameters
    ----------
    scope
        The scope of the model.
    duties
        By link and job: the duties that the job's ring may have there, in `UNITS`.

    Attributes
    ----------
    greatest
        By link and job: the greatest duty.
    """

    def __init__(self, scope: Scope, duties: Mapping[str, Mapping[str, Iterable[int]]]) -> None:
        self._scope = scope
        self.greatest = {
            l: {j: max(some) for j, some in by_job.items()} for l, by_job in duties.items()
        }
        self._sums = {l: _sums(by_job.values()) for l, by_job in duties.items()}
        self._limit = cache(self._limit_of)

    def most_beside(self, job: str, link: str) -> int:
        """The greatest load of a link without a job's own."""
        return sum(duty for j, duty in self.greatest[link].items() if j != job)

    def speed(self, pace: Pace, servers: int, link: str, others: int) -> int:
        """Speed φ_j that a link leaves a ring beside such a load of others."""
        contention, gbps = self._scope.instance.contention, self._scope.links[link].gbps
        share = sharing_rule(contention).share(contention, gbps, others)
        return min(pace.speed(servers, share), pace.iterations)

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
    """Why a formulation refuses a scope by duty: its links have several rates; None if not."""
    equal_weights = sharing_rule(scope.instance.contention).equal_weights
    if not equal_weights and len({scope.links[l].gbps for l in most_rings(scope)}) > 1:
        return (
            f"{name} takes contention by duty where all links have one rate; time-indexed takes "
            "others"
        )
    return None


def _sums(duties: Iterable[Iterable[int]]) -> list[int] | None:
    """All sums of at most one duty of each job, ascending; None if there are too many."""
    sums = {0}
    for some in duties:
        sums |= {load + duty for load in sums for duty in some}
        if len(sums) > MOST_LOADS:
            return None
    return sorted(sums)
