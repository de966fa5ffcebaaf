"""GPUs that several jobs share: what each takes of one, and how they slow each other down.

A worker takes some of the equal slices of its own GPU, and some of the memory (section 15). Others
on this GPU slow the passes of its job down. A GPU is thus a resource as a link is one, with loads
by `UNITS` of `sharing_rule`: a user counts to another with a whole number, and the load that a user
meets is the sum over the others there. A job feels the greatest load of its GPUs, and its compute
term in (8) is multiplied by `slowdown` of that load. Exchange, reduction and overhead stay. Duty is
that of a job alone on its GPUs, so what a ring counts on links does not depend on who else is
there.

Many jobs suffer alike: those of one sensitivity and one kind. So a GPU has few loads, one for each
such class, and a job reads that of its own class and takes off what it counts itself. `losses` has
the numbers.

No load outgrows a float: at most 64 workers share a GPU, and each counts at most 10^6 times
`UNITS`, so loads stay below 2^46. The functions of numbers can be compiled without change.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from rarmodel.schema import Instance, Job
from rarmodel.schema.base import MAX_INTEGER, common_unit, exactly

from .caching import once_per_instance
from .sharing_rule import UNITS


@once_per_instance
def shares_gpus(instance: Instance) -> bool:
    """Whether a GPU may be in several jobs at once: some job has `slices`."""
    return any(job.slices is not None for job in instance.jobs)


def slices_taken(instance: Instance, job: int, server: int) -> int:
    """Slices that a worker of a job takes of its GPU on a server: q_j, or all of them.

    Parameters
    ----------
    instance
        The problem.
    job, server
        Their indices; the server's GPUs have slices enough.
    """
    slices = instance.jobs[job].slices
    cluster = instance.cluster
    return cluster.slices_of(cluster.servers[server]) if slices is None else slices


def fraction_held(instance: Instance, job: int, server: int) -> Fraction:
    """How much of a GPU of a server a worker of a job holds: `q_j/Q_s`, or 1."""
    return part_held(instance, instance.jobs[job], server)


def part_held(instance: Instance, job: Job, server: int) -> Fraction:
    """The same of a job itself."""
    if job.slices is None:
        return Fraction(1)
    return Fraction(job.slices, instance.cluster.slices_of(instance.cluster.servers[server]))


class MemoryUnits(NamedTuple):
    """Memory in whole numbers: multiples of a number of which all needs are multiples.

    Attributes
    ----------
    unit
        What 1 stands for, in GB.
    of_job
        (jobs) What a worker needs.
    of_server
        (servers) What a GPU has, down to a whole number; None if there is no limit. What lies
        between two multiples is of no use.
    """

    unit: Fraction
    of_job: tuple[int, ...]
    of_server: tuple[int | None, ...]


@once_per_instance
def memory_units(instance: Instance) -> MemoryUnits:
    """What workers need of the memory of GPUs, and what GPUs have."""
    cluster = instance.cluster
    unit = common_unit(job.memory_gb for job in instance.jobs if job.memory_gb)

    def whole(memory_gb: float) -> int:
        return min(MAX_INTEGER, math.floor(exactly(memory_gb) / unit))

    sizes = map(cluster.memory_gb_of, cluster.servers)
    return MemoryUnits(
        unit,
        tuple(whole(job.memory_gb) if job.memory_gb else 0 for job in instance.jobs),
        tuple(None if size is None else whole(size) for size in sizes),
    )


def slowdown(units: int) -> float:
    """How many times as long the passes of a job take, `g = 1 + Σ s`.

    Parameters
    ----------
    units
        The greatest load of others on one of its GPUs, in `UNITS`.
    """
    return 1.0 + units / UNITS


def measured_slowdowns(instance: Instance) -> Mapping[tuple[str, str], float]:
    """By two kinds, how many times as long a job of the first takes beside one of the second."""
    return {(one.kind, one.beside): one.slowdown for one in instance.colocation}


def loss_units(sufferer: Job, other: Job, measured: Mapping[tuple[str, str], float]) -> int:
    """What a job on a GPU counts to another one there, `s`, in `UNITS`, rounded up.

    It is `x − 1` where the two kinds were measured, and `σ·π` elsewhere, from the decimals that are
    written.

    Parameters
    ----------
    sufferer
        The job that is slowed down, j.
    other
        The job beside it, i.
    measured
        See `measured_slowdowns`.
    """
    pair = (sufferer.kind, other.kind)
    known = None if None in pair else measured.get((sufferer.kind or "", other.kind or ""))
    if known is not None:
        return math.ceil((exactly(known) - 1) * UNITS)
    return math.ceil(exactly(sufferer.sensitivity) * exactly(other.pressure) * UNITS)


class Losses(NamedTuple):
    """What jobs count to each other on a GPU, by class.

    Attributes
    ----------
    column
        (jobs) The class of a job that suffers: it reads this load of a GPU.
    row
        (jobs) The class of a job by which others suffer.
    units
        (rows, columns) What a job counts to each class of jobs that suffer, in `UNITS`.
    """

    column: tuple[int, ...]
    row: tuple[int, ...]
    units: tuple[tuple[int, ...], ...]

    @property
    def columns(self) -> int:
        """Loads that a GPU has."""
        return len(self.units[0])

    def counts(self, job: int) -> Sequence[int]:
        """(columns) What a job adds to each load of its GPUs."""
        return self.units[self.row[job]]

    def of(self, sufferer: int, other: int) -> int:
        """What one job loses by another on one of its GPUs."""
        return self.units[self.row[other]][self.column[sufferer]]


@once_per_instance
def losses(instance: Instance) -> Losses:
    """What jobs count to each other; there are as many classes as jobs that differ."""
    measured = measured_slowdowns(instance)
    suffering, pressing = {kind for kind, _ in measured}, {kind for _, kind in measured}
    columns: dict[tuple[str | None, float], Job] = {}
    rows: dict[tuple[str | None, float], Job] = {}
    column, row = [], []
    for job in instance.jobs:
        suffers = job.kind if job.kind in suffering else None, job.sensitivity
        presses = job.kind if job.kind in pressing else None, job.pressure
        columns.setdefault(suffers, job)
        rows.setdefault(presses, job)
        column.append(suffers)
        row.append(presses)
    number = {key: i for i, key in enumerate(columns)}
    place = {key: i for i, key in enumerate(rows)}
    return Losses(
        tuple(number[key] for key in column),
        tuple(place[key] for key in row),
        tuple(
            tuple(loss_units(sufferer, other, measured) for sufferer in columns.values())
            for other in rows.values()
        ),
    )


@once_per_instance
def greatest_loads(instance: Instance) -> tuple[int, ...]:
    """(jobs) The most that others on a GPU can count to a job, in `UNITS`; 0 without `slices`.

    Beside its own there is room for so many slices as the most divided GPU has left, so for so many
    jobs at most: those that count most.
    """
    if not shares_gpus(instance):
        return (0,) * len(instance.jobs)
    cluster, found = instance.cluster, losses(instance)
    most = max(map(cluster.slices_of, cluster.servers))
    sharing = [j for j, job in enumerate(instance.jobs) if job.slices is not None]
    there = Counter(found.row[j] for j in sharing)
    known: dict[tuple[int, int, int], int] = {}

    def greatest(column: int, row: int, room: int) -> int:
        others = there - Counter([row])
        load = 0
        for other in sorted(others, key=lambda one: -found.units[one][column]):
            many = min(room, others[other])
            load, room = load + many * found.units[other][column], room - many
        return load

    loads = [0] * len(instance.jobs)
    for j in sharing:
        key = found.column[j], found.row[j], most - (instance.jobs[j].slices or 0)
        if key not in known:
            known[key] = greatest(*key)
        loads[j] = known[key]
    return tuple(loads)


def loads_beside(
    instance: Instance, gpus: Mapping[int, Collection[tuple[int, int]]]
) -> dict[int, int]:
    """By job, the greatest load of others on one of its GPUs, in `UNITS`.

    Parameters
    ----------
    instance
        The problem.
    gpus
        By index of a job that is active, its GPUs: index of the server, and index there.
    """
    found = losses(instance)
    load: dict[tuple[int, int], list[int]] = {}
    for j, own in gpus.items():
        for gpu in own:
            here = load.setdefault(gpu, [0] * found.columns)
            for column, units in enumerate(found.counts(j)):
                here[column] += units
    return {
        j: max((load[gpu][found.column[j]] - found.of(j, j) for gpu in own), default=0)
        for j, own in gpus.items()
    }
