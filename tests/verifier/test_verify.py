"""The verdict: every kind of violation with job, server and slot, and what follows from a schedule.

Unless a test says otherwise, jobs do 10 iterations in a slot of 1 s and never share a link.
"""

from __future__ import annotations

from typing import Any

import pytest
from documents import (
    Data,
    assignment_data,
    instance_data,
    instance_of,
    job_data,
    replaced,
    schedule_data,
    schedule_of,
)

from rarmodel.files import parse_instance, parse_schedule
from rarmodel.schema import Instance
from rarmodel.verifier import Report, verify

A, B = job_data("a", gpus=2, iterations=20), job_data("b", iterations=10)


def report_of(*assignments: Data, jobs: tuple[Data, ...] = (A, B), horizon: int = 20) -> Report:
    """The report on a schedule of `jobs` on s0 and s1 with 2 GPUs each; both ways of stepping."""
    instance, schedule = instance_of(*jobs, horizon=horizon), schedule_of(*assignments)
    report = verify(instance, schedule)
    assert verify(instance, schedule, slot_by_slot=True) == report
    return report


def kinds(report: Report) -> list[tuple[str, str, str | None, int | None]]:
    assert report.feasible == (not report.violations)
    return [(v.constraint, v.job, v.server, v.slot) for v in report.violations]


# Feasible


def test_feasible_schedule_has_no_violations_and_all_its_times() -> None:
    report = report_of(assignment_data("a", 0, s0=[0, 1]), assignment_data("b", 3, s1=[1]))
    assert report.feasible
    assert report.violations == ()
    assert report.completion == {"a": 2, "b": 4}
    assert report.makespan == 4
    assert report.mean_completion == 3.0


def test_job_may_take_a_gpu_in_the_slot_after_its_holder_ends() -> None:
    report = report_of(assignment_data("a", 0, s0=[0, 1]), assignment_data("b", 2, s0=[0]))
    assert report.feasible


def test_order_of_assignments_and_of_gpus_does_not_matter() -> None:
    one = report_of(assignment_data("b", 2, s0=[0]), assignment_data("a", 0, s0=[1, 0]))
    other = report_of(assignment_data("a", 0, s0=[0, 1]), assignment_data("b", 2, s0=[0]))
    assert one.feasible
    assert one.completion == other.completion
    assert list(one.completion) == ["a", "b"]


def test_server_with_an_empty_list_is_not_used() -> None:
    # With ξ2 = 100 ms a job on one server does ⌊1/(0.1 + 0.1)⌋ = 5 iterations a slot; a second
    # server would make it ⌊1/(0.1 + 0.2)⌋ = 3.
    data = replaced(instance_data(A), ("contention", "overhead_ms_per_server"), 100.0)
    report = verify(parse_instance(data), schedule_of(assignment_data("a", 0, s0=[0, 1], s1=[])))
    assert report.feasible
    assert report.periods[0].rings["a"].speed == 5
    assert report.periods[0].rings["a"].contention == 0
    assert report.makespan == 4


def test_makespan_equal_to_the_horizon_is_feasible() -> None:
    ends_at_20 = assignment_data("b", 19, s1=[0])
    assert report_of(assignment_data("a", 0, s0=[0, 1]), ends_at_20, horizon=20).feasible
    assert not report_of(assignment_data("a", 0, s0=[0, 1]), ends_at_20, horizon=19).feasible


def test_name_of_the_instance_in_the_schedule_does_not_matter() -> None:
    data = {**schedule_data(), "instance": "another"}
    assert verify(instance_of(), parse_schedule(data)).feasible


# Broken


def test_all_jobs_at_slot_0_on_the_same_gpus() -> None:
    jobs = tuple(job_data(name, gpus=2) for name in "abc")
    report = report_of(*(assignment_data(name, 0, s0=[0, 1]) for name in "abc"), jobs=jobs)
    assert kinds(report) == [("capacity", "b", "s0", 0), ("capacity", "c", "s0", 0)]
    assert report.violations[0].message == (
        "job 'b' takes GPUs 0, 1 of server 's0' at slot 0 while 'a' still holds them"
    )


def test_missing_job() -> None:
    report = report_of(assignment_data("a", 0, s0=[0, 1]))
    assert kinds(report) == [("assignment", "b", None, None)]
    assert report.violations[0].message == "job 'b' has no assignment; every job must run"
    assert report.completion == {"a": 2, "b": None}
    assert report.makespan is None
    assert report.mean_completion is None
    assert report.utilisation is None


def test_empty_schedule_misses_every_job() -> None:
    report = verify(instance_of(A, B), parse_schedule({**schedule_data(), "assignments": []}))
    assert kinds(report) == [("assignment", "a", None, None), ("assignment", "b", None, None)]
    assert report.periods == ()


