"""How much jobs may use at once of what is not tied to a server: resources, and caps of tenants.

A cap of a tenant (section 9) is a resource (section 19) of which each GPU of its jobs takes 1, and
each GPU of the jobs of all tenants below it (section 18). So all parts know limits only. Amounts
are whole numbers here: multiples of the greatest number of which all that jobs use of a limit are
multiples. A capacity between two multiples is worth the lower one, also beside running jobs, as
what these use is such a multiple.

A worker that takes slices of its GPU counts as that part of a GPU. Where servers divide their GPUs
unlike, what a job uses depends on where it is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from rarmodel.schema import Instance, Job, Resource
from rarmodel.schema.base import common_unit, exactly
from rarmodel.schema.resources import uses_of
from rarmodel.schema.tenants import lineages

from .caching import once_per_instance
from .held_parts import held_parts, parts_on
from .lone import allowed_servers


class Use(NamedTuple):
    """What a job uses of a limit.

    Attributes
    ----------
    of_job
        As a whole, while it holds GPUs.
    of_gpu
        Each of its workers, beside that; at least, where it takes slices of GPUs.
    by_server
        The same by index of a server, where that is not alike on all that the job may use; else
        None.
    """

    of_job: int
    of_gpu: int
    by_server: Mapping[int, int] | None = None

    def at(self, gpus: int) -> int:
        """What the job uses with so many GPUs; at least, where servers are not alike."""
        return self.of_job + gpus * self.of_gpu

    def most(self, gpus: int) -> int:
        """What the job uses with so many GPUs at most."""
        of_gpu = self.of_gpu if self.by_server is None else max(self.by_server.values())
        return self.of_job + gpus * of_gpu

    def on(self, workers: Mapping[int, int]) -> int:
        """What the job uses with so many workers on each server."""
        if self.by_server is None:
            return self.at(sum(workers.values()))
        held = (count * self.by_server[s] for s, count in workers.items())
        return self.of_job + sum(held)


class UsageLimit(NamedTuple):
    """How much jobs may use of something at once; those that run at slot 0 keep what they use.

    Attributes
    ----------
    name
        Name of the resource, or of the tenant.
    place
        Where the instance states it, such as `resources[1].capacity`.
    words
        The limit in words, such as `the cap of 2 GPUs of tenant 'vision' (tenants[0].gpus)`.
    unit
        The amount that 1 stands for.
    starts
        Slots from which on the capacity is another, ascending from 0.
    capacities
        The capacity from each of these on; None if there is no limit then.
    uses
        What jobs use of it, by index; the others use nothing.
    of_tenant
        Whether it is a cap of a tenant.
    """

    name: str
    place: str
    words: str
    unit: Fraction
    starts: tuple[int, ...]
    capacities: tuple[int | None, ...]
    uses: Mapping[int, Use]
    of_tenant: bool = False

    @property
    def most(self) -> int | None:
        """The greatest capacity; None if there is no limit in some slot."""
        known = [one for one in self.capacities if one is not None]
        return max(known) if len(known) == len(self.capacities) else None

    def capacity(self, slot: int) -> int | None:
        """The capacity in a slot; None if there is no limit."""
        return self.capacities[bisect_right(self.starts, slot) - 1]

    def told(self, amount: int) -> str:
        """An amount as the instance would state it."""
        return f"{float(amount * self.unit):.15g}"


@once_per_instance
def usage_limits(instance: Instance) -> tuple[UsageLimit, ...]:
    """The limits of an instance that some job uses: caps of tenants, then resources."""
    found = [*_caps(instance), *_resources(instance)]
    return tuple(one for one in found if one.uses)


@once_per_instance
def limits_of_jobs(instance: Instance) -> tuple[Mapping[int, Use], ...]:
    """(jobs) What each job uses of which limit, by index."""
    found: dict[int, dict[int, Use]] = {}
    for i, limit in enumerate(usage_limits(instance)):
        for j, use in limit.uses.items():
            found.setdefault(j, {})[i] = use
    nothing: Mapping[int, Use] = {}
    return tuple(found.get(j, nothing) for j in range(len(instance.jobs)))


def sizes_within(instance: Instance, j: int, left: Mapping[int, int]) -> tuple[int, ...]:
    """Ring sizes with which a job keeps to what is left of each limit that is in force."""
    uses = limits_of_jobs(instance)[j]
    return tuple(
        size
        for size in instance.jobs[j].sizes
        if all(use.at(size) <= left[i] for i, use in uses.items() if i in left)
    )


def _caps(instance: Instance) -> Iterator[UsageLimit]:
    """Caps of tenants: of each one, the jobs of all below it take."""
    capped = [(i, one, one.gpus) for i, one in enumerate(instance.tenants) if one.gpus is not None]
    if not capped:
        return
    above = lineages(instance.tenants)
    jobs: dict[str, dict[int, Use]] = {one.name: {} for _, one, _ in capped}
    for j, job in enumerate(instance.jobs):
        for name in above.get(job.tenant or "", ()):
            if name in jobs:
                jobs[name][j] = _of_workers(instance, j, 0, 1)
    for i, one, gpus in capped:
        place = f"tenants[{i}].gpus"
        several = f"{gpus} GPU{'s' * (gpus != 1)}"
        words = f"the cap of {several} of tenant {one.name!r} ({place})"
        parts = held_parts(instance).of_gpu
        capacity = Fraction(1, parts), (0,), (gpus * parts,)
        yield UsageLimit(one.name, place, words, *capacity, jobs[one.name], of_tenant=True)


def _of_workers(instance: Instance, j: int, of_job: int, of_gpu: int) -> Use:
    """What a job uses, from what it uses as a whole and each whole GPU, in parts of a GPU."""
    parts, least, most = held_parts(instance)
    by_server = None
    if least[j] < most[j]:
        servers = allowed_servers(instance)[j]
        by_server = {s: of_gpu * parts_on(instance, j, s, parts) for s in servers}
    return Use(of_job * parts, of_gpu * least[j], by_server)


@once_per_instance
def least_caps(instance: Instance) -> Mapping[str, int]:
    """By tenant, the least cap of it and of all above it; those without any are missing."""
    caps = {one.name: one.gpus for one in instance.tenants if one.gpus is not None}
    if not caps:
        return {}
    above = lineages(instance.tenants).items()
    own = ((name, [caps[one] for one in path if one in caps]) for name, path in above)
    return {name: min(some) for name, some in own if some}


def _resources(instance: Instance) -> Iterator[UsageLimit]:
    """Resources."""
    if not instance.resources:
        return
    users: dict[str, dict[int, Job]] = {one.name: {} for one in instance.resources}
    for j, job in enumerate(instance.jobs):
        for _, name, amount in uses_of(job):
            if amount:
                users[name][j] = job
    for i, one in enumerate(instance.resources):
        jobs = users[one.name]
        unit = common_unit(
            amount for job in jobs.values() for _, name, amount in uses_of(job) if name == one.name
        )
        uses = {
            j: _of_workers(
                *(instance, j),
                int(exactly((job.resources or {}).get(one.name, 0)) / unit),
                int(exactly((job.resources_per_gpu or {}).get(one.name, 0)) / unit),
            )
            for j, job in jobs.items()
        }
        unit /= held_parts(instance).of_gpu
        starts, capacities = _steps(one, unit)
        place = f"resources[{i}].capacity"
        amounts = sorted(window.capacity for window in one.windows)
        several = " to ".join(
            f"{amount:.15g}" for amount in dict.fromkeys((amounts[0], amounts[-1]))
        )
        words = f"the capacity of {several} of resource {one.name!r} ({place})"
        yield UsageLimit(one.name, place, words, unit, starts, capacities, uses)


def _steps(resource: Resource, unit: Fraction) -> tuple[tuple[int, ...], tuple[int | None, ...]]:
    """From which slot on there is how much of a resource, in units."""
    steps: dict[int, int | None] = {0: None}
    for window in resource.windows:
        steps[window.start] = int(exactly(window.capacity) / unit)
        if window.end is not None:
            steps[window.end] = None
    slots = sorted(steps)
    return tuple(slots), tuple(steps[slot] for slot in slots)
