"""Random schedules with segments: by events, slot by slot, and by a tiny reading of their own."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from depth import examples
from hypothesis import assume, given
from naive_segments import begins_elsewhere, carried_out, same
from resource_use import capacity, use
from segmented import segmented
from tenant_trees import tenants_of

from rarmodel.schema import Held, Instance, Schedule
from rarmodel.verifier import verify

LAST = 120
"""Slots that the tiny reading looks at; a job may stand still for ever."""
Problem = tuple[Instance, Schedule]


@examples(50)
@given(segmented())
def test_slot_by_slot_gives_an_equal_report(problem: Problem) -> None:
    report = verify(*problem)
    assert verify(*problem, slot_by_slot=True) == report
    assert report.feasible == (not report.violations)
    assert (report.objective is None) == (None in report.completion.values())


@examples(50)
@given(segmented())
def test_completion_and_speeds_are_those_of_the_tiny_reading(problem: Problem) -> None:
    instance, schedule = problem
    report = verify(instance, schedule)
    assume(not {"gang", "type", "index"} & {v.constraint for v in report.violations})
    assume(all(end is None or end < LAST for end in report.completion.values()))
    course = carried_out(instance, schedule, LAST)
    assert {job: end for job, end in report.completion.items() if end} == course.completion
    told: list[dict[str, int]] = [{} for _ in course.speed]
    for period in report.periods:
        for slot in range(period.start, period.end):
            told[slot] = {name: ring.speed for name, ring in period.rings.items()}
    standing = {v.slot for v in report.violations if v.constraint == "progress"}
    until = min((slot for slot in standing if slot is not None), default=LAST)
    assert told[:until] == course.speed[:until]
    assert report.lost == course.lost
    if report.utilisation:
        for server in instance.cluster.servers:
            slots = sum(len(one.gpus.get(server.name, ())) for one in every(course.held))
            share = slots / (server.gpus * (report.makespan or 1))
            assert abs(report.utilisation[server.name] - share) < 1e-12


def every(held: list[dict[str, Held]]) -> list[Held]:
    return [one for each in held for one in each.values()]


@examples(50)
@given(segmented())
def test_demands_on_jobs_and_gpus_are_broken_iff_the_tiny_reading_says_so(
    problem: Problem,
) -> None:
    instance, schedule = problem
    report = verify(instance, schedule)
    kinds = {v.constraint for v in report.violations}
    assume(not {"gang", "type", "index", "servers", "spread", "within", "progress"} & kinds)
    assume((report.makespan or LAST) < LAST)
    course = carried_out(instance, schedule, LAST)
    jobs = {job.name: job for job in instance.jobs}
    expected = set()
    for one in schedule.assignments:
        job, end = jobs[one.job], course.completion[one.job]
        if not job.preemptible and len(one.segments) > 1:
            expected.add("preemption")
        if not job.preemptible and begins_elsewhere(job, one.segments[0]):
            expected.add("running")
        if any(segment.start >= end for segment in one.segments):
            expected.add("completed")
        if one.segments[0].start < job.release:
            expected.add("release")
        if job.deadline is not None and end > job.deadline:
            expected.add("deadline")
        if any(one.segments[0].start < course.completion[name] for name in job.after):
            expected.add("after")
        for server in instance.cluster.servers:
            size = instance.cluster.memory_gb_of(server)
            there = any(segment.gpus.get(server.name) for segment in one.segments)
            if there and size is not None and (job.memory_gb or 0) > size:
                expected.add("memory")
    for slot, held in enumerate(course.held):
        gpus = [(name, gpu) for one in held.values() for name in one.gpus for gpu in one.gpus[name]]
        if len(set(gpus)) < len(gpus):
            expected.add("capacity")
        stay = {
            name
            for name, one in held.items()
            if (running := jobs[name].running) and one.start == 0 and same(one.gpus, running.gpus)
        }
        for server in instance.cluster.servers:
            away = sum(
                each.gpus
                for each in instance.cluster.reservations
                if each.server == server.name
                and each.start <= slot
                and (each.end is None or slot < each.end)
            )
            counts = {name: len(one.gpus.get(server.name, ())) for name, one in held.items()}
            if away and over(counts, stay, server.gpus - away):
                expected.add("reservation")
        for tenant in instance.tenants:
            own = {
                n: one for n, one in held.items() if tenant.name in tenants_of(instance, jobs[n])
            }
            counts = {name: sum(map(len, one.gpus.values())) for name, one in own.items()}
            if tenant.gpus is not None and over(counts, stay, tenant.gpus):
                expected.add("quota")
        for resource in instance.resources:
            if (most := capacity(resource, slot)) is not None:
                counts = {name: sum(map(len, one.gpus.values())) for name, one in held.items()}
                used = {name: use(jobs[name], resource.name, counts[name]) for name in held}
                if over(used, stay, most):
                    expected.add("resource")
    assert kinds == expected


def over(amounts: Mapping[str, int | Decimal], stay: set[str], cap: int | Decimal) -> bool:
    """Whether the jobs that do not stay hold more than the cap and the others leave."""
    sums = {stays: sum(v for n, v in amounts.items() if (n in stay) == stays) for stays in (0, 1)}
    return sums[0] > max(0, cap - sums[1])
