"""Exact solves beside `search`: makespan and bound of each on the same instances, in as much time.

Run with `python tests/benchmarks/exact_beside_search.py [--seconds S] [--seeds N] [SOLVER...]`;
without solvers on the one that `--solver auto` takes. Families: random stars as in
`time_indexed.py`, named by jobs × servers, and `rarmodel generate contention`. Instances that
`search` proves are counted and not solved again: an exact solve starts from `search`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from random import Random

import rarmodel
from rarmodel.methods import Result
from rarmodel.schema import Instance

sys.path.insert(0, str(Path(__file__).parent))
stars = import_module("time_indexed")

THREADS = 2


def families(seeds: int) -> Iterator[tuple[str, list[Instance]]]:
    """Names of families, and their instances."""
    for family in stars.FAMILIES:
        instances = [stars.random_star(Random(seed), family) for seed in range(seeds)]
        yield f"{family.jobs} × {family.servers}", instances
    yield "contention", [rarmodel.generate("contention", seed=seed) for seed in range(seeds)]


def shown(result: Result) -> str:
    """Makespan and bound."""
    proven = " proven" if result.status == "optimal" else ""
    return f"{result.makespan} / {result.lower_bound}{proven}"


def main(options: argparse.Namespace) -> None:
    """Print a row for each instance that `search` leaves open, and one for each family."""
    limit = {"time_limit": options.seconds, "threads": THREADS}
    print("| family | seed | search | a tenth of the time | " + " | ".join(options.solvers) + " |")
    print("|---|---|---|---|" + "---|" * len(options.solvers))
    for name, instances in families(options.seeds):
        proven = 0
        never_worse = [True] * len(options.solvers)
        closed = [0] * len(options.solvers)
        for seed, instance in enumerate(instances):
            whole = rarmodel.solve(instance, method="search", **limit)
            if whole.status == "optimal":
                proven += 1
                continue
            tenth = rarmodel.solve(
                instance, method="search", **limit | {"time_limit": options.seconds / 10}
            )
            exact = [
                rarmodel.solve(instance, formulation="time-indexed", solver=solver, **limit)
                for solver in options.solvers
            ]
            for i, result in enumerate(exact):
                never_worse[i] &= (result.makespan or sys.maxsize) <= (
                    whole.makespan or sys.maxsize
                )
                closed[i] += result.status == "optimal"
            cells = [name, str(seed), shown(whole), shown(tenth), *map(shown, exact)]
            print("| " + " | ".join(cells) + " |", flush=True)
        verdicts = [
            f"{proven + more} proven, {'never' if fine else 'sometimes'} worse than search"
            for more, fine in zip(closed, never_worse, strict=True)
        ]
        cells = [f"**{name}**", f"{len(instances)} in all", f"{proven} proven", "", *verdicts]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("solvers", nargs="*", default=["auto"])
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--seeds", type=int, default=10)
    main(parser.parse_args())
