"""Bounds where jobs share GPUs: below the best of all schedules, and tight where that is easy."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from certificate_lies import greatest_proven, lies
from depth import first
from documents import instance_data, job_data
from sharing_enumeration import every_shared_report, least_values, tiny
from sharing_instances import random_sharing
from wide_instances import FEATURES, OBJECTIVES

from rarmodel.bounds import ValueBound, bounds, certified, impossible, objective_bounds
from rarmodel.bounds.arguments import in_file
from rarmodel.checker import check, digest
from rarmodel.files import parse_instance
from rarmodel.model import horizon_of, job_extremes
from rarmodel.model.features import PREEMPTION, SHARED_GPUS
from rarmodel.model.objectives import Value, objective
from rarmodel.schema import Instance
from rarmodel.schema.certificate import Argument, BoundClaim, Certificate, GpuPrices, LanePrices


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


@pytest.mark.parametrize("seed", first(10, range(200)))
def test_certificates_pass(seed: int) -> None:
    random = Random(seed)
    instance = random_sharing(random, random.sample(FEATURES, random.randint(0, 5)), jobs=5)
    for name in OBJECTIVES:
        for bound in objective_bounds(instance, objective(name)):
            argument = certified(instance, objective(name), bound)
            if argument is None:
                assert bound.name in {"best companions", "makespan"}
            else:
                assert proven(instance, name, bound.value, argument) == "proven"


def proven(instance: Instance, name: str, value: Value, argument: Argument) -> str:
    """What the checker says of an argument."""
    claim = BoundClaim(objective=name, value=in_file(value), bound="a bound", argument=argument)
    written = Certificate(
        schema_version=1,
        instance=instance.name,
        instance_sha256=digest(instance),
        claims=(claim,),
    )
    (finding,) = check(instance, written).findings
    return finding.outcome


def test_area_in_slices_is_certified() -> None:
    jobs = [job_data(f"j{i}", iterations=40, slices=1) for i in range(10)]
    instance = instance_of(*jobs, gpu_slices=4)
    aim = objective("makespan")
    argument = certified(instance, aim, ValueBound(10, "area"))
    assert isinstance(argument, GpuPrices)
    assert (sum(argument.least.values()), argument.room) == (40, 36)  # Quarters of a GPU.
    assert proven(instance, "makespan", 10, argument) == "proven"
    assert proven(instance, "makespan", 11, argument) == "wrong"
    # What `best companions` proves above that is a search, as far as the checker is concerned.
    assert certified(instance, aim, ValueBound(40, "best companions")) is None


@pytest.mark.parametrize("seed", first(8, range(120)))
def test_no_lie_is_above_the_best_schedule(seed: int) -> None:
    random = Random(seed)
    features = random.sample(FEATURES, random.choice([0, 1, 2]))
    instance = tiny(random, [PREEMPTION.name, *features] if seed % 4 == 0 else features)
    best = least_values(instance)
    for name, argument in lies(random, instance):
        value = greatest_proven(instance, name, argument)
        assert value is None or not best or value <= best[name], (name, value, argument)


@pytest.mark.parametrize("seed", range(4))
def test_no_lie_counts_more_of_a_gpu_than_jobs_hold(seed: int) -> None:
    # All fit the GPU at once, and nobody suffers: counted as whole GPUs they would take turns.
    jobs = [job_data(f"j{i}", iterations=20, slices=1, sensitivity=0, due=2) for i in range(4)]
    instance = instance_of(*jobs, gpu_slices=4)
    best = least_values(instance)
    assert (best["makespan"], best["total-completion"], best["late-jobs"]) == (2, 8, 0)
    told = 0
    for name, argument in lies(Random(seed), instance):
        value = greatest_proven(instance, name, argument)
        told += value is not None
        assert value is None or value <= best[name], (name, value, argument)
    assert told > 5


def test_arguments_that_count_whole_gpus_are_refused() -> None:
    instance = instance_of(job_data("a", slices=1), gpu_slices=2)
    argument = LanePrices(kind="lane-prices", length=3, prices={"a": 1}, dearest=())
    assert proven(instance, "makespan", 4, argument) == "wrong"
