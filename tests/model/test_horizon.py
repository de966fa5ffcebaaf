"""The horizon of instances that name none: some optimal schedule of every objective ends by it."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from preemptive_optimum import optima as preemptive_optima
from wide_instances import OBJECTIVES, WIDE, random_wide
from wide_optimum import optimum

from rarmodel.files import parse_instance
from rarmodel.model import horizon_of
from rarmodel.model.features import (
    GPU_TYPES,
    PREEMPTION,
    RESERVATIONS,
    RING_SIZES,
    RUNNING_JOBS,
    SERVER_RATES,
    SPREADS,
)
from rarmodel.model.objectives import objective
from rarmodel.schema import Instance

FEATURES = [feature.name for feature in WIDE]
INTERRUPTED = RING_SIZES, RUNNING_JOBS, GPU_TYPES, SERVER_RATES, SPREADS, RESERVATIONS
OF_COMPLETIONS = [name for name in OBJECTIVES if objective(name).of_completions]
OF_PLACEMENTS = [name for name in OBJECTIVES if name not in OF_COMPLETIONS]


def two_servers(*jobs: dict[str, Any], **cluster: Any) -> Instance:
    """Rings over both servers exchange for 1 s in an iteration, alone; with α = 2, two for 4 s."""
    job = {
        "gradient_mb": 1000.0,
        "batch_size": 1,
        "forward_ms_per_sample": 0.0,
        "backward_ms": 0.1,
        "iterations": 4,
    }
    top: dict[str, Any] = {
        key: cluster.pop(key) for key in ("tenants", "objective") if key in cluster
    }
    return parse_instance(
        {
            "schema_version": 1,
            "name": "two",
            "time": {"slot_seconds": 1.001},
            "cluster": {
                "servers": [{"name": "s0", "gpus": 2}, {"name": "s1", "gpus": 2}],
                "network": {"kind": "star", "gbps": 8.0},
                "intra_server_gbps": 1e9,
                "reduction_gbps": 1e9,
            }
            | cluster,
            "contention": {
                "concurrency": 1.0,
                "degradation": {"kind": "linear", "alpha": 2.0},
                "overhead_ms_per_server": 0.0,
            },
            "jobs": [job | {"name": f"j{i}"} | one for i, one in enumerate(jobs)],
            **top,
        }
    )


def test_plain_jobs_run_one_after_another() -> None:
    spread = {"gpus": 2, "spread": {"min_servers": 2}}
    assert horizon_of(two_servers(spread, spread)) == 8


def test_running_jobs_that_slow_each_other_have_time_to_end() -> None:
    """Each takes 1 slot alone and 4 beside the other, so one after another would end by slot 2."""
    held = [{"s0": [i], "s1": [i]} for i in range(2)]
    jobs = [{"gpus": 2, "running": {"gpus": gpus, "iterations_done": 0}} for gpus in held]
    for instance in (two_servers(*jobs), two_servers(*jobs, {"gpus": 2, "after": ["j0", "j1"]})):
        slot = instance.time.model_copy(update={"slot_seconds": 4.001})
        longer = instance.model_copy(update={"time": slot})
        best = optimum(longer, 100)
        assert best is not None
        assert horizon_of(longer) >= best[0] >= 4


def test_what_is_reserved_for_ever_and_quotas_leave_slower_placements() -> None:
    """A ring within one server takes 1 slot, over both 4."""
    away = [{"server": server, "gpus": 1, "from": 0} for server in ("s0", "s1")]
    assert horizon_of(two_servers({"gpus": 2})) == 1
    reserved = two_servers({"gpus": 2}, reservations=away)
    assert optimum(reserved, 100) == (4,)
    assert horizon_of(reserved) == 4
    capped = two_servers(
        {"gpus": [1, 2], "global_batch_size": 6000, "tenant": "t", "forward_ms_per_sample": 0.1}
        | {"batch_size": None},
        tenants=[{"name": "t", "gpus": 1}],
    )
    best = optimum(capped, 100)
    assert best == (4,)  # 2 slots on two GPUs, which the quota does not allow.
    assert horizon_of(capped) >= 4


def test_a_cheap_placement_that_is_slow_has_time() -> None:
    kinds = [{"name": "s0", "gpus": 1, "gpu_type": "fast"}]
    kinds.append({"name": "s1", "gpus": 1, "gpu_type": "slow"})
    times = {
        kind: {"forward_ms_per_sample": 0.0, "backward_ms": backward}
        for kind, backward in (("fast", 100.0), ("slow", 500.0))
    }
    instance = two_servers(
        {
            "gpus": 1,
            "iterations": 20,
            "times": times,
        }
        | {"forward_ms_per_sample": None, "backward_ms": None},
        servers=kinds,
        prices_per_gpu_hour={"fast": 10.0, "slow": 1.0},
        objective="cost",
    )
    assert optimum(instance, 100) == optimum(instance, horizon_of(instance))
    assert horizon_of(instance) >= 10


@pytest.mark.parametrize("seed", [*range(8), 9, 10, 11])
def test_no_longer_schedule_is_better(seed: int) -> None:
    features = [*Random(seed).sample(FEATURES, 3), "running jobs"]
    instance = random_wide(
        Random(seed), features, jobs=2, objectives=[OBJECTIVES[seed % 9]], most_slots=3
    )
    enough = horizon_of(instance)
    assert optimum(instance, enough) == optimum(instance, 2 * enough + 5)


def test_interrupted_jobs_gain_nothing_beyond_the_horizon() -> None:
    names, compared = [feature.name for feature in INTERRUPTED], 0
    for seed in range(60):
        random = Random(seed)
        some = {PREEMPTION.name, *random.sample(names, random.randint(1, 3))}
        instance = random_wide(
            random, some, jobs=2, servers=2, objectives=OF_COMPLETIONS, most_slots=2
        )
        due = tuple(job.model_copy(update={"due": 2}) for job in instance.jobs)
        compared += gains_nothing_later(instance.model_copy(update={"jobs": due}))
    assert compared > 5


def test_interrupted_jobs_have_time_for_the_cheapest_and_nearest_placements() -> None:
    """An iteration in each slot, and a restoration before it, is the slowest progress."""
    names, compared = [feature.name for feature in INTERRUPTED], 0
    for seed in range(80):
        random = Random(seed)
        some = {PREEMPTION.name, *random.sample(names, random.randint(1, 3))}
        instance = random_wide(
            random, some, jobs=2, servers=2, objectives=OF_PLACEMENTS, most_slots=2
        )
        jobs = []
        for job in instance.jobs:
            few: dict[str, object] = {"iterations": random.randint(2, 3), "due": None}
            if job.running is not None:
                few["running"] = job.running.model_copy(update={"iterations_done": 1})
            jobs.append(job.model_copy(update=few))
        compared += gains_nothing_later(instance.model_copy(update={"jobs": tuple(jobs)}))
    assert compared > 5


def gains_nothing_later(instance: Instance) -> bool:
    """Whether it is small enough to look, and then no later schedule is better."""
    horizon = horizon_of(instance)
    small = horizon <= 8 and instance.cluster.total_gpus <= 4
    if small:
        assert preemptive_optima(instance, horizon) == preemptive_optima(instance, horizon + 2)
    return small
