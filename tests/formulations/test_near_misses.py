"""Counts of replicas that nearly reach what is asked for."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import pytest
from depth import first
from serving_instances import batch, demand, service, variant, with_services

import rarmodel
from rarmodel.formulations.near_misses import NEAR, near_misses


@pytest.mark.parametrize("seed", first(20, range(200)))
def test_near_misses_are_those_of_all_counts(seed: int) -> None:
    random = Random(seed)
    parts = [Fraction(random.randint(1, 30), random.randint(25, 60)) for _ in range(3)]
    if seed % 2:  # Otherwise few are near.
        parts[2] = (1 - Fraction(1, random.choice([10**5, 10**8])) - parts[0] / 2) / 2
    gives = sorted((one for one in parts if one > 0), reverse=True)
    most = [int(1 / one) + 1 for one in gives]
    counts = product(*(range(n + 1) for n in most))
    sums = {n: sum(a * b for a, b in zip(n, gives, strict=True)) for n in counts}
    # More of the last kind would be enough, or no near miss.
    near = {n for n, total in sums.items() if 1 - NEAR <= total < 1}
    assert set(near_misses(gives)) <= near
    for n in near:
        above = (
            one for one in near_misses(gives) if all(a <= b for a, b in zip(n, one, strict=True))
        )
        assert any(above)


@pytest.mark.parametrize("short", [1e-5, 1e-7, 1e-9])
@pytest.mark.parametrize("formulation", ["time-indexed", "time-indexed-compact"])
def test_two_replicas_that_fall_short_by_little_are_not_enough(
    formulation: str, short: float
) -> None:
    """Two answer 100 requests a second, and three are needed: they have three of four GPUs."""
    asked = service("chat", demand(0, 4, 100.0 + short), variants=[variant("v", batch(1, 20.0))])
    data = {**with_services(asked), "objective": "cost"}
    result = rarmodel.solve(data, formulation=formulation)
    assert result.schedule is not None
    assert sum(one.end - one.start for one in result.schedule.services) == 12
    if formulation == "time-indexed":
        assert result.status == "optimal"
    else:
        exactly = {**data, "services": [{**asked, "demand": [demand(0, 4, 100.0)]}]}
        found = rarmodel.solve(exactly, formulation=formulation)
        assert found.schedule is not None
        assert sum(one.end - one.start for one in found.schedule.services) == 8


def test_accuracy_that_falls_short_by_little_is_not_enough() -> None:
    kinds = [variant("good", batch(1, 20.0), accuracy=0.7), variant("poor", accuracy=0.5)]
    asked = service("chat", demand(0, 4, 100.0), variants=kinds, min_accuracy=0.6000000001)
    result = rarmodel.solve(
        {**with_services(asked), "objective": "cost"}, formulation="time-indexed"
    )
    assert result.status == "optimal"
    assert result.schedule is not None
    assert {one.variant for one in result.schedule.services} == {"good"}
