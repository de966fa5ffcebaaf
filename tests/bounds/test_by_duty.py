"""Bounds, proofs and search by duty, beside the optimum of trying everything."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from time import perf_counter

import pytest
from contended import contended_instance
from enumeration import optimal_makespan
from pressed import pressed

from rarmodel import solve
from rarmodel.bounds import all_bounds, best_bound, slow_bounds, tightened
from rarmodel.model import horizon_of
from rarmodel.model.objectives import MAKESPAN
from rarmodel.proof import Outcome, Refutation
from rarmodel.schema import Instance


def drawn(seed: int, change: Callable[[Instance], Instance]) -> tuple[Instance, int]:
    random = Random(seed)
    tree, equal = seed % 3 == 1, seed % 2 == 0
    instance = contended_instance(random, jobs=random.choice([2, 3, 3]), tree=tree, equal=equal)
    instance = change(instance)
    best = optimal_makespan(instance)
    assert best is not None
    return instance, best


def check(seed: int, change: Callable[[Instance], Instance] = lambda one: one) -> None:
    """No bound is above the optimum; search and proof end at it."""
    instance, best = drawn(seed, change)
    assert all(bound.slots <= best for bound in all_bounds(instance))
    for slow in slow_bounds(instance, MAKESPAN):
        cut = tightened(slow, instance, MAKESPAN, best_bound(instance).slots)
        assert cut is None or cut.value <= best
    found = solve(instance, method="search", time_limit=60, threads=1)
    assert (found.status, found.makespan, found.lower_bound) == ("optimal", best, best)
    refutation = Refutation(instance, 1)
    assert refutation.decide(best - 1, perf_counter() + 60) is Outcome.REFUTED
    assert refutation.decide(best, perf_counter() + 60) is Outcome.FOUND
    assert best <= horizon_of(instance)


@pytest.mark.parametrize("seed", range(6))
def test_bounds_are_true_and_search_and_proof_end_at_the_optimum(seed: int) -> None:
    check(seed)


@pytest.mark.parametrize("seed", range(8))
def test_they_are_with_pressures_and_sensitivities(seed: int) -> None:
    check(seed, partial(pressed, Random(seed)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 400))
def test_they_are_with_pressures_and_sensitivities_often(seed: int) -> None:
    check(seed, partial(pressed, Random(seed)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 400))
def test_bounds_are_true_and_search_and_proof_end_at_the_optimum_often(seed: int) -> None:
    check(seed)
