"""Duty at the speed that a ring has: a slowed ring exchanges for longer, which slows others.

It is compared only. There a ring may change the speed of every other ring, so no schedule can be
planned link by link.
"""

from __future__ import annotations

from collections.abc import Sequence

from rarmodel.model import RingOnLinks
from rarmodel.model.sharing_rule import DUTY
from rarmodel.schema import Contention


def fixed_point_bandwidths(
    contention: Contention, gbps: Sequence[float], rings: Sequence[RingOnLinks]
) -> list[float]:
    """Bandwidth of each ring where each duty is that at the bandwidth which follows.

    From the duties alone, each step raises duties or keeps them, and none exceeds `UNITS`, so the
    steps end: at the least fixed point. More rings give a greater map, hence no smaller a fixed
    point. Without rounding it is the only one: duties are a standard interference function of the
    exchange times (R. D. Yates, IEEE J. Sel. Areas Commun. 13(7), 1995).

    Parameters
    ----------
    contention
        ξ1 and f.
    gbps
        Rate of each link.
    rings
        All active rings between servers.
    """
    rates = [min(gbps[link] for link in ring.links) for ring in rings]
    duties: list[int] = []
    while duties != (
        now := [ring.weight(DUTY, rate) for ring, rate in zip(rings, rates, strict=True)]
    ):
        duties = now
        load = [0] * len(gbps)
        for ring, own in zip(rings, duties, strict=True):
            for link in ring.links:
                load[link] += own
        rates = [
            min(
                ring.most_gbps,
                *(DUTY.share(contention, gbps[link], load[link] - own) for link in ring.links),
            )
            for ring, own in zip(rings, duties, strict=True)
        ]
    return rates
