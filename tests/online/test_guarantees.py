"""Guarantees online: tenants take back what is theirs from those that hold more than theirs."""

from __future__ import annotations

from typing import Any

import pytest
from by_hand import worked

import rarmodel

Fields = dict[str, Any]

TEAMS = [{"name": "x", "guaranteed": 2}, {"name": "y", "guaranteed": 2}]


def ends(
    *jobs: Fields,
    tenants: list[Fields] = TEAMS,
    policy: str = "fifo-backfill",
    restore: float | None = 0,
    reclaim: bool = True,
) -> dict[str, int | None]:
    """Completion time by job on four GPUs; the schedule is verified."""
    instance = worked(jobs, restore=restore, tenants=tenants)
    found = rarmodel.simulate(instance, policy, reclaim=reclaim)
    assert found.report is not None
    assert found.verified, found.reasons
    return dict(found.report.completion)


BORROWS = [{"slots": 9, "gpus": 2, "tenant": "x"}, {"slots": 9, "gpus": 2, "tenant": "x"}]
COMES = {"slots": 3, "gpus": 2, "tenant": "y", "release": 2}


@pytest.mark.parametrize("policy", ["fifo", "fifo-backfill", "sjf", "sjf-bco", "priority", "las"])
def test_who_is_below_takes_back_from_the_last_that_borrowed(policy: str) -> None:
    assert ends(*BORROWS, COMES, policy=policy) == {"a": 9, "b": 12, "c": 5}


def test_nobody_takes_anything_back_unless_it_is_asked_for_and_jobs_may_stop() -> None:
    assert ends(*BORROWS, COMES, reclaim=False) == {"a": 9, "b": 9, "c": 12}
    assert ends(*BORROWS, COMES, restore=None) == {"a": 9, "b": 9, "c": 12}


def test_nobody_takes_back_more_than_the_guarantee() -> None:
    # d would be beyond what y is guaranteed, as c runs.
    assert ends(*BORROWS, COMES, {**COMES, "slots": 1}) == {"a": 9, "b": 13, "c": 5, "d": 6}
    larger = {**COMES, "gpus": 3}
    assert ends(*BORROWS, larger) == {"a": 9, "b": 9, "c": 12}


def test_nobody_takes_from_those_within_their_guarantee() -> None:
    tenants: list[Fields] = [{"name": "x", "guaranteed": 4}, {"name": "y", "guaranteed": 4}]
    assert ends(*BORROWS, COMES, tenants=tenants) == {"a": 9, "b": 9, "c": 12}


def test_jobs_without_a_tenant_and_tenants_without_a_guarantee_only_borrow() -> None:
    tenants: list[Fields] = [{"name": "y", "guaranteed": 4}, {"name": "z"}]
    jobs: list[Fields] = [{"slots": 9, "gpus": 2}, {"slots": 9, "gpus": 2, "tenant": "z"}]
    assert ends(*jobs, {**COMES, "gpus": 4}, tenants=tenants) == {"a": 12, "b": 12, "c": 5}


def test_a_tenant_below_its_guarantee_does_not_wait_behind_the_head_of_the_queue() -> None:
    jobs: list[Fields] = [
        {"slots": 4, "gpus": 2, "tenant": "x"},
        {"slots": 9, "gpus": 4, "tenant": "x"},
    ]
    assert ends(*jobs, COMES, policy="fifo") == {"a": 4, "b": 14, "c": 5}


def test_parts_of_a_tenant_share_what_it_is_guaranteed() -> None:
    # y holds 2 of the 2 that it is guaranteed, through z; so c takes nothing from x.
    tenants: list[Fields] = [*TEAMS, {"name": "z", "parent": "y"}, {"name": "w", "parent": "y"}]
    jobs: list[Fields] = [
        {"slots": 9, "gpus": 2, "tenant": "z"},
        {"slots": 9, "gpus": 2, "tenant": "x"},
        {"slots": 3, "gpus": 1, "tenant": "w", "release": 2},
    ]
    assert ends(*jobs, tenants=tenants) == {"a": 9, "b": 9, "c": 12}


def test_part_takes_back_from_another_part_and_from_the_whole() -> None:
    tenants: list[Fields] = [
        {"name": "x", "guaranteed": 4},
        {"name": "z", "parent": "x", "guaranteed": 2},
        {"name": "w", "parent": "x"},
    ]
    for holder in ("w", "x"):
        jobs: list[Fields] = [
            {"slots": 9, "gpus": 4, "tenant": holder},
            {"slots": 3, "gpus": 2, "tenant": "z", "release": 2},
        ]
        assert ends(*jobs, tenants=tenants) == {"a": 12, "b": 5}
    # Those outside take nothing from z, though only x is guaranteed something.
    outside: list[Fields] = [*tenants, {"name": "o", "guaranteed": 2}]
    jobs = [
        {"slots": 9, "gpus": 4, "tenant": "w"},
        {"slots": 3, "gpus": 2, "tenant": "o", "release": 2},
    ]
    assert ends(*jobs, tenants=outside) == {"a": 9, "b": 12}


def test_least_priority_gives_way_first() -> None:
    jobs: list[Fields] = [{**BORROWS[0], "priority": 0}, {**BORROWS[1], "priority": 1}]
    assert ends(*jobs, COMES) == {"a": 12, "b": 9, "c": 5}


def test_an_order_that_interrupts_keeps_what_is_guaranteed() -> None:
    # c is the longest, so `srtf` alone would let it wait for both of x.
    jobs: list[Fields] = [*BORROWS, {**COMES, "slots": 20}]
    assert ends(*jobs, policy="srtf") == {"a": 9, "b": 16, "c": 22}
    assert ends(*jobs, policy="srtf", reclaim=False) == {"a": 9, "b": 9, "c": 29}
