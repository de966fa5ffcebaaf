"""Random instances, small enough to check everything about them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from hypothesis import strategies as st

from rarmodel.files import parse_instance
from rarmodel.model.extremes import iteration_ranges
from rarmodel.schema import Instance

TREES = (
    # Each node's parent; servers are s0, s1, …
    {"s0": "core", "s1": "core", "s2": "core", "s3": "core"},
    {"s0": "r0", "s1": "r0", "s2": "r1", "s3": "r1", "r0": "core", "r1": "core"},
    {"s0": "r0", "s1": "core", "s2": "r0", "s3": "pod", "r0": "pod", "pod": "core"},
)


def random_instance(
    random: Random,
    *,
    jobs: int,
    servers: int,
    tree: bool,
    most_gpus: int = 4,
    least_slots: int = 1,
    most_slots: int = 6,
    stall: bool = False,
    sizes: Sequence[int] = (),
) -> Instance:
    """An instance whose jobs run for about `least_slots … most_slots` slots alone.

    With `stall`, slots are so short that contention can bring speeds to 0. Jobs need one of `sizes`
    GPUs, or 1 to 4.
    """
    capacities = [random.randint(1, most_gpus) for _ in range(servers)]
    network: dict[str, Any] = {"kind": "star", "gbps": random.choice([5.0, 10.0])}
    if tree:
        parents = random.choice(TREES)
        used = {f"s{i}" for i in range(servers)}
        while True:
            grown = used | {parents[node] for node in used if node in parents}
            if grown == used:
                break
            used = grown
        network = {
            "kind": "tree",
            "links": [
                {"node": node, "parent": parent, "gbps": random.choice([4.0, 8.0, 20.0])}
                for node, parent in parents.items()
                if node in used
            ],
        }
    data: dict[str, Any] = {
        "schema_version": 1,
        "name": "random",
        "time": {"slot_seconds": 1e6, "horizon": 10_000},
        "cluster": {
            "servers": [{"name": f"s{i}", "gpus": n} for i, n in enumerate(capacities)],
            "network": network,
            "intra_server_gbps": random.choice([2.0, 100.0]),
            "reduction_gbps": 400.0,
        },
        "contention": {
            "concurrency": random.choice([0.3, 0.7, 1.0]),
            "degradation": {"kind": "linear", "alpha": random.choice([0.0, 0.2, 1.0])},
            "overhead_ms_per_server": random.choice([0.0, 5.0, 20.0]),
        },
        "jobs": [
            {
                "name": f"j{i}",
                "gpus": random.randint(1, min(4, sum(capacities))),
                "iterations": 1,
                "gradient_mb": random.choice([0.0, 10.0, random.uniform(10, 200)]),
                "batch_size": random.randint(1, 8),
                "forward_ms_per_sample": random.uniform(0.1, 5.0),
                "backward_ms": random.uniform(0.0, 80.0),
            }
            for i in range(jobs)
        ],
    }
    if sizes:
        for job in data["jobs"]:
            job["gpus"] = random.choice([size for size in sizes if size <= sum(capacities)])
    ranges = iteration_ranges(parse_instance(data))
    slot = max(best for best, _ in ranges) * (1.0 if stall else random.uniform(1.0, 12.0))
    data["time"]["slot_seconds"] = slot
    for job, (best, _) in zip(data["jobs"], ranges, strict=True):
        slots = random.randint(least_slots, most_slots)
        job["iterations"] = max(1, int(slots * slot / best) - random.randint(0, 2))
    return parse_instance(data)


def tiny_instance(random: Random, *, least_jobs: int = 1, least_servers: int = 1) -> Instance:
    """Up to four jobs on up to three servers, so that all schedules can be enumerated."""
    return random_instance(
        random,
        jobs=random.randint(least_jobs, 4),
        servers=random.randint(least_servers, 3),
        tree=random.random() < 0.5,
        most_gpus=random.randint(1, 3),
        most_slots=random.choice([3, 5]),
        stall=random.random() < 0.1,
    )


@st.composite
def instances(draw: st.DrawFn, *, jobs: int = 6, servers: int = 4) -> Instance:
    """Hypothesis strategy: stars and trees, with and without stalls."""
    return random_instance(
        draw(st.randoms(use_true_random=False)),
        jobs=draw(st.integers(1, jobs)),
        servers=draw(st.integers(1, servers)),
        tree=draw(st.booleans()),
        stall=draw(st.booleans()),
    )


def random_workers(random: Random, instance: Instance) -> list[dict[int, int]]:
    """A placement of each job: workers on each server, within the server's capacity."""
    placements = []
    for job in instance.jobs:
        gpus = [s for s, server in enumerate(instance.cluster.servers) for _ in range(server.gpus)]
        chosen = sorted(random.sample(gpus, job.size))
        if random.random() < 0.5:
            first = random.randrange(len(gpus) - job.size + 1)
            chosen = gpus[first : first + job.size]
        placements.append({s: chosen.count(s) for s in sorted(set(chosen))})
    return placements
