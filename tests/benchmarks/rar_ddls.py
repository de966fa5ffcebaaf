"""How far the original non-convex program can be solved, beside `time-indexed`.

Run with `python tests/benchmarks/rar_ddls.py [--model-only]`; with `--model-only` the models must
do without search, proof, bounds of rarmodel's and starting solutions. Random stars and trees of
which heuristics miss the simple lower bounds; 2 threads.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from random_instances import random_instance

from rarmodel import parts, solve
from rarmodel.bounds import best_bound
from rarmodel.errors import UsageError

SECONDS = 60.0


def main() -> None:
    """Print one line for each solver and size."""
    installed = {row["name"] for row in parts("solvers") if row["version"]}
    pairs = [("rar-ddls", "scip"), ("rar-ddls", "gurobi"), ("time-indexed", "highs")]
    print(f"{'formulation':14} {'solver':7} jobs servers   slots   proven refused median s  most s")
    for jobs, servers in ((3, 2), (4, 2), (5, 2), (4, 3), (5, 3)):
        for formulation, solver in pairs:
            if solver not in installed:
                continue
            times: list[float] = []
            makespans: list[int] = []
            proven = refused = seed = 0
            while len(times) + refused < 8:
                instance = random_instance(
                    Random(seed), jobs=jobs, servers=servers, tree=seed % 2 == 0
                )
                seed += 1
                first = solve(instance)
                if first.makespan is None or first.makespan <= best_bound(instance).slots:
                    continue
                try:
                    result = solve(
                        instance,
                        formulation=formulation,
                        solver=solver,
                        time_limit=SECONDS,
                        threads=2,
                        model_only="--model-only" in sys.argv,
                    )
                except UsageError:  # The licence is too small.
                    refused += 1
                    continue
                times.append(result.seconds)
                makespans.append(result.makespan or 0)
                proven += result.status == "optimal"
            span = f"{min(makespans)} to {max(makespans)}" if makespans else "-"
            middle = f"{median(times):8.2f} {max(times):7.1f}" if times else ""
            print(
                f"{formulation:14} {solver:7} {jobs:4} {servers:7} {span:>7} "
                f"{proven:8} {refused:7} {middle}",
                flush=True,
            )


if __name__ == "__main__":
    main()
