"""Fair shares of links, as congestion control may come to: for comparisons of models only.

They are not monotone: a ring that is slowed elsewhere speeds up its neighbours. Bounds, and the
search for good schedules, rest on that no ring is faster beside more rings.

Both functions solve many problems at once. A problem has rings with weights, and links of rate 1.
`uses[p, i, l]` is 1 if ring i of problem p uses link l, else 0, and `weights[p, i]` is the ring's
weight; both are 0 for the rings that a problem has fewer than others. Rates come as `[p, i]`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any
_STEPS = 400


def max_min(uses: Array, weights: Array) -> Array:
    """Weighted max-min fair rates: no ring can have more without one of no more per weight losing.

    All rings grow in proportion to their weights. When a link is full, its rings keep their rates
    (progressive filling; D. Bertsekas, R. Gallager, Data Networks, 2nd edition, section 6.5.2).
    """
    rates = np.zeros_like(weights)
    room = np.ones(uses[:, 0].shape)
    growing = uses.any(axis=2) & (weights > 0)
    while growing.any():
        load = np.einsum("pil,pi->pl", uses, weights * growing)
        level = np.divide(room, load, out=np.full_like(room, np.inf), where=load > 0)
        least = level.min(axis=1, keepdims=True)
        full = level <= least * (1 + 1e-12)
        least[np.isinf(least)] = 0.0  # Nothing grows there any more.
        stop = growing & ((uses * full[:, None]).any(axis=2))
        rates = np.where(stop, least * weights, rates)
        room = np.maximum(room - np.einsum("pil,pi->pl", uses, rates * stop), 0.0)
        growing &= ~stop
    return rates


def proportional(uses: Array, weights: Array) -> Array:
    """Weighted proportionally fair rates: those with the greatest `Σ w_i log x_i`.

    A ring's rate is its weight by the sum of its links' prices (F. P. Kelly, A. K. Maulloo,
    D. K. H. Tan, J. Oper. Res. Soc. 49, 1998). Each step multiplies a link's price by its load. The
    prices are those of expectation maximisation for the mixture with likelihood `Π (Σ λ_l)^w_i`, so
    each step improves them.
    """
    prices = uses.any(axis=1) * weights.sum(axis=1, keepdims=True) / uses.shape[2]
    rates = np.zeros_like(weights)
    for _ in range(_STEPS):
        price = np.einsum("pil,pl->pi", uses, prices)
        np.divide(weights, price, out=rates, where=price > 0)
        prices = prices * np.einsum("pil,pi->pl", uses, rates)
    return rates
