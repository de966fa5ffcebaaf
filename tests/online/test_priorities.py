"""Priorities online: greater ones are served first, and preemptible lower ones give way."""

from __future__ import annotations

from typing import Any

from by_hand import worked

import rarmodel
from rarmodel.schema import Instance

Fields = dict[str, Any]


def ends(instance: Instance) -> dict[str, int | None]:
    """Completion time by job under `priority`; the schedule is verified."""
    found = rarmodel.simulate(instance, "priority")
    assert found.report is not None
    assert found.verified, found.reasons
    return dict(found.report.completion)


def test_waiting_jobs_are_served_by_priority_and_then_by_arrival() -> None:
    jobs: list[Fields] = [
        {"slots": 2, "gpus": 4},
        {"slots": 1, "gpus": 4, "priority": -1},
        {"slots": 3, "gpus": 4},
        {"slots": 4, "gpus": 4, "priority": 7},
    ]
    assert ends(worked(jobs)) == {"a": 6, "b": 10, "c": 9, "d": 4}


def test_running_job_gives_way_to_a_greater_priority_and_not_to_an_equal_one() -> None:
    jobs: list[Fields] = [
        {"slots": 5, "gpus": 4, "priority": 1},
        {"slots": 1, "gpus": 4, "priority": 1, "release": 1},
        {"slots": 2, "gpus": 4, "priority": 2, "release": 2},
    ]
    # At 2 c takes all GPUs; at 4 a came before b, and is restored for a slot.
    assert ends(worked(jobs, restore=1)) == {"a": 8, "b": 9, "c": 4}


def test_only_as_many_stop_as_are_needed_the_lowest_first_and_then_the_last() -> None:
    jobs: list[Fields] = [
        {"slots": 9, "gpus": 1, "priority": 1},
        {"slots": 9, "gpus": 1},
        {"slots": 9, "gpus": 1, "release": 1},
        {"slots": 9, "gpus": 1},
        {"slots": 2, "gpus": 2, "priority": 5, "release": 3},
    ]
    # c began last, and d is the later one of those that began at 0.
    assert ends(worked(jobs, restore=0)) == {"a": 9, "b": 9, "c": 12, "d": 11, "e": 5}


def test_who_stopped_in_vain_goes_on() -> None:
    # b runs on the server that d does not fit, and c on the other; d needs only the latter.
    jobs: list[Fields] = [
        {"slots": 9, "gpus": 3},
        {"slots": 9, "gpus": 2, "release": 1},
        {"slots": 2, "gpus": 3, "priority": 1, "release": 2, "spread": {"max_servers": 1}},
    ]
    instance = worked(jobs, servers=[3, 2], restore=0)
    found = rarmodel.simulate(instance, "priority")
    assert found.report is not None
    assert dict(found.report.completion) == {"a": 11, "b": 10, "c": 4}
    assert found.preemptions == 1


def test_without_preemption_running_jobs_go_on() -> None:
    jobs: list[Fields] = [
        {"slots": 5, "gpus": 4},
        {"slots": 1, "gpus": 4, "priority": 3, "release": 1},
    ]
    assert ends(worked(jobs)) == {"a": 5, "b": 6}


def test_room_below_a_cap_is_taken_from_lower_priorities_too() -> None:
    jobs: list[Fields] = [
        {"slots": 5, "gpus": 2, "tenant": "t"},
        {"slots": 1, "gpus": 2, "tenant": "u", "priority": 3, "release": 1},
    ]
    tenants: list[Fields] = [{"name": "t", "parent": "u"}, {"name": "u", "gpus": 3}]
    assert ends(worked(jobs, restore=0, tenants=tenants)) == {"a": 6, "b": 2}
