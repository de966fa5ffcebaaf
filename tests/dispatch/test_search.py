"""The search for wider instances: verified, never below the optimum, and most often at it."""

from __future__ import annotations

from random import Random

import pytest
from wide_instances import OBJECTIVES, WIDE, optimum, random_wide

from rarmodel.api import solve
from rarmodel.dispatch.search import STARTS
from rarmodel.limits import Limits
from rarmodel.model.objectives import objectives_of
from rarmodel.schema import Instance
from rarmodel.verifier import verify

NAMES = [feature.name for feature in WIDE]


def instance_of(seed: int, jobs: int = 2) -> Instance:
    """One feature or all, and the objectives by turns."""
    features = NAMES if seed % 2 else [NAMES[seed // 2 % len(NAMES)]]
    wanted = (OBJECTIVES[seed % 9],) if seed % 3 else (OBJECTIVES[seed % 9], OBJECTIVES[seed % 8])
    objectives = tuple(dict.fromkeys(wanted))
    return random_wide(Random(seed), features, jobs=jobs, servers=2, objectives=objectives)


def value(instance: Instance, result: object) -> tuple[float, ...] | None:
    report = getattr(result, "report", None)
    if report is None:
        return None
    return tuple(float(report.objective[one.name]) for one in objectives_of(instance))


@pytest.mark.parametrize("seed", range(4))
def test_search_is_never_below_the_optimum_of_enumeration(seed: int) -> None:
    instance = instance_of(seed)
    best = optimum(instance)
    found = value(instance, solve(instance, method="search", iterations=3, threads=1))
    if best is None:
        assert found is None
    elif found is not None:
        assert found >= tuple(map(float, best))


@pytest.mark.slow
def test_search_finds_most_optima() -> None:
    met = tried = 0
    for seed in range(100, 160):
        instance = instance_of(seed)
        best = optimum(instance)
        if best is None:
            continue
        tried += 1
        found = value(instance, solve(instance, method="search", iterations=5, threads=1))
        met += found is not None and found == pytest.approx(tuple(map(float, best)))
    assert met >= 0.8 * tried > 20


@pytest.mark.parametrize("seed", range(9))
def test_search_is_no_worse_than_the_rules_it_starts_from(seed: int) -> None:
    instance = random_wide(
        Random(seed), NAMES[: seed + 2], jobs=12, servers=4, objectives=(OBJECTIVES[seed],)
    )
    found = value(instance, solve(instance, method="search", iterations=12, threads=2))
    for rule in STARTS:
        schedule = rule(instance, Limits()).schedule
        if schedule is not None:
            report = verify(instance, schedule)
            assert report.objective is not None
            assert found is not None
            assert found[0] <= float(report.objective[OBJECTIVES[seed]]) + 1e-9


def test_search_is_the_same_for_the_same_iterations_seed_and_threads() -> None:
    instance = random_wide(
        Random(7), NAMES, jobs=10, servers=3, objectives=("total-flow", "max-stretch")
    )
    one, other = (solve(instance, method="search", iterations=6, threads=2, seed=3) for _ in "ab")
    assert (one.schedule is None) == (other.schedule is None)
    if one.schedule is not None and other.schedule is not None:
        assert one.schedule.assignments == other.schedule.assignments
