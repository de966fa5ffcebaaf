"""How many random stars are proven optimal: by `search`, and by exact solves.

`python tests/benchmarks/proofs.py 8x4 [--seeds N] [--seconds S]`. The instances are those of
`rarmodel generate stars`; with `--objective total-flow` or another one, jobs arrive over time.
`--methods search time-indexed` has both. `--against PYTHON`, an interpreter of an environment with
another version of rarmodel, adds that version's results: it takes turns with this one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from random import Random

import rarmodel
from rarmodel.methods import Result
from rarmodel.schema import Instance

ANOTHER_VERSION = """
import json, sys
import rarmodel
found = rarmodel.solve("-", **json.loads(sys.argv[1]))
value, seconds = found.makespan, f"{found.seconds:.1f} s"
print(json.dumps([f"{value} ≥ {found.lower_bound}, {seconds}", found.status == "optimal"]))
"""
"""Makespans only: earlier versions have no other objective."""


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
        objective=instance.objectives,
    )


def cell(instance: Instance, by: str, seconds: float) -> tuple[str, bool]:
    """Value, bound and time, and whether that is a proof."""
    found = solved(instance, by, seconds)
    goal = found.objective[0]
    name = f" ({found.bound_name})" if found.by_makespan else ""
    text = f"{goal.value} ≥ {goal.bound}{name}, {found.seconds:.1f} s"
    return text, found.status == "optimal"


def cell_of_another(python: str, instance: Instance, by: str, seconds: float) -> tuple[str, bool]:
    """The same by another version of rarmodel."""
    text = instance.model_dump_json(exclude_unset=True)
    which = "formulation" if by == "time-indexed" else "method"
    options = json.dumps({which: by, "time_limit": seconds})
    # -P: in a checkout, its own rarmodel would come before the one of the environment.
    command = [python, "-P", "-c", ANOTHER_VERSION, options]
    outcome = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    value, proven = json.loads(outcome.stdout)
    return value, proven


def main(options: argparse.Namespace) -> None:
    """Print value and bound of each, and how many are proven."""
    jobs, servers = map(int, options.shape.split("x"))
    columns = list(options.methods)
    if options.against is not None:
        columns += [f"{by}, other version" for by in options.methods]
    proven = dict.fromkeys(columns, 0)
    print("| instance | " + " | ".join(columns) + " |")
    print("|---|" + "---|" * len(columns))
    for seed in range(options.first, options.first + options.seeds):
        instance = rarmodel.generate("stars", jobs=jobs, servers=servers, seed=seed)
        if options.objective != "makespan":
            instance = with_arrivals(instance, options.objective, seed)
        made = [cell(instance, by, options.seconds) for by in options.methods]
        if options.against is not None:
            made += [
                cell_of_another(options.against, instance, by, options.seconds)
                for by in options.methods
            ]
        for column, (_, optimal) in zip(columns, made, strict=True):
            proven[column] += optimal
        cells = [instance.name, *(text for text, _ in made)]
        print("| " + " | ".join(cells) + " |", flush=True)
    for column, count in proven.items():
        print(f"{column}: {count} of {options.seeds} proven")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shape", help="jobs x servers, such as 8x4")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--objective", default="makespan")
    parser.add_argument("--methods", nargs="+", default=["search"])
    parser.add_argument("--against", help="the interpreter of another version's environment")
    main(parser.parse_args())
