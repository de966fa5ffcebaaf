"""How many random stars are proven optimal: by `search`, and by exact solves.

`python tests/benchmarks/proofs.py 8x4 [--seeds N] [--seconds S]`. The instances are those of
`rarmodel generate stars`; with `--objective total-flow` or another one, jobs arrive over time.
`--methods search time-indexed` has both. An earlier version that has no such family can
`rarmodel compare` the files that `rarmodel instances write` makes.
"""

from __future__ import annotations

import argparse
from random import Random

import rarmodel
from rarmodel.results import Result
from rarmodel.schema import Instance


def with_arrivals(instance: Instance, objective: str, seed: int) -> Instance:
    """Jobs that are released by and by, and due some slots later."""
    random, jobs = Random(seed), []
    for job in instance.jobs:
        release = random.randint(0, 2 * len(instance.jobs))
        due = release + random.randint(5, 30)
        jobs.append(job.model_copy(update={"release": release, "due": due}))
    return instance.model_copy(update={"jobs": tuple(jobs), "objective": objective})


def solved(instance: Instance, by: str, seconds: float) -> Result:
    """The result of a method, or of a formulation."""
    exact = by == "time-indexed"
    return rarmodel.solve(
        instance,
        method=None if exact else by,
        formulation=by if exact else None,
        time_limit=seconds,
        second_aim=False,
    )


def main(options: argparse.Namespace) -> None:
    """Print value and bound of each, and how many are proven."""
    jobs, servers = map(int, options.shape.split("x"))
    proven = dict.fromkeys(options.methods, 0)
    print("| instance | " + " | ".join(options.methods) + " |")
    print("|---|" + "---|" * len(options.methods))
    for seed in range(options.first, options.first + options.seeds):
        instance = rarmodel.generate("stars", jobs=jobs, servers=servers, seed=seed)
        if options.objective != "makespan":
            instance = with_arrivals(instance, options.objective, seed)
        cells = [instance.name]
        for by in options.methods:
            found = solved(instance, by, options.seconds)
            proven[by] += found.status == "optimal"
            goal, name = found.objective[0], ""
            if found.by_makespan:
                name = f" ({found.bound_name})"
            cells.append(f"{goal.value} ≥ {goal.bound}{name}, {found.seconds:.1f} s")
        print("| " + " | ".join(cells) + " |", flush=True)
    for by, count in proven.items():
        print(f"{by}: {count} of {options.seeds} proven")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shape", help="jobs x servers, such as 8x4")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--objective", default="makespan")
    parser.add_argument("--methods", nargs="+", default=["search"])
    main(parser.parse_args())
