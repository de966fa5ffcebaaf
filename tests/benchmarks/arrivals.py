"""A year of arrivals: `python tests/benchmarks/arrivals.py --jobs 10000 100000 1000000`.

Seconds of processor and memory of each part of a simulation, by number of arrivals, on servers of
8 GPUs. Each number of jobs runs in a process of its own, so that the peak of memory is its own. The
mix is that of shared clusters: most jobs have one GPU and take minutes, few have many and take
hours; the load is 85 %. Slots have 10 seconds.

    python tests/benchmarks/arrivals.py --jobs 100000 --policy srtf --servers 1250
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import rarmodel
from rarmodel import registry
from rarmodel.online import verified_play

LOAD = 0.85
SIZES, SHARES = (1, 2, 4, 8, 16, 32, 64), (0.6, 0.1, 0.1, 0.15, 0.03, 0.015, 0.005)
GRADIENTS = (50.0, 100.0, 500.0)
LONGEST = 20_000
"""Slots of the longest job: 56 hours."""

PARTS = ("play", "schedule_of", "verify", "metrics_of", "proven_of")
"""Parts of a simulation, in order."""


def instance_data(jobs: int, servers: int, *, preemption: bool) -> dict[str, Any]:
    """Arrivals as a file has them."""
    draw = np.random.default_rng(1)
    sizes = draw.choice(SIZES, jobs, p=SHARES)
    slots = np.clip(draw.lognormal(4.5, 1.9, jobs), 1, LONGEST).astype(int)
    until = max(1, int((sizes * slots).sum() / (LOAD * 8 * servers)))
    release = np.sort(draw.integers(0, until, jobs))
    gradient = draw.choice(GRADIENTS, jobs)
    columns = zip(sizes.tolist(), slots.tolist(), release.tolist(), gradient.tolist(), strict=True)
    return {
        "schema_version": 1,
        "name": f"{jobs}-arrivals",
        "time": {"slot_seconds": 10.0},
        "cluster": {
            "servers": [{"name": f"s{i}", "gpus": 8} for i in range(servers)],
            "network": {"kind": "star", "gbps": 100.0},
            "intra_server_gbps": 2000.0,
            "reduction_gbps": 8000.0,
        },
        "contention": {
            "concurrency": 0.5,
            "degradation": {"kind": "linear", "alpha": 0.2},
            "overhead_ms_per_server": 1.0,
        },
        "jobs": [
            {
                "name": f"j{k}",
                "gpus": size,
                "iterations": 20 * length,
                "gradient_mb": megabytes,
                "batch_size": 32,
                "forward_ms_per_sample": 6.0,
                "backward_ms": 200.0,
                "release": arrival,
            }
            for k, (size, length, arrival, megabytes) in enumerate(columns)
        ],
        **({"preemption": {"restore_seconds": 30.0}} if preemption else {}),
    }


def gigabytes() -> float:
    """The peak of this process' memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Print the seconds of processor of a part, and the peak of memory after it."""
    begun = process_time()
    yield
    print(f"  {what:12} {process_time() - begun:8.1f} s {gigabytes():6.2f} GB", flush=True)


def each_part_timed() -> None:
    """Let a simulation print how long each of its parts takes."""
    for name in PARTS:
        function = getattr(verified_play, name)

        def told(*given: Any, _name: str = name, _function: Any = function, **named: Any) -> Any:
            with timed(_name):
                return _function(*given, **named)

        setattr(verified_play, name, told)


def one_size(jobs: int, servers: int, policy: str) -> None:
    """Print the parts for a number of jobs."""
    rarmodel.simulate("two-servers", policy)  # Compiles.
    interrupts = registry.find("policies", policy).interrupts
    with timed("make"):
        data = instance_data(jobs, servers, preemption=interrupts)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arrivals.json"
        with timed("write"):
            path.write_text(json.dumps(data), encoding="utf-8")
        del data
        with timed("read"):
            instance = rarmodel.load_instance(path)
    each_part_timed()
    begun = process_time()
    found = rarmodel.simulate(instance, policy)
    print(
        f"{jobs:,} jobs: {process_time() - begun:,.1f} s of processor, {gigabytes():.2f} GB, "
        f"{found.decisions:,} decisions, {found.preemptions:,} preemptions",
        flush=True,
    )


def main() -> None:
    """Play each number of arrivals in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--servers", type=int, default=1250)
    parser.add_argument("--policy", nargs="+", default=["fifo-backfill"])
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        one_size(asked.jobs[0], asked.servers, asked.policy[0])
        return
    for policy in asked.policy:
        print(policy, flush=True)
        for jobs in asked.jobs:
            numbers = ["--jobs", str(jobs), "--servers", str(asked.servers)]
            command = [sys.executable, __file__, "--one", "--policy", policy, *numbers]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
