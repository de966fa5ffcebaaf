"""SJF-BCO, dispatching rules and `search` on wide instances: arrivals, two types, moldable jobs.

Run with `python tests/benchmarks/wide.py [--seconds S] [--threads N] [--seeds N] [--each]
[OBJECTIVE...]`. Instances are those of `rarmodel generate paper` (160 jobs on 20 servers) with
releases over the first 100 slots, each server of one of two types, a quarter of the jobs of more
than one GPU moldable (half to twice their size), and due slots 20 to 150 slots after the release.
`--each` prints a row for each instance, too.
"""

from __future__ import annotations

import argparse
from random import Random
from statistics import fmean
from typing import Any

import rarmodel
from rarmodel.bounds import least_values
from rarmodel.errors import UsageError
from rarmodel.files import parse_instance
from rarmodel.schema import Instance

OBJECTIVES = ("total-flow", "total-tardiness", "max-stretch", "makespan")
RULES = ("fifo", "shortest-first", "weighted-shortest-first", "earliest-due-first")
METHODS = ("sjf-bco", *RULES, "search")
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


def value(instance: Instance, method: str, seconds: float | None, threads: int) -> float | None:
    """Value of the objective; None if the method does not handle the instance."""
    try:
        result = rarmodel.solve(instance, method=method, time_limit=seconds, threads=threads)
    except UsageError:
        return None
    if result.report is None or result.report.objective is None:
        raise AssertionError(f"{method} finds no schedule of {instance.name}: {result.stopped}")
    return float(next(iter(result.report.objective.values())))


def main(options: argparse.Namespace) -> None:
    """Print means over the instances for each objective and method."""
    print("| objective | method | value | bound | gap | least to greatest gap | to the best rule |")
    print("|---|---|---:|---:|---:|---|---:|", flush=True)
    for objective in options.objectives:
        values: dict[str, list[float]] = {method: [] for method in METHODS}
        bounds = []
        for seed in range(options.seeds):
            instance = wide(seed, objective)
            bounds.append(float(least_values(instance)[0]))
            for method in METHODS:
                seconds = options.seconds if method == "search" else None
                reached = value(instance, method, seconds, options.threads)
                if reached is not None:
                    values[method].append(reached)
                    if options.each:
                        row = f"{objective}, seed {seed} | {method} | {reached:,.6g}"
                        gap = 1 - bounds[-1] / reached
                        print(f"| {row} | {bounds[-1]:,.6g} | {gap:.1%} | | |")
        best = [min(each) for each in zip(*(values[rule] for rule in RULES), strict=True)]
        for method, found in values.items():
            if not found:
                print(f"| {objective} | {method} | does not apply | | | | |", flush=True)
                continue
            gaps = [1 - bound / one for bound, one in zip(bounds, found, strict=True)]
            change = fmean(one / rule for one, rule in zip(found, best, strict=True)) - 1
            cells = f"{fmean(found):,.6g} | {fmean(bounds):,.6g} | {fmean(gaps):.1%}"
            spread = f"{min(gaps):.1%} to {max(gaps):.1%}"
            print(f"| {objective} | {method} | {cells} | {spread} | {change:+.1%} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("objectives", nargs="*", default=OBJECTIVES)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--each", action="store_true")
    main(parser.parse_args())
