"""SJF-BCO, dispatching rules and `search` on wide instances: arrivals, two types, moldable jobs.

Run with `python tests/benchmarks/wide.py [--seconds S] [--threads N] [--seeds N] [--each]
[OBJECTIVE...]`. Instances are those of `rarmodel generate wide`: 160 jobs on 20 servers. `--each`
prints a row for each instance, too.
"""

from __future__ import annotations

import argparse
from statistics import fmean

import rarmodel
from rarmodel.bounds import least_values
from rarmodel.errors import UsageError
from rarmodel.schema import Instance

OBJECTIVES = ("total-flow", "total-tardiness", "max-stretch", "makespan")
RULES = ("fifo-backfill", "shortest-first", "weighted-shortest-first", "earliest-due-first")
METHODS = ("sjf-bco", *RULES, "search")


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
            instance = rarmodel.generate("wide", seed=seed, objective=objective)
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
