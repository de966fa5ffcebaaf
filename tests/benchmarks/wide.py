"""Dispatching rules and `search` on wide instances: arrivals, two types of GPU, moldable jobs.

Run with `python tests/benchmarks/wide.py [--seconds S] [--seeds N] [OBJECTIVE...]`. Instances are
those of `rarmodel generate paper` (160 jobs on 20 servers) with releases over the first 100 slots,
each server of one of two types, a quarter of the jobs of more than one GPU moldable (half to twice
their size), and due slots 20 to 150 slots after the release.
"""

from __future__ import annotations

import argparse
from random import Random
from statistics import fmean
from typing import Any

import rarmodel
from rarmodel.files import parse_instance
from rarmodel.schema import Instance

OBJECTIVES = ("total-flow", "total-tardiness", "max-stretch", "makespan")
RULES = ("fifo", "shortest-first", "weighted-shortest-first", "earliest-due-first")
ARRIVALS = 100
FASTER = 0.6
"""Compute times on the faster type, as a part of those on the other."""


def wide(seed: int, objective: str) -> Instance:
    """One instance of the family."""
    random = Random(seed)
    data = rarmodel.generate("paper", seed=seed).model_dump(mode="json", exclude_unset=True)
    data["objective"] = objective
    del data["time"]["horizon"]
    for server in data["cluster"]["servers"]:
        server["gpu_type"] = random.choice(["A100", "V100"])
    most = max(server["gpus"] for server in data["cluster"]["servers"])
    for job in data["jobs"]:
        _widen(random, job, most)
    return parse_instance(data)


def _widen(random: Random, job: dict[str, Any], most: int) -> None:
    job["release"] = random.randrange(ARRIVALS)
    job["due"] = job["release"] + random.randrange(20, 150)
    size = job["gpus"]
    if size > 1 and random.random() < 1 / 4:
        job["global_batch_size"] = job.pop("batch_size") * size
        job["gpus"] = sorted({size // 2, size, min(2 * size, max(size, most))})
    forward, backward = job.pop("forward_ms_per_sample"), job.pop("backward_ms")
    job["times"] = {
        "A100": {"forward_ms_per_sample": forward * FASTER, "backward_ms": backward * FASTER},
        "V100": {"forward_ms_per_sample": forward, "backward_ms": backward},
    }


def value(instance: Instance, method: str, seconds: float | None) -> float:
    """Value of the objective."""
    result = rarmodel.solve(instance, method=method, time_limit=seconds, threads=2)
    if result.report is None or result.report.objective is None:
        raise AssertionError(f"{method} finds no schedule of {instance.name}: {result.stopped}")
    return float(next(iter(result.report.objective.values())))


def main(options: argparse.Namespace) -> None:
    """Print a row for each instance, and the means for each objective."""
    print("| objective | seed | " + " | ".join(RULES) + " | search | below the best rule |")
    print("|---|---|" + "---:|" * (len(RULES) + 2))
    for objective in options.objectives:
        below = []
        for seed in range(options.seeds):
            instance = wide(seed, objective)
            rules = [value(instance, rule, None) for rule in RULES]
            found = value(instance, "search", options.seconds)
            below.append(1 - found / min(rules))
            cells = [f"{number:,.6g}" for number in (*rules, found)]
            print(f"| {objective} | {seed} | {' | '.join(cells)} | {below[-1]:.1%} |", flush=True)
        dashes = " | ".join("" for _ in (*RULES, "search"))
        print(f"| **{objective}** | mean | {dashes} | {fmean(below):.1%} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("objectives", nargs="*", default=OBJECTIVES)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--seeds", type=int, default=10)
    main(parser.parse_args())
