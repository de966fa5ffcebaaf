"""Bounds from resources and caps: by hand, and never above what trying everything finds."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import pytest
from depth import first
from documents import instance_data, job_data
from wide_instances import FEATURES, OBJECTIVES, random_wide
from wide_optimum import optima

from rarmodel.bounds import objective_bounds
from rarmodel.bounds.resources import exclusive_sets, one_after_another, supplies, use_of_resources
from rarmodel.files import parse_instance
from rarmodel.model import horizon_of
from rarmodel.model.features import QUOTAS, RESOURCES
from rarmodel.model.objectives import MAKESPAN, Value, objective
from rarmodel.schema import Instance

AREA, SEQUENCE = "use of resources", "one after another"


def case(*resources: dict[str, Any], jobs: list[dict[str, Any]], **top: Any) -> Instance:
    """Servers of 8 GPUs in all; a job of n iterations of 0.1 s takes n/10 slots, rounded up."""
    data = instance_data(*(job_data(f"j{i}", **one) for i, one in enumerate(jobs)), servers=(4, 4))
    return parse_instance({**data, "resources": list(resources), **top})


def value(instance: Instance, name: str, bound: str) -> Value | None:
    found = {one.name: one.value for one in objective_bounds(instance, objective(name))}
    return found.get(bound)


LICENCE = {"name": "licence", "capacity": 1}
ALONE = {"resources": {"licence": 1}}


def licensed(**fields: Any) -> Instance:
    """Jobs of 2, 3 and 4 slots share a licence, and one of 5 slots needs none."""
    jobs: list[dict[str, Any]] = [{"iterations": n, **ALONE, **fields} for n in (20, 30, 40)]
    return case(LICENCE, jobs=[*jobs, {"iterations": 50, **fields}])


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("makespan", 9),
        ("total-completion", 2 + 5 + 9 + 5),
        ("total-flow", 2 + 5 + 9 + 5),
        ("max-flow", 9),
        ("total-tardiness", 1 + 2 + 6 + 2),  # Due at slots 1, 3, 3 and 3.
        ("max-tardiness", 6),
        ("late-jobs", 3),
    ],
)
def test_jobs_that_share_a_licence_are_one_machine(name: str, least: int) -> None:
    instance = licensed(due=3)
    jobs = (instance.jobs[0].model_copy(update={"due": 1}), *instance.jobs[1:])
    instance = instance.model_copy(update={"jobs": jobs})
    best = max(one.value for one in objective_bounds(instance, objective(name)))
    assert best == least
    if name in {"makespan", "total-completion", "total-flow"}:
        assert value(instance, name, AREA) == least
        assert value(instance, name, SEQUENCE) == least


def test_jobs_of_more_than_half_of_the_power_exclude_each_other_and_the_next() -> None:
    power = {"name": "power", "capacity": 0.7}
    jobs = [
        {"gpus": w, "iterations": 10 * (i + 1), "resources_per_gpu": {"power": 0.1}}
        for i, w in enumerate((4, 5, 3, 2, 1))
    ]
    instance = case(power, jobs=jobs)
    # 4 + 5 and 5 + 3 are beyond 7, and so is 5 + 4; 4 + 3 is not.
    best = exclusive_sets(instance)[0]
    assert set(best.works) == {1, 2}
    assert one_after_another(instance, MAKESPAN) == 2 + 3
    # 0.1·(4·1 + 5·2 + 3·3 + 2·4 + 1·5) = 3.6 of 0.7 in each slot.
    assert use_of_resources(instance, MAKESPAN) == 6
    (supply,) = supplies(instance)
    assert supply.machine is not None
    assert supply.machine.speed == 7


@pytest.mark.parametrize(
    ("windows", "least"),
    [
        ([{"from": 0, "capacity": 2}], 2 + 2),
        ([{"from": 0, "to": 5, "capacity": 1}, {"from": 5, "capacity": 3}], 5 + 1),
        ([{"from": 0, "to": 3, "capacity": 0}], 3),  # Then there is no limit.
        ([{"from": 1, "to": 9, "capacity": 2}], 0),
        ([{"from": 0, "to": 6, "capacity": 0}, {"from": 6, "capacity": 4}], 6 + 2),
    ],
)
def test_use_of_a_resource_sees_its_windows(windows: list[dict[str, Any]], least: int) -> None:
    """Four jobs use 1 for 2 slots each; those without a limit in some slot bound no sum."""
    jobs = [{"iterations": 20, "resources": {"x": 1}}] * 4
    instance = case({"name": "x", "capacity": windows}, jobs=jobs)
    assert use_of_resources(instance, MAKESPAN) == least
    bounded = all(one.machine is not None for one in supplies(instance))
    assert (value(instance, "total-completion", AREA) is not None) == bounded


def test_two_running_jobs_do_not_exclude_each_other() -> None:
    jobs: list[dict[str, Any]] = [{"iterations": 30, **ALONE} for _ in range(3)]
    for i in range(2):
        jobs[i]["running"] = {"gpus": {"s0": [i]}, "iterations_done": 10}
    instance = case(LICENCE, jobs=jobs)
    assert [sorted(one.works) for one in exclusive_sets(instance)] == [[0, 2], [1, 2]]
    assert one_after_another(instance, MAKESPAN) == 2 + 3
    # Of the running jobs' two, two can be used at once.
    assert use_of_resources(instance, MAKESPAN) == Fraction(2 + 2 + 3 + 1, 2)


def test_cap_of_a_tenant_is_a_resource() -> None:
    jobs = [{"gpus": 2, "iterations": 30, "tenant": "t"}] * 3
    instance = case(jobs=jobs, tenants=[{"name": "t", "gpus": 3}])
    assert one_after_another(instance, MAKESPAN) == 9
    assert use_of_resources(instance, MAKESPAN) == 6


def test_cap_of_a_tenant_counts_the_jobs_of_all_below_it() -> None:
    tenants = [
        {"name": "t", "parent": "lab", "gpus": 2},
        {"name": "u", "parent": "lab"},
        {"name": "lab", "gpus": 3},
    ]
    jobs = [{"gpus": 2, "iterations": 30, "tenant": name} for name in ("t", "u", "lab")]
    instance = case(jobs=jobs, tenants=tenants)
    assert one_after_another(instance, MAKESPAN) == 9
    assert use_of_resources(instance, MAKESPAN) == 6


def test_nothing_is_said_without_limits() -> None:
    instance = case(jobs=[{}])
    for name in OBJECTIVES:
        assert use_of_resources(instance, objective(name)) is None
        assert one_after_another(instance, objective(name)) is None


def check(seed: int) -> None:
    random = Random(seed)
    others = random.sample(FEATURES, random.randint(0, 3))
    features = {random.choice([RESOURCES.name, QUOTAS.name]), *others}
    instance = random_wide(random, features, jobs=3, most_slots=3, objectives=OBJECTIVES)
    best = optima(instance, horizon_of(instance) + 1, [])
    if best is None:
        return
    for name in OBJECTIVES:
        for found in objective_bounds(instance, objective(name)):
            assert found.value <= best[name], (seed, name, found)


@pytest.mark.parametrize("seed", first(12, range(30)))
def test_no_bound_is_above_the_optimum(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_no_bound_is_above_the_optimum_of_thousands(part: int) -> None:
    for seed in range(100 + 100 * part, 200 + 100 * part):
        check(seed)
