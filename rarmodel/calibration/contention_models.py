"""Models of contention: by how much rings that run at the same time slow each other down.

A model is a way to share links, and the weight with which other rings count: 1, or their duty. All
models have the constants ξ1, α and ξ2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from rarmodel.model import duty_bandwidths, linear_degradation
from rarmodel.model.duty import UNITS
from rarmodel.model.sharing import COUNT, DUTY, FIXED_POINT
from rarmodel.schema import Contention

from . import fair
from .beside import Runs
from .prediction import ALPHA, CONCURRENCY, OVERHEAD, count_factors

Array = Any
Values = Mapping[str, float]

Factors = Callable[[Runs, Values], Array]
"""A model: the factor f by which sharing divides each row's rate, at least 1."""

Share = Callable[[Array, Array], Array]


def contention_of(values: Values, model: str = COUNT) -> Contention:
    """Constants, and the model that they belong to, as an instance has them."""
    named = {} if model == COUNT else {"model": model}
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


def _duty(runs: Runs, values: Values, *, fixed_point: bool) -> Array:
    factors, rings, contention = np.ones(len(runs.links)), runs.rings(values), contention_of(values)
    for rows in runs.together:
        here = [rings[row] for row in rows]
        rates = [1.0] * (1 + max(link for ring in here for link in ring.links))
        # Duties are those at the rate of the links; shares are parts of it.
        scaled = [ring._replace(bits=ring.bits / runs.cases.gbps[rows[0]]) for ring in here]
        shares = duty_bandwidths(contention, rates, scaled, fixed_point=fixed_point)
        factors[rows] = 1.0 / np.array(shares)
    return factors


def _fair(
    runs: Runs, values: Values, *, share: Callable[[Array, Array], Array], duty: bool
) -> Array:
    own, others, uses = runs.beside
    parts = np.ones(len(runs.links) + 1)
    if duty:
        rates = runs.cases.gbps
        duties = [ring.duty(rate) for ring, rate in zip(runs.rings(values), rates, strict=True)]
        parts[:-1] = np.array(duties) / UNITS
    weights = np.where(others < 0, 0.0, values[CONCURRENCY] * parts[others])
    weights[:, :1] = 1.0
    factors = np.ones(len(runs.links))
    for row, rate in zip(own, share(uses, weights)[:, :1], strict=True):
        factors[row] = linear_degradation(values[ALPHA], 1.0 / float(rate[0]))
    return factors


MODELS: Mapping[str, Factors] = {
    COUNT: _count,
    DUTY: partial(_duty, fixed_point=False),
    FIXED_POINT: partial(_duty, fixed_point=True),
    "max-min": partial(_fair, share=fair.max_min, duty=False),
    "max-min by duty": partial(_fair, share=fair.max_min, duty=True),
    "proportional": partial(_fair, share=fair.proportional, duty=False),
    "proportional by duty": partial(_fair, share=fair.proportional, duty=True),
}
"""The paper's count (6), (7); by duty; and fair shares, in which each other ring has weight ξ1, or
ξ1 times its duty, and a ring's own weight is 1."""
