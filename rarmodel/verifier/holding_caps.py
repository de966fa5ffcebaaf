"""How much jobs may hold at once: reservations, caps of tenants (sections 9 and 18), resources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from math import inf
from typing import NamedTuple

from rarmodel.schema import Held, Instance, Job, Resource

from .replicas import Up
from .report import Violation
from .segments import runs_on
from .simulation_result import Run


class Stay(NamedTuple):
    """A job or a replica holds GPUs, or uses a resource, from a slot until before another."""

    start: int
    end: float
    amount: Fraction | int
    job: str
    """The job, or the service."""
    running: bool
    """Whether it has held them since slot 0: then it keeps them whatever the cap."""


def caps_kept(
    instance: Instance,
    sound: Sequence[tuple[Held, Run]],
    ends: Sequence[int | None],
    ups: Sequence[Up] = (),
) -> Iterator[Violation]:
    """Reservations, quotas and resources, against what jobs and replicas of services hold.

    Parameters
    ----------
    instance
        The problem.
    sound, ends
        What is carried out, and when each gives its GPUs back; None for what never does.
    ups
        Replicas that are carried out.
    """
    capped = any(tenant.gpus is not None for tenant in instance.tenants)
    if not capped and not instance.cluster.reservations and not instance.resources:
        return
    by_server: dict[str, list[Stay]] = {}
    parents = {tenant.name: tenant.parent for tenant in instance.tenants}
    by_tenant: dict[str, list[Stay]] = {}
    by_resource: dict[str, list[Stay]] = {}
    for (segment, run), end in zip(sound, ends, strict=True):
        job = run.job
        until = inf if end is None else end
        if until == run.start:  # The job had completed.
            continue
        ran = runs_on(job, segment)
        for server, gpus in segment.gpus.items():
            stay = Stay(run.start, until, len(gpus), job.name, ran)
            by_server.setdefault(server, []).append(stay)
            tenant = job.tenant
            while tenant is not None:  # What is held counts for all above it, too.
                by_tenant.setdefault(tenant, []).append(stay)
                tenant = parents[tenant]
        gpus_held = sum(map(len, segment.gpus.values()))
        for name, used in _used(job, gpus_held).items():
            if used:
                stay = Stay(run.start, until, used, job.name, ran)
                by_resource.setdefault(name, []).append(stay)
    for up in ups:
        one, tenant = up.replica, up.service.tenant
        for server, gpus in one.gpus.items():
            stay = Stay(one.start, one.end, len(gpus), one.service, running=False)
            by_server.setdefault(server, []).append(stay)
            while tenant is not None:
                by_tenant.setdefault(tenant, []).append(stay)
                tenant = parents[tenant]
    for server, caps in _reserved(instance).items():
        for slot, job_name, held, room in _exceeded(caps, by_server.get(server, ())):
            message = (
                f"at slot {slot} jobs{_too(ups)} hold {held} GPUs of server {server!r}; "
                f"reservations and running jobs leave {room}"
            )
            yield Violation("reservation", job_name, server, slot, message)
    for one in instance.tenants:
        if one.gpus is not None:
            below = " and of those below it" if one.name in parents.values() else ""
            for excess in _exceeded({0: one.gpus}, by_tenant.get(one.name, ())):
                message = (
                    f"at slot {excess.slot} jobs{_too(ups)} of tenant {one.name!r}{below} hold "
                    f"{excess.held} GPUs; its cap and its running jobs leave {excess.left}"
                )
                yield Violation("quota", excess.job, None, excess.slot, message)
    for resource in instance.resources:
        capacities = _capacities(resource)
        for slot, job_name, held, room in _exceeded(capacities, by_resource.get(resource.name, ())):
            message = (
                f"at slot {slot} jobs use {_decimal(held)} of resource {resource.name!r}; its "
                f"capacity and running jobs leave {_decimal(room)}"
            )
            yield Violation("resource", job_name, None, slot, message)


def _too(ups: Sequence[Up]) -> str:
    return " and replicas" if ups else ""


def _used(job: Job, gpus: int) -> dict[str, Fraction]:
    """By name of a resource, what a job uses of it with so many GPUs, exactly."""
    used = {name: _exact(amount) for name, amount in (job.resources or {}).items()}
    for name, amount in (job.resources_per_gpu or {}).items():
        used[name] = used.get(name, Fraction(0)) + gpus * _exact(amount)
    return used


def _capacities(resource: Resource) -> dict[int, Fraction | float]:
    """The capacity of a resource, from which slot on; outside of its windows there is no limit."""
    if not isinstance(resource.capacity, tuple):
        return {0: _exact(resource.capacity)}
    capacities: dict[int, Fraction | float] = {}
    ends = {window.end for window in resource.capacity if window.end is not None}
    capacities |= dict.fromkeys(ends, inf)
    capacities |= {window.start: _exact(window.capacity) for window in resource.capacity}
    return capacities


def _exact(number: float) -> Fraction:
    """The decimal that is written."""
    return Fraction(repr(float(number)))


def _decimal(number: Fraction | float) -> str:
    return f"{float(number):.15g}"


def _reserved(instance: Instance) -> dict[str, dict[int, Fraction | float]]:
    """By server, what reservations leave of it from which slot on; no cap where none holds."""
    sizes = {server.name: server.gpus for server in instance.cluster.servers}
    changes: dict[str, Counter[int]] = {}
    for one in instance.cluster.reservations:
        steps = changes.setdefault(one.server, Counter())
        steps[one.start] += one.gpus
        if one.end is not None:
            steps[one.end] -= one.gpus
    caps: dict[str, dict[int, Fraction | float]] = {}
    for server, steps in changes.items():
        slots = sorted(steps)
        away = accumulate(steps[slot] for slot in slots)
        left = (sizes[server] - gpus if gpus else inf for gpus in away)
        caps[server] = dict(zip(slots, left, strict=True))
    return caps


class Excess(NamedTuple):
    """More is held than is left."""

    slot: int
    """The first slot in which."""
    job: str
    """The job that began last."""
    held: Fraction | int
    """How much jobs hold then."""
    left: Fraction | float
    """How much the cap and the jobs that ran at slot 0 leave."""


def _exceeded(caps: Mapping[int, Fraction | float], stays: Iterable[Stay]) -> Iterator[Excess]:
    """Where jobs hold more than is left; those that ran at slot 0 only leave less.

    Parameters
    ----------
    caps
        How much may be held, from which slot on.
    stays
        Who holds how many, and when.
    """
    begins = sorted(stays)
    ends = sorted((stay.end, stay.running, stay.amount) for stay in begins if stay.end < inf)
    slots = {*caps, *(stay.start for stay in begins), *(int(end) for end, _, _ in ends)}
    cap: Fraction | float = inf
    held: Fraction | int = 0
    running: Fraction | int = 0
    begun = ended = 0
    exceeded = False
    for slot in sorted(slots):
        cap = caps.get(slot, cap)
        while ended < len(ends) and ends[ended][0] <= slot:
            _, ran, amount = ends[ended]
            held, running = (held, running - amount) if ran else (held - amount, running)
            ended += 1
        while begun < len(begins) and begins[begun].start <= slot:
            amount = begins[begun].amount
            if begins[begun].running:
                running += amount
            else:
                held += amount
            begun += 1
        left = max(0, cap - running) if cap < inf else inf
        if held > left and not exceeded:
            last = next(
                stay for stay in reversed(begins[:begun]) if stay.end > slot and not stay.running
            )
            yield Excess(slot, last.job, held, left)
        exceeded = held > left
