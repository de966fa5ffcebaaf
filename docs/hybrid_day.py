"""A day with a service and training jobs: one pool of GPUs beside fixed halves.

    python docs/hybrid_day.py [SEEDS [JOBS ...]]

Each seed draws a day: the requests of a chat service, and JOBS training jobs. The day is played
with fixed halves, in which the service has four servers and the jobs have the other four, and with
one pool, in which jobs give way to replicas. `features/hybrid-clusters.md` explains the numbers.
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import rarmodel
from rarmodel.bounds import objective_bound
from rarmodel.bounds.cheapest_replicas import least_cost_of_services
from rarmodel.model.extremes import slots_alone
from rarmodel.model.objectives import COST, objective

POLICIES = ("fifo-backfill", "edf", "srtf")
LOADS = (60, 100, 140)
SERVERS, GPUS = 8, 8
DAY = 24 * 60
DAYS = 7
"""Demand goes on for so many days, so that jobs that are late meet it, too."""
PEAK, BASE = 75.0, 15.0
"""Requests a second: the most by day, and by night."""
VARIANT = {"name": "13B", "startup_seconds": 120, "batches": [{"size": 8, "latency_ms": 3200}]}
MODELS = {
    "resnet": {"gradient_mb": 100.0, "forward_ms_per_sample": 1.0, "backward_ms": 120.0},
    "bert": {"gradient_mb": 440.0, "forward_ms_per_sample": 4.0, "backward_ms": 260.0},
    "vgg": {"gradient_mb": 550.0, "forward_ms_per_sample": 3.0, "backward_ms": 200.0},
}


class Outcome(NamedTuple):
    """What came of a day.

    Attributes
    ----------
    trained
        GPU-hours of the jobs that are complete by the end of the day, each alone in its best place.
    at_most
        No schedule has more.
    flow, fastest
        Mean hours from release to completion, and a bound below which no schedule is.
    late
        Jobs that miss their due slot.
    given_way
        How often a job was interrupted.
    service, cheapest
        Cost of the replicas in the seven days, and the least that any replicas cost.
    """

    trained: float
    at_most: float
    flow: float
    fastest: float
    late: float
    given_way: int
    service: float
    cheapest: float


def demand(random: np.random.Generator, days: int) -> list[dict[str, Any]]:
    """Requests by the hour: a hill from 7 to 21, up to 15 % below the curve."""
    found = []
    for hour in range(24 * days):
        hill = max(0.0, math.sin(math.pi * (hour % 24 - 6.5) / 15))
        rate = (BASE + (PEAK - BASE) * hill) * random.uniform(0.85, 1.0)
        of_hour = {"from": 60 * hour, "to": 60 * hour + 60, "requests_per_second": round(rate, 2)}
        found.append(of_hour)
    return found


def training(random: np.random.Generator, count: int) -> list[dict[str, Any]]:
    """Jobs that arrive over the day; every second one has a due slot."""
    found: list[dict[str, Any]] = []
    for j in range(count):
        name = str(random.choice([*MODELS]))
        model = MODELS[name]
        minutes = float(np.exp(random.normal(math.log(100.0), 0.8)))
        seconds = (32 * model["forward_ms_per_sample"] + model["backward_ms"]) / 1000
        job = {
            **model,
            "name": f"{name}-{j}",
            "gpus": int(random.choice([1, 2, 4, 8, 16], p=[0.3, 0.2, 0.25, 0.2, 0.05])),
            "batch_size": 32,
            "iterations": max(1, round(60 * minutes / seconds)),
            "release": int(random.integers(DAY)),
        }
        if j % 2:
            job["due"] = job["release"] + 15 + round(minutes * random.uniform(1.2, 3.0))
        found.append(job)
    return found


def pool(seed: int, jobs: int, days: int) -> dict[str, Any]:
    """A day in which everybody may use every server."""
    random = np.random.default_rng(seed)
    asked = demand(random, days)
    chat = {"name": "chat", "latency_ms": 8000.0, "demand": asked, "variants": [VARIANT]}
    return {
        "schema_version": 1,
        "name": f"day-{seed}",
        "time": {"slot_seconds": 60.0},
        "cluster": {
            "servers": [{"name": f"s{s}", "gpus": GPUS} for s in range(SERVERS)],
            "network": {"kind": "star", "gbps": 100.0},
            "intra_server_gbps": 1200.0,
            "reduction_gbps": 1600.0,
        },
        "contention": {
            "concurrency": 0.5,
            "degradation": {"kind": "linear", "alpha": 0.2},
            "overhead_ms_per_server": 1.0,
        },
        "preemption": {"restore_seconds": 120.0},
        "services": [chat],
        "jobs": training(random, jobs),
    }


def halves(day: dict[str, Any]) -> dict[str, Any]:
    """The same day, with the first half of the servers for the service, the other for the jobs."""
    names = [one["name"] for one in day["cluster"]["servers"]]
    first, second = names[: len(names) // 2], names[len(names) // 2 :]
    return {
        **day,
        "services": [{**one, "servers": first} for one in day["services"]],
        "jobs": [{**one, "servers": second} for one in day["jobs"]],
    }


def training_alone(day: dict[str, Any]) -> rarmodel.Instance:
    """The jobs on the servers that they may use, without the service: for bounds."""
    usable = set(day["jobs"][0].get("servers", [one["name"] for one in day["cluster"]["servers"]]))
    servers = [one for one in day["cluster"]["servers"] if one["name"] in usable]
    jobs = [{name: x for name, x in job.items() if name != "servers"} for job in day["jobs"]]
    data = {**day, "cluster": {**day["cluster"], "servers": servers}, "jobs": jobs, "services": []}
    return rarmodel.Instance.model_validate(data)


def bounds(day: dict[str, Any]) -> tuple[float, float]:
    """The most GPU-hours that complete jobs have by the end of the day, and the least mean flow.

    A job of `G` GPUs holds at least `G` times its time alone, after its release, and GPUs that
    replicas need are not idle. So the jobs released from some slot on that are complete by the end
    of the day have at most as much as is idle from that slot on.
    """
    alone = training_alone(day)
    gpus = alone.cluster.total_gpus
    away = least_away(day) if len(alone.cluster.servers) == SERVERS else [0.0] * 24
    slots = slots_alone(alone)
    pairs = [(job, n) for job, n in zip(alone.jobs, slots, strict=True) if job.release + n <= DAY]
    most = 0.0
    for job, n in sorted(pairs, key=lambda pair: -pair[0].release):
        of_hours = sum(away[math.ceil(job.release / 60) :])
        most = min(most + job.sizes[0] * n / 60, gpus * (DAY - job.release) / 60 - of_hours)
    flow = objective_bound(alone, objective("total-flow"))
    assert flow is not None  # noqa: S101
    return most, float(flow.value) / len(slots) / 60


def least_away(day: dict[str, Any]) -> list[float]:
    """The least GPU-hours of replicas in each hour of the day."""
    whole = rarmodel.Instance.model_validate(day)
    (chat,) = whole.services
    found = []
    for hour in range(24):
        of_hour = chat.model_copy(update={"demand": chat.demand[hour : hour + 1]})
        only = whole.model_copy(update={"services": (of_hour,)})
        found.append(float(least_cost_of_services(only, COST)))
    return found


def outcome(
    alone: rarmodel.Instance, found: rarmodel.Simulation, at_most: float, fastest: float
) -> Outcome:
    """What a verified simulation of a day was worth, beside bounds."""
    assert found.report is not None and found.verified, found.reasons  # noqa: S101, PT018
    chat, one = found.services["chat"], found.metrics
    assert chat.met == chat.slots, "demand is not met"  # noqa: S101
    assert one.mean_flow is not None  # noqa: S101
    ends = found.report.completion
    pairs = zip(alone.jobs, slots_alone(alone), strict=True)
    return Outcome(
        trained=sum(job.sizes[0] * n for job, n in pairs if (ends[job.name] or 0) <= DAY) / 60,
        at_most=at_most,
        flow=one.mean_flow / 60,
        fastest=fastest,
        late=one.late_jobs,
        given_way=found.preemptions,
        service=float(chat.cost),
        cheapest=float(chat.bound),
    )


def played(seed: int, jobs: int, days: int = DAYS) -> Iterator[tuple[str, str, Outcome]]:
    """Policy, partition and outcome of a day's simulations."""
    day = pool(seed, jobs, days)
    for name, data in (("halves", halves(day)), ("pool", day)):
        alone, limits = training_alone(data), bounds(data)
        for found in rarmodel.simulate(rarmodel.Instance.model_validate(data), POLICIES):
            assert (found.metrics.makespan or 0) <= DAY * days, "jobs outlast the demand"  # noqa: S101
            yield found.policy, name, outcome(alone, found, *limits)


