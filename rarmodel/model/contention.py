"""How rings that share a link slow each other down: equations (6) and (7) and the factor f.

Plain functions of numbers, written to be compiled as they stand: the verifier calls them, the
engine compiles them, and both get the same number to the last bit.
"""

from __future__ import annotations

from rarmodel.schema import Contention


def contention_level(concurrency: float, rings: int) -> float:
    """Rings that communicate at the same moment, `k = ξ1·p`: equation (7).

    Parameters
    ----------
    concurrency
        Part of the rings that communicate at the same moment, ξ1, in (0, 1].
    rings
        Active rings that use the link, p.
    """
    return concurrency * rings


def linear_degradation(alpha: float, level: float) -> float:
    """What a link's rate is divided by, `f(α, k) = max(1, k + α(k−1))`.

    Clamped at 1 (reading 2): a lone ring with ξ1 < 1 gets the link's rate and not more, so that
    the paper's property `f(α, 1) = 1` holds for every lone ring.

    Parameters
    ----------
    alpha
        What each further ring costs beyond its share, α ≥ 0.
    level
        Rings that communicate at the same moment, k.
    """
    return max(1.0, level + alpha * (level - 1.0))


def ring_share(contention: Contention, gbps: float, rings: int) -> float:
    """Rate in Gbit/s that each ring gets of a link of `gbps` when `rings` use it, `b^e/f(α, k)`.

    Non-increasing in `rings`.
    """
    level = contention_level(contention.concurrency, rings)
    return gbps / linear_degradation(contention.degradation.alpha, level)
