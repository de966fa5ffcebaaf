"""The formulation `interval` beside PyJobShop, on jobs without contention that arrive over time.

`python tests/benchmarks/interval_beside_pyjobshop.py --against PYTHON [--jobs N …]`, where PYTHON
is an interpreter of an environment with PyJobShop. Each instance has 8 servers of 4 GPUs; its jobs
are those of `rarmodel generate paper --no-contention --with releases:within=0.5`. Without
contention each takes the same time wherever it is, so to PyJobShop the cluster is one renewable
resource of 32 units. Every solve is a process of its own, whose processor seconds are counted from
its start, with those of the processes that it starts. `interval` has a time limit; PyJobShop has
the same threads, and as many processor seconds as `interval` has used.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from typing import NamedTuple

import rarmodel
from rarmodel.model import job_extremes
from rarmodel.schema import Instance

PYJOBSHOP = """
import json, sys, threading, time
from ortools.sat.python import cp_model
from pyjobshop import Model
from pyjobshop.solvers.ortools import CPModel
asked = json.load(sys.stdin)
model = Model()
gpus = model.add_renewable(asked["gpus"])
for release, size, slots in asked["jobs"]:
    job = model.add_job(release_date=release)
    task = model.add_task(job, earliest_start=release)
    model.add_mode(task, gpus, slots, size)
model.set_objective(**{asked["weight"]: 1})
solver = cp_model.CpSolver()
solver.parameters.num_workers = asked["threads"]
ended = threading.Event()

def stop_in_time():
    while not ended.wait(0.05):
        if time.process_time() > asked["seconds"]:
            solver.stop_search()

threading.Thread(target=stop_in_time, daemon=True).start()
status = solver.solve(CPModel(model.data()).model)
ended.set()
solved = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
value = round(solver.objective_value) if solved else None
print(json.dumps([value, solver.best_objective_bound if solved else None]))
"""
"""PyJobShop's model as its own `solve` gives it to CP-SAT, stopped by processor seconds."""

WEIGHTS = {"total-flow": "weight_total_flow_time", "makespan": "weight_makespan"}
"""By objective: PyJobShop's name of its weight."""

RARMODEL = """
import json, sys
import rarmodel
from rarmodel.schema import Instance
asked = json.load(sys.stdin)
instance = Instance.model_validate_json(asked["instance"])
found = rarmodel.solve(
    instance,
    formulation="interval",
    objective=instance.objectives,
    time_limit=asked["seconds"],
    threads=asked["threads"],
)
goal = found.objective[0]
print(json.dumps([goal.value, goal.bound]))
"""


class Cell(NamedTuple):
    """What one of both has found: value, bound and processor seconds."""

    value: int | None
    bound: float | None
    seconds: float

    def __str__(self) -> str:
        proven = self.value is not None and self.value == self.bound
        known = f"{self.value} ≥ {'-' if self.bound is None else round(self.bound)}"
        return f"{known}{' proven' if proven else ''}, {self.seconds:.1f} s"


def asked(python: str, program: str, request: dict[str, object]) -> Cell:
    """Let a program answer a request in a process of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # -P: in a checkout, its own rarmodel would come before the one of the environment.
    command = [python, "-P", "-c", program]
    text = json.dumps(request)
    outcome = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    value, bound = json.loads(outcome.stdout.splitlines()[-1])
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cell(value, bound, used)


def by_pyjobshop(python: str, instance: Instance, seconds: float, threads: int) -> Cell:
    """What PyJobShop finds in so many processor seconds."""
    extremes = job_extremes(instance)
    jobs = [
        (job.release, job.size, one.least_slots)
        for job, one in zip(instance.jobs, extremes, strict=True)
    ]
    request = {
        "gpus": instance.cluster.total_gpus,
        "jobs": jobs,
        "weight": WEIGHTS[instance.objectives[0]],
        "seconds": seconds,
        "threads": threads,
    }
    return asked(python, PYJOBSHOP, request)


def by_rarmodel(instance: Instance, seconds: float, threads: int) -> Cell:
    """What `interval` finds."""
    request = {
        "instance": instance.model_dump_json(exclude_unset=True),
        "seconds": seconds,
        "threads": threads,
    }
    return asked(sys.executable, RARMODEL, request)


def main(options: argparse.Namespace) -> None:
    """Print a table with a row for each instance."""
    print("| jobs | seed | objective | interval | PyJobShop |\n|---:|---:|---|---|---|")
    for jobs in options.jobs:
        for objective in options.objectives:
            for seed in options.seeds:
                instance = rarmodel.generate(
                    "paper",
                    jobs=jobs,
                    servers=8,
                    capacities=(4,),
                    seed=seed,
                    contention=False,
                    features=("releases:within=0.5",),
                    objective=objective,
                )
                ours = by_rarmodel(instance, options.seconds, options.threads)
                theirs = by_pyjobshop(options.against, instance, ours.seconds, options.threads)
                for value, bound in ((ours.value, theirs.bound), (theirs.value, ours.bound)):
                    assert value is None or bound is None or bound <= value, instance.name
                print(f"| {jobs:,} | {seed} | {objective} | {ours} | {theirs} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--against", required=True, help="the interpreter of an environment with PyJobShop"
    )
    parser.add_argument(
        "--jobs", nargs="+", type=int, default=[20, 50, 100, 200, 500, 1000], metavar="N"
    )
    parser.add_argument("--objectives", nargs="+", choices=WEIGHTS, default=list(WEIGHTS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--threads", type=int, default=1)
    main(parser.parse_args())
