"""Slowdown of rings that share a link: equations (6) and (7) and the factor f.

These are plain functions of numbers that can be compiled without change. The verifier calls them,
the engine compiles them, and both get the same number to the last bit.
"""

from __future__ import annotations


def contention_level(concurrency: float, rings: int) -> float:
    """Rings that communicate at the same moment, `k = ξ1·p`: equation (7).

    Parameters
    ----------
    concurrency
        Share of the rings that communicate at the same moment, ξ1, in (0, 1].
    rings
        Active rings that use the link, p.
    """
    return concurrency * rings


def cards_gbps(gbps: float, workers: int, cards: int) -> float:
    """The most in Gbit/s that a ring reaches on a server's link, `min(1, y/n)` of its rate.

    A worker sends through one network card. So a ring with fewer workers on the server than this
    has cards leaves some of them idle, however few other rings are there (section 20).

    Parameters
    ----------
    gbps
        Rate of the server's link, of all of its cards together.
    workers
        The ring's workers on the server, y, at least 1.
    cards
        Network cards of the server, n.
    """
    return gbps if workers >= cards else gbps * workers / cards


def linear_degradation(alpha: float, level: float) -> float:
    """The factor by which sharing divides a link's rate, `f(α, k) = max(1, k + α(k−1))`.

    The factor is at least 1 (reading 2): a lone ring with ξ1 < 1 gets the link's rate and not more.
    So the paper's property `f(α, 1) = 1` holds for every lone ring.

    Parameters
    ----------
    alpha
        Cost of each further ring beyond its share, α ≥ 0.
    level
        Rings that communicate at the same moment, k.
    """
    return max(1.0, level + alpha * (level - 1.0))
