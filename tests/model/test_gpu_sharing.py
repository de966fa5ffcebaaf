"""What jobs count to each other on GPUs, by class and pair by pair."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import pytest
from depth import first
from documents import instance_data, job_data
from sharing_instances import random_sharing
from wide_instances import FEATURES, random_wide

from rarmodel.files import parse_instance
from rarmodel.model import horizon_of, lone_options, pace
from rarmodel.model.gpu_sharing import (
    fraction_held,
    greatest_loads,
    loads_beside,
    loss_units,
    losses,
    measured_slowdowns,
    memory_units,
    shares_gpus,
    slices_taken,
    slowdown,
)
from rarmodel.model.held_parts import held_parts
from rarmodel.model.lone import allowed_servers
from rarmodel.model.sharing_rule import UNITS
from rarmodel.schema import Instance, Job


@pytest.mark.parametrize("seed", first(20, range(200)))
def test_classes_say_what_pairs_say(seed: int) -> None:
    instance = random_sharing(Random(seed), jobs=6)
    found, measured = losses(instance), measured_slowdowns(instance)
    jobs = instance.jobs
    for j, sufferer in enumerate(jobs):
        for i, other in enumerate(jobs):
            units = loss_units(sufferer, other, measured)
            assert found.of(j, i) == found.counts(i)[found.column[j]] == units
            known = measured.get((sufferer.kind or "", other.kind or ""))
            exact = (
                Fraction(str(known)) - 1
                if known is not None and sufferer.kind and other.kind
                else Fraction(str(sufferer.sensitivity)) * Fraction(str(other.pressure))
            )
            assert 0 <= units - exact * UNITS < 1
    assert found.columns <= len({(job.kind, job.sensitivity) for job in jobs})


def job(name: str, **fields: Any) -> Job:
    return Job.model_validate(job_data(name, **fields))


def test_a_product_that_is_a_multiple_is_not_rounded() -> None:
    assert loss_units(job("a", sensitivity=0.5), job("b", pressure=3), {}) == 3 * UNITS // 2
    assert loss_units(job("a", sensitivity=0), job("b", pressure=1000), {}) == 0
    assert slowdown(UNITS) == 2.0
    assert slowdown(0) == 1.0


def test_a_pair_needs_both_kinds() -> None:
    measured = {("a", "b"): 3.0}
    assert loss_units(job("x", kind="a"), job("y", kind="b"), measured) == 2 * UNITS
    assert loss_units(job("x", kind="b"), job("y", kind="a"), measured) == UNITS
    assert loss_units(job("x", kind="a"), job("y"), measured) == UNITS


def test_the_greatest_load_is_a_whole_float() -> None:
    worst = loss_units(job("a", sensitivity=1000), job("b", pressure=1000), {})
    assert 64 * worst < 2**46
    assert float(64 * worst) == 64 * worst


def sliced(*jobs: dict[str, Any], **cluster: Any) -> Instance:
    data = instance_data(*(job_data(f"j{i}") | one for i, one in enumerate(jobs)))
    data["cluster"] |= cluster
    return parse_instance(data)


def test_memory_is_counted_in_whole_numbers() -> None:
    found = memory_units(sliced({"memory_gb": 0.3}, {"memory_gb": 0.45}, {}, gpu_memory_gb=1))
    assert found.unit == Fraction(3, 20)
    assert found.of_job == (2, 3, 0)
    assert found.of_server == (6, 6)  # 0.9 of 1 GB: what is beyond is of no use.


def test_what_a_worker_holds() -> None:
    servers = [{"name": "s0", "gpus": 1, "gpu_slices": 3}, {"name": "s1", "gpus": 1}]
    instance = sliced({"slices": 2}, {}, servers=servers, gpu_slices=4)
    assert [fraction_held(instance, 0, s) for s in (0, 1)] == [Fraction(2, 3), Fraction(1, 2)]
    assert [slices_taken(instance, 1, s) for s in (0, 1)] == [3, 4]
    assert held_parts(instance) == (12, (6, 12), (8, 12))


def test_servers_without_slices_or_memory_for_it_are_not_allowed() -> None:
    servers = [
        {"name": "s0", "gpus": 1, "gpu_slices": 2},
        {"name": "s1", "gpus": 1, "gpu_memory_gb": 10},
        {"name": "s2", "gpus": 1},
    ]
    both: dict[str, Any] = {"slices": 3, "memory_gb": 10.5}
    instance = sliced(both, {"slices": 3}, {"memory_gb": 10.5}, servers=servers, gpu_slices=4)
    assert [set(one) for one in allowed_servers(instance)] == [{2}, {1, 2}, {0, 2}]
    assert {option.allowed for option in lone_options(instance)[0]} == {frozenset({2})}


@pytest.mark.parametrize("seed", first(10, range(100)))
def test_no_load_is_above_the_greatest(seed: int) -> None:
    random = Random(seed)
    instance = random_sharing(random, jobs=8, servers=1)
    cluster, most = instance.cluster, greatest_loads(instance)
    left = [cluster.slices_of(s) for s in cluster.servers]
    on: dict[int, list[tuple[int, int]]] = {}
    for j in random.sample(range(8), 8):
        if instance.jobs[j].slices is not None and left[0] >= slices_taken(instance, j, 0):
            left[0] -= slices_taken(instance, j, 0)
            on[j] = [(0, 0)]
    for j, load in loads_beside(instance, on).items():
        measured = measured_slowdowns(instance)
        others = [instance.jobs[i] for i in on if i != j]
        assert load == sum(loss_units(instance.jobs[j], other, measured) for other in others)
        assert load <= most[j]


def test_a_pace_beside_others_is_slower_in_its_passes_alone() -> None:
    instance = sliced({"slices": 1, "gradient_mb": 10.0, "gpus": 2}, gpu_slices=2)
    alone = pace(instance, 0, 2)
    beside = alone.beside(UNITS)
    assert beside.compute == 2 * alone.compute
    assert beside._replace(compute=alone.compute) == alone
    assert alone.beside(0) is alone


@pytest.mark.parametrize("seed", first(3, range(30)))
def test_without_slices_nothing_is_shared(seed: int) -> None:
    instance = random_wide(Random(seed), FEATURES)
    assert not shares_gpus(instance)
    assert held_parts(instance).of_gpu == 1
    assert greatest_loads(instance) == (0,) * len(instance.jobs)


def test_running_jobs_on_one_gpu_have_time_to_end_without_a_horizon() -> None:
    run: dict[str, Any] = {
        "slices": 1,
        "iterations": 40,
        "running": {"gpus": {"s0": [0]}, "iterations_done": 0},
    }
    data = instance_data(*(job_data(f"j{i}", **run) for i in range(2)))
    data["cluster"]["gpu_slices"] = 2
    del data["time"]["horizon"]
    assert horizon_of(parse_instance(data)) == 8
