"""Models of contention: by how much rings that run at the same time slow each other down.

A model is a way to share links, and the weight with which other rings count: 1, or their duty. All
models have the constants ξ1, α and ξ2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from rarmodel.model import RingOnLinks, bandwidths, linear_degradation
from rarmodel.model.sharing_rule import COUNT, DUTY, UNITS
from rarmodel.schema import Contention

from . import fair
from .beside import Runs
from .fixed_point import fixed_point_bandwidths
from .prediction import ALPHA, CONCURRENCY, OVERHEAD, count_factors

Array = Any
Values = Mapping[str, float]

Factors = Callable[[Runs, Values], Array]
"""A model: the factor f by which sharing divides each row's rate, at least 1."""

Bandwidths = Callable[[Contention, Sequence[float], Sequence[RingOnLinks]], list[float]]


def contention_of(values: Values, model: str = COUNT.name) -> Contention:
    """Constants, and the model that they belong to, as an instance has them."""
    named = {} if model == COUNT.name else {"model": model}
    return Contention.model_validate(
        {
            **named,
            "concurrency": values[CONCURRENCY],
            "degradation": {"kind": "linear", "alpha": values[ALPHA]},
            "overhead_ms_per_server": values[OVERHEAD],
        }
    )


def _count(runs: Runs, values: Values) -> Array:
    return count_factors(runs.cases, values)


def _together(runs: Runs, values: Values, *, bandwidths: Bandwidths) -> Array:
    factors, rings = np.ones(len(runs.links)), runs.rings(values)
    contention = contention_of(values, DUTY.name)
    for rows in runs.together:
        here = [rings[row] for row in rows]
        rates = [1.0] * (1 + max(link for ring in here for link in ring.links))
        # Duties are those at the rate of the links; shares are parts of it.
        scaled = [ring._replace(bits=ring.bits / runs.cases.gbps[rows[0]]) for ring in here]
        shares = bandwidths(contention, rates, scaled)
        factors[rows] = 1.0 / np.array(shares)
    return factors


def _fair(
    runs: Runs, values: Values, *, share: Callable[[Array, Array], Array], duty: bool
) -> Array:
    own, others, uses = runs.beside
    parts = np.ones(len(runs.links) + 1)
    if duty:
        rates = runs.cases.gbps
        pairs = zip(runs.rings(values), rates, strict=True)
        duties = [ring.weight(DUTY, rate) for ring, rate in pairs]
        parts[:-1] = np.array(duties) / UNITS
    weights = np.where(others < 0, 0.0, values[CONCURRENCY] * parts[others])
    weights[:, :1] = 1.0
    factors = np.ones(len(runs.links))
    for row, rate in zip(own, share(uses, weights)[:, :1], strict=True):
        factors[row] = linear_degradation(values[ALPHA], 1.0 / float(rate[0]))
    return factors


MODELS: Mapping[str, Factors] = {
    COUNT.name: _count,
    DUTY.name: partial(_together, bandwidths=bandwidths),
    "duty-fixed-point": partial(_together, bandwidths=fixed_point_bandwidths),
    "max-min": partial(_fair, share=fair.max_min, duty=False),
    "max-min by duty": partial(_fair, share=fair.max_min, duty=True),
    "proportional": partial(_fair, share=fair.proportional, duty=False),
    "proportional by duty": partial(_fair, share=fair.proportional, duty=True),
}
"""The paper's count (6), (7); by duty, alone and at the speed that follows; and fair shares, in
which each other ring has weight ξ1, or ξ1 times its duty, and a ring's own weight is 1."""
