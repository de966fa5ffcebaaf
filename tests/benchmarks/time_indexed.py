"""Time to a proven optimum with `time-indexed`, by solver, beside the textbook model.

Run with `python tests/benchmarks/time_indexed.py [--model-only] [SOLVER...]`; without solvers on
all that are installed and have no limit on size. With `--model-only` the formulation's model must
prove alone, as the textbook's does; without it, as in the tables of docs/notes/performance.md, it
has rarmodel's bounds, search and proof beside it. Instances: random stars of servers of 2 and 4
GPUs, jobs of 1 to 4 GPUs (in the largest family two of 6), with heuristics above the simple bounds.
The speed-up is a geometric mean. The textbook model gets the instance's horizon, which is the upper
end of the range of makespans, and as much time; where it needs more, the speed-up is understated.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

from rarmodel import registry, solve
from rarmodel.bounds import best_bound
from rarmodel.exact.formulate import scope_for
from rarmodel.files import parse_instance
from rarmodel.formulations import Scope
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.limits import Limits
from rarmodel.model import horizon_of
from rarmodel.model.extremes import iteration_ranges
from rarmodel.schema import Instance
from rarmodel.solvers import Solver

sys.path.insert(0, str(Path(__file__).parent))
naive_model = import_module("naive_time_indexed").naive_model

THREADS = 2


class Family(NamedTuple):
    """A shape of instances, how many, and what the solves are given."""

    jobs: int
    servers: int
    slots: tuple[int, int]
    """Range of the best heuristic makespan."""
    longest: int
    """Greatest least execution time of a job in slots."""
    large: int
    """Jobs of 6 GPUs."""
    number: int
    seconds: float
    yardstick: bool
    """Whether the textbook model is run too."""


FAMILIES = (
    Family(6, 3, (20, 40), 16, 0, 10, 60.0, yardstick=True),
    Family(8, 4, (10, 30), 8, 0, 10, 60.0, yardstick=True),
    Family(12, 4, (15, 60), 12, 2, 12, 120.0, yardstick=False),
    Family(16, 5, (15, 60), 12, 2, 4, 120.0, yardstick=False),
)


def random_star(random: Random, family: Family) -> Instance:
    """A star on which spreading costs much, and contention more."""
    capacities = [random.choice([2, 4]) for _ in range(family.servers)]
    sizes = [random.randint(1, 4) for _ in range(family.jobs)]
    for i in random.sample(range(family.jobs), family.large):
        sizes[i] = 6
    while sum(capacities) < max(sizes):
        capacities[random.randrange(family.servers)] = 4
    data: dict[str, Any] = {
        "schema_version": 1,
        "name": "random",
        "time": {"slot_seconds": 1e6, "horizon": 10_000},
        "cluster": {
            "servers": [{"name": f"s{i}", "gpus": n} for i, n in enumerate(capacities)],
            "network": {"kind": "star", "gbps": 5.0 if family.large else random.choice([5, 10])},
            "intra_server_gbps": 100.0,
            "reduction_gbps": 400.0,
        },
        "contention": {
            "concurrency": random.choice([0.5, 0.7, 1.0]),
            "degradation": {"kind": "linear", "alpha": random.choice([0.0, 0.2, 0.5])},
            "overhead_ms_per_server": random.choice([1.0, 5.0, 10.0]),
        },
        "jobs": [
            {
                "name": f"j{i}",
                "gpus": size,
                "iterations": 1,
                "gradient_mb": random.uniform(10, 150),
                "batch_size": random.randint(1, 8),
                "forward_ms_per_sample": random.uniform(0.5, 5),
                "backward_ms": random.uniform(5, 80),
            }
            for i, size in enumerate(sizes)
        ],
    }
    ranges = iteration_ranges(parse_instance(data))
    slot = max(best for best, _ in ranges) * random.uniform(2, 10)
    data["time"]["slot_seconds"] = slot
    for job, (best, _) in zip(data["jobs"], ranges, strict=True):
        slots = random.randint(1, family.longest)
        job["iterations"] = max(1, int(slots * slot / best) - random.randint(0, 2))
    return parse_instance(data)


def cases(family: Family) -> Iterator[Scope]:
    """Instances of a family, each with the horizon that the best heuristic gives."""
    found = seed = 0
    while found < family.number:
        instance = random_star(Random(seed), family)
        seed += 1
        scope = scope_for(instance, TIME_INDEXED)
        low, high = family.slots
        if low <= scope.horizon <= high and scope.horizon > best_bound(instance).slots:
            found += 1
            time = instance.time.model_copy(update={"horizon": high})
            yield replace(scope, instance=instance.model_copy(update={"time": time}))


def textbook(scope: Scope, solver: Solver, seconds: float) -> tuple[float, bool]:
    """Seconds of the textbook model on the instance's horizon, and whether it was solved."""
    scope = replace(scope, horizon=horizon_of(scope.instance))
    begun = perf_counter()
    answer = solver.solve(naive_model(scope), Limits(time_limit=seconds, threads=THREADS))
    return perf_counter() - begun, answer.termination == "finished"


def main() -> None:
    """Print one line for each solver and family."""
    model_only = "--model-only" in sys.argv
    names = [name for name in sys.argv[1:] if name != "--model-only"]
    names = names or ["highs", "cpsat", "scip"]
    print(f"{'solver':8} {'jobs':>4} {'servers':>7} {'slots':>9} {'proven':>8} "
          f"{'median s':>8} {'most s':>7} {'speed-up':>9}")  # fmt: skip
    for name in names:
        solver = registry.find("solvers", name)
        for family in FAMILIES:
            times, horizons, ratios, proven = [], [], [], 0
            beyond = 0
            for scope in cases(family):
                limit = family.seconds
                result = solve(
                    scope.instance,
                    formulation=TIME_INDEXED,
                    solver=solver,
                    time_limit=limit,
                    threads=THREADS,
                    model_only=model_only,
                )
                proven += result.status == "optimal"
                times.append(result.seconds)
                horizons.append(scope.horizon)
                if family.yardstick:
                    seconds, solved = textbook(scope, solver, limit)
                    beyond += not solved
                    ratios.append(seconds / result.seconds)
                    print(
                        f"  {scope.horizon} slots, optimum {result.makespan}: "
                        f"{result.seconds:.2f} s, textbook {seconds:.2f} s",
                        file=sys.stderr,
                        flush=True,
                    )
            speedup = ""
            if ratios:
                mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
                speedup = f"{mean:.1f}" + (f" ({beyond} cut off)" if beyond else "")
            print(
                f"{name:8} {family.jobs:4} {family.servers:7} "
                f"{f'{min(horizons)} to {max(horizons)}':>9} "
                f"{f'{proven} of {len(times)}':>8} {median(times):8.2f} {max(times):7.1f} "
                f"{speedup:>9}",
                flush=True,
            )


if __name__ == "__main__":
    main()
