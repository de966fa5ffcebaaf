"""What an interruption costs, and jobs that may not be interrupted (model, section 18), by hand.

Jobs do 10 iterations in a slot of 1 s on one server, and a restoration takes no time.
"""

from __future__ import annotations

from typing import Any

import pytest
from documents import Data, assignment_data, instance_data, job_data, schedule_of
from naive_segments import carried_out

from rarmodel.engine import evaluate
from rarmodel.files import parse_instance
from rarmodel.verifier import Report, verify

Gpus = dict[str, list[int]]
HERE: Gpus = {"s0": [0]}


def segments(job: str, *parts: tuple[int, int, Gpus]) -> Data:
    """A job in segments: start, end and GPUs of each; the last one's end is left out."""
    found: list[Data] = [{"start": start, "end": end, "gpus": gpus} for start, end, gpus in parts]
    del found[-1]["end"]
    return {"job": job, "segments": found}


def report_of(*assignments: Data, restore: float = 0.0, **fields: Any) -> Report:
    """The report on a schedule of job `a`: by events, slot by slot, by the engine, naively."""
    data = instance_data(job_data("a", **{"iterations": 50, **fields}))
    instance = parse_instance({**data, "preemption": {"restore_seconds": restore}})
    schedule = schedule_of(*assignments)
    report = verify(instance, schedule)
    assert verify(instance, schedule, slot_by_slot=True) == report
    course = carried_out(instance, schedule, 100)
    assert course.completion == report.completion
    assert course.lost == report.lost
    assert evaluate(instance, schedule).completion.tolist() == [report.completion["a"]]
    return report


@pytest.mark.parametrize(
    ("checkpoint", "end", "lost"),
    # 30 are done by the interruption in slot 3; from slot 4 on, 10 in a slot up to 50.
    [(1, 6, 0), (10, 6, 0), (15, 6, 0), (20, 7, 10), (30, 6, 0), (31, 9, 30), (None, 9, 30)],
)
def test_iterations_beyond_the_last_checkpoint_are_lost(
    checkpoint: int | None, end: int, lost: int
) -> None:
    report = report_of(segments("a", (0, 3, HERE), (4, 9, HERE)), checkpoint_iterations=checkpoint)
    assert report.feasible
    assert report.completion == {"a": end}
    assert report.lost == ({"a": lost} if lost else {})


def test_checkpoints_count_all_iterations_and_not_those_of_a_segment() -> None:
    # 16 kept of 20, then 16 + 20 = 36, of which 32 are kept, and 18 left.
    report = report_of(
        segments("a", (0, 2, HERE), (2, 4, HERE), (4, 9, HERE)), checkpoint_iterations=16
    )
    assert report.completion == {"a": 6}
    assert report.lost == {"a": 8}


def test_a_job_that_is_complete_where_its_segment_ends_loses_nothing() -> None:
    report = report_of(segments("a", (0, 5, HERE), (6, 9, HERE)), checkpoint_iterations=None)
    assert report.completion == {"a": 5}
    assert report.lost == {}
    assert [(v.constraint, v.slot) for v in report.violations] == [("completed", 6)]


def test_the_last_segment_loses_nothing() -> None:
    report = report_of(assignment_data("a", 0, s0=[0]), checkpoint_iterations=None)
    assert report.completion == {"a": 5}
    assert report.lost == {}


def test_a_restoration_that_is_interrupted_loses_nothing_more() -> None:
    parts = (0, 3, HERE), (3, 4, HERE), (5, 9, HERE)
    report = report_of(segments("a", *parts), restore=1.0, checkpoint_iterations=20)
    assert report.completion == {"a": 9}  # 20 kept, restored in slot 5, then 30 in three slots.
    assert report.lost == {"a": 10}


RUNNING = {"gpus": {"s0": [0]}, "iterations_done": 25}


@pytest.mark.parametrize(
    ("start", "gpus", "checkpoint", "end", "lost"),
    [
        (0, {"s0": [0]}, 10, 3, 0),
        (0, {"s0": [1]}, 10, 3, 5),  # 30 left.
        (1, {"s0": [0]}, 10, 4, 5),
        (0, {"s1": [0]}, 25, 3, 0),  # 25 left.
        (0, {"s1": [0]}, None, 5, 25),
        (2, {"s0": [0]}, None, 7, 25),
    ],
)
def test_a_running_job_that_does_not_go_on_where_it_is_loses_likewise(
    start: int, gpus: Gpus, checkpoint: int | None, end: int, lost: int
) -> None:
    assignment = {"job": "a", "start": start, "gpus": gpus}
    report = report_of(assignment, running=RUNNING, checkpoint_iterations=checkpoint)
    assert report.feasible
    assert report.completion == {"a": end}
    assert report.lost == ({"a": lost} if lost else {})


def test_a_running_job_is_interrupted_after_all_that_it_has_done() -> None:
    # 25 and 10 are 35, of which 30 are kept.
    report = report_of(
        segments("a", (0, 1, HERE), (1, 9, HERE)), running=RUNNING, checkpoint_iterations=15
    )
    assert report.completion == {"a": 3}
    assert report.lost == {"a": 5}


def test_a_resize_loses_what_an_interruption_loses() -> None:
    # 12 samples of 20 ms and 100 ms more: 2 iterations in a slot on 1 GPU, 4 on 2 GPUs.
    job: Data = {"gpus": [1, 2], "global_batch_size": 12, "forward_ms_per_sample": 20.0}
    report = report_of(
        segments("a", (0, 3, HERE), (3, 9, {"s0": [0, 1]})),
        **job,
        batch_size=None,
        iterations=12,
        checkpoint_iterations=4,
    )
    assert report.completion == {"a": 5}
    assert report.lost == {"a": 2}


def test_a_job_that_is_not_preemptible_has_one_segment() -> None:
    report = report_of(segments("a", (0, 3, HERE), (4, 9, HERE)), preemptible=False)
    assert [(v.constraint, v.job, v.slot) for v in report.violations] == [("preemption", "a", 4)]
    assert report.violations[0].message == (
        "job 'a' goes on at slot 4 after an interruption; it allows none"
    )


@pytest.mark.parametrize("gpus", [{"s0": [1]}, {"s1": [0]}])
def test_a_running_job_that_is_not_preemptible_stays_where_it_is(gpus: Gpus) -> None:
    stays = assignment_data("a", 0, s0=[0])
    assert report_of(stays, running=RUNNING, preemptible=False).feasible
    moved = {"job": "a", "start": 0, "gpus": gpus}
    report = report_of(moved, running=RUNNING, preemptible=False)
    assert [(v.constraint, v.job, v.slot) for v in report.violations] == [("running", "a", 0)]


def test_without_preemption_the_fields_change_nothing() -> None:
    plain = parse_instance(instance_data(job_data("a", running=RUNNING, iterations=50)))
    fields: Data = {"preemptible": False, "checkpoint_iterations": None}
    idle = parse_instance(instance_data(job_data("a", running=RUNNING, iterations=50, **fields)))
    for start in (0, 1):
        schedule = schedule_of(assignment_data("a", start, s0=[0]))
        assert verify(plain, schedule) == verify(idle, schedule)


def test_lost_work_is_told() -> None:
    report = report_of(segments("a", (0, 3, HERE), (4, 9, HERE)), checkpoint_iterations=None)
    assert report.lines()["lost work"] == "30 iterations of 1 job"
    assert report.summary()["lost"] == {"a": 30}
    assert "lost" not in report_of(assignment_data("a", 0, s0=[0])).summary()