def test_doubled_job() -> None:
    report = report_of(
        assignment_data("a", 0, s0=[0, 1]),
        assignment_data("b", 0, s1=[0]),
        assignment_data("b", 5, s1=[0]),
    )
    assert kinds(report) == [("assignment", "b", None, 5)]
    assert (
        report.violations[0].message == "job 'b' is assigned once more at slot 5; a job runs once"
    )
    assert report.completion == {"a": 2, "b": None}


def test_job_doubled_in_the_same_place_breaks_capacity_too() -> None:
    twice = assignment_data("b", 0, s1=[0])
    report = report_of(assignment_data("a", 0, s0=[0, 1]), twice, twice)
    assert kinds(report) == [("assignment", "b", None, 0), ("capacity", "b", "s1", 0)]


def test_job_assigned_thrice_is_doubled_twice() -> None:
    report = report_of(
        assignment_data("a", 0, s0=[0, 1]), *(assignment_data("b", t, s1=[0]) for t in (0, 5, 7))
    )
    assert kinds(report) == [("assignment", "b", None, 5), ("assignment", "b", None, 7)]


def test_unknown_job() -> None:
    report = report_of(
        assignment_data("a", 0, s0=[0, 1]),
        assignment_data("b", 0, s1=[0]),
        assignment_data("B", 4, s1=[0]),
    )
    assert kinds(report) == [("assignment", "B", None, 4)]
    assert report.violations[0].message == "job 'B' is scheduled; the instance has no such job"
    assert report.makespan == 2


@pytest.mark.parametrize(
    ("gpus", "held"), [({"s0": [0, 1], "s1": [0]}, 3), ({"s1": [1]}, 1), ({}, 0), ({"s0": []}, 0)]
)
def test_too_many_or_too_few_gpus(gpus: dict[str, list[int]], held: int) -> None:
    report = report_of(assignment_data("a", 2, **gpus), assignment_data("b", 9, s1=[0]))
    assert kinds(report) == [("gang", "a", None, 2)]
    assert report.violations[0].message == (f"job 'a' holds {held} GPUs; its ring needs exactly 2")
    assert report.completion == {"a": None, "b": 10}


def test_unknown_server() -> None:
    report = report_of(assignment_data("a", 3, s0=[0], rack7=[0]), assignment_data("b", 0, s1=[0]))
    assert kinds(report) == [("index", "a", "rack7", 3)]
    assert report.violations[0].message == (
        "job 'a' is on server 'rack7'; the cluster has no such server"
    )


def test_unknown_server_with_an_empty_list() -> None:
    report = report_of(assignment_data("a", 3, s0=[0, 1], S0=[]), assignment_data("b", 0, s1=[0]))
    assert kinds(report) == [("index", "a", "S0", 3)]


def test_gpus_that_do_not_exist() -> None:
    report = report_of(assignment_data("a", 1, s0=[-1, 2]), assignment_data("b", 0, s1=[0]))
    assert kinds(report) == [("index", "a", "s0", 1)]
    assert report.violations[0].message == (
        "job 'a' holds GPUs -1, 2 of server 's0', whose GPUs are numbered 0 to 1"
    )


def test_gpu_listed_twice() -> None:
    report = report_of(assignment_data("a", 1, s0=[1, 1]), assignment_data("b", 0, s1=[0]))
    assert kinds(report) == [("capacity", "a", "s0", 1)]
    assert report.violations[0].message == (
        "job 'a' lists GPU 1 of server 's0' more than once; a GPU serves one worker at a time"
    )


def test_start_before_slot_0() -> None:
    report = report_of(assignment_data("a", -1, s0=[0, 1]), assignment_data("b", 0, s1=[0]))
    assert kinds(report) == [("index", "a", None, -1)]
    assert report.violations[0].message == ("job 'a' starts at slot -1; slots are numbered from 0")


def test_completion_past_the_horizon_names_the_first_slot_past_it() -> None:
    report = report_of(assignment_data("a", 19, s0=[0, 1]), assignment_data("b", 0, s1=[0]))
    assert kinds(report) == [("horizon", "a", None, 20)]
    assert report.violations[0].message == "job 'a' completes at slot 21, past the horizon 20"
    assert report.makespan == 21


def test_start_past_the_horizon_names_the_start() -> None:
    report = report_of(assignment_data("a", 0, s0=[0, 1]), assignment_data("b", 30, s1=[0]))
    assert kinds(report) == [("horizon", "b", None, 30)]


