"""How far the formulations over pools go: `python tests/benchmarks/pools.py [SOLVER...]`.

`busy-time` on the bundled instances and on random ones whose bound needs a search; pools of the
heuristics on the bundled instances; pools of all schedules on random ones of four jobs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import Any

from rarmodel.heuristics import installed_policies
from rarmodel.model import horizon_of

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import pyomo.environ as pyo
from random_instances import random_instance
from scopes import scope_of

import rarmodel
from rarmodel import registry
from rarmodel.errors import UsageError
from rarmodel.formulations import Formulation, Scope
from rarmodel.formulations.busy_time import BUSY_TIME
from rarmodel.formulations.pool import pool_of, unfit
from rarmodel.formulations.schedule_selection import SCHEDULE_SELECTION
from rarmodel.limits import Limits

SECONDS = 20.0


def timed(formulation: Formulation, scope: Scope, solver: Any) -> tuple[str, float, float]:
    """What a solver finds, and seconds to build and to solve."""
    if formulation.unfit(scope):
        return "unfit", 0.0, 0.0
    begun = perf_counter()
    model = formulation.build(scope)
    built = perf_counter() - begun
    try:
        answer = solver.solve(model, Limits(time_limit=SECONDS, threads=2))
    except UsageError:  # The licence inside Gurobi's package takes small models only.
        return "refused", built, 0.0
    value = pyo.value(model.objective, exception=False)
    known = "-" if answer.bound is None else f"{answer.bound:g}"
    best = f"{value:g}" if answer.has_solution and value is not None else "-"
    return (best if best == known else f"{known} to {best}"), built, answer.seconds


def random_ones(jobs: int, servers: int, number: int) -> Iterator[Scope]:
    """Scopes on which neither the simple bounds nor a greedy rule tell the least limit."""
    seed = 0
    while number:
        seed += 1
        instance = random_instance(
            Random(seed),
            jobs=jobs,
            servers=servers,
            tree=False,
            least_slots=5,
            most_slots=40,
        )
        scope = scope_of(instance, 10**6)
        model: Any = BUSY_TIME.build(scope)
        if model.limit.value > model.limit.lb:
            number -= 1
            yield scope


def main() -> None:
    names = sys.argv[1:] or ["highs"]
    solvers = [registry.find("solvers", name) for name in names]
    bundled = rarmodel.list_instances("examples")
    print(f"busy-time, at most {SECONDS:g} s")
    for entry in bundled:
        scope = scope_of(rarmodel.load_instance(entry["name"]), entry["best_known"])
        for solver in solvers:
            found, built, seconds = timed(BUSY_TIME, scope, solver)
            print(
                f"{entry['name']:<22}{BUSY_TIME.size(scope):>8} terms {solver.name:<8}"
                f"limit {found:<12} build {built:6.2f} s  solve {seconds:6.2f} s"
            )
    for jobs, servers in ((8, 2), (14, 3), (20, 4)):
        scopes = list(random_ones(jobs, servers, 10))
        for solver in solvers:
            times, proven = [], 0
            for scope in scopes:
                found, _, seconds = timed(BUSY_TIME, scope, solver)
                proven += " to " not in found
                times.append(seconds)
            print(
                f"{jobs} jobs, {servers} servers: {solver.name:<8} proven {proven} of "
                f"{len(scopes)}, median {median(times):.2f} s, most {max(times):.1f} s"
            )
    print("pool of the heuristics")
    for entry in bundled:
        instance = rarmodel.load_instance(entry["name"])
        for policy in installed_policies():
            policy.prepare(instance)
        for horizon in (entry["best_known"], horizon_of(instance)):
            begun = perf_counter()
            scope = scope_of(instance, horizon)
            pool = pool_of(scope)
            made = perf_counter() - begun
            for solver in solvers:
                found, built, seconds = timed(SCHEDULE_SELECTION, scope, solver)
                print(
                    f"{entry['name']:<22}within {horizon:>5}: {len(pool):>4} schedules in "
                    f"{made:5.2f} s  {solver.name:<8}makespan {found:<6} build {built:5.2f} s  "
                    f"solve {seconds:5.2f} s"
                )
    print("pool of all schedules, four jobs on two servers")
    for seed in range(4, 10):
        instance = random_instance(
            Random(seed), jobs=4, servers=2, tree=seed % 2 == 0, most_slots=4
        )
        for horizon in (6, 8, 10, 12):
            scope = scope_of(instance, horizon, pool="all")
            begun = perf_counter()
            refused = unfit(scope) is not None
            made = perf_counter() - begun
            print(f"seed {seed}, within {horizon:>2} slots: ", end="")
            if refused:
                print(f"too many, in {made:.2f} s")
                break
            pool = pool_of(scope)
            for solver in solvers:
                found, built, seconds = timed(SCHEDULE_SELECTION, scope, solver)
                print(
                    f"{len(pool):>6} schedules in {made:5.2f} s  {solver.name:<8}"
                    f"makespan {found:<6} build {built:5.2f} s  solve {seconds:5.2f} s"
                )


if __name__ == "__main__":
    main()
