"""Every schedule of a tiny instance by GPU: all starts, and all sets of GPUs but for symmetry.

This is slow, and hard to get wrong: the verifier decides, slot by slot, which schedules are
feasible. Methods and bounds for GPUs that jobs share are compared with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product
from random import Random

from sharing_instances import random_sharing
from wide_instances import OBJECTIVES, placements_of_job

from rarmodel.model import horizon_of
from rarmodel.model.objectives import Value
from rarmodel.schema import Assignment, Instance, Schedule
from rarmodel.verifier import Report, verify

Gpus = dict[str, tuple[int, ...]]
"""GPUs that a job holds, by server."""


def every_set_of_gpus(instance: Instance) -> Iterator[tuple[Gpus, ...]]:
    """(jobs) Every choice of GPUs for all jobs; of those that differ by names of GPUs, one.

    GPUs of a server on which the same jobs are so far are alike: how many of them a job takes is
    all that counts. Running jobs stay where they are.
    """
    servers = instance.cluster.servers
    running = [j for j, job in enumerate(instance.jobs) if job.running is not None]
    waiting = [j for j, job in enumerate(instance.jobs) if job.running is None]
    chosen: dict[int, Gpus] = {}
    on = {server.name: [frozenset[int]()] * server.gpus for server in servers}
    for j in running:
        held = instance.jobs[j].running
        assert held is not None
        chosen[j] = dict(held.gpus)
        for name, gpus in held.gpus.items():
            for gpu in gpus:
                on[name][gpu] |= {j}

    def decide(place: int) -> Iterator[tuple[Gpus, ...]]:
        if place == len(waiting):
            yield tuple(chosen[j] for j in range(len(instance.jobs)))
            return
        j = waiting[place]
        for workers in placements_of_job(instance, j):
            ways = [list(_some_of_each_kind(on[servers[s].name], n)) for s, n in workers.items()]
            for gpus in product(*ways):
                names = [servers[s].name for s in workers]
                chosen[j] = dict(zip(names, gpus, strict=True))
                for name, some in chosen[j].items():
                    for gpu in some:
                        on[name][gpu] |= {j}
                yield from decide(place + 1)
                for name, some in zip(names, gpus, strict=True):
                    for gpu in some:
                        on[name][gpu] -= {j}

    yield from decide(0)


def _some_of_each_kind(on: Sequence[frozenset[int]], number: int) -> Iterator[tuple[int, ...]]:
    """So many GPUs of a server: of those with the same jobs, always the first ones."""
    kinds: dict[frozenset[int], list[int]] = {}
    for gpu, jobs in enumerate(on):
        kinds.setdefault(jobs, []).append(gpu)
    alike = list(kinds.values())
    for counts in product(*(range(min(len(some), number) + 1) for some in alike)):
        if sum(counts) == number:
            both = zip(alike, counts, strict=True)
            yield tuple(gpu for some, count in both for gpu in some[:count])


def every_shared_report(instance: Instance, latest: int) -> Iterator[tuple[Schedule, Report]]:
    """Every feasible schedule whose starts are below a slot, and the verifier's report on it."""
    jobs = instance.jobs
    starts = [[0] if job.running else range(max(0, job.release), latest) for job in jobs]
    for rings in every_set_of_gpus(instance):
        for begun in product(*starts):
            schedule = Schedule(
                schema_version=1,
                instance=instance.name,
                method="enumeration",
                assignments=tuple(
                    Assignment(job=job.name, start=start, gpus=gpus)
                    for job, start, gpus in zip(jobs, begun, rings, strict=True)
                ),
            )
            report = verify(instance, schedule, slot_by_slot=True)
            if report.feasible:
                yield schedule, report


def few_schedules(instance: Instance, most: int = 600) -> bool:
    """Whether all schedules of the jobs within the horizon are no more than so many."""
    starts: int = horizon_of(instance) ** len(instance.jobs)
    return starts * sum(1 for _ in islice(every_set_of_gpus(instance), most)) <= most


def shared_optimum(instance: Instance, latest: int | None = None) -> tuple[Value, ...] | None:
    """The least values of the instance's objectives over the starts below a slot; None if none."""
    best: tuple[Value, ...] | None = None
    for _, report in every_shared_report(instance, latest or horizon_of(instance)):
        assert report.objective is not None
        values = tuple(report.objective[name] for name in instance.objectives)
        best = values if best is None or values < best else best
    return best


MOST = 1_500
"""Schedules of an instance that are looked at."""


def tiny(random: Random, features: list[str]) -> Instance:
    """An instance with so few schedules that all of them are looked at."""
    while True:
        found = random_sharing(
            random, features, jobs=random.randint(2, 3), servers=random.randint(1, 2), most_slots=2
        )
        sets = sum(1 for _, _ in zip(range(MOST), every_set_of_gpus(found), strict=False))
        if sets * 3 ** len(found.jobs) <= MOST:
            return found


def least_values(instance: Instance) -> dict[str, Value]:
    """The least value of every objective over schedules in which jobs start early."""
    best: dict[str, Value] = {}
    every = instance.model_copy(update={"objective": OBJECTIVES})
    first_slot = max(0, min(job.release for job in instance.jobs))
    for _, report in every_shared_report(every, first_slot + 3):
        assert report.objective is not None
        for name, value in report.objective.items():
            best[name] = min(value, best.get(name, value))
    return best