def test_start_at_the_end_of_all_integers_is_only_late() -> None:
    instance = instance_of(A, B)
    latest = 2**53 - 1
    schedule = schedule_of(assignment_data("a", 0, s0=[0, 1]), assignment_data("b", latest, s1=[0]))
    report = verify(instance, schedule)
    assert kinds(report) == [("horizon", "b", None, latest)]
    assert report.makespan == latest + 1


def test_capacity_names_each_server_and_the_slot_of_the_later_job() -> None:
    jobs = (job_data("a", gpus=4, iterations=50), job_data("b", gpus=3, iterations=10))
    report = report_of(
        assignment_data("a", 2, s0=[0, 1], s1=[0, 1]),
        assignment_data("b", 4, s0=[1], s1=[1, 0]),
        jobs=jobs,
    )
    assert kinds(report) == [("capacity", "b", "s0", 4), ("capacity", "b", "s1", 4)]
    assert report.violations[1].message == (
        "job 'b' takes GPUs 0, 1 of server 's1' at slot 4 while 'a' still holds them"
    )


def test_gpu_taken_within_a_long_run_twice_is_two_violations() -> None:
    jobs = (job_data("long", iterations=100), job_data("b"), job_data("c"))
    report = report_of(
        assignment_data("long", 0, s0=[0]),
        assignment_data("b", 2, s0=[0]),
        assignment_data("c", 5, s0=[0]),
        jobs=jobs,
    )
    assert kinds(report) == [("capacity", "b", "s0", 2), ("capacity", "c", "s0", 5)]
    assert all("'long' still holds it" in violation.message for violation in report.violations)


def test_capacity_names_all_holders() -> None:
    jobs = (job_data("a", iterations=50), job_data("b", iterations=50), job_data("c", gpus=2))
    report = report_of(
        assignment_data("a", 0, s0=[0]),
        assignment_data("b", 0, s0=[1]),
        assignment_data("c", 1, s0=[0, 1]),
        jobs=jobs,
    )
    assert kinds(report) == [("capacity", "c", "s0", 1)]
    assert "while 'a', 'b' still holds them" in report.violations[0].message


def test_long_lists_of_gpus_are_cut_short() -> None:
    instance = instance_of(job_data("a", gpus=500), job_data("b", gpus=500), servers=[500])
    schedule = schedule_of(
        assignment_data("a", 0, s0=range(500)), assignment_data("b", 0, s0=range(500))
    )
    (violation,) = verify(instance, schedule).violations
    assert violation.message == (
        "job 'b' takes GPUs 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 490 more of server 's0' at slot 0 "
        "while 'a' still holds them"
    )


def test_every_violation_is_reported_at_once() -> None:
    jobs = tuple(job_data(name) for name in ("fine", "late", "shared", "twice", "gone"))
    jobs = (*jobs, job_data("gang", gpus=2), job_data("index"), job_data("early"))
    report = report_of(
        assignment_data("fine", 0, s0=[0]),
        assignment_data("late", 25, s0=[0]),
        assignment_data("shared", 0, s0=[0]),
        assignment_data("twice", 1, s1=[0]),
        assignment_data("twice", 2, s1=[0]),
        assignment_data("gang", 3, s1=[0]),
        assignment_data("index", 4, s1=[7], s9=[0]),
        assignment_data("early", -2, s1=[1]),
        assignment_data("nobody", 6, s1=[1]),
        jobs=jobs,
    )
    assert sorted(kinds(report), key=str) == sorted(
        [
            ("assignment", "twice", None, 2),
            ("assignment", "nobody", None, 6),
            ("assignment", "gone", None, None),
            ("gang", "gang", None, 3),
            ("index", "index", "s1", 4),
            ("index", "index", "s9", 4),
            ("gang", "index", None, 4),
            ("index", "early", None, -2),
            ("capacity", "shared", "s0", 0),
            ("horizon", "late", None, 25),
        ],
        key=str,
    )
    assert report.completion["fine"] == 1
    assert report.makespan is None


@pytest.mark.parametrize("name", ["[red]x[/red]", "two\nlines", "任务😀", "\x1b[31m", "'"])
def test_message_is_one_line_whatever_the_names_are(name: str) -> None:
    instance = parse_instance(instance_data(job_data(name), servers=[1]))
    schedule = parse_schedule(
        schedule_data({"job": name, "start": -1, "gpus": {name: [0], "s0": [4, 4]}})
    )
    violations = verify(instance, schedule).violations
    assert len(violations) == 5
    for violation in violations:
        assert violation.job == name
        assert violation.message.isprintable()


# Stalled


