"""Services (section 16): how much a replica answers, when it is ready, and how good answers are.

All numbers are exact: those with a point are the decimals that are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from math import ceil

from rarmodel.schema import Demand, Instance, Replica, Service, Variant
from rarmodel.schema.base import exactly
from rarmodel.schema.gpu_parts import PartOfGpu, holds

from .caching import once_per_instance
from .objectives import Objective


def replica_rate(variant: Variant, latency_ms: float) -> Fraction | None:
    """Requests per second that a replica answers in time, μ_v = max {1000·b/l : 2·l ≤ L}.

    A request waits for at most one batch before its own, so it takes at most 2·l. At lower rates
    smaller batches keep L too. This is the rule of batch-aware serving planners (Nexus, SOSP
    2019).

    None for a variant without such a batch: it cannot be used.
    """
    rates = [
        1000 * batch.size / exactly(batch.latency_ms)
        for batch in variant.batches
        if 2 * exactly(batch.latency_ms) <= exactly(latency_ms)
    ]
    return max(rates, default=None)


def usable(service: Service) -> dict[str, Fraction]:
    """By name, the rate of a replica of each variant that answers in time."""
    rates = {one.name: replica_rate(one, service.latency_ms) for one in service.variants}
    return {name: rate for name, rate in rates.items() if rate is not None}


def startup_slots(variant: Variant, slot_seconds: float) -> int:
    """Slots for which a replica holds its GPUs before it is ready."""
    return max(0, ceil(variant.startup_seconds / slot_seconds - 1e-12))


def ready_at(start: int, startup: int) -> int:
    """The first slot in which a replica is ready: one from slot 0 on was up before."""
    return start + startup if start > 0 else start


@once_per_instance
def _servers(instance: Instance) -> dict[str, tuple[tuple[int, ...], ...]]:
    """By service and variant, the servers that can hold a replica."""
    cluster = instance.cluster
    found = {}
    for service in instance.services:
        names = None if service.servers is None else set(service.servers)
        found[service.name] = tuple(
            tuple(
                s
                for s, server in enumerate(cluster.servers)
                if (names is None or server.name in names)
                and variant.gpu_type in {None, server.gpu_type}
                and variant.gpus <= server.gpus
                and holds(cluster, server, PartOfGpu(variant.slices, variant.memory_gb))
            )
            for variant in service.variants
        )
    return found


def servers_of(instance: Instance, service: Service, variant: Variant) -> tuple[int, ...]:
    """The servers, by index, that a replica may use, and that can hold one when they are idle."""
    return _servers(instance)[service.name][service.variants.index(variant)]


def share_of_gpu(instance: Instance, variant: Variant, server: int) -> Fraction:
    """GPUs of a server that a replica holds: whole ones, or the part of one that slices are."""
    cluster = instance.cluster
    if variant.slices is None:
        return Fraction(variant.gpus)
    return Fraction(variant.slices, cluster.slices_of(cluster.servers[server]))


def rate_of(demand: Demand) -> Fraction:
    """Requests that arrive in a second, as the decimal that is written."""
    return exactly(demand.requests_per_second)


def capacity_of(service: Service, ready: Mapping[str, int]) -> Fraction:
    """Requests per second that the replicas which are ready answer: their number by variant."""
    rates = usable(service)
    return sum((count * rates[name] for name, count in ready.items() if name in rates), Fraction(0))


def accuracy_of(service: Service, ready: Mapping[str, int], demand: Fraction) -> Fraction | None:
    """Mean accuracy of the answers, with rates filled from the most accurate variant on.

    No other rates give a greater mean. None where replicas do not reach the demand, where there is
    none, or where a variant that answers has no accuracy.
    """
    if demand <= 0 or capacity_of(service, ready) < demand:
        return None
    rates = usable(service)
    known = [one for one in service.variants if one.name in rates and ready.get(one.name, 0) > 0]
    if any(one.accuracy is None for one in known):
        return None
    left, total = demand, Fraction(0)
    for one in sorted(known, key=lambda one: -(one.accuracy or 0)):
        filled = min(left, ready[one.name] * rates[one.name])
        total += filled * exactly(one.accuracy or 0)
        left -= filled
    return total / demand


def enough(service: Service, ready: Mapping[str, int], demand: Fraction) -> bool:
    """Whether replicas that are ready reach the demand, and answer well enough."""
    if demand <= 0:
        return True
    if capacity_of(service, ready) < demand:
        return False
    if service.min_accuracy is None:
        return True
    accuracy = accuracy_of(service, ready, demand)
    return accuracy is not None and accuracy >= exactly(service.min_accuracy)


def why_unanswerable(instance: Instance) -> tuple[str, ...]:
    """Services whose demand no number of replicas answers, a line each.

    Either no variant answers in time, or none of those that do is as accurate as asked for.
    """
    return tuple(line for one in instance.services for line in _why(one))


def _why(service: Service) -> Iterator[str]:
    if not any(rate_of(entry) > 0 for entry in service.demand):
        return
    rates = usable(service)
    if not rates:
        fastest = min(batch.latency_ms for one in service.variants for batch in one.batches)
        yield (
            f"service {service.name!r}: no variant answers within {service.latency_ms:g} ms; the "
            f"fastest batch takes {fastest:g} ms, and a request may wait for one before its own"
        )
        return
    best = max(one.accuracy or 0 for one in service.variants if one.name in rates)
    if service.min_accuracy is not None and exactly(best) < exactly(service.min_accuracy):
        yield (
            f"service {service.name!r}: min_accuracy is {service.min_accuracy:g}; the most "
            f"accurate variant that answers within {service.latency_ms:g} ms has {best:g}"
        )


def asks(instance: Instance) -> bool:
    """Whether some service asks for something."""
    return any(entry.requests_per_second for one in instance.services for entry in one.demand)


def last_demand(instance: Instance) -> int:
    """The slot at which the last entry of demand ends; 0 without any."""
    ends = (entry.end for service in instance.services for entry in service.demand)
    return max(ends, default=0)


def cost_of_replicas(
    instance: Instance, replicas: Iterable[Replica], objective: Objective
) -> Fraction:
    """What replicas cost by the prices of an objective; 0 if it has none."""
    if objective.prices is None:
        return Fraction(0)
    prices = objective.prices_of(instance)
    index = {server.name: s for s, server in enumerate(instance.cluster.servers)}
    variants = {(one.name, v.name): v for one in instance.services for v in one.variants}
    return sum(
        (
            prices[index[name]]
            * share_of_gpu(instance, variants[one.service, one.variant], index[name])
            * (one.end - one.start)
            for one in replicas
            for name in one.gpus
        ),
        Fraction(0),
    )
