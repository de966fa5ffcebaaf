"""Data keeps its time: releases, tenants, slot 0; and the paper's reading, byte for byte."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from depth import examples
from hypothesis import given
from hypothesis import strategies as st
from traces import FIXTURES, imported, jobs_of, reasons, rows

from rarmodel.errors import UsageError
from rarmodel.files import parse_instance, to_json
from rarmodel.model import used

HELIOS = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration"
OTHERS = {"slot_seconds": 10.0, "contention": False, "max_jobs": 5, "seed": 3}


@pytest.mark.parametrize(
    ("trace", "options", "digest"),
    [
        ("philly.csv", {}, "a8b40be372abcc8f"),
        ("philly.csv", OTHERS, "acd0f96afba9d401"),
        ("muri.csv", {}, "ce9f03a2c2e34978"),
        ("muri.csv", OTHERS, "c1a270d7afd67631"),
        ("gavel.trace", {}, "4043b58554c12f87"),
        ("gavel.trace", OTHERS, "4a0aee1847f46f83"),
        ("tiresias.csv", {}, "0c26741839d9f8a0"),
        ("tiresias.csv", OTHERS, "cb1c8e0006abc66a"),
    ],
)
def test_jobs_at_slot_0_make_the_instances_of_before_releases_were_read(
    trace: str, options: dict[str, Any], digest: str
) -> None:
    """The digests are of the files that the version before this option wrote.

    That version did not say to which network the iterations are fitted.
    """
    instance = imported(FIXTURES / trace, arrivals="zero", **options).instance
    fitted = " Iterations are fitted to the network of 25 Gbit/s."
    description = instance.description or ""
    assert description.count(fitted) == 1
    instance = instance.model_copy(update={"description": description.replace(fitted, "")})
    assert hashlib.sha256(to_json(instance).encode()).hexdigest()[:16] == digest


@pytest.mark.parametrize("trace", ["philly.csv", "muri.csv", "gavel.trace", "tiresias.csv"])
def test_time_is_all_that_arrivals_change(trace: str) -> None:
    kept, zero = (imported(FIXTURES / trace, arrivals=one) for one in ("submitted", "zero"))
    plain = [job.model_copy(update={"release": 0, "tenant": None}) for job in kept.instance.jobs]
    assert plain == list(zero.instance.jobs)
    assert kept.instance.cluster == zero.instance.cluster
    assert kept.account.left_out == zero.account.left_out
    assert parse_instance(to_json(kept.instance)) == kept.instance


@given(
    moments=st.lists(st.integers(0, 10**7), min_size=1, max_size=8),
    slot=st.sampled_from([1.0, 7.5, 60.0, 3600.0]),
)
@examples(20)
def test_release_is_the_first_slot_that_begins_no_earlier(
    tmp_path_factory: pytest.TempPathFactory, moments: list[int], slot: float
) -> None:
    lines = [f"j{k},0,1,{moment},60,,vgg16,," for k, moment in enumerate(moments)]
    path = tmp_path_factory.mktemp("t") / "t.csv"
    jobs = jobs_of(imported(path, rows(*lines), slot_seconds=slot).instance)
    for k, moment in enumerate(moments):
        waited = jobs[f"j{k}"].release * slot - (moment - min(moments))
        assert 0 <= waited < slot


def test_slot_0_is_the_first_submission_or_the_start_of_the_window(tmp_path: Path) -> None:
    text = rows("a,0,1,100,60,,,,", "b,0,1,3700,60,,,,", "c,0,1,7300,60,,,,")
    found = imported(tmp_path / "t.csv", text)
    assert [job.release for job in found.instance.jobs] == [0, 60, 120]
    assert found.account.kept[0].endswith("slot 0 begins at 100 s of the trace")
    assert found.instance.time.origin is None
    for window, releases in (("0.5h..", [30, 90]), ("..1.5h", [0, 60])):
        part = imported(tmp_path / "t.csv", text, window=window)
        assert [job.release for job in part.instance.jobs] == releases


@pytest.mark.parametrize(("zone", "info"), [("", None), ("+02:00", timezone(timedelta(hours=2)))])
def test_origin_says_when_slot_0_begins_if_the_trace_has_dates(
    tmp_path: Path, zone: str, info: Any
) -> None:
    text = rows(
        f"a,0,1,2024-05-01T10:00:30{zone},60,,,,", f"b,0,1,2024-05-01T10:01:00{zone},60,,,,"
    )
    instance = imported(tmp_path / "t.csv", text).instance
    assert instance.time.origin == datetime(2024, 5, 1, 10, 0, 30, tzinfo=info)
    assert [job.release for job in instance.jobs] == [0, 1]
    window = imported(tmp_path / "t.csv", text, window="2024-05-01..2024-05-02").instance
    assert window.time.origin == datetime(2024, 5, 1, tzinfo=info)
    assert window.jobs[0].release == 10 * 60 + 1


def test_job_without_a_submission_is_released_at_slot_0_and_noted(tmp_path: Path) -> None:
    found = imported(tmp_path / "t.csv", rows("a,0,1,50,60,,vgg16,,", "b,0,1,,60,,vgg16,,"))
    assert jobs_of(found.instance)["b"].release == 0
    assert reasons(found.account.notes) == {"no time of submission; it is released at slot 0": 1}


def test_tenants_are_the_groups_of_the_trace_without_caps(tmp_path: Path) -> None:
    text = rows("a,0,1,0,60,,vgg16,,x", "b,0,1,0,60,,vgg16,,77f0", "c,0,1,0,60,,vgg16,,")
    found = imported(tmp_path / "t.csv", text)
    assert [job.tenant for job in found.instance.jobs] == ["x", "77f0", None]
    assert [(one.name, one.gpus) for one in found.instance.tenants] == [("77f0", None), ("x", None)]
    assert "kept: 2 tenants without caps: '77f0', 'x'" in found.account.kept
    assert used(found.instance) == {}
    assert found.instance.time.horizon == 3
    part = imported(tmp_path / "t.csv", text, max_jobs=1).instance
    assert [one.name for one in part.tenants] == ["x"]


def helios(*times: tuple[str, str, int]) -> str:
    """Jobs with submission, start and duration."""
    lines = [
        f"{k},u{k},,1,8,1,COMPLETED,2020-04-01 {submit}:00,{start},,{seconds}"
        for k, (submit, start, seconds) in enumerate(times)
    ]
    return rows(*lines, header=HELIOS)


def test_jobs_that_wait_when_the_window_begins_have_negative_releases(tmp_path: Path) -> None:
    text = helios(
        ("09:00", "2020-04-01 09:10:00", 600),  # over at 09:20
        ("09:10", "2020-04-01 09:30:00", 7200),  # runs at 10:00
        ("09:20", "2020-04-01 10:00:00", 600),  # waits at 10:00
        ("09:30", "2020-04-01 10:30:00", 600),
        ("09:40", "", 600),  # nobody knows
        ("09:50", "never", 600),
        ("10:05", "2020-04-01 10:30:00", 600),
    )
    window = {"window": "2020-04-01T10:00..2020-04-01T11:00"}
    found = imported(tmp_path / "helios.csv", text, **window)
    assert {job.name: job.release for job in found.instance.jobs} == {"2": -40, "3": -30, "6": 5}
    assert [job.tenant for job in found.instance.jobs] == ["u2", "u3", "u6"]
    left_out = reasons(found.account.left_out)
    assert sorted(left_out.values()) == [1, 3]
    assert any(
        "running at the window's start on GPUs that the trace does not" in r for r in left_out
    )
    assert reasons(found.account.notes)["submitted before the window and waiting at its start"] == 2
    zero = imported(tmp_path / "helios.csv", text, arrivals="zero", **window)
    assert [job.name for job in zero.instance.jobs] == ["6"]


def test_submission_that_is_absurdly_far_away_is_left_out(tmp_path: Path) -> None:
    text = rows("a,0,1,0,60,,vgg16,,", "b,0,1,1e13,60,,vgg16,,")
    found = imported(tmp_path / "t.csv", text, slot_seconds=1.0)
    assert reasons(found.account.left_out) == {"submitted more than 1e+12 slots from slot 0": 1}


def test_not_kept_is_said(tmp_path: Path) -> None:
    text = rows("a,0,1,5,60,,vgg16,,")
    assert imported(tmp_path / "t.csv", text, arrivals="zero").account.kept == (
        "not kept: times of submission; all jobs wait at slot 0",
    )


def test_unknown_arrivals_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="arrivals 'poisson': choose from submitted, zero"):
        imported(tmp_path / "t.csv", rows("a,0,1,5,60,,vgg16,,"), arrivals="poisson")