def main(seeds: int, jobs: int) -> None:
    """Print means over the seeds, and what the pool gains, with standard errors."""
    rows: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for seed in range(seeds):
        for policy, name, one in played(seed, jobs):
            rows[policy, name].append(one)
    print(f"{seeds} days of {jobs} jobs")
    for (policy, name), own in rows.items():
        mean = Outcome(*np.mean(own, axis=0))
        print(
            f"  {policy:13} {name:6}  trained {mean.trained:4.0f} (at most {mean.at_most:4.0f})  "
            f"flow {mean.flow:5.2f} (at least {mean.fastest:4.2f})  late {mean.late:4.1f}  "
            f"interrupted {mean.given_way:5.1f}  "
            f"service {mean.service:6.1f} (at least {mean.cheapest:6.1f})"
        )
    for policy in POLICIES:
        gain = np.array(rows[policy, "pool"]) - np.array(rows[policy, "halves"])
        error = gain.std(axis=0, ddof=1) / math.sqrt(seeds) if seeds > 1 else 0 * gain[0]
        one, spread = Outcome(*gain.mean(axis=0)), Outcome(*np.abs(error))
        pairs = zip(rows[policy, "pool"], rows[policy, "halves"], strict=True)
        beyond = sum(together.trained > apart.at_most + 1e-6 for together, apart in pairs)
        print(
            f"  {policy:13} gain    trained {one.trained:+6.1f} ± {spread.trained:4.1f}  "
            f"flow {one.flow:+5.2f} ± {spread.flow:4.2f}  "
            f"late {one.late:+5.1f} ± {spread.late:3.1f}  "
            f"beyond any halves on {beyond} of {seeds} days"
        )


if __name__ == "__main__":
    seeds, *loads = [int(one) for one in sys.argv[1:]] or [10]
    for load in loads or LOADS:
        main(seeds, load)
