"""How many random stars are proven optimal: by `search`, and by exact solves.

`python tests/benchmarks/proofs.py 8x4 [--seeds N] [--seconds S]`. Jobs have 1 to 6 GPUs, servers 2
or 4, links 5 Gbit/s. `--methods search time-indexed` has both. To compare with an earlier version,
run this file with the Python of an environment of that version.
"""

from __future__ import annotations

import argparse
from random import Random
from typing import Any

import rarmodel
from rarmodel.results import Result
from rarmodel.schema import Instance


def star(jobs: int, servers: int, seed: int) -> Instance:
    """A random star with rings of 1 to 6 GPUs, many of which must spread."""
    random = Random(seed)
    gpus = [random.choice([2, 4]) for _ in range(servers)]
    rings: list[dict[str, Any]] = [
        {
            "name": f"j{i}",
            "gpus": random.randint(1, min(6, sum(gpus))),
            "iterations": random.randint(100, 800),
            "gradient_mb": round(random.uniform(10, 200), 1),
            "batch_size": random.randint(1, 16),
            "forward_ms_per_sample": round(random.uniform(1, 5), 2),
            "backward_ms": round(random.uniform(5, 60), 1),
        }
        for i in range(jobs)
    ]
    return Instance.model_validate(
        {
            "schema_version": 1,
            "name": f"star-{jobs}x{servers}-{seed}",
            "time": {"slot_seconds": 10.0, "horizon": 1000},
            "cluster": {
                "servers": [{"name": f"s{i}", "gpus": n} for i, n in enumerate(gpus)],
                "network": {"kind": "star", "gbps": 5.0},
                "intra_server_gbps": 200.0,
                "reduction_gbps": 400.0,
            },
            "contention": {
                "concurrency": 1.0,
                "degradation": {"kind": "linear", "alpha": 0.2},
                "overhead_ms_per_server": 5.0,
            },
            "jobs": rings,
        }
    )


def solved(instance: Instance, by: str, seconds: float) -> Result:
    """The result of a method, or of a formulation."""
    exact = by == "time-indexed"
    return rarmodel.solve(
        instance,
        method=None if exact else by,
        formulation=by if exact else None,
        time_limit=seconds,
        second_aim=False,
    )


def main(options: argparse.Namespace) -> None:
    """Print makespan and bound of each, and how many are proven."""
    jobs, servers = map(int, options.shape.split("x"))
    proven = dict.fromkeys(options.methods, 0)
    print("| instance | " + " | ".join(options.methods) + " |")
    print("|---|" + "---|" * len(options.methods))
    for seed in range(options.first, options.first + options.seeds):
        instance = star(jobs, servers, seed)
        cells = [instance.name]
        for by in options.methods:
            found = solved(instance, by, options.seconds)
            proven[by] += found.status == "optimal"
            bound = f"{found.makespan} ≥ {found.lower_bound} ({found.bound_name})"
            cells.append(f"{bound}, {found.seconds:.1f} s")
        print("| " + " | ".join(cells) + " |", flush=True)
    for by, count in proven.items():
        print(f"{by}: {count} of {options.seeds} proven")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shape", help="jobs x servers, such as 8x4")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--methods", nargs="+", default=["search"])
    main(parser.parse_args())
