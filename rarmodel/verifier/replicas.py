"""Services (section 16): replicas are well formed, and answer what is asked, in time, well enough.

The verifier reads the rules itself: it shares nothing with the plain functions of the model here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import NamedTuple

from rarmodel.schema import Demand, Instance, Replica, Schedule, Service, Variant

from .answered import Answered
from .occupation import Hold, fits_alone
from .report import Violation

UNREADABLE = {"replica", "capacity"}
"""Constraints without which a replica cannot be carried out."""


class Up(NamedTuple):
    """A replica that can be carried out."""

    replica: Replica
    service: Service
    variant: Variant
    ready: int
    """First slot in which it answers."""
    gpus: Fraction
    """GPUs that it holds, or the part of one that slices are."""


def replicas_carried_out(
    instance: Instance, schedule: Schedule, violations: list[Violation]
) -> list[Up]:
    """The replicas that can be carried out; what is wrong with replicas goes to `violations`."""
    if not schedule.services:
        return []
    services = {service.name: service for service in instance.services}
    servers = {server.name: server for server in instance.cluster.servers}
    found = []
    for replica in schedule.services:
        service = services.get(replica.service)
        variants = {} if service is None else {one.name: one for one in service.variants}
        variant = variants.get(replica.variant)
        who = f"a replica of service {replica.service!r}"
        if service is None or variant is None:
            lacking = "the instance has no such service"
            if service is not None:
                who = f"{who}, variant {replica.variant!r}"
                lacking = "the service has no such variant"
            message = f"{who}, is scheduled; {lacking}"
            violations.append(Violation("replica", replica.service, None, replica.start, message))
            continue
        broken = [*_malformed(instance, who, replica, service, variant)]
        violations += broken
        if not UNREADABLE.isdisjoint(one.constraint for one in broken):
            continue
        (server,) = (servers[name] for name, gpus in replica.gpus.items() if gpus)
        alone = [*fits_alone(instance, server, _hold(0, replica, service, variant))]
        violations += alone
        if not UNREADABLE.isdisjoint(one.constraint for one in alone):
            continue
        startup = ceil(variant.startup_seconds / instance.time.slot_seconds - 1e-12)
        ready = replica.start + max(0, startup) if replica.start else 0
        gpus = Fraction(variant.gpus)
        if variant.slices is not None:
            gpus = Fraction(variant.slices, instance.cluster.slices_of(server))
        found.append(Up(replica, service, variant, ready, gpus))
    return found


def _malformed(
    instance: Instance, who: str, replica: Replica, service: Service, variant: Variant
) -> Iterator[Violation]:
    """What is wrong with one replica: slots, servers, GPUs, type, and its latency."""
    slot = replica.start

    def broken(constraint: str, message: str, server: str | None = None) -> Violation:
        return Violation(constraint, service.name, server, slot, f"{who} {message}")

    if slot < 0 or replica.end <= slot:
        message = f"is up from slot {slot} to {replica.end}; it must end after it begins"
        yield broken("replica", f"{message}, and slots are numbered from 0")
    used = {name: gpus for name, gpus in replica.gpus.items() if gpus}
    if len(used) != 1:
        yield broken("replica", f"is on {len(used)} servers; it holds GPUs of one")
    servers = {server.name: server for server in instance.cluster.servers}
    for name, gpus in used.items():
        server = servers.get(name)
        if server is None:
            message = f"is on server {name!r}; the cluster has no such server"
            yield broken("replica", message, name)
            continue
        if not 0 <= min(gpus) <= max(gpus) < server.gpus or len(set(gpus)) < len(gpus):
            listed = ", ".join(map(str, gpus[:10]))
            message = (
                f"lists GPUs {listed} of server {name!r}, whose GPUs are numbered 0 to "
                f"{server.gpus - 1}; each may be there once"
            )
            yield broken("replica", message, name)
        if len(gpus) != variant.gpus:
            message = f"holds {len(gpus)} GPUs; variant {variant.name!r} needs {variant.gpus}"
            yield broken("replica", message, name)
        if service.servers is not None and name not in service.servers:
            yield broken("servers", f"is on server {name!r}, which is none of its servers", name)
        if variant.gpu_type is not None and server.gpu_type != variant.gpu_type:
            message = (
                f"is on server {name!r}, whose GPUs ({server.gpu_type}) are not those of variant "
                f"{variant.name!r}"
            )
            yield broken("type", message, name)
    if _rate(service, variant) == 0:
        message = (
            f"runs variant {variant.name!r}, which answers no request within {service.latency_ms:g}"
            " ms: twice the time of each of its batches is longer"
        )
        yield broken("latency", message)


def answered(
    instance: Instance, ups: Sequence[Up], *, slot_by_slot: bool = False
) -> dict[str, tuple[Answered, ...]]:
    """By service, what its replicas answer in each slot in which something is asked.

    Parameters
    ----------
    instance
        The problem.
    ups
        Replicas that can be carried out.
    slot_by_slot
        Count replicas anew in each slot, and not only where one begins to answer or ends; the
        result is the same.
    """
    found = {}
    for service in instance.services:
        own = [up for up in ups if up.service is service]
        periods: list[Answered] = []
        for entry in sorted(service.demand, key=lambda one: one.start):
            begins = range(entry.start, entry.end) if slot_by_slot else _changes(entry, own)
            for start, end in pairwise([*begins, entry.end]):
                period = _period(service, entry, own, start, end)
                last = periods[-1] if periods else None
                if last and last.end == start > entry.start and last.ready == period.ready:
                    periods.pop()
                    period = _period(service, entry, own, last.start, end)
                periods.append(period)
        found[service.name] = tuple(periods)
    return found


def _changes(entry: Demand, own: Sequence[Up]) -> list[int]:
    """The slots of an entry from which on other replicas are ready, its first one included."""
    slots = {slot for up in own for slot in (up.ready, up.replica.end)}
    return [entry.start, *sorted(slot for slot in slots if entry.start < slot < entry.end)]


def _period(service: Service, entry: Demand, own: Sequence[Up], start: int, end: int) -> Answered:
    """What is answered from a slot on, until a slot before which replicas do not change."""
    ready = Counter(up.variant.name for up in own if up.ready <= start < up.replica.end)
    demand = _exact(entry.requests_per_second)
    capacity = Fraction(0)
    for variant in service.variants:
        capacity += ready[variant.name] * _rate(service, variant)
    in_order = {one.name: ready[one.name] for one in service.variants if ready[one.name]}
    accuracy = None if capacity < demand else _accuracy(service, in_order, demand)
    return Answered(start, end, demand, capacity, accuracy, in_order)


def _rate(service: Service, variant: Variant) -> Fraction:
    """Requests per second of a replica; 0 if no batch is short enough."""
    most = Fraction(0)
    for batch in variant.batches:
        milliseconds = _exact(batch.latency_ms)
        if milliseconds * 2 <= _exact(service.latency_ms):
            most = max(most, Fraction(batch.size) / (milliseconds / 1000))
    return most


def _accuracy(service: Service, ready: Mapping[str, int], demand: Fraction) -> Fraction | None:
    """Mean accuracy if the most accurate replicas answer as much as they can."""
    if demand == 0:
        return None
    rates: list[tuple[Fraction, Fraction]] = []
    for variant in service.variants:
        rate = ready.get(variant.name, 0) * _rate(service, variant)
        if rate and variant.accuracy is None:
            return None
        if rate:
            rates.append((_exact(variant.accuracy or 0.0), rate))
    left, total = demand, Fraction(0)
    for accuracy, rate in sorted(rates, reverse=True):
        share = min(rate, left)
        total, left = total + share * accuracy, left - share
    return total / demand


def replica_holds(ups: Sequence[Up], first: int) -> list[Hold]:
    """What replicas hold of servers; their numbers begin with that of the first."""
    return [_hold(first + i, up.replica, up.service, up.variant) for i, up in enumerate(ups)]


def _hold(holder: int, replica: Replica, service: Service, variant: Variant) -> Hold:
    (server,) = (name for name, gpus in replica.gpus.items() if gpus)
    return Hold(
        *(holder, service.name, server, replica.gpus[server], replica.start, replica.end),
        slices=variant.slices,
        memory_gb=_exact(variant.memory_gb or 0.0),
        what="replica of service",
    )


def gpu_slots(instance: Instance, ups: Sequence[Up]) -> dict[int, Fraction]:
    """By index of a server, GPU slots that replicas hold there: of slices the part of the GPU."""
    if not ups:
        return {}
    index = {server.name: i for i, server in enumerate(instance.cluster.servers)}
    held: dict[int, Fraction] = {}
    for up in ups:
        (server,) = (index[name] for name, gpus in up.replica.gpus.items() if gpus)
        slots = up.replica.end - up.replica.start
        held[server] = held.get(server, Fraction(0)) + slots * up.gpus
    return held


def demands_kept(
    instance: Instance, found: Mapping[str, Sequence[Answered]]
) -> Iterator[Violation]:
    """In each slot of each entry of demand replicas reach it, and answer well enough.

    There is one line for each entry and constraint, about the first slot; where demand is not
    reached, accuracy says nothing.
    """
    for service in instance.services:
        least = None if service.min_accuracy is None else _exact(service.min_accuracy)
        for entry in sorted(service.demand, key=lambda one: one.start):
            own = [one for one in found[service.name] if entry.start <= one.start < entry.end]
            short = [one for one in own if one.capacity < one.demand]
            poor = [
                one
                for one in own
                if least is not None and one.accuracy is not None and one.accuracy < least
            ]
            if short:
                message = (
                    f"service {service.name!r}: replicas that are ready answer "
                    f"{_told(short[0].capacity)} of {_told(short[0].demand)} requests a second "
                    f"at slot {short[0].start}{_and_others(short)}"
                )
                yield Violation("demand", service.name, None, short[0].start, message)
            if poor:
                message = (
                    f"service {service.name!r}: the mean accuracy of its answers is "
                    f"{_told(poor[0].accuracy)} at slot {poor[0].start}{_and_others(poor)}; it "
                    f"must be at least {_told(least)}"
                )
                yield Violation("accuracy", service.name, None, poor[0].start, message)


def _and_others(periods: Sequence[Answered]) -> str:
    """How many more slots are alike, in words."""
    more = sum(one.end - one.start for one in periods) - 1
    return f", and fail in {more} more slot{'s' * (more > 1)}" if more else ""


def _exact(value: float) -> Fraction:
    """The decimal that is written."""
    return Fraction(repr(float(value)))


def _told(value: Fraction | None) -> str:
    return "none" if value is None else f"{float(value):.6g}"
