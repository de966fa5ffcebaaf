"""Formulations and solvers side by side: by their models alone, and with everything.

Run with `python tests/benchmarks/formulations_alone.py [--seconds S] [--instances N] [--all]`. The
instances are those of `rarmodel generate small`, of 4 to 8 jobs in turn; 2 threads. The first table
has `--model-only`: value, bound, seconds and nodes (of CP-SAT: branches) of each formulation and
solver, added up over the instances, with the number of optima. The second has the same with search,
proof and bounds, and says whose answers they are. With --all there is a row for each instance.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence

import rarmodel
from rarmodel.errors import UsageError
from rarmodel.methods import Result
from rarmodel.schema import Instance

THREADS = 2
FORMULATIONS = (
    "rar-ddls",
    "time-indexed",
    "time-indexed-compact",
    "busy-time",
    "schedule-selection",
    "time-indexed-preemptive",
)


def instances(count: int) -> list[Instance]:
    """Instances of 4 to 8 jobs."""
    return [
        rarmodel.generate("small", jobs=4 + seed % 5, servers=2 + seed % 2, seed=seed)
        for seed in range(count)
    ]


def cells(results: Sequence[Result | str]) -> list[str]:
    """What one formulation and solver did, over all instances."""
    done = [one for one in results if isinstance(one, Result)]
    refused = [one for one in results if isinstance(one, str)]
    nodes = [one.model.nodes for one in done if one.model and one.model.nodes is not None]
    whose = Counter(one.by_others or "its own" for one in done)
    return [
        f"{sum(one.status == 'optimal' for one in done)} of {len(results)}",
        str(sum(one.makespan or 0 for one in done)) if all(o.makespan for o in done) else "-",
        f"{sum(one.makespan is not None for one in done)}",
        str(sum(one.lower_bound or 0 for one in done)),
        f"{sum(one.seconds for one in done):.1f}",
        f"{sum(nodes):,}" if nodes else "-",
        "; ".join(f"{count}: {words}" for words, count in whose.most_common()),
        f"{len(refused)}: {refused[0]}" if refused else "",
    ]


def solved(
    instance: Instance, formulation: str, solver: str, seconds: float, *, model_only: bool
) -> Result | str:
    """The result, or why there is none."""
    try:
        return rarmodel.solve(
            instance,
            formulation=formulation,
            solver=solver,
            time_limit=seconds,
            threads=THREADS,
            model_only=model_only,
            objective=instance.objectives,
        )
    except UsageError as error:
        return str(error)


def main(options: argparse.Namespace) -> None:
    """Print both tables."""
    fits = {row["name"]: row["solvers"] for row in rarmodel.parts("formulations")}
    problems = instances(options.instances)
    for model_only in (True, False):
        print("by the models alone" if model_only else "with everything", end="\n\n")
        print(
            "| formulation | solver | optimal | makespans | schedules | bounds | seconds | nodes "
            "| whose answers | refused |\n|---|---|---|---|---|---|---|---|---|---|"
        )
        for formulation in FORMULATIONS:
            for solver in fits[formulation]:
                found = [
                    solved(one, formulation, solver, options.seconds, model_only=model_only)
                    for one in problems
                ]
                print(f"| {formulation} | {solver} | {' | '.join(cells(found))} |", flush=True)
                for problem, one in zip(problems, found, strict=True) if options.all else ():
                    print(f"| {problem.name} | | {' | '.join(cells([one]))} |")
        print()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--instances", type=int, default=10)
    parser.add_argument("--all", action="store_true", help="print a row for each instance, too")
    main(parser.parse_args())
