"""Plots and pages of wider instances: the objective asked for, and what jobs and servers ask."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from charts import charts_of, table_with, tables_with, text_of
from depth import examples
from documents import Data, assignment_data, instance_data, instance_of, job_data, schedule_of
from elements import Elements
from hypothesis import assume, given
from wide_instances import wide_instances

import rarmodel
from rarmodel.bounds import ValueBound, objective_bounds
from rarmodel.drawing import Drawing, Shown, draw, draw_all, schedules_chart
from rarmodel.drawing.finding import finding_of
from rarmodel.drawing.moments import (
    MOST_MARKED,
    MOST_TICKS,
    late_parts,
    moments_of,
    restored_parts,
    ticks_of,
)
from rarmodel.drawing.objective_values import aims_of, ranked
from rarmodel.drawing.page import chosen
from rarmodel.drawing.side_by_side import rows_of
from rarmodel.files import parse_instance, parse_schedule
from rarmodel.model.objectives import objective
from rarmodel.schema import Instance, Schedule
from rarmodel.verifier import verify

pytest.importorskip("altair")


def wide_data(**fields: Any) -> Data:
    """Two servers of two types, a reservation, a running job, and one that comes later."""
    data = instance_data(
        job_data("old", running={"gpus": {"s0": [0]}, "iterations_done": 5}, iterations=35),
        job_data("new", [1, 2], 40, release=2, due=5, deadline=30, global_batch_size=2, weight=2),
        servers=(2, 2),
    )
    del data["jobs"][1]["batch_size"]
    for server, kind in zip(data["cluster"]["servers"], ("A100", "V100"), strict=True):
        server["gpu_type"] = kind
    data["cluster"]["reservations"] = [
        {"server": "s1", "gpus": 1, "from": 1, "to": 4, "reason": "by day"}
    ]
    data["time"] = {"slot_seconds": 1.0}
    return {**data, "objective": ["total-tardiness", "total-flow"], **fields}


def wide_schedules() -> list[Schedule]:
    """Completions of `new`: 7 after a wait of one slot, and 10."""
    old = assignment_data("old", 0, s0=[0])
    found = [
        schedule_of(old, assignment_data("new", 3, s0=[1])),
        schedule_of(old, assignment_data("new", 6, s1=[0, 1])),
    ]
    names = ("soon", "later")
    pairs = zip(found, names, strict=True)
    return [schedule.model_copy(update={"method": name}) for schedule, name in pairs]


# Plain instances


def test_page_of_a_plain_instance_says_nothing_of_wider_ones() -> None:
    schedule = schedule_of(assignment_data("a", 0, s0=[0, 1]), assignment_data("b", 0, s1=[0]))
    page = Elements(rarmodel.report(instance_of(), schedule))
    for word in ("flow time", "due", "release", "reserved", "objective"):
        assert word not in page.text
    assert "total" not in page.text
    chart = charts_of(rarmodel.report(instance_of(), schedule))["charts"]
    assert tables_with(chart, "reserved") == []
    assert "asked" not in table_with(chart, "job")


# The finding


def finding(
    names: list[str], values: list[list[int | Fraction]], bounds: list[int]
) -> tuple[str, str]:
    """Of schedules with given values; each list has the values of a schedule."""
    instance = instance_of().model_copy(update={"objective": tuple(names)})
    schedule = schedule_of(assignment_data("a", 0, s0=[0, 1]), assignment_data("b", 0, s1=[0]))
    report = verify(instance, schedule)
    drawings = [draw(instance, schedule, report, f"m{i}") for i in range(len(values))]
    aims = aims_of(drawings, [ValueBound(bound, "area") for bound in bounds])
    columns = [tuple(row[k] for row in values) for k in range(len(names))]
    changed = [aim._replace(values=own) for aim, own in zip(aims, columns, strict=True)]
    lead, detail = finding_of(drawings, changed)
    return lead, detail


def test_finding_is_about_the_objective_asked_for() -> None:
    assert finding(["total-flow"], [[80], [100]], [80]) == (
        "m0 is 20% better than m1 by total-flow, and optimal.",
        "total-flow: m0 80, m1 100 weighted slots; no schedule has less (bound: area).",
    )
    assert finding(["max-stretch"], [[Fraction(7, 2)]], [3]) == (
        "m0 is at most 15% from optimal by max-stretch.",
        (
            "max-stretch: 3.5 times its least time; no schedule has less than 3 times its least"
            " time (bound: area)."
        ),
    )
    assert finding(["max-flow"], [[9], [9]], [9]) == (
        "m0 and m1 are equally good by max-flow, and optimal.",
        "max-flow: 9 slots (9 s) each; no schedule has less (bound: area).",
    )
    lead, detail = finding(["total-flow"], [[90], [100], [180], [150]], [45])
    assert lead == "m0 is the best of 4 schedules by total-flow, and at most 50% from optimal."
    assert detail == (
        "It is 10% better than m1 by total-flow, the next, and 50% better than m2 by total-flow,"
        " the worst. total-flow: m0 90, others 100 to 180 weighted slots; no schedule has less"
        " than 45 weighted slots (bound: area)."
    )
    for text in (lead, detail):
        assert "makespan" not in text
        assert "short" not in text


def test_better_than_nothing_late_has_no_percentage() -> None:
    lead, detail = finding(["total-tardiness"], [[6], [0]], [0])
    assert lead == "m1 is better than m0 by total-tardiness, and optimal."
    assert detail.startswith("total-tardiness: m1 0, m0 6 weighted slots; no schedule has less")


def test_later_objectives_decide_where_the_first_are_equal() -> None:
    lead, detail = finding(["late-jobs", "total-flow"], [[1, 100], [1, 80]], [1, 60])
    assert lead == ("m1 is 20% better than m0 by total-flow, and at most 25% from optimal.")
    assert "late-jobs: 1 weighted job each; no schedule has less (bound: area)." in detail
    assert "total-flow: m1 80, m0 100 weighted slots; no schedule has less than 60" in detail
    lead, detail = finding(["makespan", "total-flow"], [[10, 100], [12, 80]], [10, 60])
    assert lead == "m0 is 17% shorter than m1, and at most 40% from optimal by total-flow."
    assert "m0 takes 10 slots (10 s), m1 12 slots (12 s). No schedule is shorter" in detail
    assert "total-flow: m0 100, m1 80 weighted slots" in detail


def test_best_and_worst_are_by_the_objectives() -> None:
    drawings = draw_all(parse_instance(wide_data()), wide_schedules()[::-1])
    aims = aims_of(drawings)
    assert ranked(aims) == [1, 0]
    assert chosen(aims) == (1, 0)


# Values


def test_rows_have_value_bound_and_gap_of_each_objective() -> None:
    drawings = draw_all(parse_instance(wide_data()), wide_schedules())
    aims = aims_of(drawings)
    for drawing, row in zip(drawings, rows_of(drawings, aims), strict=True):
        assert drawing.report.objective is not None
        assert row.values == tuple(drawing.report.objective.values())
        for aim, value, gap in zip(aims, row.values, row.gaps, strict=True):
            assert value is not None
            expected = 1 - Fraction(aim.bound.value) / value if value else Fraction(0)
            assert gap == pytest.approx(float(expected))
            known = objective_bounds(drawing.instance, aim.objective)
            assert aim.bound.value >= max(bound.value for bound in known)


def test_schedules_that_break_constraints_have_no_value() -> None:
    early = schedule_of(assignment_data("old", 0, s0=[0]), assignment_data("new", 1, s0=[1]))
    drawings = draw_all(parse_instance(wide_data()), [early, *wide_schedules()])
    aims = aims_of(drawings)
    assert [aim.values[0] for aim in aims] == [None, None]
    assert aims[0].gap(0) is aims[0].ratio(0) is None
    assert aims[0].ratio(ranked(aims)[0]) == 1


# Pictures


def test_picture_shows_what_a_wider_instance_asks_for() -> None:
    schedules = wide_schedules()
    text = text_of(rarmodel.plot(parse_instance(wide_data()), schedules))
    for part in (
        "better than later by total-tardiness",
        "s0 · A100",
        "s1 · V100",
        "by day",
        "GPUs reserved",
        "past the due slot",
        "runs at slot 0 already",
        " release ",
        " due slot",
    ):
        assert part in text, part
    assert "makespan" not in text
    assert "lower bound" not in text
    assert "deadline" not in text  # At slot 30, where no axis goes.


def test_makespan_is_marked_where_it_is_among_the_objectives() -> None:
    instance = parse_instance(wide_data(objective=["total-flow", "makespan"]))
    text = text_of(rarmodel.plot(instance, wide_schedules()))
    assert "soon: total-flow" in text
    assert "; makespan 7 slots (7 s)" in text
    assert "lower bound, " in text


def test_marks_of_many_jobs_are_on_the_edge_and_limited() -> None:
    jobs = [job_data(f"j{i}", release=i, due=2 * i + 9) for i in range(2 * MOST_TICKS)]
    data = instance_data(*jobs, servers=(2 * MOST_TICKS,))
    del data["time"]["horizon"]
    gpus = [assignment_data(f"j{i}", i, s0=[i]) for i in range(len(jobs))]
    instance, schedule = parse_instance(data), schedule_of(*gpus)
    drawing = draw(instance, schedule, verify(instance, schedule))
    ticks = ticks_of(drawing, "release", drawing.end)
    assert MOST_TICKS // 2 <= len(ticks) <= MOST_TICKS + 1
    assert set(ticks) <= {job.release for job in instance.jobs}
    few = rarmodel.plot(instance, schedule, parts=["gantt"])
    assert "release, on the upper edge" in text_of(few)
    chart = charts_of(rarmodel.report(instance, schedule))["charts"]
    marks = table_with(chart, "moment")
    assert set(marks["moment"]) == {
        "release, on the upper edge",
        "due slot, on the lower edge",
    }
    first, second = table_with(chart, "schedule", "line", "slot")["line"]
    assert first == "makespan"
    assert second.startswith("lower bound")
    assert len(instance.jobs) > MOST_MARKED


def test_late_part_of_a_bar_begins_at_the_due_slot() -> None:
    (soon, later) = draw_all(parse_instance(wide_data()), wide_schedules())
    assert [(late.start, late.end) for late in late_parts(soon, soon.end)] == [(5, 7)]
    assert [late.start for late in late_parts(later, later.end)] == [6]
    assert {(one.kind, one.slot) for one in moments_of(soon)} == {
        ("release", 2),
        ("due", 5),
        ("deadline", 30),
    }


# Pages


def test_page_has_objectives_flow_times_and_late_jobs() -> None:
    page = Elements(rarmodel.report(parse_instance(wide_data()), wide_schedules()))
    text = page.text
    assert "schedule total-tardiness gap ratio to least total-flow gap mean" in text
    assert "How long jobs take from their release" in text
    assert "slots of 1 s, without a horizon" in text
    assert "makespan" not in text
    assert "total-flow each job alone" in text
    assert "data-flow" in page.data
    runs = page.data["data-charts"]
    assert "released at 2, waited 1; due at 5, 2 late; deadline at 30" in runs
    assert "runs at slot 0 already" in runs
    assert "1 GPU of s1: by day" in runs


def interrupted() -> Schedule:
    """One job is interrupted while it runs, and again while it is restored."""
    segments = [
        {"start": 0, "end": 1, "gpus": {"s0": [0]}},
        {"start": 4, "end": 5, "gpus": {"s0": [1]}},
        {"start": 5, "gpus": {"s1": [0]}},
    ]
    return parse_schedule(
        {
            "schema_version": 1,
            "instance": "example",
            "method": "cut",
            "assignments": [
                {"job": "old", "segments": segments},
                {"job": "new", "start": 2, "gpus": {"s0": [0]}},
            ],
        }
    )


def test_restorations_are_marked_and_segments_named() -> None:
    instance = parse_instance(wide_data(preemption={"restore_seconds": 2}))
    page = Elements(rarmodel.report(instance, interrupted()))
    assert "restored, without progress" in page.data["data-charts"]
    assert "segment 2; restored until slot 5" in page.data["data-charts"]
    assert "segment 3; restored until slot 7" in page.data["data-charts"]
    text = text_of(rarmodel.plot(instance, interrupted()))
    assert "restored, without progress" in text
    (drawing,) = draw_all(instance, [interrupted()])
    assert [(part.start, part.end) for part in restored_parts(drawing)] == [(4, 5), (5, 7)]
    assert [run.job for run in drawing.whole] == ["old", "new"]
    assert drawing.whole[0].start == 0
    assert drawing.whole[0].end == drawing.report.completion["old"]
    without = Elements(rarmodel.report(parse_instance(wide_data()), wide_schedules()))
    assert "restored" not in without.text + without.data["data-charts"]


def test_objective_of_the_reader_replaces_that_of_the_instance() -> None:
    schedules = wide_schedules()
    instance = parse_instance(wide_data())
    page = Elements(rarmodel.report(instance, schedules, objective="max-flow"))
    assert "better than later by max-flow" in page.text
    assert "total-tardiness" not in page.text
    text = text_of(rarmodel.plot(instance, schedules, objective="max-flow"))
    assert "better than later by max-flow" in text


def plotted(drawings: list[Drawing], **options: Any) -> Any:
    return schedules_chart(Shown.of(drawings), **options)


@examples(10)
@given(wide_instances())
def test_any_wide_schedule_is_drawn_with_its_values(instance: Instance) -> None:
    schedule = rarmodel.solve(instance, method="fifo-backfill").schedule
    assume(schedule is not None)
    assert schedule is not None
    (drawing,) = draw_all(instance, [schedule])
    assert drawing.report.feasible
    held = [run.size for run in drawing.runs]
    assert held == [sum(map(len, one.gpus.values())) for one in schedule.assignments]
    (row,) = rows_of([drawing], aims_of([drawing]))
    assert all(gap is not None and 0 <= gap <= 1 for gap in row.gaps)
    lead, detail = finding_of([drawing], aims_of([drawing]))
    first = objective(instance.objectives[0])
    assert first.name == "makespan" or first.name in lead + detail
    content = plotted([drawing], parts=["gantt"])
    assert "fifo" in text_of(content)


def test_wrong_sizes_and_types_are_drawn_as_far_as_possible() -> None:
    data = wide_data()
    times = {"A100": {"forward_ms_per_sample": 0.0, "backward_ms": 100.0}}
    job = {**data["jobs"][1], "times": times}
    del job["forward_ms_per_sample"], job["backward_ms"]
    data["jobs"][1] = job
    old = {"job": "old", "start": 0, "gpus": {"s0": [0]}}
    three = {"job": "new", "start": 3, "gpus": {"s0": [1], "s1": [0, 1]}}
    wrong_type = {"job": "new", "start": 3, "gpus": {"s1": [0]}}
    for assignment, size in ((three, None), (wrong_type, 1)):
        schedule = parse_schedule(
            {
                "schema_version": 1,
                "instance": "example",
                "method": "wrong",
                "assignments": [old, assignment],
            }
        )
        (drawing,) = draw_all(parse_instance(data), [schedule])
        assert not drawing.report.feasible
        assert not drawing.runs[1].carried_out
        assert drawing.runs[1].size == size
        assert "wrong" in text_of(plotted([drawing]))
