"""Resources online: jobs wait for what others use, and give way where a capacity falls."""

from __future__ import annotations

from typing import Any

import pytest
from by_hand import worked

import rarmodel
from rarmodel.errors import UsageError
from rarmodel.schema import Instance, Resource

LICENSED = {"resources": {"licence": 1}}


def licensed(capacity: Any, *jobs: dict[str, Any], **options: Any) -> Instance:
    """Jobs on eight GPUs, of which some use a licence."""
    plain = [{k: v for k, v in job.items() if k != "resources"} for job in jobs]
    instance = worked(plain, servers=[8], **options)
    found = Resource.model_validate({"name": "licence", "capacity": capacity})
    using = (
        job.model_copy(update={"resources": one.get("resources")})
        for job, one in zip(instance.jobs, jobs, strict=True)
    )
    return instance.model_copy(update={"resources": (found,), "jobs": tuple(using)})


@pytest.mark.parametrize("policy", ["fifo", "srtf", "las"])
def test_jobs_that_share_a_licence_run_one_after_another(policy: str) -> None:
    found = rarmodel.simulate(
        licensed(1, {"slots": 3, **LICENSED}, {"slots": 4, **LICENSED}, {"slots": 5}), policy
    )
    assert found.verified, found.reasons
    assert found.report is not None
    # FIFO lets nobody pass a job that waits.
    waits = 3 if policy == "fifo" else 0
    assert found.report.completion == {"a": 3, "b": 7, "c": waits + 5}


def test_the_last_that_began_gives_way_where_a_capacity_falls() -> None:
    windows = [{"from": 0, "to": 2, "capacity": 2}, {"from": 2, "to": 5, "capacity": 1}]
    found = rarmodel.simulate(
        licensed(
            windows,
            *({"slots": 4, **LICENSED}, {"slots": 4, "release": 1, **LICENSED}),
            restore=0,
        ),
        "fifo-backfill",
    )
    assert found.verified, found.reasons
    assert found.report is not None
    # Job b stops at slot 2, waits for the licence until slot 4, and has 3 slots left.
    assert found.report.completion == {"a": 4, "b": 7}


def test_capacity_that_falls_needs_preemption() -> None:
    windows = [{"from": 3, "to": 5, "capacity": 1}]
    with pytest.raises(UsageError, match=r"capacities that fall \(resources\[0\]\.capacity\)"):
        rarmodel.simulate(licensed(windows, {"slots": 3, **LICENSED}), "fifo")
    rises = [{"from": 0, "to": 5, "capacity": 0}]
    found = rarmodel.simulate(licensed(rises, {"slots": 3, **LICENSED}), "fifo")
    assert found.metrics.makespan == 8


def test_job_that_waits_for_a_licence_for_ever_is_named() -> None:
    found = rarmodel.simulate(licensed(1, {"slots": 3, "resources": {"licence": 2}}), "fifo")
    assert (
        "job 'a' can never run: its ring of 1 GPU is beyond the capacity of 1 of resource "
        "'licence' (resources[0].capacity), as it uses 2 at least"
    ) in found.reasons
