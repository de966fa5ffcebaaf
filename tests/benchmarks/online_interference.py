"""Pollux's experiment on interference, as far as its inputs go: online_interference.py WORKLOAD.

WORKLOAD is a table of the jobs of Pollux's workload 6 with columns `num_gpus`, `submit_s` and
`model`. On 16 servers of 4 GPUs a ring that spans servers is slowed by x if another such ring uses
one of its servers. Policies are played with a placement that never lets that happen, and with one
that does not care. Slots have 30 s, rounds 60 s, restorations 30 s.

Durations are not in the workload: each job draws its GPU hours, evenly on a logarithmic scale, from
the range that Pollux's paper gives for jobs of its kind; each seed is one draw.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import numpy as np

import rarmodel
from rarmodel.files import parse_instance
from rarmodel.online import Placement
from rarmodel.online.placement import CONSOLIDATE, Asked, Site, fewest_servers
from rarmodel.schema import Instance

SEEDS = range(8)
SLOT, ITERATION, GBPS = 30.0, 0.1, 10.0
HOURS = {
    "ncf": (0.1, 1.0),
    "cifar10": (0.1, 1.0),
    "bert": (1.0, 10.0),
    "deepspeech2": (1.0, 10.0),
    "yolov3": (10.0, 100.0),
    "imagenet": (100.0, 1000.0),
}
"""GPU hours, from and to, by model."""
PUBLISHED = {0.0: 2758 / 2751, 0.25: 3177 / 2751, 0.5: 3903 / 2751}
"""Pollux: mean flow time without avoidance by that with it."""


def instance_of(workload: Path, slowdown: float, seed: int) -> Instance:
    """The jobs; two rings on a link halve its rate, and that slows them as asked for."""
    random = Random(seed)
    # With exchange T and computation c at full rate, 2T + c = (T + c) / (1 - x).
    exchange = ITERATION * slowdown / (1.0 - slowdown)
    jobs: list[dict[str, Any]] = []
    with workload.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            gpus = int(row["num_gpus"])
            low, high = HOURS[row["model"]]
            seconds = 3600.0 * low * (high / low) ** random.random() / gpus
            own = exchange if gpus > 1 else 0.0
            megabits = own * GBPS * 1e3 / 2 * gpus / max(1, gpus - 1)
            jobs.append(
                {
                    "name": f"{row['model']}-{len(jobs)}",
                    "gpus": gpus,
                    "iterations": max(1, round(seconds / ITERATION)),
                    "gradient_mb": megabits / 8,
                    "batch_size": 1,
                    "forward_ms_per_sample": 0.0,
                    "backward_ms": 1e3 * (ITERATION - own),
                    "release": round(float(row["submit_s"]) / SLOT),
                }
            )
    return parse_instance(
        {
            "schema_version": 1,
            "name": f"pollux-{slowdown}-{seed}",
            "time": {"slot_seconds": SLOT},
            "cluster": {
                "servers": [{"name": f"n{i}", "gpus": 4} for i in range(16)],
                "network": {"kind": "star", "gbps": GBPS},
                "intra_server_gbps": GBPS,
                "reduction_gbps": 1e9,
            },
            "contention": {
                "concurrency": 1.0,
                "degradation": {"kind": "linear", "alpha": 0.0},
                "overhead_ms_per_server": 0.0,
            },
            "preemption": {"restore_seconds": 30.0},
            "jobs": jobs,
        }
    )


def apart(asked: Asked, site: Site) -> Mapping[int, int] | None:
    """Rings that span servers have them to themselves, as far as such rings go."""
    ring = fewest_servers(asked, site.idle)
    if ring is None or len(ring) == 1:
        return ring
    return fewest_servers(asked, np.where(site.rings() == 0, site.idle, 0))


def main(workload: Path) -> None:
    """Print a row for each policy and slowdown."""
    print("policy        slowdown   avoiding  not avoiding   loss  published")
    for policy in ("las", "srtf"):
        for slowdown, published in PUBLISHED.items():
            flows: list[list[float]] = []
            for placement in (Placement("apart", apart), CONSOLIDATE):
                found = [
                    rarmodel.simulate(
                        instance_of(workload, slowdown, seed),
                        policy,
                        placement=placement,
                        round_slots=2,
                    )
                    for seed in SEEDS
                ]
                assert all(one.verified for one in found)
                flows.append([SLOT * (one.metrics.mean_flow or 0.0) for one in found])
            avoiding, freely = map(mean, flows)
            print(
                f"{policy:12} {slowdown:9.0%} {avoiding:10,.0f} {freely:13,.0f} "
                f"{freely / avoiding - 1:+6.1%} {published - 1:+10.1%}",
                flush=True,
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
