"""Bounds where jobs share GPUs: below the best of all schedules, and tight where that is easy."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from depth import first
from documents import instance_data, job_data
from sharing_enumeration import every_set_of_gpus, every_shared_report
from sharing_instances import random_sharing
from wide_instances import FEATURES, OBJECTIVES

from rarmodel.bounds import bounds, certified, impossible, objective_bounds
from rarmodel.checker import check, digest
from rarmodel.files import parse_instance
from rarmodel.model import horizon_of, job_extremes
from rarmodel.model.features import PREEMPTION, SHARED_GPUS
from rarmodel.model.objectives import Value, objective
from rarmodel.schema import Instance
from rarmodel.schema.certificate import BoundClaim, Certificate, EachJob

MOST = 1_500
"""Schedules of an instance that are looked at."""


def tiny(random: Random, features: list[str]) -> Instance:
    """An instance with so few schedules that all of them are looked at."""
    while True:
        found = random_sharing(
            random, features, jobs=random.randint(2, 3), servers=random.randint(1, 2), most_slots=2
        )
        sets = sum(1 for _, _ in zip(range(MOST), every_set_of_gpus(found), strict=False))
        if sets * 3 ** len(found.jobs) <= MOST:
            return found


def least_values(instance: Instance) -> dict[str, Value]:
    """The least value of every objective over schedules in which jobs start early."""
    best: dict[str, Value] = {}
    every = instance.model_copy(update={"objective": OBJECTIVES})
    first_slot = max(0, min(job.release for job in instance.jobs))
    for _, report in every_shared_report(every, first_slot + 3):
        assert report.objective is not None
        for name, value in report.objective.items():
            best[name] = min(value, best.get(name, value))
    return best


@pytest.mark.parametrize("seed", first(14, range(200)))
def test_no_schedule_is_below_a_bound(seed: int) -> None:
    random = Random(seed)
    features = random.sample(FEATURES, random.choice([0, 0, 1, 2, 5]))
    instance = tiny(random, features)
    best = least_values(instance)
    assert not best or impossible(instance) is None
    assert best.get("makespan", 0) <= horizon_of(instance) or instance.time.horizon is not None
    # Some bounds are only for what the instance asks for.
    asking = instance.model_copy(update={"objective": tuple(best) or OBJECTIVES})
    for name, value in best.items():
        for bound in objective_bounds(asking, objective(name)):
            assert bound.value <= value, (name, bound)


@pytest.mark.parametrize("seed", first(6, range(60)))
def test_a_bound_with_interruptions_is_below_every_schedule_without(seed: int) -> None:
    random = Random(seed)
    instance = tiny(random, [PREEMPTION.name, *random.sample(FEATURES, random.randint(0, 2))])
    for name, value in least_values(instance).items():
        asking = instance.model_copy(update={"objective": name})
        for bound in objective_bounds(asking, objective(name)):
            assert bound.value <= value, (name, bound)


@pytest.mark.parametrize("seed", first(6, range(60)))
def test_no_iteration_is_slower_than_the_worst_case(seed: int) -> None:
    random = Random(seed)
    instance = tiny(random, [])
    worst = {
        job.name: extreme.worst_seconds
        for job, extreme in zip(instance.jobs, job_extremes(instance), strict=True)
    }
    for _, report in every_shared_report(instance, 2):
        for period in report.periods:
            for name, ring in period.rings.items():
                assert ring.iteration_seconds <= worst[name] * (1 + 1e-12)


def instance_of(*jobs: Any, **cluster: Any) -> Instance:
    data = instance_data(*jobs, servers=(1,), horizon=99)
    data["cluster"] |= cluster
    return parse_instance(data)


def values(instance: Instance, name: str) -> dict[str, Value]:
    return {one.name: one.value for one in objective_bounds(instance, objective(name))}


def test_area_is_counted_in_slices() -> None:
    jobs = [job_data(f"j{i}", iterations=40, slices=1) for i in range(10)]
    instance = instance_of(*jobs, gpu_slices=4)
    # 10 jobs hold a quarter of the GPU for 4 slots: 10 slots. Whole GPUs would be 40.
    # They take turns, so that no GPU does more than for one job alone: 10 jobs of 4 slots.
    assert values(instance, "makespan") == {"longest job": 4, "area": 10, "best companions": 40}
    assert values(instance, "cost")["cheapest placements"] == pytest.approx(10 / 3600)


def test_a_worker_counts_as_the_least_part_that_it_can_be() -> None:
    servers = [{"name": "s0", "gpus": 1, "gpu_slices": 2}, {"name": "s1", "gpus": 1}]
    jobs = [job_data(f"j{i}", iterations=40, slices=1) for i in range(11)]
    instance = instance_of(*jobs, servers=servers, gpu_slices=4)
    assert values(instance, "makespan")["area"] == 6  # 11 quarters for 4 slots on 2 GPUs.


def test_a_cap_counts_parts_of_gpus() -> None:
    jobs = [job_data(f"j{i}", iterations=40, slices=1, tenant="t") for i in range(10)]
    data = instance_data(*jobs, servers=(4,), horizon=99)
    data["cluster"]["gpu_slices"] = 4
    data["tenants"] = [{"name": "t", "gpus": 1}]
    assert values(parse_instance(data), "makespan")["use of resources"] == 10


def test_what_counts_whole_gpus_says_nothing() -> None:
    of_whole = {one.name for one in bounds() if SHARED_GPUS.name not in one.handles}
    assert {"wide jobs", "long jobs", "server configurations", "prices of GPUs"} <= of_whole
    assert {"area", "longest job", "cheapest placements", "fewest links"}.isdisjoint(of_whole)


def test_no_certificate_is_made_or_checked() -> None:
    instance = instance_of(job_data("a", slices=1), gpu_slices=2)
    aim = objective("makespan")
    for bound in objective_bounds(instance, aim):
        assert certified(instance, aim, bound) is None
    alone = EachJob(kind="each-job", least={"a": 1})
    claim = BoundClaim(objective="makespan", value=1, bound="each job alone", argument=alone)
    written = Certificate(
        schema_version=1, instance="example", instance_sha256=digest(instance), claims=(claim,)
    )
    (finding,) = check(instance, written).findings
    assert finding.outcome == "not checked"
    assert finding.message.endswith("the checker does not know shared GPUs")
