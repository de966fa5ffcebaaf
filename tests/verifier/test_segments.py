"""Jobs that are interrupted, moved and resized (model, section 11), by hand.

Jobs do 10 iterations in a slot of 1 s on one server, and a restoration takes 2 slots, unless a
test says otherwise.
"""

from __future__ import annotations

from typing import Any

import pytest
from documents import Data, assignment_data, instance_data, job_data, replaced, schedule_of
from naive_segments import carried_out

from rarmodel.files import parse_instance
from rarmodel.verifier import Report, verify

Gpus = dict[str, list[int]]


def preemptive(*jobs: Data, restore: float = 2.0, **fields: Any) -> Data:
    """An instance of these jobs with preemption."""
    return {**instance_data(*jobs, **fields), "preemption": {"restore_seconds": restore}}


def segments(job: str, *parts: tuple[int, int | None, Gpus]) -> Data:
    """A job in segments: start, end and GPUs of each; the last one has no end."""
    found = [{"start": start, "end": end, "gpus": gpus} for start, end, gpus in parts]
    del found[-1]["end"]
    return {"job": job, "segments": found}


def report_of(data: Data, *assignments: Data) -> Report:
    """The report on a schedule: the same by events, slot by slot, and by the tiny reading."""
    instance, schedule = parse_instance(data), schedule_of(*assignments)
    report = verify(instance, schedule)
    assert verify(instance, schedule, slot_by_slot=True) == report
    if None not in report.completion.values() and instance.preemption:
        assert carried_out(instance, schedule, 100).completion == report.completion
    return report


def told(report: Report) -> list[tuple[str, str, str | None, int | None]]:
    assert report.feasible == (not report.violations)
    return [(v.constraint, v.job, v.server, v.slot) for v in report.violations]


def test_restoration_takes_slots_and_holds_gpus_without_progress() -> None:
    # 30 iterations: 10 before the interruption, restored in slots 3 and 4, 20 in slots 5 and 6.
    data = preemptive(job_data("a", gpus=2, iterations=30))
    report = report_of(data, segments("a", (0, 1, {"s0": [0, 1]}), (3, None, {"s1": [0, 1]})))
    assert told(report) == []
    assert report.completion == {"a": 7}
    assert [(p.start, p.end) for p in report.periods] == [(0, 1), (5, 7)]
    assert report.utilisation == {"s0": 2 / 14, "s1": 8 / 14}


def test_restored_job_holds_its_gpus() -> None:
    jobs = job_data("a", iterations=20), job_data("b", iterations=10)
    a = segments("a", (0, 1, {"s0": [0]}), (2, None, {"s0": [1]}))
    report = report_of(preemptive(*jobs), a, assignment_data("b", 3, s0=[1]))
    assert told(report) == [("capacity", "b", "s0", 3)]
    assert told(report_of(preemptive(*jobs), a, assignment_data("b", 5, s0=[1]))) == []


def test_restored_ring_uses_no_link() -> None:
    ring: dict[str, Any] = {"gpus": 2, "gradient_mb": 100.0, "backward_ms": 0.0}
    data = preemptive(job_data("a", iterations=50, **ring), job_data("b", iterations=50, **ring))
    a = segments("a", (0, 1, {"s0": [0], "s1": [0]}), (2, None, {"s0": [0], "s1": [0]}))
    report = report_of(data, a, assignment_data("b", 1, s0=[1], s1=[1]))
    rings = [(p.start, p.end, dict(p.links)) for p in report.periods]
    assert rings[:3] == [
        (0, 1, {"s0": 1, "s1": 1}),
        (1, 4, {"s0": 1, "s1": 1}),
        (4, rings[2][1], {"s0": 2, "s1": 2}),
    ]
    assert list(report.periods[1].rings) == ["b"]


@pytest.mark.parametrize("gpus", [{"s0": [0]}, {"s0": [1]}, {"s1": [0]}])
def test_segment_right_after_another_is_restored_on_the_same_gpus_too(gpus: Gpus) -> None:
    data = preemptive(job_data("a", iterations=30))
    report = report_of(data, segments("a", (0, 1, {"s0": [0]}), (1, None, gpus)))
    assert told(report) == []
    assert report.completion == {"a": 5}


@pytest.mark.parametrize(
    ("restore", "end"), [(0.0, 3), (0.3, 4), (1.0, 4), (1.0 + 1e-13, 4), (1.1, 5)]
)
def test_restoration_is_rounded_up_to_slots(restore: float, end: int) -> None:
    data = preemptive(job_data("a", iterations=30), restore=restore)
    report = report_of(data, segments("a", (0, 1, {"s0": [0]}), (1, None, {"s1": [0]})))
    assert report.completion == {"a": end}


