"""Policies that share GPUs, on jobs of measured kinds: online_sharing.py [SEEDS].

Each seed draws 60 jobs of the kinds that Gavel measured in pairs on V100 GPUs; the pairs are those
of docs/examples/colocation.csv, completed by their fitted sensitivities and pressures. The jobs
take 20 minutes to 4 hours alone, on 1, 2 or 4 of 16 GPUs in 4 servers, two on a GPU at most, and
arrive within 9 hours. There is no contention between servers. Interrupted jobs are restored for 30
seconds. Then the same with half of the jobs quiet: their sensitivities and pressures are drawn up
to 0.2. All values are means over the seeds, in hours.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from typing import Any

import rarmodel

PAIRS = Path(__file__).parents[2] / "docs" / "examples" / "colocation.csv"
POLICIES = ("sjf", "srtf", "srsf", "lucid", "muri", "gavel-max-min-packed")
SLOT_SECONDS = 30.0
JOBS, HOURS = 60, 9


def instance_of(
    seed: int,
    kinds: list[str],
    quiet: float,
    *,
    slices: bool,
    jobs: int = JOBS,
    servers: int = 4,
    hours: float = HOURS,
) -> dict[str, Any]:
    """The jobs of a seed, some of them quiet; without slices nobody shares."""
    random = Random(seed)
    hour = round(3600 / SLOT_SECONDS)
    drawn = []
    for j in range(jobs):
        slots = random.randint(hour // 3, 4 * hour)
        job = {
            "name": f"j{j}",
            "gpus": random.choices([1, 2, 4], [6, 3, 1])[0],
            "release": random.randint(0, round(hours * hour)),
            "iterations": 1000 * slots,
            "gradient_mb": 0.0,
            "batch_size": 1,
            "forward_ms_per_sample": 0.0,
            "backward_ms": SLOT_SECONDS,
        }
        kind = {"kind": random.choice(kinds)}
        losses = {"sensitivity": random.uniform(0, 0.2), "pressure": random.uniform(0, 0.2)}
        job |= losses if random.random() < quiet else kind
        drawn.append(job | ({"slices": 1} if slices else {}))
    return {
        "schema_version": 1,
        "name": f"measured-kinds-{seed}",
        "time": {"slot_seconds": SLOT_SECONDS},
        "cluster": {
            "servers": [{"name": f"s{i}", "gpus": 4} for i in range(servers)],
            "network": {"kind": "star", "gbps": 10.0},
            "intra_server_gbps": 100.0,
            "reduction_gbps": 100.0,
            "gpu_slices": 2,
        },
        "contention": {
            "concurrency": 1.0,
            "degradation": {"kind": "linear", "alpha": 0.0},
            "overhead_ms_per_server": 0.0,
        },
        "preemption": {"restore_seconds": 30.0},
        "jobs": drawn,
    }


def main(seeds: int = 10) -> None:
    """Print a row for each policy."""
    measured = rarmodel.compare_terms(PAIRS, gpu_type="v100")
    rows = PAIRS.read_text().splitlines()[1:]
    kinds = sorted({row.split(",")[1] for row in rows if row.startswith("v100,")})
    for quiet in (0.0, 0.5):
        print(f"{quiet:.0%} of the jobs are quiet")
        print(f"{'policy':22} {'mean flow':>9} {'p95':>6} {'makespan':>8} {'preemptions':>11}")
        for name, slices in [("srtf", False), *((policy, True) for policy in POLICIES)]:
            values = []
            for seed in range(1, seeds + 1):
                data = instance_of(seed, kinds, quiet, slices=slices)
                found = rarmodel.simulate(measured.applied(rarmodel.load_instance(data)), name)
                assert found.verified, found.reasons
                times = found.metrics.mean_flow, found.metrics.p95_flow, found.metrics.makespan
                hours = [(one or 0) * SLOT_SECONDS / 3600 for one in times]
                values.append((*hours, found.preemptions))
            flow, p95, makespan, often = (sum(one) / seeds for one in zip(*values, strict=True))
            label = name if slices else f"{name}, nobody shares"
            print(f"{label:22} {flow:9.2f} {p95:6.2f} {makespan:8.2f} {often:11.0f}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
