"""The verdict on any schedule of random wide instances, recounted naively slot by slot."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from decimal import Decimal
from fractions import Fraction
from random import Random

from broken_schedules import broken
from depth import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from lone_placements import slots_of_placements, within_one
from resource_use import capacity, use
from tenant_trees import tenants_of
from wide_instances import OBJECTIVES, wide_instances

from rarmodel.schema import AnyAssignment, Assignment, Instance, Job, Resource, Schedule
from rarmodel.verifier import Report, verify

Told = set[tuple[str, str, str | None, int | None]]
LAST = 60
"""Slot up to which jobs that never complete are looked at, and nothing changes from then on."""


def some_schedule(instance: Instance, random: Random, latest: int) -> Schedule:
    """GPUs that exist, in one of the job's sizes; running jobs mostly where they run."""
    assignments = []
    gpus = [(server.name, i) for server in instance.cluster.servers for i in range(server.gpus)]
    for job in instance.jobs:
        if job.running is not None and random.random() < 0.8:
            assignments.append(Assignment(job=job.name, start=0, gpus=job.running.gpus))
            continue
        size = random.choice(job.sizes)
        first = random.randrange(len(gpus) - size + 1)
        some = random.sample(gpus, size) if random.random() < 0.5 else gpus[first : first + size]
        held: dict[str, tuple[int, ...]] = {}
        for name, i in some:
            held[name] = (*held.get(name, ()), i)
        assignments.append(Assignment(job=job.name, start=random.randint(0, latest), gpus=held))
    random.shuffle(assignments)
    return Schedule(
        schema_version=1, instance=instance.name, method="random", assignments=tuple(assignments)
    )


schedules = st.tuples(wide_instances(), st.randoms(use_true_random=False), st.integers(0, 8))


@examples(40)
@given(schedules, st.integers(0, 2))
def test_slot_by_slot_gives_an_equal_report(
    drawn: tuple[Instance, Random, int], breaks: int
) -> None:
    instance, random, latest = drawn
    schedule = some_schedule(instance, random, latest)
    for _ in range(breaks):
        if schedule.assignments:
            schedule = broken(schedule, random)
    report = verify(instance, schedule)
    assert verify(instance, schedule, slot_by_slot=True) == report
    assert report.feasible == (not report.violations)
    assert (report.objective is None) == (None in report.completion.values())
    assert all(violation.message.isprintable() for violation in report.violations)


def recounted(instance: Instance, schedule: Schedule, report: Report) -> Told:
    """What single jobs and each slot show of the constraints of wider instances."""
    jobs = {job.name: job for job in instance.jobs}
    types = {server.name: server.gpu_type for server in instance.cluster.servers}
    found: Told = set()
    carried_out = []
    for one in schedule.assignments:
        job = jobs[one.job]
        wrong = {
            name for name in one.gpus if job.times is not None and types[name] not in job.times
        }
        found |= {("type", job.name, name, one.start) for name in wrong}
        found |= {("memory", job.name, name, one.start) for name in too_small(instance, job, one)}
        found |= set(placement_of(job, one))
        if job.spread is not None and job.spread.within is not None:
            found |= set(nearness_of(instance, job, one, job.spread.within))
        if not wrong:
            carried_out.append((one, job, report.completion[job.name]))
    for one, job, end in carried_out:
        if one.start < job.release:
            found.add(("release", job.name, None, one.start))
        if end is not None and job.deadline is not None and end > job.deadline:
            found.add(("deadline", job.name, None, max(one.start, job.deadline)))
        for _, before, until in carried_out:
            if before.name in job.after and (until is None or one.start < until):
                found.add(("after", job.name, None, one.start))
    return found


def too_small(instance: Instance, job: Job, one: AnyAssignment) -> set[str]:
    """The servers whose GPUs have less memory than a worker needs."""
    sizes = {
        server.name: instance.cluster.memory_gb_of(server) for server in instance.cluster.servers
    }
    return {
        name
        for name, gpus in one.gpus.items()
        if gpus and (size := sizes[name]) is not None and (job.memory_gb or 0) > size
    }