def test_interruption_during_the_restoration_keeps_what_was_done() -> None:
    data = preemptive(job_data("a", iterations=30))
    on: Gpus = {"s0": [0]}
    report = report_of(data, segments("a", (0, 2, on), (2, 4, on), (4, 5, on), (6, None, on)))
    assert told(report) == []
    assert report.completion == {"a": 9}


@pytest.mark.parametrize(
    ("gpus", "start", "end"),
    [({"s0": [1, 0]}, 0, 2), ({"s0": [0, 1]}, 1, 5), ({"s1": [0, 1]}, 0, 4)],
)
def test_running_job_goes_on_without_restoration_iff_it_stays(
    gpus: Gpus, start: int, end: int
) -> None:
    running = {"gpus": {"s0": [0, 1]}, "iterations_done": 10}
    data = preemptive(job_data("a", gpus=2, iterations=30, running=running))
    report = report_of(data, {"job": "a", "start": start, "gpus": gpus})
    assert told(report) == []
    assert report.completion == {"a": end}


def test_running_job_may_be_interrupted_and_comes_back() -> None:
    running = {"gpus": {"s0": [0, 1]}, "iterations_done": 10}
    data = preemptive(job_data("a", gpus=2, iterations=30, running=running))
    report = report_of(data, segments("a", (0, 1, {"s0": [0, 1]}), (3, None, {"s0": [0, 1]})))
    assert report.completion == {"a": 6}


def test_ring_may_have_another_size_in_each_segment_and_keeps_whole_iterations() -> None:
    # 12 samples of 20 ms and 100 ms more: on 1 GPU 340 ms, 2 iterations in a slot of 1 s; on 3
    # GPUs 180 ms, 5 in a slot; on 4 GPUs 160 ms, 6 in a slot.
    job = job_data("a", gpus=[1, 3, 4], iterations=19, forward_ms_per_sample=20.0)
    del job["batch_size"]
    data = preemptive({**job, "global_batch_size": 12}, servers=(4,), restore=1.0)
    parts = (0, 2, {"s0": [0]}), (2, 5, {"s0": [0, 1, 2]}), (5, None, {"s0": [0, 1, 2, 3]})
    report = report_of(data, segments("a", *parts))
    assert told(report) == []
    assert [ring.speed for p in report.periods for ring in p.rings.values()] == [2, 5, 6]
    assert report.completion == {"a": 7}  # 4, then 10 after a slot, then 5 after a slot.
    wrong = segments("a", (0, 2, {"s0": [0, 1]}), parts[2])
    assert ("gang", "a", None, 0) in told(report_of(data, wrong))


def test_segment_after_completion_is_a_violation_and_holds_nothing() -> None:
    data = preemptive(job_data("a", iterations=10), job_data("b", iterations=30))
    a = segments("a", (0, 2, {"s0": [0]}), (2, 4, {"s0": [1]}), (4, None, {"s1": [0]}))
    report = report_of(data, a, assignment_data("b", 2, s0=[1]))
    assert told(report) == [("completed", "a", None, 2), ("completed", "a", None, 4)]
    message = "job 'a' has a segment from slot 2 on; it completed at slot 1"
    assert report.violations[0].message == message
    assert report.completion == {"a": 1, "b": 5}


def test_job_may_complete_before_the_end_of_a_segment_that_is_not_the_last() -> None:
    """The segments after it are at fault, and only they."""
    data = preemptive(job_data("a", iterations=20))
    report = report_of(data, segments("a", (0, 2, {"s0": [0]}), (5, None, {"s0": [0]})))
    assert told(report) == [("completed", "a", None, 5)]
    assert report.completion == {"a": 2}


def test_no_preemption_no_segments() -> None:
    data = preemptive(job_data("a", iterations=20))
    del data["preemption"]
    report = report_of(data, segments("a", (0, 1, {"s0": [0]}), (3, None, {"s0": [0]})))
    assert told(report) == [("preemption", "a", None, 3)]
    assert report_of(data, segments("a", (0, None, {"s0": [0]}))).feasible


