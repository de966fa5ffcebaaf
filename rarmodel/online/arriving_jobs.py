"""The jobs of an instance in order of arrival, laid out in columns; nothing here changes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from rarmodel.engine.arrays import NEVER, Ints
from rarmodel.model import job_extremes, lone_options
from rarmodel.model.horizon import unbegun
from rarmodel.model.lone import allowed_servers
from rarmodel.schema import Instance

Truths = npt.NDArray[np.bool_]

NOBODY = -1
"""The tenant of a job without a cap."""


@dataclass(frozen=True)
class Jobs:
    """What is known of each job, as soon as it arrives; by number in order of arrival.

    Attributes
    ----------
    unbegun
        The instance with no job running at slot 0, but with the iterations that are left.
    index
        Place of each job in the instance. Jobs arrive by release, then in input order.
    arrival
        Slot from which on a policy knows the job, max(0, r_j).
    release, weight, due, deadline
        As the instance has them; NEVER where there is no due slot or deadline.
    iterations
        Iterations left at slot 0.
    size
        Ring size unless a policy says otherwise: the one of least area, and then the smallest.
    speed, length
        Iterations per slot, and slots for the iterations left, alone in the best placement.
    stalls
        Whether there may be a placement, or rings beside it, with which it makes no progress.
    tenant, cap
        Whose job it is, of the tenants with a cap; and how many GPUs each of them may hold.
    row, allowed, within
        The row of `allowed` that has the servers that a job may use. `within[r, q]`: row q has no
        server that row r lacks.
    place_at
        Offsets of each job's servers in memory for places.
    waits_for, followers
        How many jobs must complete before each job; the numbers of those that wait for it.
    sizes
        Allowed ring sizes of each job, ascending.
    """

    unbegun: Instance
    index: Ints
    arrival: Ints
    release: Ints
    weight: Ints
    due: Ints
    deadline: Ints
    iterations: Ints
    size: Ints
    speed: Ints
    length: Ints
    stalls: Truths
    tenant: Ints
    cap: Ints
    row: Ints
    allowed: Truths
    within: Truths
    place_at: Ints
    waits_for: Ints
    followers: tuple[tuple[int, ...], ...]
    sizes: tuple[tuple[int, ...], ...]


def jobs_of(instance: Instance) -> Jobs:
    """Lay the jobs of an instance out."""
    servers = len(instance.cluster.servers)
    order = sorted(range(len(instance.jobs)), key=lambda j: (max(0, instance.jobs[j].release), j))
    jobs = [instance.jobs[j] for j in order]
    number = {job.name: k for k, job in enumerate(jobs)}
    followers: list[list[int]] = [[] for _ in jobs]
    for k, job in enumerate(jobs):
        for name in set(job.after):
            followers[number[name]].append(k)
    capped = [tenant for tenant in instance.tenants if tenant.gpus is not None]
    tenants = {tenant.name: i for i, tenant in enumerate(capped)}
    rows: dict[frozenset[int], int] = {frozenset(range(servers)): 0}
    sets = allowed_servers(instance)
    row = _ints([rows.setdefault(sets[j], len(rows)) for j in order])
    allowed = np.zeros((len(rows), servers), np.bool_)
    for some, r in rows.items():
        allowed[r, list(some)] = True
    # Wherever a job runs at slot 0, its best placement may be another one.
    waiting = unbegun(instance)
    extremes = job_extremes(waiting)
    speed = _ints([extremes[j].best_speed for j in order])
    iterations = _ints([job.iterations_left for job in jobs])
    return Jobs(
        unbegun=waiting,
        index=_ints(order),
        arrival=_ints([max(0, job.release) for job in jobs]),
        release=_ints([job.release for job in jobs]),
        weight=_ints([job.weight for job in jobs]),
        due=_ints([NEVER if job.due is None else job.due for job in jobs]),
        deadline=_ints([NEVER if job.deadline is None else job.deadline for job in jobs]),
        iterations=iterations,
        size=_sizes(waiting)[order],
        speed=speed,
        length=-(-iterations // speed),
        stalls=np.array([extremes[j].worst_speed == 0 for j in order], np.bool_),
        tenant=_ints([tenants.get(job.tenant or "", NOBODY) for job in jobs]),
        cap=_ints([tenant.gpus or 0 for tenant in capped]),
        row=row,
        allowed=allowed,
        within=np.array([[bool((q <= r).all()) for q in allowed] for r in allowed]),
        place_at=_ints([0, *accumulate(min(job.sizes[-1], servers) for job in jobs)]),
        waits_for=_ints([len(set(job.after)) for job in jobs]),
        followers=tuple(map(tuple, followers)),
        sizes=tuple(job.sizes for job in jobs),
    )


def _sizes(instance: Instance) -> Ints:
    """(jobs) The ring size of least area, alone, that the tenant's cap lets in."""
    if all(len(job.sizes) == 1 for job in instance.jobs):
        return _ints([job.sizes[0] for job in instance.jobs])
    caps = {tenant.name: tenant.gpus for tenant in instance.tenants}
    found = []
    for job, options in zip(instance.jobs, lone_options(instance), strict=True):
        most = caps.get(job.tenant or "") or job.sizes[-1]
        areas = [
            (one.pace.size > most, one.pace.size * slots, one.pace.size)
            for one in options
            if (slots := one.pace.slots(one.servers, one.gbps))
        ]
        found.append(min(areas)[2])
    return _ints(found)


def _ints(values: list[int]) -> Ints:
    return np.array(values, np.int64)
