"""How many GPUs a schedule as short as the bound needs at least.

`python tests/benchmarks/gpus_at_the_bound.py contention [--seeds N] [--first N]`

Each GPU runs whole jobs one after another. The linear program of the bound `cutting stock` says how
many GPUs are needed if jobs could be split between such fillings. The rest of the GPUs, over the
whole schedule, is all the time that may be lost to contention and to rings that run at once.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np

import rarmodel
from rarmodel.bounds import best_bound, raised_slowly, slow_bounds
from rarmodel.bounds.column_program import ColumnProgram
from rarmodel.bounds.knapsack import fill, powers
from rarmodel.model import least_slots_by_placement
from rarmodel.model.objectives import MAKESPAN
from rarmodel.schema import Instance

SCALE = 10**9
NOISE = 1e-7


def bound_of(instance: Instance) -> int:
    """The best bound that needs no schedule, in slots."""
    bound = best_bound(instance)
    return raised_slowly(instance, bound, slow_bounds(instance, MAKESPAN), None, 30.0).slots


def gpus_needed(instance: Instance, length: int) -> float:
    """GPUs that the linear program needs for schedules of a length in slots."""
    jobs, workers = Counter[int](), Counter[int]()
    for job, slots in zip(instance.jobs, least_slots_by_placement(instance), strict=True):
        least = min(value for value in (slots.packed, slots.spread) if value)
        jobs[least] += 1
        workers[least] += job.size
    items = sorted(jobs)
    sizes = np.array(items, np.int64)
    most = [min(jobs[size], length // size) for size in items]
    pieces = np.array(
        [(item, piece) for item, many in enumerate(most) for piece in powers(many)], np.int64
    )
    best, chosen = np.zeros(length + 1, np.int64), np.zeros((len(pieces), length + 1), np.bool_)
    program = ColumnProgram([workers[size] for size in items], [1])
    for item, many in enumerate(most):
        program.add({item: many}, 0)
    while True:
        solution = program.solve()
        if solution is None:
            raise ArithmeticError("the linear program has no solution")
        taken = np.zeros(len(items), np.int64)
        prices = np.floor(solution.prices * SCALE).astype(np.int64)
        value = fill(sizes, prices, pieces, length, best, chosen, taken)
        if value <= solution.supply_prices[0] * SCALE * (1 + NOISE):
            return solution.multiple
        program.add({item: int(taken[item]) for item in np.flatnonzero(taken).tolist()}, 0)


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
        needed = gpus_needed(instance, bound)
        idle = (gpus - needed) * bound
        print(f"| seed-{seed} | {bound} | {gpus} | {needed:.3f} | {idle:.0f} |", flush=True)


if __name__ == "__main__":
    main()