def placement_of(job: Job, one: AnyAssignment) -> Iterator[tuple[str, str, str | None, int]]:
    counts = [len(gpus) for gpus in one.gpus.values()]
    for name in one.gpus:
        if job.servers is not None and name not in job.servers:
            yield "servers", job.name, name, one.start
    if job.spread is not None:
        most = job.spread.max_servers or len(counts)
        unequal = job.spread.equal and min(counts) != max(counts)
        if unequal or not job.spread.min_servers <= len(counts) <= most:
            yield "spread", job.name, None, one.start
    if job.running is not None and not stays(job, one):
        yield "running", job.name, None, one.start


def nearness_of(
    instance: Instance, job: Job, one: AnyAssignment, level: str
) -> Iterator[tuple[str, str, str | None, int]]:
    index = {server.name: s for s, server in enumerate(instance.cluster.servers)}
    below = [name for name in one.gpus if within_one(instance, level, [index[name]])]
    for name in one.gpus:
        if name not in below:
            yield "within", job.name, name, one.start
    if below and not within_one(instance, level, [index[name] for name in below]):
        yield "within", job.name, None, one.start


def stays(job: Job, one: AnyAssignment) -> bool:
    """Whether a job goes on from slot 0 on, on the GPUs on which it runs."""
    if job.running is None:
        return False
    here = {(name, i) for name, gpus in one.gpus.items() for i in gpus}
    there = {(name, i) for name, gpus in job.running.gpus.items() for i in gpus}
    return here == there and one.start == 0


@examples(40)
@given(schedules)
def test_demands_of_jobs_are_broken_iff_a_recount_says_so(
    drawn: tuple[Instance, Random, int],
) -> None:
    instance, random, latest = drawn
    schedule = some_schedule(instance, random, latest)
    report = verify(instance, schedule)
    others = {"capacity", "progress", "reservation", "quota", "resource", "horizon"}
    told = {(v.constraint, v.job, v.server, v.slot) for v in report.violations}
    assert {one for one in told if one[0] not in others} == recounted(instance, schedule, report)


def begins(exceeded: Callable[[int], bool]) -> set[int]:
    """First slots of the runs of slots in which something is exceeded."""
    slots = [exceeded(slot) for slot in range(LAST)]
    return {t for t, now in enumerate(slots) if now and not (t and slots[t - 1])}


def active(
    instance: Instance, schedule: Schedule, report: Report, slot: int
) -> list[tuple[AnyAssignment, Job]]:
    jobs = {job.name: job for job in instance.jobs}
    types = {server.name: server.gpu_type for server in instance.cluster.servers}
    found = []
    for one in schedule.assignments:
        job, end = jobs[one.job], report.completion[one.job]
        runs = job.times is None or all(types[name] in job.times for name in one.gpus)
        if runs and one.start <= slot and (end is None or slot < end):
            found.append((one, job))
    return found


