"""How many random stars are proven optimal: by `search`, and by exact solves.

`python tests/benchmarks/proofs.py 8x4 [--seeds N] [--seconds S]`. The instances are those of
`rarmodel generate stars`. `--methods search time-indexed` has both. An earlier version that
has no such family can `rarmodel compare` the files that `rarmodel instances write` makes.
"""

from __future__ import annotations

import argparse

import rarmodel
from rarmodel.results import Result
from rarmodel.schema import Instance


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
    """Print makespan and bound of each, and how many are proven."""
    jobs, servers = map(int, options.shape.split("x"))
    proven = dict.fromkeys(options.methods, 0)
    print("| instance | " + " | ".join(options.methods) + " |")
    print("|---|" + "---|" * len(options.methods))
    for seed in range(options.first, options.first + options.seeds):
        instance = rarmodel.generate("stars", jobs=jobs, servers=servers, seed=seed)
        cells = [instance.name]
        for by in options.methods:
            found = solved(instance, by, options.seconds)
            proven[by] += found.status == "optimal"
            bound = f"{found.makespan} ≥ {found.lower_bound} ({found.bound_name})"
            cells.append(f"{bound}, {found.seconds:.1f} s")
        print("| " + " | ".join(cells) + " |", flush=True)
    for by, count in proven.items():
        print(f"{by}: {count} of {options.seeds} proven")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shape", help="jobs x servers, such as 8x4")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--methods", nargs="+", default=["search"])
    main(parser.parse_args())
