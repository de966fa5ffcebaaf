"""The search for wider instances: verified, never below the optimum, and most often at it."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from depth import first
from wide_instances import FEATURES, OBJECTIVES, random_wide
from wide_optimum import optima

from rarmodel import solve
from rarmodel.limits import Limits
from rarmodel.lists.order_search import STARTS
from rarmodel.model import horizon_of
from rarmodel.model.objectives import Value
from rarmodel.schema import Instance, Schedule
from rarmodel.verifier import verify


def tiny(seed: int) -> Instance:
    """Three jobs on two servers, with one feature, all, or a few."""
    random = Random(seed)
    features = (
        FEATURES,
        [FEATURES[seed // 3 % len(FEATURES)]],
        random.sample(FEATURES, random.randint(0, 5)),
    )[seed % 3]
    instance = random_wide(random, features, most_slots=3)
    return instance.model_copy(update={"objective": OBJECTIVES})


def verified(instance: Instance, schedule: Schedule) -> dict[str, Value]:
    """The values of a schedule in which the verifier finds no fault, slot by slot."""
    report = verify(instance, schedule, slot_by_slot=True)
    assert report.violations == ()
    assert report == verify(instance, schedule)
    assert report.objective is not None
    return dict(report.objective)


def tally(seed: int, iterations: int) -> dict[str, Counter[str]]:
    """What rules and `search` found of the optima of each objective; none is below its optimum."""
    instance = tiny(seed)
    ruled = {rule.name: rule(instance, Limits()).schedule for rule in STARTS}
    found: dict[str, Schedule] = {}
    for name in OBJECTIVES:
        one = instance.model_copy(update={"objective": name})
        result = solve(one, method="search", iterations=iterations, threads=1)
        if result.schedule is not None:
            found[name] = result.schedule
            (goal,) = result.objective
            assert goal.value == verified(instance, result.schedule)[name]
            assert goal.bound is not None
            assert goal.bound <= goal.value
            assert (result.status == "optimal") == (goal.bound == goal.value)
    known = [one for one in (*ruled.values(), *found.values()) if one is not None]
    best = optima(instance, horizon_of(instance) + 1, known)
    if best is None:
        return {}
    counts = {name: Counter(tried=1) for name in OBJECTIVES}
    for name, count in counts.items():
        if name in found:
            assert verified(instance, found[name])[name] >= best[name]
            count["search"] = verified(instance, found[name])[name] == best[name]
        for rule, schedule in ruled.items():
            if schedule is not None:
                assert verified(instance, schedule)[name] >= best[name]
                count[rule] = verified(instance, schedule)[name] == best[name]
    return counts


@pytest.mark.parametrize("seed", first(3, range(9)))
def test_search_and_rules_are_never_below_the_optimum(seed: int) -> None:
    tally(seed, iterations=3)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_search_finds_most_optima(part: int) -> None:
    total: dict[str, Counter[str]] = {name: Counter() for name in OBJECTIVES}
    for seed in range(50 * part, 50 * part + 50):
        for name, count in tally(seed, iterations=50).items():
            total[name].update(count)
    for count in total.values():
        assert count["search"] >= 0.9 * count["tried"] > 20


@pytest.mark.parametrize("seed", first(5, range(9)))
def test_search_is_no_worse_than_the_rules_it_starts_from(seed: int) -> None:
    instance = random_wide(
        Random(seed), FEATURES[: seed + 2], jobs=12, servers=4, objectives=(OBJECTIVES[seed],)
    )
    result = solve(instance, method="search", iterations=12, threads=2)
    for rule in STARTS:
        schedule = rule(instance, Limits()).schedule
        if schedule is not None:
            ruled = verified(instance, schedule)[OBJECTIVES[seed]]
            assert result.schedule is not None
            assert verified(instance, result.schedule)[OBJECTIVES[seed]] <= ruled


def test_search_is_the_same_for_the_same_iterations_seed_and_threads() -> None:
    instance = random_wide(
        Random(7), FEATURES, jobs=10, servers=3, objectives=("total-flow", "max-stretch")
    )
    one, other = (solve(instance, method="search", iterations=6, threads=2, seed=3) for _ in "ab")
    assert (one.schedule is None) == (other.schedule is None)
    if one.schedule is not None and other.schedule is not None:
        assert one.schedule.assignments == other.schedule.assignments
