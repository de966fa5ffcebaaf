"""Properties of the verdict on any schedule, feasible or not, of random instances."""

from __future__ import annotations

from random import Random

from broken_schedules import broken
from depth import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from random_instances import instances, random_workers

from rarmodel.schema import Assignment, Instance, Schedule
from rarmodel.verifier import Report, Violation, verify


def some_schedule(instance: Instance, random: Random, latest: int) -> Schedule:
    """A schedule in which each GPU index is within its server; seldom feasible."""
    assignments = []
    for job, workers in zip(instance.jobs, random_workers(random, instance), strict=True):
        gpus = {}
        for server, count in workers.items():
            of = instance.cluster.servers[server]
            gpus[of.name] = tuple(random.sample(range(of.gpus), count))
        assignments.append(Assignment(job=job.name, start=random.randint(0, latest), gpus=gpus))
    random.shuffle(assignments)
    return Schedule(
        schema_version=1,
        instance=instance.name,
        method="random",
        assignments=tuple(assignments),
    )


@examples(80)
@given(
    instances(jobs=5),
    st.randoms(use_true_random=False),
    st.sampled_from([0, 3, 20]),
    st.integers(0, 3),
)
def test_slot_by_slot_gives_an_equal_report_on_any_schedule(
    instance: Instance, random: Random, latest: int, breaks: int
) -> None:
    schedule = some_schedule(instance, random, latest)
    for _ in range(breaks):
        if schedule.assignments:
            schedule = broken(schedule, random)
    report = verify(instance, schedule)
    assert verify(instance, schedule, slot_by_slot=True) == report
    assert report.feasible == (not report.violations)
    assert set(report.completion) == {job.name for job in instance.jobs}
    assert (report.makespan is None) == (None in report.completion.values())
    for violation in report.violations:
        assert isinstance(violation, Violation)
        assert violation.message.isprintable()


def overfull_slots(instance: Instance, schedule: Schedule, report: Report) -> set[tuple[int, str]]:
    """Slots and servers at which two jobs hold a GPU: found by looking at every slot."""
    shared = set()
    ends = [report.completion[assignment.job] for assignment in schedule.assignments]
    for slot in range(max((end for end in ends if end is not None), default=0)):
        held: set[tuple[str, int]] = set()
        for assignment, end in zip(schedule.assignments, ends, strict=True):
            if assignment.start <= slot and (end is None or slot < end):
                for server, gpus in assignment.gpus.items():
                    for gpu in gpus:
                        if (server, gpu) in held:
                            shared.add((slot, server))
                        held.add((server, gpu))
    return shared


@examples(50)
@given(instances(jobs=5), st.randoms(use_true_random=False), st.sampled_from([0, 3, 20]))
def test_capacity_is_broken_iff_some_slot_shows_it(
    instance: Instance, random: Random, latest: int
) -> None:
    schedule = some_schedule(instance, random, latest)
    report = verify(instance, schedule)
    assume(None not in report.completion.values())
    shared = overfull_slots(instance, schedule, report)
    told = {(v.slot, v.server) for v in report.violations if v.constraint == "capacity"}
    assert bool(shared) == bool(told)
    assert told <= shared
    assert {server for _, server in shared} == {server for _, server in told}


@examples(40)
@given(instances(jobs=4), st.randoms(use_true_random=False))
def test_periods_tile_the_busy_time_and_do_all_iterations(
    instance: Instance, random: Random
) -> None:
    schedule = some_schedule(instance, random, 6)
    report = verify(instance, schedule)
    for earlier, later in zip(report.periods, report.periods[1:], strict=False):
        assert earlier.end <= later.start
    starts = {assignment.job: assignment.start for assignment in schedule.assignments}
    for job in instance.jobs:
        mine = [period for period in report.periods if job.name in period.rings]
        end = report.completion[job.name]
        if end is None:
            continue
        assert mine[0].start == starts[job.name]
        assert mine[-1].end == end
        assert sum(period.end - period.start for period in mine) == end - starts[job.name]
        done = sum((p.end - p.start) * p.rings[job.name].speed for p in mine)
        assert done >= job.iterations
        assert done - mine[-1].rings[job.name].speed < job.iterations
