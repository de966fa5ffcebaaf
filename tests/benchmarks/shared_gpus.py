"""GPUs that jobs share: what sharing gains, and what it costs those who share nothing.

Run: `python tests/benchmarks/shared_gpus.py`, with `--seconds 30` for longer searches, or with
`--speed` for the speed of engine and list schedules where no GPU is shared. For that, run it in the
checkout of the parent commit as well, by turns: only the ratio says something. With `--bounds` it
shows what `best companions` adds to the other bounds, beside the best value of a search.

The first table has the jobs of `paper-160` on its first servers, with losses drawn at random:
sensitivities and pressures of 0.1 to 0.7. Beside the losses there is room for two jobs on a GPU.
Total completion is what sharing is for: jobs that do not wait. Both columns are of one search with
the same time; the one on GPUs alone is of the same jobs without slices.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from random import Random
from statistics import median
from time import process_time
from typing import Any

import numpy as np

from rarmodel import generate, load_instance
from rarmodel.bounds import objective_bounds
from rarmodel.bounds.companions import BEST_COMPANIONS, best_companions
from rarmodel.engine import Engine, decisions
from rarmodel.files import parse_instance
from rarmodel.heuristics import random_placement, run_policy, sjf_bco
from rarmodel.limits import Limits
from rarmodel.lists.list_schedules import ListSchedules
from rarmodel.model.objectives import objective
from rarmodel.schema import Instance
from rarmodel.search import SEARCH
from rarmodel.verifier import verify

REPEATS = 15
SHOWN = ("makespan", "total-completion", "total-tardiness", "late-jobs", "max-tardiness")
"""Objectives whose bounds are shown."""


def drawn(seed: int, servers: int, objective: str, *, shared: bool) -> Instance:
    """The jobs of `paper-160` on some servers; two may share a GPU."""
    random = Random(seed)
    data = load_instance("paper-160").model_dump(mode="json", exclude_unset=True)
    data["cluster"]["servers"] = data["cluster"]["servers"][:servers]
    data["cluster"]["gpu_slices"] = 2
    data["objective"] = objective
    del data["time"]["horizon"]
    for job in data["jobs"]:
        job["sensitivity"] = round(random.uniform(0.1, 0.7), 2)
        job["pressure"] = round(random.uniform(0.1, 0.7), 2)
        if shared:
            job["slices"] = 1
    return parse_instance(data)


def value(instance: Instance, seconds: float) -> Any:
    """What `search` finds in so many seconds."""
    made = SEARCH(instance, Limits(time_limit=seconds))
    if made.schedule is None:
        return None
    report = verify(instance, made.schedule)
    return next(iter((report.objective or {}).values())) if report.feasible else None


def gains(seconds: float) -> None:
    """What sharing gains."""
    print(f"{'servers':>7}  {'seed':>4}  {'objective':16}  {'alone':>8}  {'shared':>8}  gain")
    for servers in (10, 20):
        for seed in (1, 2, 3):
            for name in ("makespan", "total-completion"):
                found = []
                for shared in (False, True):
                    instance = drawn(seed, servers, name, shared=shared)
                    SEARCH.prepare(instance)
                    found.append(value(instance, seconds))
                alone, together = found
                gain = 1 - together / alone
                row = f"{servers:7}  {seed:4}  {name:16}  {alone:8}  {together:8}  {gain:.1%}"
                print(row, flush=True)


def bounds(seconds: float) -> None:
    """What prices by job add to the other bounds."""
    print(f"{'jobs':>4}  {'share':>5}  {'model':5}  {'objective':16}  {'others':>8}  ", end="")
    print(f"{'best companions':>15}  {'seconds':>7}  {'search':>8}")
    for jobs, servers in ((20, 2), (100, 5), (500, 20)):
        for share in (0.5, 1.0):
            for model in ("count", "duty"):
                data = generated(jobs, servers, share, model)
                SEARCH.prepare(generated(20, 2, share, model))
                for name in SHOWN:
                    instance = data.model_copy(update={"objective": name})
                    begun = process_time()
                    mine = best_companions(instance, objective(name))
                    taken = process_time() - begun
                    known = objective_bounds(instance, objective(name))
                    others = max(one.value for one in known if one.name != BEST_COMPANIONS.name)
                    found = value(instance, seconds)
                    row = f"{jobs:4}  {share:5}  {model:5}  {name:16}  {float(others):8.0f}  "
                    print(f"{row}{float(mine or 0):15.0f}  {taken:7.2f}  {found:8}", flush=True)


def generated(jobs: int, servers: int, share: float, model: str) -> Instance:
    """Jobs of the paper's family with up to 8 GPUs on servers of 8, of which a part share."""
    features = [f"shared-gpus:share={share}", "gpu-memory", "due-slots:times=1.0..4.0"]
    data = generate(
        "paper",
        seed=1 if share < 1 else 2,
        jobs=jobs,
        servers=servers,
        sizes=((1, 80), (2, 14), (4, 26), (8, 30)),
        capacities=(8,),
        features=features,
    ).model_dump(mode="json", exclude_unset=True)
    data["contention"]["model"] = model
    data["time"].pop("horizon", None)
    return parse_instance(data)


def microseconds(call: Callable[[], object], times: int) -> float:
    """The least time of a call, of some repeats."""
    least = float("inf")
    for _ in range(REPEATS):
        begun = process_time()
        for _ in range(times):
            call()
        least = min(least, (process_time() - begun) / times)
    return least * 1e6


def speed() -> None:
    """How fast engine and list schedules are where no GPU is shared."""
    instance = load_instance("paper-160")
    engine, lists = Engine(instance), ListSchedules(instance)
    for policy in (sjf_bco, random_placement):
        found = run_policy(instance, policy)
        assert found is not None
        starts, places = decisions(instance, found.schedule)
        known = [microseconds(lambda: engine.evaluate(starts, places), 300) for _ in range(5)]  # noqa: B023
        print(f"evaluate, {policy.name}: {median(known):.2f} µs")
    order = np.arange(len(instance.jobs))
    print(f"list schedule: {microseconds(lambda: lists.makespan(order), 200):.1f} µs")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each search")
    parser.add_argument("--speed", action="store_true", help="where no GPU is shared")
    parser.add_argument("--bounds", action="store_true", help="what bounds prove")
    asked = parser.parse_args()
    if asked.speed:
        speed()
    elif asked.bounds:
        bounds(asked.seconds)
    else:
        gains(asked.seconds)
