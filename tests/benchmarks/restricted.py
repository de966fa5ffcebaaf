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
from collections.abc import Callable
from typing import Any

import pyomo.environ as pyo

import rarmodel
from rarmodel.formulations import Formulation, Scope
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.schema import Instance


def power_cap(model: Any, scope: Scope) -> None:
    """GPUs at work in each slot draw no more than a cap."""
    cap = scope.read("gpus_at_once")
    model.power_cap = pyo.Constraint(
        range(scope.horizon),
        rule=lambda m, t: sum(m.held[j, s, t] for j in scope.jobs for s in scope.servers) <= cap,
        doc="power cap",
    )


def exclusive(model: Any, scope: Scope) -> None:
    """Jobs of a pair never run at once."""
    pairs = [tuple(pair) for pair in scope.read("exclusive")]
    model.exclusive = pyo.Constraint(
        pairs,
        range(scope.horizon),
        rule=lambda m, j, k, t: m.running[j, t] + m.running[k, t] <= 1,
        doc="jobs that may not overlap",
    )


def few_switched_on(model: Any, scope: Scope) -> None:
    """At most k servers are switched on in each slot."""
    most = scope.read("servers_at_once")
    servers, slots = list(scope.servers), range(scope.horizon)
    model.switched_on = pyo.Var(servers, slots, domain=pyo.Binary)
    model.on_if_held = pyo.Constraint(
        servers,
        slots,
        rule=lambda m, s, t: (
            sum(m.held[j, s, t] for j in scope.jobs) <= scope.servers[s].gpus * m.switched_on[s, t]
        ),
    )
    model.few_switched_on = pyo.Constraint(
        slots, rule=lambda m, t: sum(m.switched_on[s, t] for s in servers) <= most
    )


def unfairness(model: Any, scope: Scope) -> None:
    """By how much jobs complete later than a multiple of their least execution times."""
    wish = {j: scope.read("stretch") * slots for j, slots in scope.least_slots.items()}
    model.unfair = pyo.Var(
        list(scope.jobs), domain=pyo.NonNegativeIntegers, bounds=(0, scope.horizon)
    )
    model.unfairness = pyo.Constraint(
        list(scope.jobs), rule=lambda m, j: m.unfair[j] >= m.completion[j] - wish[j]
    )


def makespan_and_fairness(model: Any, scope: Scope) -> Any:
    """The makespan, and a tenth of all unfairness."""
    return 10 * model.makespan + sum(model.unfair[j] for j in scope.jobs)


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
