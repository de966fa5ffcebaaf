"""Speed of heuristics and engine beside the verifier.

Run: `python tests/benchmarks/heuristics_and_engine.py`.

Every figure stands beside the verifier's on the same schedule in the same run, because machines
differ and are noisy: the ratio is what to compare.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter

import numpy as np

from rarmodel import load_instance
from rarmodel.engine import Engine, Placements, placements_of
from rarmodel.engine.arrays import Ints
from rarmodel.files import parse_instance
from rarmodel.heuristics import (
    first_fit,
    list_scheduling,
    random_placement,
    run_policy,
    sjf_bco,
    sjf_bco_occupied_first,
)
from rarmodel.schema import Instance, Schedule
from rarmodel.verifier import verify

SIZES = [1] * 80 + [2] * 14 + [4] * 26 + [8] * 30 + [16] * 8 + [32] * 2
"""The paper's mix of jobs."""

POLICIES = (sjf_bco, sjf_bco_occupied_first, first_fit, list_scheduling, random_placement)
"""By name, as `engine_and_rules.py` runs with older checkouts, too."""


def scaled_instance(jobs: int, servers: int, seed: int = 0) -> Instance:
    """The paper's distribution at another size: every link shared as on 20 servers."""
    draw = np.random.default_rng(seed)
    return parse_instance(
        {
            "schema_version": 1,
            "name": f"{jobs}-jobs",
            "time": {"slot_seconds": 1.0, "horizon": 1_000_000},
            "cluster": {
                "servers": [
                    {"name": f"s{i}", "gpus": int(draw.choice([4, 8, 16, 32]))}
                    for i in range(servers)
                ],
                "network": {"kind": "star", "gbps": 10.0},
                "intra_server_gbps": 200.0,
                "reduction_gbps": 400.0,
            },
            "contention": {
                "concurrency": 0.1,
                "degradation": {"kind": "linear", "alpha": 0.1},
                "overhead_ms_per_server": 0.1,
            },
            "jobs": [
                {
                    "name": f"j{i}",
                    "gpus": int(draw.choice(SIZES)),
                    "iterations": int(draw.integers(1000, 6000, endpoint=True)),
                    "gradient_mb": draw.uniform(0.5, 1.5),
                    "batch_size": 1,
                    "forward_ms_per_sample": 0.0,
                    "backward_ms": draw.uniform(10, 50),
                }
                for i in range(jobs)
            ],
        }
    )


def seconds(work: Callable[[], object], runs: int) -> float:
    """Median time of some runs after one that is not counted."""
    work()
    times = []
    for _ in range(runs):
        begun = perf_counter()
        work()
        times.append(perf_counter() - begun)
    return median(times)


def as_arrays(instance: Instance, schedule: Schedule) -> tuple[Ints, Placements]:
    index = {server.name: i for i, server in enumerate(instance.cluster.servers)}
    return np.array([a.start for a in schedule.assignments]), placements_of(
        {index[name]: len(gpus) for name, gpus in a.gpus.items()} for a in schedule.assignments
    )


def evaluations(instance: Instance) -> None:
    print("\nOne evaluation of a schedule, 160 jobs on 20 servers")
    print(f"{'schedule by':24}{'makespan':>10}{'engine/s':>12}{'verifier/s':>12}{'ratio':>8}")
    for policy in POLICIES:
        found = run_policy(instance, policy)
        assert found is not None
        starts, placements = as_arrays(instance, found.schedule)
        engine = Engine(instance)
        fast = seconds(lambda: [engine.evaluate(starts, placements) for _ in range(100)], 20) / 100  # noqa: B023
        slow = seconds(lambda: verify(instance, found.schedule), 3)  # noqa: B023
        print(
            f"{policy.name:24}{found.makespan:>10}{1 / fast:>12,.0f}{1 / slow:>12,.0f}"
            f"{slow / fast:>8,.0f}"
        )


def policies(instance: Instance) -> None:
    print("\nA whole policy, bisection and all, on the same instance")
    print(f"{'policy':24}{'seconds':>10}{'/ one verification':>20}")
    for policy in POLICIES:
        found = run_policy(instance, policy)
        assert found is not None
        once = seconds(lambda: verify(instance, found.schedule), 3)  # noqa: B023
        time = seconds(lambda: run_policy(instance, policy), 5)  # noqa: B023
        print(f"{policy.name:24}{time:>10.3f}{time / once:>20.2f}")


if __name__ == "__main__":
    paper = load_instance("paper-160")
    evaluations(paper)
    policies(paper)
