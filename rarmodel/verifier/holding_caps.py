"""How much jobs may hold at once: reservations, caps of tenants (sections 9 and 18), resources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from math import inf
from typing import NamedTuple

from rarmodel.model.gpu_sharing import part_held
from rarmodel.schema import Held, Instance, Job, Resource

from .occupation import Hold, gpus_beside_running, in_order
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
    holds: Sequence[Hold],
    ups: Sequence[Up] = (),
) -> Iterator[Violation]:
    """Reservations, quotas and resources, against what jobs and replicas of services hold.

    Parameters
    ----------
    instance
        The problem.
    sound, ends
        What is carried out, and when each gives its GPUs back; None for what never does.
    holds
        What is held of each server, by jobs and by all else.
    ups
        Replicas that are carried out, for the caps of their tenants.
    """
    capped = any(tenant.gpus is not None for tenant in instance.tenants)
    if not capped and not instance.cluster.reservations and not instance.resources:
        return
    if instance.cluster.reservations:
        yield from _reservations_kept(instance, holds)
    parents = {tenant.name: tenant.parent for tenant in instance.tenants}
    by_tenant: dict[str, list[Stay]] = {}
    by_resource: dict[str, list[Stay]] = {}
    for (segment, run), end in zip(sound, ends, strict=True):
        job = run.job
        until = inf if end is None else end
        if until == run.start:  # The job had completed.
            continue
        ran = runs_on(job, segment)
        gpus_held = _gpus_held(instance, run)
        tenant = job.tenant
        while tenant is not None:  # What is held counts for all above it, too.
            stay = Stay(run.start, until, gpus_held, job.name, ran)
            by_tenant.setdefault(tenant, []).append(stay)
            tenant = parents[tenant]
        for name, used in _used(job, gpus_held).items():
            if used:
                stay = Stay(run.start, until, used, job.name, ran)
                by_resource.setdefault(name, []).append(stay)
    for up in ups:
        tenant = up.service.tenant
        stay = Stay(up.replica.start, up.replica.end, up.gpus, up.service.name, running=False)
        while tenant is not None:
            by_tenant.setdefault(tenant, []).append(stay)
            tenant = parents[tenant]
    for one in instance.tenants:
        if one.gpus is not None:
            below = " and of those below it" if one.name in parents.values() else ""
            for excess in _exceeded({0: one.gpus}, by_tenant.get(one.name, ())):
                message = (
                    f"at slot {excess.slot} {_who(holds)} of tenant {one.name!r}{below} hold "
                    f"{_decimal(excess.held)} GPUs; its cap and its running jobs leave "
                    f"{_decimal(excess.left)}"
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


def _who(holds: Sequence[Hold]) -> str:
    """What holds GPUs, in words."""
    return "jobs" if all(one.what == "job" for one in holds) else "jobs and replicas"


def _gpus_held(instance: Instance, run: Run) -> Fraction | int:
    """GPUs that a run holds; a worker that takes slices holds that part of one."""
    if run.job.slices is None:
        return sum(run.workers.values())
    return sum(
        (count * part_held(instance, run.job, s) for s, count in run.workers.items()), Fraction(0)
    )


def _reservations_kept(instance: Instance, holds: Sequence[Hold]) -> Iterator[Violation]:
    """Other holds than those of running jobs leave the GPUs that are reserved, by server.

    Where GPUs are shared, those on which others are, and no running job, are counted, each once.
    """
    by_server: dict[str, list[Hold]] = {}
    for one in holds:
        if one.end > one.start:
            by_server.setdefault(one.server, []).append(one)
    shared = any(one.slices is not None for one in holds)
    for server, caps in _reserved(instance).items():
        here = by_server.get(server, [])
        stays = [
            Stay(one.start, one.end, len(one.gpus), one.name, one.running)
            for one in (here if not shared else ())
        ]
        found = _too_many_gpus(caps, here) if shared else _exceeded(caps, stays)
        for slot, name, held, room in found:
            message = (
                f"at slot {slot} {_who(holds)} hold {held} GPUs of server {server!r}; "
                f"reservations and running jobs leave {room}"
            )
            yield Violation("reservation", name, server, slot, message)


def _too_many_gpus(caps: Mapping[int, Fraction | float], holds: Sequence[Hold]) -> Iterator[Excess]:
    """Where holds of a server are on more GPUs than are left, from the first such slot on."""
    cap: Fraction | float = inf
    exceeded = False
    slots = {*caps, *(one.start for one in holds), *(one.end for one in holds)}
    for slot in sorted(int(one) for one in slots if one < inf):
        cap = caps.get(slot, cap)
        others, running = gpus_beside_running(holds, slot)
        left = max(0, cap - len(running))
        if len(others) > left and not exceeded:
            last = in_order([*others.values()])[-1]
            yield Excess(slot, last.name, len(others), left)
        exceeded = len(others) > left


def _used(job: Job, gpus: Fraction | int) -> dict[str, Fraction]:
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
