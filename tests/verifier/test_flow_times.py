"""Flow times and tardiness: against NumPy, and in a report."""

from __future__ import annotations

import numpy as np
import pytest
from documents import assignment_data, instance_data, job_data, schedule_of
from hypothesis import given
from hypothesis import strategies as st

from rarmodel.files import parse_instance
from rarmodel.verifier import Report, verify
from rarmodel.verifier.flow_times import flow_times_of, lateness_of


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=60))
def test_statistics_are_those_of_numpy(flows: list[int]) -> None:
    found = flow_times_of(flows)
    expected = [np.mean(flows), np.median(flows), np.percentile(flows, 95), max(flows)]
    assert list(found) == pytest.approx(expected)
    late = lateness_of(flows)
    assert list(late) == pytest.approx(
        [len(flows), np.count_nonzero(flows), np.mean(flows), max(flows)]
    )


def report(*assignments: tuple[str, int], **fields: object) -> Report:
    """Jobs of a slot, each on a GPU of its own; `a` is submitted at −3, `b` due at slot 4."""
    data = instance_data(
        job_data("a", release=-3), job_data("b", release=2, due=4), job_data("c"), servers=(3,)
    )
    given = [assignment_data(job, start, s0=["abc".index(job)]) for job, start in assignments]
    return verify(parse_instance({**data, **fields}), schedule_of(*given))


def test_report_has_flow_times_and_tardiness_of_its_jobs() -> None:
    found = report(("a", 0), ("b", 5), ("c", 1))
    assert found.flow == {"a": 4, "b": 4, "c": 2}
    assert found.tardiness == {"b": 2}
    assert found.releases == {"a": -3, "b": 2, "c": 0}
    lines = found.lines()
    assert lines["flow time"] == (
        "3.33 slots in the mean, 4.0 in the median, 95% within 4.0, at most 4"
    )
    assert lines["late"] == "1 of 1 job with a due slot, by at most 2 slots"
    summary = found.summary()
    assert (summary["flow"], summary["tardiness"]) == (found.flow, found.tardiness)
    assert found.waiting_of("b") == {"release": 2, "flow": 4, "tardiness": 2}


def test_job_without_completion_has_no_flow_time() -> None:
    found = report(("a", 0), ("b", 5))
    assert found.flow == {"a": 4, "b": 4, "c": None}
    assert found.flow_times is None
    late = found.lateness
    assert late is not None
    assert list(late) == [1, 1, 2, 2]
    assert "flow time" not in found.lines()


def test_plain_report_has_neither() -> None:
    data = instance_data()
    schedule = schedule_of(assignment_data("a", 0, s0=[0, 1]), assignment_data("b", 0, s1=[0]))
    found = verify(parse_instance(data), schedule)
    assert not {"flow", "tardiness"} & set(found.summary())
    assert not {"flow time", "late"} & set(found.lines())
    assert found.waiting_of("a") == {}


def test_objectives_come_before_a_makespan_that_is_none_of_them() -> None:
    jobs = ("a", 0), ("b", 5), ("c", 1)
    assert list(report(*jobs, objective=["total-flow", "cost"]).lines())[:4] == [
        *("feasible", "total-flow", "cost", "makespan")
    ]
    assert list(report(*jobs, objective=["makespan", "cost"]).lines())[:4] == [
        *("feasible", "makespan", "mean completion", "cost")
    ]
