"""Time to prove an optimum with time-indexed on HiGHS: `python tests/benchmarks/time_indexed.py`.

On four jobs and two servers it stands beside exhaustive enumeration in the same run.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from enumeration import optimal_makespan
from random_instances import random_instance

from rarmodel.api import solve
from rarmodel.bounds import best_bound
from rarmodel.schema import Instance

SECONDS = 60.0


def hard_instances(jobs: int, servers: int, number: int) -> list[Instance]:
    """Random instances, stars and trees, on which no heuristic meets the simple lower bounds."""
    found: list[Instance] = []
    seed = 0
    while len(found) < number:
        seed += 1
        instance = random_instance(
            Random(seed), jobs=jobs, servers=servers, tree=seed % 2 == 0, most_slots=6
        )
        quick = solve(instance, formulation="time-indexed", time_limit=1e-3)
        if quick.makespan is not None and quick.makespan > best_bound(instance).slots:
            found.append(instance)
    return found


def main() -> None:
    print(f"{'jobs':>5}{'servers':>8}{'slots':>12}{'proven':>9}{'median s':>10}{'most s':>8}")
    for jobs, servers, number in ((4, 2, 10), (5, 3, 10), (6, 3, 10), (8, 4, 6)):
        instances = hard_instances(jobs, servers, number)
        results = [
            solve(instance, formulation="time-indexed", time_limit=SECONDS, threads=2)
            for instance in instances
        ]
        proven = sum(result.status == "optimal" for result in results)
        slots = sorted(result.makespan or 0 for result in results)
        times = [result.seconds for result in results]
        print(
            f"{jobs:>5}{servers:>8}{f'{slots[0]} to {slots[-1]}':>12}{f'{proven} of {number}':>9}"
            f"{median(times):>10.2f}{max(times):>8.1f}"
        )
        if jobs == 4:
            ratios = []
            for instance, result in zip(instances, results, strict=True):
                begun = perf_counter()
                assert optimal_makespan(instance) == result.makespan
                ratios.append((perf_counter() - begun) / result.seconds)
            print(f"      enumeration takes {median(ratios):.1f} times as long, in the median")


if __name__ == "__main__":
    main()
