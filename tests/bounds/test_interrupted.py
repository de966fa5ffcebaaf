"""Bounds of instances with preemption: never above the optimum of every choice in every slot."""

from __future__ import annotations

from random import Random

import pytest
from documents import instance_data, job_data
from preemptive_optimum import optima
from wide_instances import FEATURES, OBJECTIVES, random_wide

from rarmodel.bounds import all_bounds, bounds, least_values, objective_bounds
from rarmodel.files import parse_instance
from rarmodel.model import horizon_of
from rarmodel.model.features import PREEMPTION
from rarmodel.model.objectives import objective

LATEST = 7


def check(seed: int, jobs: int = 2) -> int:
    """Compare all bounds with the optimum of each objective; how many of them meet it."""
    random = Random(seed)
    features = {PREEMPTION.name, *random.sample(FEATURES, random.randint(0, 3))}
    while True:
        instance = random_wide(
            random,
            features,
            jobs=jobs,
            servers=random.randint(1, 3),
            objectives=OBJECTIVES,
            most_slots=4,
            stall=random.random() < 0.3,
        )
        if sum(server.gpus for server in instance.cluster.servers) <= 4:
            break
    best = optima(instance, LATEST)
    if best is None:
        return 0
    met = 0
    for bound in all_bounds(instance):
        assert bound.slots <= best["makespan"], bound
    for name, least in zip(OBJECTIVES, least_values(instance), strict=True):
        assert least <= best[name], (name, least)
        met += least == best[name]
        for found in objective_bounds(instance, objective(name)):
            assert found.value <= best[name], (name, found)
    if best["makespan"] < LATEST:  # Otherwise a later schedule may be better.
        assert horizon_of(instance) >= best["makespan"]
    return met


def test_no_bound_exceeds_the_preemptive_optimum() -> None:
    assert sum(check(seed) for seed in range(60)) > 200


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 3000, 100))
def test_no_bound_exceeds_more_preemptive_optima(first: int) -> None:
    assert sum(check(seed, 3 if seed % 10 == 0 else 2) for seed in range(first, first + 100)) > 0


def test_a_job_that_is_resized_can_hold_less_than_in_any_one_size() -> None:
    # 2 iterations in a slot on 1 GPU, 5 on 3: 7 iterations take 4, 6, or in both sizes 4 GPU slots.
    job = job_data("a", gpus=[1, 3], iterations=7, forward_ms_per_sample=20.0)
    del job["batch_size"]
    data = instance_data({**job, "global_batch_size": 12}, servers=(3,))
    data |= {"objective": "cost", "preemption": {"restore_seconds": 0.0}}
    instance = parse_instance(data)
    best = optima(instance.model_copy(update={"objective": OBJECTIVES}), 5)
    assert best is not None
    for name in OBJECTIVES:
        for found in objective_bounds(instance, objective(name)):
            assert found.value <= best[name], found


def test_bounds_that_follow_a_job_on_its_gpus_do_not_hold() -> None:
    """Three jobs of 2 slots on 2 GPUs take 3 slots if they may be interrupted, and 4 if not."""
    jobs = [job_data(name, iterations=20) for name in "abc"]
    plain = parse_instance(instance_data(*jobs, servers=(2,)))
    assert max(bound.slots for bound in all_bounds(plain)) == 4
    update = {"preemption": {"restore_seconds": 0.0}}
    interrupted = parse_instance({**instance_data(*jobs, servers=(2,)), **update})
    assert max(bound.slots for bound in all_bounds(interrupted)) == 3
    assert optima(interrupted, 5) == {"makespan": 3}
    assumed = {bound.name for bound in bounds() if PREEMPTION.name not in bound.handles}
    assert assumed == {
        "long jobs",
        "wide gaps",
        "cutting stock",
        "server configurations",
        "configurations",
        "prices of GPUs",
    }


def test_a_running_job_that_can_move_is_bounded_by_where_it_can_go() -> None:
    """Its ring over two servers does 1 iteration in a slot; on one server it does 10."""
    running = {"gpus": {"s0": [0], "s1": [0]}, "iterations_done": 0}
    job = job_data("a", gpus=2, iterations=20, gradient_mb=1000.0, running=running)
    update = {"preemption": {"restore_seconds": 1.0}}
    instance = parse_instance({**instance_data(job), **update})
    best = optima(instance, 20)
    assert best is not None
    assert {bound.name for bound in all_bounds(instance)} >= {"longest job", "area"}
    assert all(bound.slots <= best["makespan"] for bound in all_bounds(instance))
    assert best["makespan"] < 20
