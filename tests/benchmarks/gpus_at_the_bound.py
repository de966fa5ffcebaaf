"""How many GPUs a schedule as short as the bound needs at least.

`python tests/benchmarks/gpus_at_the_bound.py contention [--seeds N] [--first N]`

Each GPU runs whole jobs one after another. The linear program of the bound `cutting stock` says how
many GPUs are needed if jobs could be split between such fillings. The rest of the GPUs, over the
whole schedule, is all the time that may be lost to contention and to rings that run at once.
"""

from __future__ import annotations

import argparse

import rarmodel
from rarmodel.bounds import best_bound, raised_slowly, slow_bounds
from rarmodel.bounds.cutting_stock import share_needed
from rarmodel.model.objectives import MAKESPAN
from rarmodel.schema import Instance


def bound_of(instance: Instance) -> int:
    """The best bound that needs no schedule, in slots."""
    bound = best_bound(instance)
    return raised_slowly(instance, bound, slow_bounds(instance, MAKESPAN), None, 30.0).slots


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family", choices=("contention", "paper"))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    print(
        "| instance | bound | GPUs | needed | idle slots of all GPUs |\n|---|---:|---:|---:|---:|"
    )
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        instance = rarmodel.generate(arguments.family, seed=seed)
        bound, gpus = bound_of(instance), instance.cluster.total_gpus
        needed = gpus * share_needed(instance, bound)
        idle = (gpus - needed) * bound
        print(f"| seed-{seed} | {bound} | {gpus} | {needed:.3f} | {idle:.0f} |", flush=True)


if __name__ == "__main__":
    main()
