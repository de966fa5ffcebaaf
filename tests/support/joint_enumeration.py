"""All schedules of tiny instances with services: starts, placements, and replicas by intervals."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import ceil
from random import Random
from typing import NamedTuple

from documents import Data, instance_data, job_data
from serving_instances import batch, demand, serves, service, variant

from rarmodel.errors import VerificationError
from rarmodel.exact.numbered_schedules import schedule_of
from rarmodel.files import parse_instance
from rarmodel.formulations import Plan
from rarmodel.model.objectives import COST
from rarmodel.schema import Instance, Service, Variant
from rarmodel.verifier import verify

Profile = tuple[tuple[int, ...], ...]
"""By server and slot: GPUs that are held."""


def random_tiny(random: Random) -> Instance:
    """Two jobs and one service on two or three GPUs, with caps and start-ups in some."""
    late, several = random.random() < 0.2, random.random() < 0.5
    slots = 3 if late or several else 4
    jobs = [
        job_data(f"j{i}", random.randint(1, 2), random.choice([15, 25]), tenant="lab")
        for i in range(2)
    ]
    data = instance_data(*jobs, servers=random.choice([[2, 1], [2, 1], [2]]), horizon=6)
    for server in data["cluster"]["servers"]:
        server["gpu_type"] = random.choice(["A", "B"])
    data["cluster"]["prices_per_gpu_hour"] = {"A": 3.6, "B": random.choice([3.0, 7.2])}
    if random.random() < 0.3:
        data["cluster"]["reservations"] = [
            {"server": "s0", "gpus": 1, "from": random.randint(0, 2), "to": 3}
        ]
    variants: list[Data] = []
    for i in range(1 + (several and not late)):
        fields: Data = {
            "accuracy": random.choice([0.5, 0.9]),
            "gpus": random.choice([1, 1, 1, 2]),
            "startup_seconds": random.choice([0, 1, 2]),
        }
        variants.append(variant(f"v{i}", batch(1, random.choice([10.0, 20.0])), **fields))
    cut = random.randint(1, slots - 1)
    # Demand may last beyond the horizon of the jobs.
    start = 5 if late else 0
    entries = [
        demand(start, start + cut, random.choice([30, 30, 70])),
        demand(start + cut, start + slots, random.choice([0, 30, 30, 70])),
    ]
    asked: Data = {} if random.random() < 0.5 else {"min_accuracy": 0.6}
    if random.random() < 0.3:
        data["tenants"] = [{"name": "lab", "gpus": 2}]
        asked["tenant"] = "lab"
    else:
        data["tenants"] = [{"name": "lab"}]
    data["services"] = [service("chat", *entries, variants=variants, **asked)]
    data["objective"] = random.choice(["makespan", "cost", ["makespan", "cost"]])
    return parse_instance(data)


class Jobs(NamedTuple):
    """What the jobs do."""

    makespan: int
    cost: Fraction
    held: Profile


def all_jobs(instance: Instance) -> Iterator[Jobs]:
    """Every feasible schedule of the jobs alone."""
    alone = instance.model_copy(update={"services": ()})
    servers = range(len(instance.cluster.servers))
    sizes = [server.gpus for server in instance.cluster.servers]
    ways = [
        [
            {s: n for s, n in zip(servers, counts, strict=True) if n}
            for counts in product(*(range(size + 1) for size in sizes))
            if sum(counts) == job.sizes[0]
        ]
        for job in instance.jobs
    ]
    last = max(instance.time.horizon or 0, _last(instance))
    for starts in product(range(instance.time.horizon or 0), repeat=len(instance.jobs)):
        for workers in product(*ways):
            try:
                schedule = schedule_of(alone, Plan(starts, workers), "all")
            except VerificationError:
                continue
            report = verify(alone, schedule)
            if not report.feasible:
                continue
            held = [[0] * last for _ in servers]
            for job, start, where in zip(instance.jobs, starts, workers, strict=True):
                for s, n in where.items():
                    for t in range(start, report.completion[job.name] or 0):
                        held[s][t] += n
            cost = _cost(instance, held)
            assert report.makespan is not None
            yield Jobs(report.makespan, cost, tuple(map(tuple, held)))


def _last(instance: Instance) -> int:
    return max(entry.end for one in instance.services for entry in one.demand)


def _cost(instance: Instance, held: list[list[int]]) -> Fraction:
    prices = COST.prices_of(instance)
    return sum((price * sum(row) for price, row in zip(prices, held, strict=True)), Fraction(0))


def _kind(instance: Instance, one: Variant, gpus: int) -> Iterator[tuple[list[int], list[int]]]:
    """Every set of replicas of a variant on a server: held GPUs and ready replicas, by slot."""
    last = _last(instance)
    startup = ceil(Fraction(str(one.startup_seconds)) / Fraction(str(instance.time.slot_seconds)))
    # A start-up takes two slots at most.
    first = max(0, min(entry.start for one in instance.services for entry in one.demand) - 2)
    intervals = [(a, b) for a in range(first, last) for b in range(a + 1, last + 1)]
    for number in range(3):
        for some in combinations_with_replacement(intervals, number):
            held, ready = [0] * last, [0] * last
            for a, b in some:
                for t in range(a, b):
                    held[t] += one.gpus
                    ready[t] += t >= (a + startup if a else 0)
            if max(held) <= gpus:
                yield held, ready


def all_replicas(instance: Instance, asked: Service) -> dict[Profile, Fraction]:
    """By what they hold: all sets of replicas that serve, up to a few of each kind."""
    last, horizon = _last(instance), instance.time.horizon or 0
    requests = [Fraction(0)] * last
    for entry in asked.demand:
        for t in range(entry.start, entry.end):
            requests[t] = Fraction(str(entry.requests_per_second))
    servers = instance.cluster.servers
    known: dict[tuple[Profile, Profile], None] = {
        (((0,) * last,) * len(servers), ((0,) * last,) * len(asked.variants)): None
    }
    for v, one in enumerate(asked.variants):
        for s, server in enumerate(servers):
            kinds = {
                (tuple(held), tuple(ready)) for held, ready in _kind(instance, one, server.gpus)
            }
            after: dict[tuple[Profile, Profile], None] = {}
            for (held, ready), (more, answers) in product(known, kinds):
                mine = tuple(map(sum, zip(held[s], more, strict=True)))
                if max(mine) <= server.gpus:
                    count = tuple(map(sum, zip(ready[v], answers, strict=True)))
                    key = (*held[:s], mine, *held[s + 1 :]), (*ready[:v], count, *ready[v + 1 :])
                    after[key] = None
            known = after
    found: dict[Profile, Fraction] = {}
    for held, ready in known:
        counts = zip(*ready, strict=True)
        if all(serves(asked, some, r) for some, r in zip(counts, requests, strict=True)):
            rows = [[*row, *[0] * (horizon - last)] for row in held]
            found[tuple(map(tuple, rows))] = _cost(instance, rows)
    return found


def best_values(instance: Instance) -> tuple[Fraction | int, ...] | None:
    """The least values of the objectives over all schedules; None if there is no schedule."""
    (asked,) = instance.services
    replicas = all_replicas(instance, asked)
    cap = next((one.gpus for one in instance.tenants if one.gpus is not None), None)
    cluster = instance.cluster
    jobs = {(one.held, one.makespan): one for one in all_jobs(instance)}
    best: tuple[Fraction | int, ...] | None = None
    for one, (held, cost) in product(jobs.values(), replicas.items()):
        values: dict[str, Fraction | int] = {"makespan": one.makespan, "cost": one.cost + cost}
        worth = tuple(values[name] for name in instance.objectives)
        if best is not None and worth >= best:
            continue
        slots = range(len(held[0]))
        both = [
            [a + b for a, b in zip(*rows, strict=True)] for rows in zip(one.held, held, strict=True)
        ]
        fits = all(both[s][t] <= cluster.capacity(s, t) for s in range(len(both)) for t in slots)
        fits = fits and (cap is None or all(sum(row[t] for row in both) <= cap for t in slots))
        if fits:
            best = worth
    return best
