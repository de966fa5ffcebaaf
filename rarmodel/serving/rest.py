"""The instance that is left for the jobs, once replicas have their GPUs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from math import ceil

from rarmodel.schema import CapacityWindow, Instance, Job, Replica, Reservation, Resource
from rarmodel.schema.tenants import lineages

from .placing import Unit

REASON = "replicas of services"
"""Why GPUs are away."""


def rest_of(instance: Instance, units: Sequence[Unit], replicas: Sequence[Replica]) -> Instance:
    """The instance without services, in which their GPUs are away.

    GPUs of replicas are reserved. Where a tenant with a cap has replicas, its jobs share a resource
    with as much as they leave of the cap: each GPU takes 1, as section 19 says of caps.

    Parameters
    ----------
    instance
        The problem.
    units
        The GPUs that replicas hold.
    replicas
        The replicas, for the caps of their tenants.
    """
    names = [server.name for server in instance.cluster.servers]
    held: dict[str, Counter[int]] = {}
    for unit in units:
        steps = held.setdefault(names[unit.server], Counter())
        steps[unit.start] += 1
        steps[unit.end] -= 1
    away = [
        Reservation.model_validate(
            {"server": server, "gpus": gpus, "from": start, "to": end, "reason": REASON}
        )
        for server, steps in held.items()
        for start, end, gpus in _runs(steps)
    ]
    cluster = instance.cluster.model_copy(
        update={"reservations": (*instance.cluster.reservations, *away)}
    )
    caps, jobs = _caps(instance, replicas)
    update = {"cluster": cluster, "services": (), "jobs": jobs}
    return instance.model_copy(update=update | ({"resources": caps} if caps else {}))


def _runs(steps: Mapping[int, int]) -> list[tuple[int, int, int]]:
    """Slots in which the same number is held, and how many, where it is above 0."""
    slots = sorted(slot for slot, step in steps.items() if step)
    levels = accumulate(steps[slot] for slot in slots)
    runs = zip(pairwise(slots), levels, strict=False)
    return [(start, end, level) for (start, end), level in runs if level]


def _caps(
    instance: Instance, replicas: Sequence[Replica]
) -> tuple[tuple[Resource, ...], tuple[Job, ...]]:
    """Resources that stand for caps beside replicas, and the jobs that use them."""
    above = lineages(instance.tenants)
    of = {service.name: service.tenant for service in instance.services}
    variants = {
        (service.name, one.name): one for service in instance.services for one in service.variants
    }
    cluster = instance.cluster
    servers = {server.name: server for server in cluster.servers}
    resources = list(instance.resources)
    uses: dict[str, list[str]] = {}
    for tenant in instance.tenants:
        steps: dict[int, Fraction] = {}
        for one in replicas:
            owner = of[one.service]
            if tenant.gpus is None or owner is None or tenant.name not in above[owner]:
                continue
            slices = variants[one.service, one.variant].slices
            for name, gpus in one.gpus.items():
                part = Fraction(len(gpus))
                if slices is not None:
                    part = Fraction(slices, cluster.slices_of(servers[name]))
                steps[one.start] = steps.get(one.start, Fraction(0)) + part
                steps[one.end] = steps.get(one.end, Fraction(0)) - part
        if not steps or tenant.gpus is None:
            continue
        name = _new_name(f"GPUs of tenant {tenant.name}", {one.name for one in resources})
        slots = sorted(steps)
        levels = accumulate(steps[slot] for slot in slots)
        windows = [
            CapacityWindow.model_validate(
                {
                    "from": start,
                    "to": end,
                    "capacity": _decimal(max(Fraction(0), tenant.gpus - level)),
                }
            )
            for (start, end), level in zip(pairwise(slots), levels, strict=False)
            if level > 0
        ]
        if windows:
            resources.append(Resource(name=name, capacity=tuple(windows)))
            uses[tenant.name] = [*uses.get(tenant.name, []), name]
    if not uses:
        return (), instance.jobs
    jobs = []
    for job in instance.jobs:
        own = [name for one in above.get(job.tenant or "", ()) for name in uses.get(one, ())]
        added = {**(job.resources_per_gpu or {}), **dict.fromkeys(own, 1.0)}
        jobs.append(job.model_copy(update={"resources_per_gpu": added}) if own else job)
    return tuple(resources), tuple(jobs)


def _decimal(gpus: Fraction) -> float:
    """A number of GPUs, rounded up to a billionth: no part of a GPU that jobs hold is as small."""
    return float(ceil(gpus * 10**9) / 10**9)


def _new_name(name: str, known: set[str]) -> str:
    while name in known:
        name += "'"
    return name
