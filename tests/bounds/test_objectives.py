"""Bounds on every objective: never above the optimum, and worth something."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from random import Random

import pytest
from depth import first
from documents import instance_data, job_data
from rules import RULES
from wide_instances import FEATURES, OBJECTIVES, random_wide
from wide_optimum import optima

from rarmodel.bounds import (
    all_bounds,
    best_bound,
    least_values,
    objective_bound,
    objective_bounds,
    slow_bounds,
    tightened,
)
from rarmodel.files import parse_instance
from rarmodel.limits import Limits
from rarmodel.model import horizon_of
from rarmodel.model.objectives import MAKESPAN, Shape, Term, Value, objective
from rarmodel.schema import Instance


def check(instance: Instance) -> None:
    """No bound is above the best that trying everything finds, and that is within the horizon."""
    instance = instance.model_copy(update={"objective": OBJECTIVES})
    starts = [rule(instance, Limits()).schedule for rule in RULES]
    best = optima(instance, horizon_of(instance) + 1, [one for one in starts if one is not None])
    if best is None:
        return
    for bound in all_bounds(instance):
        assert bound.slots <= best["makespan"], bound
    for name, least in zip(OBJECTIVES, least_values(instance), strict=True):
        assert least <= best[name], (name, least)
        for found in objective_bounds(instance, objective(name)):
            assert found.value <= best[name], (name, found)
    for slow in slow_bounds(instance, MAKESPAN):
        cut = tightened(slow, instance, MAKESPAN, best_bound(instance).slots)
        assert cut is None or cut.value <= best["makespan"]


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("seed", first(1, range(3)))
def test_no_bound_is_above_the_optimum_with_one_feature(feature: str, seed: int) -> None:
    check(random_wide(Random(seed), {feature}, most_slots=3))


def any_instance(seed: int) -> Instance:
    """All features, or a few."""
    random = Random(seed)
    some = random.sample(FEATURES, random.randint(0, 6))
    return random_wide(random, FEATURES if seed % 4 == 0 else some, most_slots=3)


@pytest.mark.parametrize("seed", first(5, range(12)))
def test_no_bound_is_above_the_optimum_with_any_features(seed: int) -> None:
    check(any_instance(seed))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_no_bound_is_above_the_optimum_of_thousands(part: int) -> None:
    for seed in range(12 + 200 * part, 212 + 200 * part):
        check(any_instance(seed))


def one_gpu(*slots: int, fields: tuple[dict[str, int], ...] = ()) -> Instance:
    """One machine: every job has it alone, and the optimum is that of some order."""
    extra = fields or ({},) * len(slots)
    jobs = [
        job_data(f"j{i}", iterations=10 * n, **more)
        for i, (n, more) in enumerate(zip(slots, extra, strict=True))
    ]
    return parse_instance(instance_data(*jobs, servers=(1,), horizon=1000))


def least_in_order(instance: Instance, name: str) -> Value:
    """The optimum on one GPU: each order, without idle time but for releases."""
    slots = [job.iterations // 10 for job in instance.jobs]
    values = []
    for order in permutations(range(len(slots))):
        now, ends = 0, [0] * len(slots)
        for j in order:
            now = max(now, instance.jobs[j].release) + slots[j]
            ends[j] = now
        values.append(objective(name).value(instance, ends, [sum(slots)]))
    return min(values)


@pytest.mark.parametrize("seed", range(25))
def test_bounds_on_one_gpu_are_near_the_best_order(seed: int) -> None:
    random = Random(seed)
    number = random.randint(2, 5)
    fields = tuple(
        {
            "release": random.randint(-2, 6),
            "due": random.randint(1, 20),
            "weight": random.randint(1, 3),
        }
        for _ in range(number)
    )
    instance = one_gpu(*(random.randint(1, 6) for _ in range(number)), fields=fields)
    for name in OBJECTIVES:
        found = objective_bound(instance, objective(name))
        assert found is not None
        assert found.value <= least_in_order(instance, name), (name, found)


@pytest.mark.parametrize("name", ["makespan", "total-completion", "max-flow", "cost"])
def test_bound_is_the_optimum_where_one_machine_is_all_there_is(name: str) -> None:
    instance = one_gpu(5, 1, 3)
    found = objective_bound(instance, objective(name))
    assert found is not None
    assert found.value == least_in_order(instance, name)


def test_weighted_completions_on_one_machine_are_met() -> None:
    instance = one_gpu(5, 1, 3, fields=({"weight": 7}, {"weight": 1}, {"weight": 2}))
    found = {one.name: one.value for one in objective_bounds(instance, objective("total-flow"))}
    assert found["mean busy times"] == least_in_order(instance, "total-flow")
    assert "shortest remaining area" not in found  # The weights differ.


def test_tardiness_and_late_jobs_see_that_not_all_can_be_on_time() -> None:
    fields = ({"due": 4},) * 3
    instance = one_gpu(4, 4, 4, fields=fields)
    for name, value in (("total-tardiness", 12), ("max-tardiness", 8), ("late-jobs", 2)):
        found = objective_bound(instance, objective(name))
        assert found is not None
        assert found.value == value


def test_stretch_bound_is_a_value_that_a_job_can_have() -> None:
    found = objective_bound(one_gpu(3, 3, 3), objective("max-stretch"))
    assert found is not None
    assert found.value == 3


@pytest.mark.parametrize("shape", Shape)
@pytest.mark.parametrize("weight", [1, 3])
@pytest.mark.parametrize("divisor", [1, 4])
@pytest.mark.parametrize("offset", [0, 5])
def test_latest_is_the_inverse_of_a_term(
    shape: Shape, weight: int, divisor: int, offset: int
) -> None:
    term = Term(weight, offset, divisor, shape)
    for value in [Fraction(n, 4) for n in range(-9, 30)]:
        good = [end for end in range(60) if term.at(end) <= value]
        latest = term.latest(value)
        if latest is None:
            assert len(good) == 60
        elif latest < 0:
            assert good == []
        else:
            assert good == list(range(min(latest, 59) + 1))