def stalling(iterations: int = 10, horizon: int = 100) -> Instance:
    """Two rings over both servers: alone an iteration takes 0.1 s, together 0.24 s of a 0.2 s slot.

    2·125 MB·8e6·(1/2) = 1e9 bit at 10 Gbit/s take 0.1 s; with p = 2, k = 2 and α = 0.2
    f = 2 + 0.2·1 = 2.2, so 0.22 s, and reduction 0.5e9 bit at 400 Gbit/s 0.00125 s.
    """
    ring: dict[str, Any] = {
        "gpus": 2,
        "gradient_mb": 125.0,
        "backward_ms": 0.0,
        "iterations": iterations,
    }
    data = instance_data(
        job_data("a", **ring), job_data("b", **ring), job_data("c"), horizon=horizon
    )
    return parse_instance(replaced(data, ("time", "slot_seconds"), 0.2))


STALLED = (
    assignment_data("a", 0, s0=[0], s1=[0]),
    assignment_data("b", 4, s0=[1], s1=[1]),
    assignment_data("c", 50, s0=[0]),
)


def test_jobs_that_stall_for_ever_are_reported_and_verification_ends() -> None:
    report = verify(stalling(), schedule_of(*STALLED))
    # Alone, a does 1 iteration a slot: ⌊0.2/0.10125⌋. Both stall from slot 4 on. Job c comes at
    # slot 50, takes 0.1 s an iteration, and completes 10 in 5 slots; then nothing moves any more.
    assert kinds(report) == [
        ("capacity", "c", "s0", 50),
        ("progress", "a", None, 55),
        ("progress", "b", None, 55),
    ]
    assert report.violations[1].message == (
        "job 'a' never completes: from slot 55 on no running job makes any progress"
    )
    assert report.completion == {"a": None, "b": None, "c": 55}
    assert report.makespan is None
    assert report.periods[-1].end == 55


def test_stall_is_the_same_slot_by_slot() -> None:
    instance, schedule = stalling(), schedule_of(*STALLED)
    assert verify(instance, schedule, slot_by_slot=True) == verify(instance, schedule)


def test_lone_job_that_waits_for_ever_behind_nobody_is_no_stall() -> None:
    instance = stalling()
    schedule = schedule_of(
        assignment_data("a", 0, s0=[0], s1=[0]),
        assignment_data("b", 10, s0=[1], s1=[1]),
        assignment_data("c", 0, s0=[1]),
    )
    report = verify(instance, schedule)
    assert report.feasible
    assert report.completion == {"a": 10, "b": 20, "c": 5}


def test_stall_that_another_jobs_end_resolves_is_no_violation() -> None:
    # Ring a stalls beside b; b is within one server, so a stalls only while c, which crosses, runs.
    ring: dict[str, Any] = {"gpus": 2, "backward_ms": 0.0}
    data = instance_data(
        job_data("a", **ring, gradient_mb=125.0, iterations=3),
        job_data("c", **ring, gradient_mb=25.0, iterations=6),
    )
    instance = parse_instance(replaced(data, ("time", "slot_seconds"), 0.2))
    schedule = schedule_of(
        assignment_data("a", 0, s0=[0], s1=[0]), assignment_data("c", 1, s0=[1], s1=[1])
    )
    report = verify(instance, schedule)
    # Ring c alone: 0.02 s; beside a: 0.044 + 0.00025 s, so ⌊4.5⌋ = 4 a slot: it ends 6 in 2 slots.
    # Ring a: 1 in slot 0, none in slots 1 and 2, then 1 a slot: it ends at slot 5.
    assert report.feasible
    assert report.completion == {"a": 5, "c": 3}
    assert [period.rings["a"].speed for period in report.periods] == [1, 0, 1]
    assert verify(instance, schedule, slot_by_slot=True) == report


def test_stall_of_huge_jobs_ends_at_once() -> None:
    instance = stalling(iterations=2**53 - 1, horizon=2**53 - 1)
    report = verify(instance, schedule_of(*STALLED))
    assert {v.constraint for v in report.violations} == {"capacity", "progress"}


# Utilisation


def test_utilisation_is_held_gpu_slots_over_all_up_to_the_makespan() -> None:
    report = report_of(assignment_data("a", 0, s0=[0], s1=[0]), assignment_data("b", 3, s1=[1]))
    # Makespan 4, so 2·4 GPU slots on each server. On s0: a, 1 GPU for 2 slots. On s1: a, 1 GPU for
    # 2 slots, and b, 1 GPU for 1 slot.
    assert report.makespan == 4
    assert report.utilisation == {"s0": 2 / 8, "s1": 3 / 8}


def test_idle_server_has_utilisation_0_and_full_one_1() -> None:
    jobs = (job_data("a", gpus=2), job_data("b", gpus=2))
    report = report_of(
        assignment_data("a", 0, s0=[0, 1]), assignment_data("b", 1, s0=[0, 1]), jobs=jobs
    )
    assert report.utilisation == {"s0": 1.0, "s1": 0.0}