def test_violations_name_the_slot_of_their_segment() -> None:
    data = preemptive(job_data("a", iterations=30, servers=["s0"]), restore=0.0)
    a = segments("a", (0, 1, {"s0": [0]}), (4, 5, {"s1": [0]}), (7, None, {"s0": [7]}))
    report = report_of(data, a)
    assert told(report) == [("servers", "a", "s1", 4), ("index", "a", "s0", 7)]
    assert report.completion == {"a": None}


def test_deadline_and_horizon_count_the_completion() -> None:
    job = job_data("a", iterations=30, deadline=5)
    parts = (0, 1, {"s0": [0]}), (2, None, {"s0": [0]})
    report = report_of(preemptive(job, horizon=5), segments("a", *parts))
    assert report.completion == {"a": 6}
    assert told(report) == [("horizon", "a", None, 5), ("deadline", "a", None, 5)]


def test_jobs_after_an_interrupted_one_wait_for_its_completion() -> None:
    jobs = job_data("a", iterations=20), job_data("b", after=["a"])
    a = segments("a", (0, 1, {"s0": [0]}), (2, None, {"s0": [0]}))
    for start, broken in ((1, True), (4, True), (5, False)):
        report = report_of(preemptive(*jobs), a, assignment_data("b", start, s1=[0]))
        assert told(report) == ([("after", "b", None, start)] if broken else [])


def test_only_the_first_segment_is_held_to_the_release() -> None:
    job = job_data("a", iterations=20, release=2)
    parts = (2, 3, {"s0": [0]}), (3, None, {"s0": [0]})
    assert told(report_of(preemptive(job), segments("a", *parts))) == []
    early = segments("a", (1, 2, {"s0": [0]}), parts[1])
    assert told(report_of(preemptive(job), early)) == [("release", "a", None, 1)]


def test_quota_counts_what_is_held_in_each_segment_and_while_restored() -> None:
    jobs = [job_data(name, gpus=2, iterations=20, tenant="t") for name in "ab"]
    data = {**preemptive(*jobs), "tenants": [{"name": "t", "gpus": 2}]}
    a = segments("a", (0, 1, {"s0": [0, 1]}), (3, None, {"s0": [0, 1]}))
    b = assignment_data("b", 1, s1=[0, 1])
    assert told(report_of(data, a, b)) == []
    late = assignment_data("b", 2, s1=[0, 1])
    assert told(report_of(data, a, late)) == [("quota", "a", None, 3)]


def test_running_job_keeps_reserved_gpus_only_in_the_segment_in_which_it_runs() -> None:
    running = {"gpus": {"s0": [0]}, "iterations_done": 10}
    data = preemptive(job_data("a", iterations=40, running=running))
    data["cluster"]["reservations"] = [{"server": "s0", "gpus": 2, "from": 0}]
    stays = {"job": "a", "start": 0, "gpus": {"s0": [0]}}
    assert told(report_of(data, stays)) == []
    back = segments("a", (0, 1, {"s0": [0]}), (4, None, {"s0": [0]}))
    assert told(report_of(data, back)) == [("reservation", "a", "s0", 4)]
    away = segments("a", (0, 1, {"s0": [0]}), (4, None, {"s1": [0]}))
    assert told(report_of(data, away)) == []


def test_cost_counts_slots_held_restorations_too_and_not_the_gaps() -> None:
    data = preemptive(job_data("a", gpus=2, iterations=30))
    data |= {"objective": "cost"}
    data["cluster"]["prices_per_gpu_hour"] = 3600.0
    report = report_of(data, segments("a", (0, 1, {"s0": [0, 1]}), (3, None, {"s1": [0, 1]})))
    assert report.objective == {"cost": 2 * (1 + 4)}


def test_ring_that_stands_still_is_freed_by_an_interruption() -> None:
    # τ of a ring over two servers is 0.081 s alone, and 0.177 s beside another one.
    ring: dict[str, Any] = {"gpus": 2, "gradient_mb": 100.0, "backward_ms": 0.0}
    data = preemptive(job_data("a", iterations=2, **ring), job_data("b", iterations=2, **ring))
    data = replaced(data, ("time", "slot_seconds"), 0.1)
    data["preemption"] = {"restore_seconds": 0.1}
    on: Gpus = {"s0": [0], "s1": [0]}
    b = assignment_data("b", 0, s0=[1], s1=[1])
    stuck = report_of(data, {"job": "a", "start": 0, "gpus": on}, b)
    assert told(stuck) == [("progress", "a", None, 0), ("progress", "b", None, 0)]
    freed = report_of(data, segments("a", (0, 3, on), (5, None, on)), b)
    assert told(freed) == []
    assert freed.completion == {"b": 5, "a": 8}
