"""Plans of bounds as list schedules, and options on the slower types alone."""

from __future__ import annotations

from random import Random

import pytest
from wide_instances import OBJECTIVES, WIDE, random_wide

from rarmodel.files import parse_instance
from rarmodel.lists import shortest_first
from rarmodel.lists.bound_plans import planned
from rarmodel.lists.instance_arrays import instance_arrays
from rarmodel.lists.list_schedules import ListSchedules
from rarmodel.lists.server_bits import as_truths
from rarmodel.schema import Instance
from rarmodel.verifier import verify

NAMES = [feature.name for feature in WIDE]


def two_types(*jobs: int, objective: str = "total-completion") -> Instance:
    """A fast and a slow server of 4 GPUs, and jobs of so many iterations that take all of one."""
    return parse_instance(
        {
            "schema_version": 1,
            "name": "two-types",
            "objective": objective,
            "time": {"slot_seconds": 1.0},
            "cluster": {
                "servers": [
                    {"name": "s0", "gpus": 4, "gpu_type": "fast"},
                    {"name": "s1", "gpus": 4, "gpu_type": "slow"},
                ],
                "network": {"kind": "star", "gbps": 10.0},
                "intra_server_gbps": 200.0,
                "reduction_gbps": 400.0,
            },
            "contention": {
                "concurrency": 1.0,
                "degradation": {"kind": "linear", "alpha": 0.2},
                "overhead_ms_per_server": 0.0,
            },
            "jobs": [
                {
                    "name": f"j{i}",
                    "gpus": 4,
                    "iterations": 10 * slots,
                    "gradient_mb": 0.0,
                    "batch_size": 1,
                    "times": {
                        "fast": {"forward_ms_per_sample": 0.0, "backward_ms": 100.0},
                        "slow": {"forward_ms_per_sample": 0.0, "backward_ms": 200.0},
                    },
                }
                for i, slots in enumerate(jobs)
            ],
        }
    )


def test_a_job_may_be_kept_off_the_fast_servers() -> None:
    options = instance_arrays(two_types(5)).options
    allowed = as_truths(options.sets, 2)
    sets = {tuple(allowed[row].tolist()) for row in options.allowed}
    assert {(True, False), (False, True), (True, True)} <= sets


def test_the_plan_uses_the_slow_server_where_that_helps() -> None:
    instance = two_types(*range(3, 15))
    lists = ListSchedules(instance)
    plan = planned(instance, lists.arrays.options)
    assert plan is not None
    values = []
    for decisions in ((shortest_first.order(instance),), plan):
        assert lists.made(*decisions)
        report = verify(instance, lists.schedule("plan"))
        assert report.feasible
        assert report.objective is not None
        values.append(report.objective["total-completion"])
    assert values[1] < 0.9 * values[0]


def test_the_plan_starts_short_jobs_first() -> None:
    instance = two_types(9, 1, 5)
    plan = planned(instance, instance_arrays(instance).options)
    assert plan is not None
    order = plan[0].tolist()
    assert order.index(1) < order.index(0)


@pytest.mark.parametrize("seed", range(30))
def test_schedules_of_plans_pass_the_verifier(seed: int) -> None:
    random = Random(seed)
    features = set(random.sample(NAMES, random.randint(0, 6)))
    one = (random.choice(OBJECTIVES),)
    instance = random_wide(random, features, jobs=8, servers=4, objectives=one)
    lists = ListSchedules(instance)
    plan = planned(instance, lists.arrays.options)
    if plan is None:
        return
    assert sorted(plan[0].tolist()) == list(range(8))
    options = lists.arrays.options.at
    assert all(0 <= o < options[j + 1] - options[j] for j, o in enumerate(plan[1].tolist()))
    if lists.made(*plan):
        assert verify(instance, lists.schedule("plan")).feasible
