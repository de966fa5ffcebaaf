"""Contention by duty: a ring counts on its links with the part of its time in which it exchanges.

A ring that computes between exchanges leaves its links idle meanwhile, so it slows others less than
the count of (6) says. Its duty is that part, for the ring alone in its placement: a constant of job
and placement. So the load of a link is a weighted count: linear in who uses the link, and local to
it. A load never falls when a ring joins, so speeds never rise.

Among placements of one job, duty is *not* monotone: more overhead or a slower GPU makes a ring
slower and its duty smaller. A ring in a worse place can be the better neighbour.

Duties are whole numbers of `UNITS`, so no order of summation matters. The functions of numbers can
be compiled without change, as those in `contention` and `timing`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from rarmodel.schema import Contention

from .contention import linear_degradation
from .timing import iteration_seconds

UNITS = 2**20
"""The duty of a ring that does nothing but exchange."""


def duty_units(exchange: float, rest: float) -> int:
    """The part of an iteration that is exchange, `d = T/(T + c)`, rounded up to whole `UNITS`.

    The form `1/(1 + c/T)` is monotone to the last bit: it never falls with the exchange, and never
    rises with the rest.

    Parameters
    ----------
    exchange
        Seconds of the exchange, T; 0 for a ring without one, whose duty is 0.
    rest
        Seconds of all else in (8), c.
    """
    return math.ceil(UNITS / (1.0 + rest / exchange)) if exchange > 0.0 else 0


def effective_rings(concurrency: float, others: int) -> float:
    """Rings that a ring meets on a link, itself included: `k = 1 + ξ1·Σ d_i`.

    With ξ1 = 1 and rings that do nothing but exchange it is their number, as in (7).

    Parameters
    ----------
    concurrency
        ξ1, in (0, 1].
    others
        Sum of the duties of the other rings on the link, in `UNITS`.
    """
    return 1.0 + concurrency * (others / UNITS)


def share_by_duty(contention: Contention, gbps: float, others: int) -> float:
    """Rate in Gbit/s of a ring on a link of `gbps`, `b^e/f(α, k)`; non-increasing in `others`."""
    level = effective_rings(contention.concurrency, others)
    return gbps / linear_degradation(contention.degradation.alpha, level)


class RingOnLinks(NamedTuple):
    """A ring between servers.

    Attributes
    ----------
    links
        Indices of the links that it uses, at least one.
    bits
        Bits that a worker exchanges.
    rest
        Seconds of all else in (8): reduction, overhead, and forward and backward pass.
    """

    links: tuple[int, ...]
    bits: float
    rest: float

    def duty(self, gbps: float) -> int:
        """Its duty at a bandwidth, in `UNITS`."""
        return duty_units(iteration_seconds(self.bits, gbps, 0.0, 0.0, 0.0), self.rest)


def duty_bandwidths(
    contention: Contention,
    gbps: Sequence[float],
    rings: Sequence[RingOnLinks],
    *,
    fixed_point: bool = False,
) -> list[float]:
    """Bandwidth of each ring in Gbit/s, B_j: its least share over the links that it uses.

    Parameters
    ----------
    contention
        ξ1 and f.
    gbps
        Rate of each link.
    rings
        All active rings between servers.
    fixed_point
        Take each duty at the bandwidth that follows, instead of alone. A slowed ring exchanges for
        longer, which slows others. From the duties alone, each step raises duties or keeps them,
        and none exceeds `UNITS`, so the steps end: at the least fixed point. More rings give a
        greater map, hence no smaller a fixed point. Without rounding it is the only one: duties are
        a standard interference function of the exchange times (R. D. Yates, IEEE J. Sel. Areas
        Commun. 13(7), 1995).
    """
    rates = [min(gbps[link] for link in ring.links) for ring in rings]
    duties: list[int] = []
    while duties != (now := [ring.duty(rate) for ring, rate in zip(rings, rates, strict=True)]):
        duties = now
        load = [0] * len(gbps)
        for ring, part in zip(rings, duties, strict=True):
            for link in ring.links:
                load[link] += part
        rates = [
            min(share_by_duty(contention, gbps[link], load[link] - part) for link in ring.links)
            for ring, part in zip(rings, duties, strict=True)
        ]
        if not fixed_point:
            break
    return rates
