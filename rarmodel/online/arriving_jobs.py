"""The jobs of an instance in order of arrival, laid out in columns; nothing here changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rarmodel.engine.arrays import NEVER, Ints
from rarmodel.model import job_extremes, lone_options
from rarmodel.model.horizon import unbegun
from rarmodel.model.interruptions import may_stop
from rarmodel.model.lone import allowed_servers
from rarmodel.model.usage_limits import limits_of_jobs, sizes_within, usage_limits
from rarmodel.schema import Instance

Truths = npt.NDArray[np.bool_]


class Uses(NamedTuple):
    """What jobs use beside GPUs of servers, by number in order of arrival.

    Attributes
    ----------
    at
        (jobs + 1) Offsets into the others.
    limit
        A resource, or the cap of a tenant.
    of_job, of_gpu
        How much of it the job uses as a whole, and with each of its GPUs beside that.
    """

    at: Ints
    limit: Ints
    of_job: Ints
    of_gpu: Ints

    def amounts(self, k: int, gpus: int) -> Mapping[int, int]:
        """What a job uses of each limit with so many GPUs."""
        some = slice(self.at[k], self.at[k + 1])
        used = self.of_job[some] + gpus * self.of_gpu[some]
        return dict(zip(self.limit[some].tolist(), used.tolist(), strict=True))


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
    release, weight, priority, due, deadline
        As the instance has them; NEVER where there is no due slot or deadline.
    iterations
        Iterations left at slot 0.
    size
        Ring size unless a policy says otherwise: the one of least area, and then the smallest.
    speed, length
        Iterations per slot, and slots for the iterations left, alone in the best placement.
    most
        Slots that it takes at most once it holds GPUs, whatever runs beside it; NEVER if it may
        stand still.
    may_stop
        Whether it may be interrupted.
    stalls
        Whether there may be a placement, or rings beside it, with which it makes no progress.
    uses
        What each uses of resources, and of the caps of tenants.
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
    priority: Ints
    due: Ints
    deadline: Ints
    iterations: Ints
    size: Ints
    speed: Ints
    length: Ints
    most: Ints
    may_stop: Truths
    stalls: Truths
    uses: Uses
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
    uses = [limits_of_jobs(instance)[j] for j in order]
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
    same: dict[tuple[int, ...], tuple[int, ...]] = {}
    return Jobs(
        unbegun=waiting,
        index=_ints(order),
        arrival=_ints([max(0, job.release) for job in jobs]),
        release=_ints([job.release for job in jobs]),
        weight=_ints([job.weight for job in jobs]),
        priority=_ints([job.priority for job in jobs]),
        due=_ints([NEVER if job.due is None else job.due for job in jobs]),
        deadline=_ints([NEVER if job.deadline is None else job.deadline for job in jobs]),
        iterations=iterations,
        size=_sizes(waiting)[order],
        speed=speed,
        length=-(-iterations // speed),
        most=_ints([NEVER if (most := extremes[j].most_slots) is None else most for j in order]),
        may_stop=np.array([may_stop(instance, job) for job in jobs], np.bool_),
        stalls=np.array([extremes[j].worst_speed == 0 for j in order], np.bool_),
        uses=Uses(
            at=_ints([0, *accumulate(map(len, uses))]),
            limit=_ints([limit for each in uses for limit in each]),
            of_job=_ints([use.of_job for each in uses for use in each.values()]),
            of_gpu=_ints([use.of_gpu for each in uses for use in each.values()]),
        ),
        row=row,
        allowed=allowed,
        within=np.array([[bool((q <= r).all()) for q in allowed] for r in allowed]),
        place_at=_ints([0, *accumulate(min(job.sizes[-1], servers) for job in jobs)]),
        waits_for=_ints([len(set(job.after)) for job in jobs]),
        followers=tuple(map(tuple, followers)),
        sizes=tuple(same.setdefault(sizes, sizes) for sizes in (job.sizes for job in jobs)),
    )


def _sizes(instance: Instance) -> Ints:
    """(jobs) The ring size of least area, alone, that caps and resources let in at last."""
    if all(len(job.sizes) == 1 for job in instance.jobs):
        return _ints([job.sizes[0] for job in instance.jobs])
    found = []
    for j, options in enumerate(lone_options(instance)):
        within = sizes_at_last(instance, j)
        areas = [
            (one.pace.size not in within, one.pace.size * slots, one.pace.size)
            for one in options
            if (slots := one.pace.slots(one.servers, one.gbps))
        ]
        found.append(min(areas)[2])
    return _ints(found)


def sizes_at_last(instance: Instance, j: int) -> tuple[int, ...]:
    """Ring sizes of a job that the caps and the last capacities of resources let in."""
    limits = enumerate(usage_limits(instance))
    last = {i: most for i, limit in limits if (most := limit.capacities[-1]) is not None}
    return sizes_within(instance, j, last)


def _ints(values: list[int]) -> Ints:
    return np.array(values, np.int64)
