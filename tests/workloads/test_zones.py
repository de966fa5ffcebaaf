"""Time zones of a trace's dates: in windows, in what is printed, and where rows lack one."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from traces import FIXTURES, imported, jobs_of, reasons, rows

from rarmodel.errors import InputError, UsageError

SEREN = FIXTURES / "acme-seren-zones.csv"
MIXED = FIXTURES / "zones-mixed.csv"
PLAIN = rows("a,0,1,2017-10-03 00:00:00,60,,,,", "b,0,1,2017-10-04 00:00:00,60,,,,")


def test_window_of_dates_is_in_the_zone_of_the_trace() -> None:
    instance, account = imported(SEREN, window="2023-03-01..2023-03-02")
    assert {name: job.release for name, job in jobs_of(instance).items()} == {"1": 360, "2": 1200}
    assert instance.time.origin == datetime.fromisoformat("2023-03-01T00:00:00+08:00")
    spanned = "2023-03-01T06:00+08:00 to 2023-03-02T06:00+08:00"
    assert reasons(account.left_out) == {
        f"submitted outside the window; the trace has {spanned}": 1
    }
    assert "slot 0 begins at 2023-03-01T00:00:00+08:00" in "\n".join(account.kept)


def test_window_with_a_zone_is_taken_at_its_word() -> None:
    window = "2023-03-01T00:00+00:00..2023-03-02T00:00+00:00"
    instance, _ = imported(SEREN, window=window)
    assert {name: job.release for name, job in jobs_of(instance).items()} == {"2": 720, "3": 1320}


def test_stated_zone_is_that_of_the_window_and_of_what_is_printed() -> None:
    instance, account = imported(SEREN, window="2023-03-01..2023-03-02", time_zone="UTC")
    assert list(jobs_of(instance)) == ["2", "3"]
    (reason,) = reasons(account.left_out)
    assert reason.endswith("2023-02-28T22:00+00:00 to 2023-03-01T22:00+00:00")


def test_window_with_a_zone_on_a_trace_without_is_refused(tmp_path: Path) -> None:
    window = "2017-10-03T00:00+02:00..2017-10-05T00:00+02:00"
    with pytest.raises(UsageError, match="the trace's dates have no time zone; leave out that of"):
        imported(tmp_path / "t.csv", PLAIN, window=window)
    instance, _ = imported(tmp_path / "t.csv", PLAIN, window=window, time_zone="+02:00")
    assert [job.release for job in instance.jobs] == [0, 1440]


def test_window_on_a_trace_of_several_zones_needs_one(tmp_path: Path) -> None:
    text = rows("a,0,1,2017-10-29T00:30:00+02:00,60,,,,", "b,0,1,2017-10-29T03:30:00+01:00,60,,,,")
    window = "2017-10-29..2017-10-29T03:00"
    with pytest.raises(UsageError, match=r"2 time zones \(UTC\+01:00, UTC\+02:00\); give the win"):
        imported(tmp_path / "t.csv", text, window=window)
    # Clocks went back at three: half past midnight and half past three are four hours apart.
    instance, account = imported(tmp_path / "t.csv", text)
    assert [job.release for job in instance.jobs] == [0, 240]
    assert "slot 0 begins at 2017-10-29T00:30:00+02:00" in "\n".join(account.kept)
    instance, _ = imported(tmp_path / "t.csv", text, window=window, time_zone="Europe/Berlin")
    assert [job.name for job in instance.jobs] == ["a"]


def test_dates_with_and_without_zone_are_refused() -> None:
    with pytest.raises(InputError) as caught:
        imported(MIXED)
    (line,) = caught.value.lines()
    assert line.endswith(
        "line 3: the time of submission has no time zone, and earlier rows have one; --time-zone, "
        "such as --time-zone +08:00, gives a zone to dates without one"
    )
    _, account = imported(MIXED, skip_invalid=True)
    assert reasons(account.left_out) == {"an invalid row": 1}


def test_dates_without_zone_first_are_refused_too(tmp_path: Path) -> None:
    first, a, b, c = MIXED.read_text(encoding="utf-8").splitlines()
    with pytest.raises(InputError, match="line 3: the time of submission has a time zone, and ear"):
        imported(tmp_path / "t.csv", "\n".join([first, b, a, c]) + "\n")


@pytest.mark.parametrize("zone", ["+08:00", "+0800", "Asia/Shanghai"])
def test_dates_without_zone_take_the_stated_one(zone: str) -> None:
    instance, account = imported(MIXED, time_zone=zone)
    assert [job.release for job in instance.jobs] == [0, 10, 20]
    assert reasons(account.notes)[f"a date without a zone; {zone} is used"] == 1


def test_start_without_zone_beside_a_submission_with_one_is_refused(tmp_path: Path) -> None:
    header = "job_id,gpu_num,submit_time,start_time,duration"
    text = rows("a,1,2023-03-01 00:00:00+08:00,2023-03-01 00:10:00,600", header=header)
    with pytest.raises(InputError, match="line 2: only one of the times of submission and of star"):
        imported(tmp_path / "t.csv", text)
    assert imported(tmp_path / "t.csv", text, time_zone="+08:00").account.used == 1


def test_start_and_end_need_the_same_kind_of_date(tmp_path: Path) -> None:
    columns = {"gpus": "g", "start": "from", "end": "to"}
    text = "g,from,to\n1,2023-03-01 00:00:00+08:00,2023-03-01 01:00:00\n"
    with pytest.raises(InputError, match=r"column 'to': .*only one of start and end has a"):
        imported(tmp_path / "t.csv", text, columns=columns)
    text = "g,from,to\n1,100,2023-03-01 01:00:00\n"
    with pytest.raises(InputError, match=r"column 'to': .*must both be dates, or both numbers"):
        imported(tmp_path / "t.csv", text, columns=columns)
