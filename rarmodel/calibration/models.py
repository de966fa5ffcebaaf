"""Models of contention: by how much rings that run at the same time slow each other down.

A model is a way to share links, and the weight with which other rings count: 1, or their duty. All
models have the constants ξ1, α and ξ2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from rarmodel.model import RingOnLinks, duty_bandwidths, linear_degradation
from rarmodel.model.duty import UNITS
from rarmodel.schema import Contention

from . import fair
from .prediction import ALPHA, CONCURRENCY, OVERHEAD, Cases, count_factors, seconds_of

Array = Any
Values = Mapping[str, float]


@dataclass(frozen=True)
class Runs:
    """Which measurements ran at the same time, on which links.

    Attributes
    ----------
    cases
        The measurements. All links have one rate.
    links
        Indices of each row's links, among those of its run; none for a row that uses no link.
    together
        Rows of each run that use links.
    """

    cases: Cases
    links: Sequence[tuple[int, ...]]
    together: Sequence[Sequence[int]]

    def rings(self, values: Values) -> list[RingOnLinks]:
        """The rows as rings between servers."""
        rest = seconds_of(replace(self.cases, bits=0.0 * self.cases.bits), values, 1.0)
        return [
            RingOnLinks(links, float(bits), float(seconds))
            for links, bits, seconds in zip(self.links, self.cases.bits, rest, strict=True)
        ]

    @cached_property
    def beside(self) -> tuple[Array, Array, Array]:
        """A problem of shares for each row on links, as `fair` takes them.

        Its row, the rows of its rings (−1 for none, the own row first), and the links that they
        use.
        """
        own = [row for rows in self.together for row in rows]
        most = max((len(rows) for rows in self.together), default=0)
        links = 1 + max((link for used in self.links for link in used), default=0)
        others = np.full((len(own), most), -1)
        uses = np.zeros((len(own), most, links))
        problem = 0
        for rows in self.together:
            for row in rows:
                ordered = [row, *(other for other in rows if other != row)]
                others[problem, : len(rows)] = ordered
                for place, other in enumerate(ordered):
                    uses[problem, place, list(self.links[other])] = 1.0
                problem += 1
        return np.array(own, int), others, uses


Factors = Callable[[Runs, Values], Array]
"""A model: the factor f by which sharing divides each row's rate, at least 1."""


Share = Callable[[Array, Array], Array]


def contention_of(values: Values) -> Contention:
    """Constants as an instance has them."""
    return Contention.model_validate(
        {
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


COUNT = "count"
MODELS: Mapping[str, Factors] = {
    COUNT: _count,
    "duty": partial(_duty, fixed_point=False),
    "duty-fixed-point": partial(_duty, fixed_point=True),
    "max-min": partial(_fair, share=fair.max_min, duty=False),
    "max-min by duty": partial(_fair, share=fair.max_min, duty=True),
    "proportional": partial(_fair, share=fair.proportional, duty=False),
    "proportional by duty": partial(_fair, share=fair.proportional, duty=True),
}
"""The paper's count (6), (7); by duty; and fair shares, in which each other ring has weight ξ1, or
ξ1 times its duty, and a ring's own weight is 1."""
