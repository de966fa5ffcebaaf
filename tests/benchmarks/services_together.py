"""How much services gain where they are decided together with the jobs, on small clusters.

    python tests/benchmarks/services_together.py [--seconds 60]

Replicas first are the cheapest ones, with the jobs beside them by `time-indexed`. Together is
`time-indexed` with replicas and jobs in one model.
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any

import rarmodel
from rarmodel.files import parse_instance
from rarmodel.limits import Limits
from rarmodel.schema import Instance
from rarmodel.serving import decide_replicas
from rarmodel.verifier import verify

CLUSTERS = 10


def cluster(seed: int) -> dict[str, Any]:
    """Four servers of two types, five jobs, and a service in two variants with a peak."""
    random = Random(seed)
    servers = [
        {"name": f"s{i}", "gpus": gpus, "gpu_type": kind}
        for i, (gpus, kind) in enumerate([(4, "A"), (4, "A"), (2, "B"), (2, "B")])
    ]
    jobs = [
        {
            "name": f"job-{j}",
            "gpus": random.choice([2, 2, 4]),
            "iterations": random.randint(40, 160),
            "gradient_mb": 400.0,
            "batch_size": 1,
            "times": {
                "A": {"forward_ms_per_sample": 200.0, "backward_ms": 400.0},
                "B": {"forward_ms_per_sample": 300.0, "backward_ms": 600.0},
            },
        }
        for j in range(5)
    ]
    variants = [
        {
            "name": "large",
            "gpus": 2,
            "accuracy": 0.8,
            "startup_seconds": 10.0,
            "batches": [{"size": 8, "latency_ms": 2000.0}],
        },
        {
            "name": "small",
            "accuracy": 0.6,
            "startup_seconds": 10.0,
            "batches": [{"size": 8, "latency_ms": 4000.0}],
        },
    ]
    cuts = [0, *sorted(random.sample(range(3, 14), 2)), 16]
    rates = random.sample([1.5, 3.5, 5.5, 7.5], 3)
    return {
        "schema_version": 1,
        "name": f"cluster-{seed}",
        "time": {"slot_seconds": 10.0, "horizon": 40},
        "cluster": {
            "servers": servers,
            "network": {"kind": "star", "gbps": 10.0},
            "intra_server_gbps": 200.0,
            "reduction_gbps": 400.0,
            "prices_per_gpu_hour": {"A": 3.0, "B": 2.0},
        },
        "contention": {
            "concurrency": 1.0,
            "degradation": {"kind": "linear", "alpha": 0.2},
            "overhead_ms_per_server": 0.0,
        },
        "jobs": jobs,
        "services": [
            {
                "name": "chat",
                "latency_ms": 8000.0,
                "min_accuracy": random.choice([0.6, 0.65, 0.7]),
                "demand": [
                    {"from": start, "to": end, "requests_per_second": rate}
                    for (start, end), rate in zip(pairwise(cuts), rates, strict=True)
                ],
                "variants": variants,
            }
        ],
    }


def first(instance: Instance, seconds: float) -> tuple[Fraction, bool]:
    """The objective with the cheapest replicas first, and whether the jobs beside are optimal."""
    decided = decide_replicas(instance, Limits(seconds))
    if isinstance(decided, str):
        raise SystemExit(f"{instance.name}: {decided}")
    found = rarmodel.solve(decided.rest, formulation="time-indexed", time_limit=seconds)
    if found.schedule is None or found.report is None:
        raise SystemExit(f"{instance.name}: {found.stopped}")
    report = verify(instance, decided.whole(found.schedule, found.report))
    (value,) = (report.objective or {}).values()
    return Fraction(value), found.status == "optimal"


def main() -> None:
    """Print a line for each cluster and objective."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    seconds = parser.parse_args().seconds
    for objective in ("makespan", "total-completion", "cost"):
        gains, proven = [], 0
        for seed in range(CLUSTERS):
            instance = parse_instance({**cluster(seed), "objective": objective})
            before, exact = first(instance, seconds)
            both = rarmodel.solve(instance, formulation="time-indexed", time_limit=seconds)
            (goal,) = both.objective
            if goal.value is None:
                raise SystemExit(f"{instance.name}: {both.stopped}")
            gains.append(100 * float(1 - Fraction(goal.value) / before))
            proven += exact and both.status == "optimal"
            print(
                f"{objective:>16} {instance.name:>10}  first {float(before):8.3f}  together "
                f"{float(goal.value):8.3f} ({both.status}, {both.seconds:4.1f} s)  "
                f"{gains[-1]:5.1f} %",
                flush=True,
            )
        print(
            f"{objective}: {sum(gains) / CLUSTERS:.1f} % on average, at most {max(gains):.1f} %, "
            f"better on {sum(one > 0 for one in gains)} of {CLUSTERS}; both proven optimal on "
            f"{proven}"
        )


if __name__ == "__main__":
    main()
