"""Restricted models: formulations with additions that no file format knows, at many jobs.

For each number of jobs, seed and addition: the value of `time-indexed` with the addition, who found
it, and how many of the solve's restricted models there were. Beside it is what `search` reaches for
the same instance without the addition, which no admissible schedule can be expected to beat by
much. Where resources in the file can say the same as the addition, `search` solves that instance in
the same time: it knows by itself what the formulation learns from the model only.

    python tests/benchmarks/restricted.py --jobs 15 40 --seeds 2 --time-limit 120
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from additions import (
    exclusive,
    few_switched_on,
    makespan_and_fairness,
    nightly,
    power_cap,
    unfairness,
)

import rarmodel
from rarmodel.formulations import Formulation
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.schema import Instance

ADDITIONS: dict[str, tuple[Formulation, Callable[[Instance], dict[str, Any]]]] = {
    "power cap": (
        TIME_INDEXED.extended("power-cap", power_cap),
        lambda instance: {"gpus_at_once": _gpus(instance) * 4 // 5},
    ),
    "five pairs apart": (
        TIME_INDEXED.extended("five-pairs", exclusive),
        lambda instance: {"exclusive": _pairs(instance)},
    ),
    "servers on": (
        TIME_INDEXED.extended("servers-on", few_switched_on),
        lambda instance: {"servers_at_once": len(instance.cluster.servers) * 4 // 5},
    ),
    "fairness": (
        TIME_INDEXED.extended("fairness", unfairness, objective=makespan_and_fairness),
        lambda _: {"stretch": 4},
    ),
    "down by night": (
        TIME_INDEXED.extended("nightly", allows_at=nightly),
        lambda _: {},
    ),
}


def _gpus(instance: Instance) -> int:
    return sum(server.gpus for server in instance.cluster.servers)


def _pairs(instance: Instance) -> list[tuple[str, str]]:
    """The ten jobs of the most GPU slots, in five pairs."""
    greatest = sorted(instance.jobs, key=lambda job: -job.size * job.iterations)
    names = [job.name for job in greatest[:10]]
    return list(zip(names[::2], names[1::2], strict=False))


def as_resources(instance: Instance, addition: str) -> Instance | None:
    """The instance with resources that say the same as an addition; None if none can."""
    data = instance.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if addition == "power cap":
        data["resources"] = [{"name": "power", "capacity": _gpus(instance) * 4 // 5}]
        for job in data["jobs"]:
            job["resources_per_gpu"] = {"power": 1}
    elif addition == "five pairs apart":
        pairs = _pairs(instance)
        data["resources"] = [{"name": f"pair-{i}", "capacity": 1} for i in range(len(pairs))]
        for job in data["jobs"]:
            used = {f"pair-{i}": 1 for i, pair in enumerate(pairs) if job["name"] in pair}
            if used:
                job["resources"] = used
    else:
        return None
    return Instance.model_validate(data)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--family", default="contention")
    parser.add_argument("--jobs", type=int, nargs="+", default=[15, 40, 160])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--time-limit", type=float, default=120.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--additions", nargs="+", default=list(ADDITIONS))
    parser.add_argument("--solver", default=None)
    asked = parser.parse_args()
    print(
        "| jobs | seed | addition | search alone | as resources | value | makespan | bound "
        "| found by | models |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for jobs in asked.jobs:
        for seed in range(asked.first, asked.first + asked.seeds):
            instance = rarmodel.generate(asked.family, seed=seed, jobs=jobs)
            alone = rarmodel.solve(instance, time_limit=10, threads=asked.threads)
            for name in asked.additions:
                formulation, data = ADDITIONS[name]
                result = rarmodel.solve(
                    instance,
                    formulation=formulation,
                    data=data(instance),
                    solver=asked.solver,
                    time_limit=asked.time_limit,
                    threads=asked.threads,
                )
                native: int | str | None = "–"
                if (stated := as_resources(instance, name)) is not None:
                    native = rarmodel.solve(
                        stated, time_limit=asked.time_limit, threads=asked.threads
                    ).makespan
                goal = result.objective[0]
                models = result.stopped.rpartition(" restricted models")[0].rpartition(" ")[2]
                print(
                    f"| {jobs} | {seed} | {name} | {alone.makespan} | {native} | {goal.value} | "
                    f"{result.makespan} | {goal.bound} | {result.schedule_by} | {models} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
