"""Where jobs are put, on cases worked by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from by_hand import worked

import rarmodel
from rarmodel.online.placement import Asked, fewest_servers
from rarmodel.schema import Instance


def asked(size: int, servers: int, **demands: Any) -> Asked:
    """A job that may use all servers, unless its demands say otherwise."""
    allowed = (np.ones(servers, np.bool_),)
    given = {"allowed": allowed, "fewest": 1, "most": min(size, servers), "equal": False}
    return Asked(size=size, **{**given, **demands})


@pytest.mark.parametrize(
    ("idle", "size", "ring"),
    [
        ([4, 2, 3], 2, {1: 2}),  # the tightest server
        ([4, 3, 3], 3, {1: 3}),  # of equal ones the first
        ([4, 2, 3], 6, {0: 4, 1: 2}),  # the most idle one, and the tightest for the rest
        ([4, 2, 3], 7, {0: 4, 2: 3}),
        ([1, 1, 1], 3, {0: 1, 1: 1, 2: 1}),
        ([4, -2, 0], 5, None),
    ],
)
def test_consolidating_takes_the_fewest_servers(
    idle: list[int], size: int, ring: dict[int, int] | None
) -> None:
    assert fewest_servers(asked(size, 3), np.array(idle)) == ring


def test_consolidating_keeps_what_a_job_asks_for() -> None:
    idle = np.array([4, 4, 2])
    assert fewest_servers(asked(4, 3, fewest=2), idle) == {0: 3, 2: 1}
    assert fewest_servers(asked(4, 3, fewest=2, equal=True), idle) == {2: 2, 0: 2}
    assert fewest_servers(asked(6, 3, most=1), idle) is None
    few = (np.array([False, False, True]), np.array([True, False, True]))
    # On one server whatever the type, and the faster type first.
    assert fewest_servers(asked(4, 3, allowed=few), idle) == {0: 4}
    assert fewest_servers(asked(2, 3, allowed=few), idle) == {2: 2}


def placed(instance: Instance, placement: str) -> dict[str, dict[str, int]]:
    """GPUs by server of each job, in order of arrival, each that fits."""
    found = rarmodel.simulate(instance, "fifo-backfill", placement=placement)
    assert found.verified
    assert found.schedule is not None
    return {
        one.job: {server: len(gpus) for server, gpus in one.gpus.items()}
        for one in found.schedule.assignments
    }


def test_first_fit_goes_from_server_to_server() -> None:
    jobs = [{"slots": 1, "gpus": 1}, {"slots": 1, "gpus": 2}]
    assert placed(worked(jobs, servers=[2, 2]), "first-fit") == {
        "a": {"s0": 1},
        "b": {"s0": 1, "s1": 1},
    }
    assert placed(worked(jobs, servers=[2, 2]), "consolidate")["b"] == {"s1": 2}


RINGS = [
    {"slots": 40, "gpus": 3, "gradient_mb": 1000.0, "backward_ms": 50.0},
    {"slots": 40, "gpus": 3, "gradient_mb": 1000.0, "backward_ms": 50.0},
]
"""Alone across servers of 2 GPUs, an iteration takes 1.07 s of exchange at 10 Gbit/s."""


def test_ring_waits_where_it_would_take_more_than_it_has() -> None:
    # Slots of 1 s would hold no iteration; at 40 Gbit/s each ring alone does 3, both together 1.
    instance = worked(RINGS, servers=[2, 2, 2], network_gbps=40.0)
    starts = {}
    for placement in ("consolidate", "contention-aware"):
        found = rarmodel.simulate(instance, "fifo", placement=placement)
        assert found.schedule is not None
        starts[placement] = {one.job: one.start for one in found.schedule.assignments}
    # Together: a and b lose two thirds of their speed each, and neither has that much to win.
    assert starts["consolidate"] == {"a": 0, "b": 0}
    assert starts["contention-aware"] == {"a": 0, "b": 14}


def test_ring_goes_where_no_other_is() -> None:
    # Consolidated, b would share the link of s0 or s1; it takes s2 and s3.
    instance = worked(RINGS, servers=[2, 2, 2, 2], network_gbps=40.0)
    assert placed(instance, "contention-aware") == {
        "a": {"s0": 2, "s1": 1},
        "b": {"s2": 2, "s3": 1},
    }
