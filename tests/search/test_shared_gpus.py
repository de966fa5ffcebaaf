"""`search` where jobs share GPUs: the optimum of all schedules by GPU, and the same each time."""

from __future__ import annotations

from random import Random

import pytest
from depth import first
from documents import instance_data, job_data
from sharing_enumeration import every_set_of_gpus, shared_optimum
from sharing_instances import random_sharing
from wide_instances import FEATURES, OBJECTIVES

from rarmodel.files import parse_instance, to_json
from rarmodel.limits import Limits
from rarmodel.lists import first_come_first_served
from rarmodel.model.features import PREEMPTION
from rarmodel.schema import Instance
from rarmodel.search import SEARCH
from rarmodel.verifier import verify

MOST = 1_500
"""Schedules of an instance that are looked at."""
BETWEEN_EVENTS = {109}
"""Seeds whose best schedule starts a job in a slot before which nothing changes. Where jobs share
GPUs that can be better, and list schedules never do it."""


def tiny(random: Random, features: list[str], objective: str) -> tuple[Instance, int]:
    """An instance with few schedules, and a slot below which these start."""
    while True:
        found = random_sharing(
            *(random, features),
            jobs=random.randint(2, 3),
            servers=random.randint(1, 2),
            most_slots=3,
            objectives=(objective,),
        )
        latest = max(0, *(job.release for job in found.jobs)) + 4
        sets = sum(1 for _, _ in zip(range(MOST), every_set_of_gpus(found), strict=False))
        if sets * latest ** len(found.jobs) <= MOST:
            return found, latest


@pytest.mark.parametrize("seed", first(12, range(200)))
def test_search_is_as_good_as_all_schedules_by_gpu(seed: int) -> None:
    random = Random(seed)
    features = random.sample(FEATURES, random.choice([0, 0, 1, 2]))
    instance, latest = tiny(random, features, random.choice(OBJECTIVES))
    least = shared_optimum(instance, latest)
    made = SEARCH(instance, Limits(iterations=12, threads=1)).schedule
    if made is None:
        assert least is None
        return
    report = verify(instance, made, slot_by_slot=True)
    assert report.feasible
    assert report.objective is not None
    values = tuple(report.objective.values())
    starts = {one.job: one.segments[0].start for one in made.assignments}
    if max(starts.values()) < latest:  # It is one of those that were looked at.
        assert least is not None
        assert least < values if seed in BETWEEN_EVENTS else least == values
    elif least is not None:
        assert values <= least


def several() -> Instance:
    jobs = [
        job_data(
            f"j{j}",
            gpus=1 + j % 3,
            iterations=30 + 17 * j,
            gradient_mb=20.0,
            slices=1 + j % 2,
            pressure=0.2 * (j % 4),
            sensitivity=0.3 + 0.1 * j,
        )
        for j in range(9)
    ]
    data = instance_data(*jobs, servers=[3, 2], horizon=999)
    data["cluster"]["gpu_slices"] = 2
    return parse_instance(data)


def test_the_same_seed_gives_the_same_schedule() -> None:
    made = [SEARCH(several(), Limits(iterations=6, threads=2, seed=5)).schedule for _ in range(2)]
    assert made[0] is not None
    assert made[0] == made[1]


def test_it_starts_from_a_schedule_that_is_given() -> None:
    instance = several()
    best = SEARCH(instance, Limits(iterations=20, threads=1)).schedule
    assert best is not None
    again = SEARCH(instance, Limits(iterations=1, threads=1, start=best)).schedule
    assert again is not None
    assert (verify(instance, again).makespan or 99) <= (verify(instance, best).makespan or 0)


def test_sharing_gains_over_gpus_alone() -> None:
    """Jobs that hardly lose anything together are on GPUs together."""
    jobs = [job_data(f"j{j}", iterations=100, slices=1, sensitivity=0.1) for j in range(4)]
    data = instance_data(*jobs, servers=[2], horizon=999)
    data["cluster"]["gpu_slices"] = 2
    instance = parse_instance(data)
    made = SEARCH(instance, Limits(iterations=5, threads=1)).schedule
    assert made is not None
    assert verify(instance, made).makespan == 12  # 9 iterations in a slot; alone 10 each, twice.
    rule = first_come_first_served(instance, Limits()).schedule
    assert rule is not None
    assert verify(instance, rule).makespan == 12


@pytest.mark.parametrize("seed", range(3))
def test_where_jobs_may_be_interrupted_each_runs_in_one_piece(seed: int) -> None:
    instance = random_sharing(Random(seed), [PREEMPTION.name], jobs=4)
    made = SEARCH(instance, Limits(iterations=3, threads=1)).schedule
    assert made is not None
    assert all(len(one.segments) == 1 for one in made.assignments)
    assert verify(instance, made).feasible
    assert to_json(made)


def test_a_ring_spreads_though_it_fits_a_server_if_that_leaves_room_beside_others() -> None:
    """On one server the ring would leave the third job nobody to join for nothing."""
    ring = job_data("ring", gpus=2, iterations=50, gradient_mb=0.0, slices=2)
    long = job_data("long", iterations=40, slices=2)
    small = job_data("small", iterations=20, slices=1, sensitivity=0, pressure=0.2)
    data = instance_data(ring, long, small, servers=[2, 1], horizon=999)
    data["cluster"]["gpu_slices"] = 4
    data["cluster"]["servers"][1]["gpu_slices"] = 2
    data["contention"]["overhead_ms_per_server"] = 0.0
    instance = parse_instance(data)
    made = SEARCH(instance, Limits(iterations=20, threads=1)).schedule
    assert made is not None
    assert verify(instance, made).makespan == 5
    assert len(next(one for one in made.assignments if one.job == "ring").segments[0].gpus) == 2
