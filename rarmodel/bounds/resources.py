"""Bounds from what jobs use beside GPUs: resources, and caps of tenants (sections 9 and 19).

A resource of capacity C is a machine that does C units in a slot; a job that uses u of it for t
slots needs u·t of them. Scheduling calls this energetic reasoning (P. Baptiste, C. Le Pape,
W. Nuijten, "Constraint-Based Scheduling", 2001). Jobs of which any two use more than there is run
one after another: they are a machine that does one job at a time. So all that is known of one
machine holds for these, whatever the objective.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from rarmodel.model.caching import once_per_instance
from rarmodel.model.held_parts import held_parts
from rarmodel.model.interruptions import may_stop
from rarmodel.model.objectives import MAKESPAN, Objective, Value
from rarmodel.model.usage_limits import UsageLimit, limits_of_jobs, usage_limits
from rarmodel.schema import Instance
from rarmodel.schema.certificate import Argument, ExclusiveJobs, LimitUse

from .arguments import of_jobs_alone, of_late_area
from .bound import ALWAYS, Bound
from .least_demands import Machine, Work, least_areas, resizes, works
from .one_machine import RELAXATIONS, proven_on

MOST_SEEDS = 40
"""Jobs from which sets of jobs that exclude each other are grown."""
MOST_USERS = 400
"""Jobs that are looked at for such sets, the longest ones."""
MOST_SETS = 5
"""Such sets that are looked at."""


class Supply(NamedTuple):
    """A limit over time, with what jobs use of it.

    Attributes
    ----------
    machine
        The greatest capacity as a machine; None if there is no limit in some slot.
    works
        What each job that uses something needs at least, by index.
    starts
        Slots from which on there is another capacity, ascending from 0.
    capacities
        How much jobs can use from each of these on; None if there is no limit then. Jobs that run
        at slot 0 keep what they use, and count as if they did for ever.
    of
        Its name in certificates.
    """

    machine: Machine | None
    works: Mapping[int, Work]
    starts: tuple[int, ...]
    capacities: tuple[int | None, ...]
    of: LimitUse

    def room(self, begin: int, end: int) -> int | None:
        """How much jobs can use from a slot to another; None if there is no limit in between."""
        total = 0
        for start, until, capacity in zip(
            self.starts, (*self.starts[1:], end), self.capacities, strict=True
        ):
            slots = min(until, end) - max(start, begin)
            if slots > 0:
                if capacity is None:
                    return None
                total += capacity * slots
        return total

    def end_of(self, area: int, head: int) -> int:
        """The slot before which jobs cannot have used so much, from a slot on."""
        ends = (*self.starts[1:], None)
        for start, end, capacity in zip(self.starts, ends, self.capacities, strict=True):
            if end is not None and end <= head:
                continue
            begin = max(start, head)
            if capacity is None:
                return begin
            if end is None or capacity * (end - begin) >= area:
                return begin - (-area // capacity) if capacity else begin
            area -= capacity * (end - begin)
        return head


@once_per_instance
def supplies(instance: Instance) -> tuple[Supply, ...]:
    """The limits of an instance, with the least that jobs use of each."""
    return tuple(_supply(instance, limit) for limit in usage_limits(instance))


def _supply(instance: Instance, limit: UsageLimit) -> Supply:
    def use(j: int, gpus: int) -> int:
        return limit.uses[j].at(gpus) if j in limit.uses else 0

    areas, known = least_areas(instance, use), works(instance)
    users = {}
    for j, uses in limit.uses.items():
        work = known[j]
        moves = uses.by_server is not None and may_stop(instance, instance.jobs[j])
        if moves or resizes(instance, j):
            work = work._replace(span=areas[j] // uses.most(instance.jobs[j].sizes[-1]))
        users[j] = work._replace(area=areas[j])
    jobs = instance.jobs
    kept = sum(
        uses.at(running.size)
        for j, uses in limit.uses.items()
        if (running := jobs[j].running) is not None
    )
    capacities = tuple(None if one is None else max(one, kept) for one in limit.capacities)
    most = None if limit.most is None else max(limit.most, kept)
    of = LimitUse(kind="tenant" if limit.of_tenant else "resource", name=limit.name)
    machine = Machine(most, users, of) if most else None
    return Supply(machine, users, limit.starts, capacities, of)


def use_of_resources(instance: Instance, objective: Objective) -> Value | None:
    """What jobs use of each resource, or of the cap of a tenant, fits into its capacity.

    The makespan is no less than the slot by which the capacity from a slot on is enough for the
    jobs that start no earlier. `relaxations` has the proofs for other objectives. Where the
    capacity changes, these take the greatest.
    """
    found = list[Value]()
    for supply in supplies(instance):
        if objective is MAKESPAN:
            area = 0
            for work in sorted(supply.works.values(), key=lambda work: -work.head):
                area += work.area
                found.append(supply.end_of(area, work.head))
        elif supply.machine is not None:
            found += proven_on(instance, objective, supply.machine)
    return max(found, default=None)


def one_after_another(instance: Instance, objective: Objective) -> Value | None:
    """Jobs of which any two use more than there is run one after another.

    With least uses u_i and u_j, and C the greatest capacity, jobs i and j exclude each other if
    u_i + u_j > C: also if one of them runs at slot 0, as the other then has what is left of C. Two
    that both run then do not. Jobs that together need more GPUs than the cluster has exclude each
    other likewise, by the parts of GPUs that they hold at least.
    """
    found = list[Value]()
    for machine in exclusive_sets(instance):
        if objective is MAKESPAN:
            slots = 0
            for work in sorted(machine.works.values(), key=lambda work: -work.head):
                slots += work.slots
                found.append(work.head + slots)
        else:
            found += proven_on(instance, objective, machine)
    return max(found, default=None)


@once_per_instance
def exclusive_sets(instance: Instance) -> tuple[Machine, ...]:
    """Sets of jobs that exclude each other, those that take the most time together.

    They are grown job by job, the longest first, from each of the longest jobs.
    """
    if not usage_limits(instance):
        return ()
    excluded = _exclusions(instance)
    known = works(instance)
    longest = sorted(excluded, key=lambda j: -known[j].slots)
    sets: dict[frozenset[int], int] = {}
    for seed in longest[:MOST_SEEDS]:
        chosen = [seed]
        for j in longest:
            if j in excluded[seed] and all(j in excluded[k] for k in chosen):
                chosen.append(j)
        if len(chosen) > 1:
            sets[frozenset(chosen)] = sum(known[j].slots for j in chosen)
    best = sorted(sets, key=lambda some: -sets[some])[:MOST_SETS]
    return tuple(_one_at_a_time(instance, sorted(some)) for some in best)


def _one_at_a_time(instance: Instance, some: Iterable[int]) -> Machine:
    """The machine that jobs make which exclude each other."""
    each = [works(instance)[j] for j in some]
    alone = {work.job: work._replace(area=work.slots, span=work.slots) for work in each}
    names = tuple(instance.jobs[j].name for j in alone)
    return Machine(1, alone, ExclusiveJobs(kind="exclusive-jobs", jobs=names))


def _exclusions(instance: Instance) -> dict[int, set[int]]:
    """By job, those that it excludes, of the jobs that use something of a limit."""
    jobs, limits = instance.jobs, usage_limits(instance)
    users = [j for j, uses in enumerate(limits_of_jobs(instance)) if uses]
    users = sorted(users, key=lambda j: -works(instance)[j].slots)[:MOST_USERS]
    held = held_parts(instance)
    gpus = {j: jobs[j].sizes[0] * held.least[j] for j in users}
    found: dict[int, set[int]] = {}
    for most, least in [
        (instance.cluster.total_gpus * held.of_gpu, gpus),
        *(
            (
                limit.most,
                {j: min(map(limit.uses[j].at, jobs[j].sizes)) for j in users if j in limit.uses},
            )
            for limit in limits
            if limit.most is not None
        ),
    ]:
        for i, k in _beyond(least, most):
            if jobs[i].running is None or jobs[k].running is None:
                found.setdefault(i, set()).add(k)
                found.setdefault(k, set()).add(i)
    return found


def _beyond(amounts: Mapping[int, int], most: int) -> Iterator[tuple[int, int]]:
    """Pairs whose amounts together are beyond the most; each once."""
    order = sorted(amounts, key=lambda j: (-amounts[j], j))
    for at, i in enumerate(order):
        for k in order[at + 1 :]:
            if amounts[i] + amounts[k] <= most:
                break
            yield i, k


def _of_supplies(instance: Instance, objective: Objective, value: Value) -> Argument | None:
    """The limit whose use proves a value, as `Bound.certify`."""
    if (alone := of_jobs_alone(instance, objective, value)) is not None:
        return alone
    if objective is MAKESPAN:
        each = (
            of_late_area(instance, one.works.values(), value, one.room, one.of)
            for one in supplies(instance)
        )
        return next((one for one in each if one is not None), None)
    machines = (one.machine for one in supplies(instance) if one.machine is not None)
    return _of_machines(instance, objective, value, machines)


def _of_exclusive_sets(instance: Instance, objective: Objective, value: Value) -> Argument | None:
    """The set of jobs that exclude each other that proves a value, as `Bound.certify`."""
    if (alone := of_jobs_alone(instance, objective, value)) is not None:
        return alone
    machines = exclusive_sets(instance)
    if objective is MAKESPAN:
        each = (
            of_late_area(
                instance, one.works.values(), value, lambda begin, end: end - begin, one.of
            )
            for one in machines
        )
        return next((one for one in each if one is not None), None)
    return _of_machines(instance, objective, value, machines)


def _of_machines(
    instance: Instance, objective: Objective, value: Value, machines: Iterable[Machine]
) -> Argument | None:
    """What the first machine that proves a value says."""
    for machine in machines:
        for relaxation, certify in RELAXATIONS:
            proven = relaxation(instance, objective, machine)
            if proven is not None and proven >= value:
                return certify(instance, objective, value, machine)
    return None


USE_OF_RESOURCES = Bound(
    "use of resources",
    "what jobs use of a resource, or of a tenant's cap, fits into its capacity",
    use_of_resources,
    handles=ALWAYS,
    rank=20,
    certify=_of_supplies,
)
ONE_AFTER_ANOTHER = Bound(
    "one after another",
    "jobs of which any two use more than there is run one after another",
    one_after_another,
    handles=ALWAYS,
    rank=21,
    certify=_of_exclusive_sets,
)
