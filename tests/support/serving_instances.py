"""Small random instances with services, and the cheapest mixes of replicas by brute force."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise, product
from math import ceil
from random import Random
from typing import Any

from documents import Data, instance_data, job_data

from rarmodel.files import parse_instance
from rarmodel.schema import Instance, Service, Variant


def batch(size: int, latency_ms: float) -> Data:
    return {"size": size, "latency_ms": latency_ms}


def variant(name: str, *batches: Data, **fields: Any) -> Data:
    """A variant that answers 50 requests a second within 40 ms, if nothing else is said."""
    return {"name": name, "batches": list(batches) or [batch(1, 20.0)], **fields}


def demand(start: int, end: int, rate: float) -> Data:
    return {"from": start, "to": end, "requests_per_second": rate}


def service(name: str, *demands: Data, **fields: Any) -> Data:
    return {
        "name": name,
        "demand": list(demands),
        "latency_ms": 100.0,
        "variants": [variant("only")],
        **fields,
    }


def with_services(*services: Data, **fields: Any) -> Data:
    """Two jobs on two servers of two GPUs beside services."""
    return {**instance_data(), "services": list(services), **fields}


def random_serving(
    random: Random,
    *,
    startups: bool = False,
    slices: bool = False,
    jobs: int = 2,
    servers: int = 3,
    services: int = 1,
) -> Instance:
    """An instance with a few variants of each service, and up to three entries of demand."""
    made = [job_data(f"j{i}", random.randint(1, 3), random.randint(5, 40)) for i in range(jobs)]
    data = instance_data(*made, servers=[random.choice([2, 4]) for _ in range(servers)], horizon=60)
    for server in data["cluster"]["servers"]:
        server["gpu_type"] = random.choice(["A", "B"])
    data["cluster"]["servers"][0]["gpu_type"] = "A"
    if slices:
        data["cluster"]["gpu_slices"] = 4
        data["cluster"]["gpu_memory_gb"] = 40
    data["cluster"]["prices_per_gpu_hour"] = {"A": 3.6, "B": random.choice([1.8, 7.2])}
    data["services"] = [
        _service(random, f"s{i}", startups=startups, slices=slices) for i in range(services)
    ]
    return parse_instance(data)


def _service(random: Random, name: str, *, startups: bool, slices: bool) -> Data:
    variants = []
    for i in range(random.randint(1, 2 if startups else 3)):
        fields: Data = {"accuracy": random.choice([0.5, 0.7, 0.9])}
        if slices and random.random() < 0.6:
            fields |= {"slices": random.randint(1, 2), "memory_gb": random.choice([10, 15])}
        elif random.random() < 0.3:
            fields["gpus"] = 2
        if random.random() < 0.3:
            fields["gpu_type"] = "A"
        if startups:
            fields["startup_seconds"] = random.choice([0, 1, 2, 2.5])
        batches = [batch(1, random.choice([10.0, 20.0])), batch(4, random.choice([40.0, 60.0]))]
        variants.append(variant(f"v{i}", *batches, **fields))
    cuts = sorted(random.sample(range(12), 4))
    entries = [
        demand(start, end, random.choice([0, 30, 70] if startups else [0, 30, 70, 100.5]))
        for start, end in pairwise(cuts)
        if random.random() < 0.8
    ]
    best = max(one["accuracy"] for one in variants)
    asked = {} if random.random() < 0.4 else {"min_accuracy": random.choice([0.5, 0.6, best])}
    return service(name, *entries, variants=variants, **asked)


def rate(one: Variant, within_ms: float) -> Fraction:
    """Requests per second of a replica, in time."""
    known = [
        Fraction(b.size) * 1000 / Fraction(str(b.latency_ms))
        for b in one.batches
        if Fraction(str(b.latency_ms)) * 2 <= Fraction(str(within_ms))
    ]
    return max(known, default=Fraction(0))


def serves(asked: Service, counts: Sequence[int], requests: Fraction) -> bool:
    """Whether so many ready replicas of each variant reach requests, accurately enough."""
    rates = [n * rate(v, asked.latency_ms) for n, v in zip(counts, asked.variants, strict=True)]
    if sum(rates) < requests:
        return False
    if asked.min_accuracy is None or not requests:
        return True
    left, total = requests, Fraction(0)
    pairs = zip(rates, asked.variants, strict=True)
    for most, v in sorted(pairs, key=lambda pair: -(pair[1].accuracy or 0)):
        used = min(left, most)
        total += used * Fraction(str(v.accuracy or 0))
        left -= used
    return total >= requests * Fraction(str(asked.min_accuracy))


def cheapest_slot_price(instance: Instance, one: Variant) -> Fraction | None:
    """What a replica costs at least for a slot; None if no server can hold it."""
    cluster, prices = instance.cluster, instance.cluster.prices_per_gpu_hour
    found = []
    for server in cluster.servers:
        if one.gpu_type not in {None, server.gpu_type} or one.gpus > server.gpus:
            continue
        divided = cluster.slices_of(server)
        part = Fraction(one.gpus) if one.slices is None else Fraction(one.slices, divided)
        price = prices[server.gpu_type or ""] if isinstance(prices, dict) else prices
        hour = Fraction(1) if price is None else Fraction(str(price))
        found.append(part * hour * Fraction(str(instance.time.slot_seconds)) / 3600)
    return min(found, default=None)


def all_mixes(asked: Service, requests: Fraction) -> Iterator[tuple[int, ...]]:
    """Every mix that serves, with no more of a variant than are ever of use."""
    most = []
    for v in asked.variants:
        each = rate(v, asked.latency_ms)
        # A variant may have to make up for the accuracy of others: at most ten times its share.
        most.append(0 if not each else 2 * ceil(requests / each) + 1)
    for counts in product(*(range(n + 1) for n in most)):
        if serves(asked, counts, requests):
            yield counts


def cheapest_without_startup(instance: Instance, asked: Service) -> Fraction:
    """The least cost of a service, slot by slot, as if replicas were ready at once."""
    total = Fraction(0)
    prices = [cheapest_slot_price(instance, v) or Fraction(0) for v in asked.variants]
    for entry in asked.demand:
        requests = Fraction(str(entry.requests_per_second))
        least = min(
            sum((n * p for n, p in zip(counts, prices, strict=True)), Fraction(0))
            for counts in all_mixes(asked, requests)
        )
        total += (entry.end - entry.start) * least
    return total


def cheapest_with_startup(instance: Instance, asked: Service) -> Fraction:
    """The least cost with start-ups: over all numbers of ready replicas, slot by slot.

    A number that rises by one in a slot costs the slots of a start-up before it, as far as there
    are any; replicas that are up at slot 0 were up before.
    """
    last = max((entry.end for entry in asked.demand), default=0)
    prices = [cheapest_slot_price(instance, v) or Fraction(0) for v in asked.variants]
    slot = Fraction(str(instance.time.slot_seconds))
    startups = [ceil(Fraction(str(v.startup_seconds)) / slot) for v in asked.variants]
    requests = [Fraction(0)] * last
    for entry in asked.demand:
        for t in range(entry.start, entry.end):
            requests[t] = Fraction(str(entry.requests_per_second))
    top = max(requests, default=Fraction(0))
    most = [
        2 * ceil(top / each) + 1 if (each := rate(v, asked.latency_ms)) else 0
        for v in asked.variants
    ]
    every = list(product(*(range(n + 1) for n in most)))
    known: dict[tuple[int, ...], Fraction] = {}
    for t in range(last):
        fits = [counts for counts in every if serves(asked, counts, requests[t])]
        after: dict[tuple[int, ...], Fraction] = {}
        for counts in fits:
            running = sum((n * p for n, p in zip(counts, prices, strict=True)), Fraction(0))
            begun = [
                paid
                + sum(
                    (
                        max(0, n - b) * p * min(s, t)
                        for n, b, p, s in zip(counts, before, prices, startups, strict=True)
                    ),
                    Fraction(0),
                )
                for before, paid in known.items()
            ]
            after[counts] = running + (min(begun) if t else Fraction(0))
        known = after
    return min(known.values(), default=Fraction(0))
