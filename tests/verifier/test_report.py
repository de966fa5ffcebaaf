"""The report as plain data."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError

import pytest
from documents import assignment_data, instance_of, schedule_of

from rarmodel.verifier import Report, verify


@pytest.fixture
def report() -> Report:
    """On a schedule that misses a job and uses an unknown server."""
    return verify(instance_of(), schedule_of(assignment_data("a", 3, s0=[0], s9=[0])))


def test_summary_is_plain_json_data(report: Report) -> None:
    summary = report.summary()
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert summary == {
        "feasible": False,
        "makespan": None,
        "slot_seconds": 1.0,
        "makespan_seconds": None,
        "end": None,
        "mean_completion": None,
        "objective": None,
        "ties": None,
        "completion": {"a": None, "b": None},
        "utilisation": None,
        "violations": [
            {
                "constraint": "assignment",
                "job": "b",
                "server": None,
                "slot": None,
                "message": "job 'b' has no assignment; every job must run",
            },
            {
                "constraint": "index",
                "job": "a",
                "server": "s9",
                "slot": 3,
                "message": "job 'a' is on server 's9'; the cluster has no such server",
            },
        ],
    }


def test_summary_of_a_feasible_schedule_has_every_number() -> None:
    schedule = schedule_of(assignment_data("a", 0, s0=[0, 1]), assignment_data("b", 0, s1=[0]))
    assert verify(instance_of(), schedule).summary() == {
        "feasible": True,
        "makespan": 2,
        "slot_seconds": 1.0,
        "makespan_seconds": 2.0,
        "end": None,
        "mean_completion": 1.5,
        "objective": {"makespan": 2},
        "ties": {"total-completion": 3, "total-links": 0},
        "completion": {"a": 2, "b": 1},
        "utilisation": {"s0": 1.0, "s1": 0.25},
        "violations": [],
    }


def test_report_is_frozen(report: Report) -> None:
    with pytest.raises(FrozenInstanceError):
        report.feasible = True  # type: ignore[misc]
