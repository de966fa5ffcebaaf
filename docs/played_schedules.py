"""Play schedules of four methods for three instances on the testbed, for `docs/how-true.md`.

    sudo python docs/played_schedules.py docs/examples/played.csv

writes when each job completes, measured and as the models of contention predict. It takes about
eight minutes on an idle machine. Linux and root only.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from typing import Any

import rarmodel
from rarmodel import testbed
from rarmodel.files import parse_instance

METHODS = ("first-fit", "list-scheduling", "sjf-bco", "search")
SERVERS, GPUS = 6, 3
SCALE = 100.0
"""Links of 10 Gbit/s become links of 100 Mbit/s."""


def instance(seed: int) -> rarmodel.Instance:
    """Twelve jobs of 2 to 6 GPUs on 6 servers of 3, each 4 to 10 seconds long alone."""
    random = Random(seed)  # noqa: S311 - no secrets here
    jobs: list[dict[str, Any]] = []
    for number in range(12):
        gpus = random.choice([2, 2, 3, 3, 4, 4, 5, 6])
        gradient_mb, compute_ms = random.choice([50.0, 100.0, 150.0]), random.choice([20, 60, 120])
        exchange_ms = 1.6 * gradient_mb * (gpus - 1) / gpus
        jobs.append(
            {
                "name": f"j{number}",
                "gpus": gpus,
                "iterations": round(random.uniform(4e3, 1e4) / (exchange_ms + compute_ms)),
                "gradient_mb": gradient_mb,
                "batch_size": 1,
                "forward_ms_per_sample": 0.0,
                "backward_ms": float(compute_ms),
            }
        )
    return parse_instance(
        {
            "schema_version": 1,
            "name": f"random-{seed}",
            "time": {"slot_seconds": 2.0},
            "cluster": {
                "servers": [{"name": f"s{i}", "gpus": GPUS} for i in range(SERVERS)],
                "network": {"kind": "star", "gbps": 10.0},
                "intra_server_gbps": 200.0,
                "reduction_gbps": 400.0,
            },
            "contention": {
                "concurrency": 1.0,
                "degradation": {"kind": "linear", "alpha": 0.0},
                "overhead_ms_per_server": 0.25,
            },
            "jobs": jobs,
        }
    )


if __name__ == "__main__":
    rows: list[dict[str, Any]] = []
    for seed in (1, 2, 3):
        problem = instance(seed)
        for method in METHODS:
            iterations = 200 if method == "search" else None
            result = rarmodel.solve(problem, method=method, iterations=iterations, threads=1)
            played = testbed.play(problem, result.schedule, scale=SCALE)
            rows += [
                {"instance": problem.name, "method": method, **row}
                for row in testbed.rows_of(problem, result.schedule, played)
            ]
            print(problem.name, method, max(job.completion for job in played), flush=True)
    Path(sys.argv[1]).write_text(testbed.csv_of(rows), encoding="utf-8")