@examples(40)
@given(schedules)
def test_reservations_and_quotas_are_broken_iff_some_slot_shows_it(
    drawn: tuple[Instance, Random, int],
) -> None:
    instance, random, latest = drawn
    schedule = some_schedule(instance, random, latest)
    report = verify(instance, schedule)
    assume(all(end is None or end < LAST for end in report.completion.values()))

    def reserved(server: str, slot: int) -> int:
        return sum(
            one.gpus
            for one in instance.cluster.reservations
            if one.server == server and one.start <= slot and (one.end is None or slot < one.end)
        )

    for server in instance.cluster.servers:

        def too_many(slot: int, name: str = server.name, size: int = server.gpus) -> bool:
            here = active(instance, schedule, report, slot)
            ran = sum(len(one.gpus.get(name, ())) for one, job in here if stays(job, one))
            held = sum(len(one.gpus.get(name, ())) for one, job in here if not stays(job, one))
            away = reserved(name, slot)
            return away > 0 and held > max(0, size - away - ran)

        told = [v for v in report.violations if v.constraint == "reservation"]
        mine = [v for v in told if v.server == server.name]
        assert sorted(v.slot or 0 for v in mine) == sorted(begins(too_many))
        for v in mine:
            here = {
                one.job: one
                for one, job in active(instance, schedule, report, v.slot or 0)
                if not stays(job, one)
            }
            assert server.name in here[v.job].gpus
    expected = []
    for tenant in instance.tenants:

        def above(slot: int, name: str = tenant.name, cap: int | None = tenant.gpus) -> bool:
            here = active(instance, schedule, report, slot)
            mine = [
                (sum(map(len, one.gpus.values())), stays(job, one))
                for one, job in here
                if name in tenants_of(instance, job)
            ]
            ran = sum(gpus for gpus, stayed in mine if stayed)
            held = sum(gpus for gpus, stayed in mine if not stayed)
            return cap is not None and held > max(0, cap - ran)

        expected += sorted(begins(above))
    quotas = [v.slot for v in report.violations if v.constraint == "quota"]
    assert sorted(slot or 0 for slot in quotas) == sorted(expected)
    for resource in instance.resources:

        def too_much(slot: int, one: Resource = resource) -> bool:
            here = active(instance, schedule, report, slot)
            uses = [
                (use(job, one.name, sum(map(len, held.gpus.values()))), stays(job, held))
                for held, job in here
            ]
            ran = sum((amount for amount, stayed in uses if stayed), Decimal(0))
            used = sum((amount for amount, stayed in uses if not stayed), Decimal(0))
            there = capacity(one, slot)
            return there is not None and used > max(Decimal(0), there - ran)

        told = [v for v in report.violations if v.constraint == "resource"]
        slots = [v.slot or 0 for v in told if repr(resource.name) in v.message]
        assert sorted(slots) == sorted(begins(too_much))


def least_slots(instance: Instance, job: Job) -> int:
    """By trying every placement in an otherwise empty cluster, with all iterations to do."""
    return min(slots_of_placements(instance, job.model_copy(update={"running": None})))


def links_of(instance: Instance, servers: Collection[str]) -> int:
    """Links that join some servers: those of all ways to the root, less those that all share."""
    network = instance.cluster.network
    parent = {server.name: "switch" for server in instance.cluster.servers}
    if network.kind == "tree":
        parent = {link.node: link.parent for link in network.links}
    ways = []
    for name in servers:
        way = {name}
        while (name := parent.get(name, "")) in parent:
            way.add(name)
        ways.append(way)
    return len(set[str]().union(*ways)) - len(set.intersection(*ways))


@examples(30)
@given(schedules)
def test_values_are_naive_sums(drawn: tuple[Instance, Random, int]) -> None:
    instance, random, latest = drawn
    instance = instance.model_copy(update={"objective": OBJECTIVES})
    schedule = some_schedule(instance, random, latest)
    report = verify(instance, schedule)
    assume(report.objective is not None)
    ends = {name: end for name, end in report.completion.items() if end is not None}
    flows, tardy, late, stretch = [], [], [], []
    for job in instance.jobs:
        end = ends[job.name]
        flows.append(end - job.release)
        if job.due is not None:
            tardy.append((job.weight, end - job.due if end > job.due else 0))
            late.append(job.weight if end > job.due else 0)
        stretch.append(Fraction(end - job.release, least_slots(instance, job)))
    weighted = [(job.weight, ends[job.name], job.release) for job in instance.jobs]
    prices = instance.cluster.prices_per_gpu_hour
    cost = Fraction(0)
    for one in schedule.assignments:
        for server in instance.cluster.servers:
            price = 1 if prices is None else prices
            if isinstance(prices, dict):
                price = prices[server.gpu_type or ""]
            hours = Fraction(repr(instance.time.slot_seconds)) / 3600 * (ends[one.job] - one.start)
            cost += Fraction(repr(price)) * hours * len(one.gpus.get(server.name, ()))
    assert report.objective == {
        "makespan": max(ends.values()),
        "total-completion": sum(w * end for w, end, _ in weighted),
        "total-flow": sum(w * (end - r) for w, end, r in weighted),
        "max-flow": max(flows),
        "total-tardiness": sum(w * t for w, t in tardy),
        "max-tardiness": max((t for _, t in tardy), default=0),
        "late-jobs": sum(late),
        "max-stretch": max(stretch),
        "cost": cost,
        "total-links": sum(links_of(instance, one.gpus) for one in schedule.assignments),
    }
