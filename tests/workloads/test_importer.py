"""Which rows become jobs, what jobs they become, and that each row is accounted for."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from depth import examples
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from traces import imported, jobs_of, reasons, rows, seconds_of

from rarmodel.bounds import area
from rarmodel.errors import InputError, UsageError
from rarmodel.model import job_extremes
from rarmodel.schema import Cluster
from rarmodel.schema.instance import Preemption

OUTSIDE = "submitted outside the window; the trace has 0h to 2.0h"
THREE = rows("a,0,1,0,600,,vgg16,16,x", "b,0,2,3600,1200,,bert,4,y", "c,0,4,7200,60,,gpt2,4,x")


@pytest.mark.parametrize("slot", [1.0, 10.0, 60.0])
@pytest.mark.parametrize("contention", [True, False])
def test_execution_time_in_the_best_placement_is_the_recorded_duration(
    tmp_path: Path, slot: float, contention: bool
) -> None:
    lines = [f"{k},0,{gpus},0,{333.3 * k},,{model},,"
             for k, (gpus, model) in enumerate(
                 [(1, "vgg16"), (8, "vgg19"), (12, "bert"), (32, "resnet50"), (3, "")], start=1)
             ]  # fmt: skip
    found = imported(
        tmp_path / "t.csv", rows(*lines), slot_seconds=slot, contention=contention
    ).instance
    for k, seconds in enumerate(seconds_of(found).values(), start=1):
        assert abs(seconds - 333.3 * k) <= slot / 2


def test_job_shorter_than_half_a_slot_takes_one(tmp_path: Path) -> None:
    found = imported(tmp_path / "t.csv", rows("a,0,1,0,0.5,,vgg16,,"))
    assert seconds_of(found.instance) == {"a": 60}


def test_gpu_hours_are_accounted(tmp_path: Path) -> None:
    account = imported(tmp_path / "t.csv", THREE, slot_seconds=1.0).account
    assert account.gpu_hours_recorded == pytest.approx((600 + 2400 + 240) / 3600)
    assert account.gpu_hours == pytest.approx(account.gpu_hours_recorded)


def test_gpu_hours_of_rows_left_out_are_accounted_by_reason(tmp_path: Path) -> None:
    text = f"{THREE}d,0,40,0,3600,,bert,4,x\ne,0,0.5,0,7200,,,,\nf,0,,0,60,,,,\n"
    account = imported(tmp_path / "t.csv", text, window="0h..1h").account
    hours = {group.reason: group.gpu_hours for group in account.left_out}
    assert hours == {
        OUTSIDE: pytest.approx((2400 + 240) / 3600),
        "more GPUs than the cluster's 32": 40,
        "a part of a GPU": 1,
        "no number of GPUs": 0,
    }
    assert account.gpu_hours_left_out == pytest.approx(41 + 2640 / 3600)
    assert account.gpu_hours_recorded == pytest.approx(600 / 3600)
    assert account.lines()[-1] == "GPU hours: 0.2 recorded, 0.2 in slots; 41.7 left out"
    assert "left out: 1 row: a part of a GPU (line 6), 1.0 GPU hours" in account.lines()


def test_jobs_are_in_order_of_submission(tmp_path: Path) -> None:
    text = rows("late,0,1,9,60,,,,", "early,0,1,1,60,,,,", "never,0,1,,60,,,,", "tie,0,1,1,60,,,,")
    instance = imported(tmp_path / "t.csv", text).instance
    assert [job.name for job in instance.jobs] == ["never", "early", "tie", "late"]


def test_horizon_is_safe_unless_given(tmp_path: Path) -> None:
    zero = imported(tmp_path / "t.csv", THREE, arrivals="zero").instance
    assert zero.time.horizon == 10 + 20 + 1
    assert imported(tmp_path / "t.csv", THREE).instance.time.horizon is None
    assert imported(tmp_path / "t.csv", THREE, horizon=7).instance.time.horizon == 7


def test_area_bound_is_that_of_the_recorded_gpu_time(tmp_path: Path) -> None:
    instance = imported(
        tmp_path / "t.csv", THREE, slot_seconds=60.0, contention=False, arrivals="zero"
    ).instance
    assert area(instance) == -(-(10 + 40 + 4) // 32)


def test_without_contention_gradients_and_overhead_are_zero(tmp_path: Path) -> None:
    instance = imported(tmp_path / "t.csv", THREE, contention=False).instance
    assert {job.gradient_mb for job in instance.jobs} == {0}
    assert instance.contention.overhead_ms_per_server == 0
    assert all(e.best_seconds == e.worst_seconds for e in job_extremes(instance))


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("z,0,0,0,60,,,,", "no GPU"),
        ("z,0,,0,60,,,,", "no number of GPUs"),
        ("z,0,0.5,0,60,,,,", "a part of a GPU"),
        ("z,0,33,0,60,,,,", "more GPUs than the cluster's 32"),
        ("z,0,1,0,,,,,", "no duration"),
        ("z,0,1,0,NA,,,,", "no duration"),
        ("z,0,1,0,,999999999999999,vgg16,,", "more than 1e+10 s for its iterations"),
        ("z,0,1,0,,50,unheard-of,,", "no duration"),
        ("z,0,1,0,0,,,,", "a duration of 0"),
        ("a,0,1,0,600,,vgg16,16,x", "a copy of an earlier row"),
        ("z,0,1,0,600,,vgg16,1000000,", "an iteration takes longer than a slot"),
    ],
)
def test_row_that_cannot_be_used_is_explained(tmp_path: Path, row: str, reason: str) -> None:
    account = imported(tmp_path / "t.csv", f"{THREE}{row}\n").account
    assert (account.rows, account.used) == (4, 3)
    (group,) = account.left_out
    assert (group.reason, group.rows, group.examples) == (reason, 1, (5,))


def test_two_jobs_of_one_name_both_come(tmp_path: Path) -> None:
    account, instance = imported(tmp_path / "t.csv", THREE + "a,0,1,0,660,,vgg16,16,x\n")[::-1]
    assert [job.name for job in instance.jobs] == ["a", "a-line5", "b", "c"]
    assert reasons(account.notes) == {"the name of an earlier row; made unique by the line": 1}


def test_name_made_unique_may_be_taken_too(tmp_path: Path) -> None:
    text = rows("a-line4,0,1,0,60,,,,", "a,0,1,0,60,,,,", "a,0,1,0,90,,,,")
    instance = imported(tmp_path / "t.csv", text).instance
    assert [job.name for job in instance.jobs] == ["a-line4", "a", "a-line4-line4"]


def test_duration_follows_from_iterations_of_a_known_model(tmp_path: Path) -> None:
    found = imported(tmp_path / "t.csv", rows("a,0,1,0,,1000,resnet50,64,"), slot_seconds=1.0)
    assert seconds_of(found.instance) == {"a": 228}  # 1000 iterations of 227.54 ms
    assert reasons(found.account.notes) == {"duration from iterations and profile": 1}


def test_default_duration_is_for_jobs_without_one_and_noted(tmp_path: Path) -> None:
    found = imported(tmp_path / "t.csv", THREE + "d,0,1,0,,,bert,4,\n", default_seconds=300.0)
    assert seconds_of(found.instance)["d"] == 300
    assert reasons(found.account.notes) == {"no duration; the default is used": 1}


@pytest.mark.parametrize(
    ("options", "names", "reason"),
    [
        ({"window": "0h..1h"}, ["a"], OUTSIDE),
        ({"window": "1h..2h"}, ["b"], OUTSIDE),
        ({"window": "1h.."}, ["b", "c"], OUTSIDE),
        ({"window": "..0.05d"}, ["a", "b"], OUTSIDE),
        ({"group": "x"}, ["a", "c"], "not of group 'x'"),
        ({"max_jobs": 2}, ["a", "b"], "beyond the first 2 jobs"),
        ({"group": "x", "max_jobs": 1}, ["a"], None),
    ],
)
def test_windows_groups_and_numbers_select_jobs(
    tmp_path: Path, options: dict[str, Any], names: list[str], reason: str | None
) -> None:
    instance, account = imported(tmp_path / "t.csv", THREE, **options)
    assert [job.name for job in instance.jobs] == names
    if reason:
        assert reasons(account.left_out) == {reason: 3 - len(names)}


def test_window_starts_at_the_earliest_submission(tmp_path: Path) -> None:
    text = rows("a,0,1,7200,60,,,,", "b,0,1,3600,60,,,,", "c,0,1,,60,,,,")
    instance, account = imported(tmp_path / "t.csv", text, window="0h..1h")
    assert [job.name for job in instance.jobs] == ["b"]
    assert reasons(account.left_out) == {
        "submitted outside the window; the trace has 0h to 1.0h": 1,
        "no time of submission": 1,
    }


def test_window_of_dates_is_open_at_its_end(tmp_path: Path) -> None:
    text = "timestamp,duration,num_gpus,gpu_time,cluster\n" + "".join(
        f"2017-10-0{day} 00:00:00,60.0,1,60.0,v\n" for day in (2, 3, 4, 5)
    )
    instance, account = imported(tmp_path / "t.csv", text, window="2017-10-03..2017-10-05")
    assert [job.name for job in instance.jobs] == ["line3", "line4"]
    spanned = "2017-10-02T00:00 to 2017-10-05T00:00"
    assert reasons(account.left_out) == {
        f"submitted outside the window; the trace has {spanned}": 2
    }


def test_window_knows_the_first_and_the_last_date_there_is(tmp_path: Path) -> None:
    text = rows("a,0,1,0001-01-01T00:00+10:00,60,,,,", "b,0,1,9999-12-31T23:59-10:00,60,,,,")
    _, account = imported(tmp_path / "t.csv", text, window="2017-10-03T00:00Z..")
    (reason,) = reasons(account.left_out)
    assert reason.endswith("has 0001-01-01T00:00+10:00 to 9999-12-31T23:59-10:00")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": "2017-10-03..2017-10-05"}, "the trace has no dates"),
        ({"window": "5h..2h"}, "it ends before it begins"),
        ({"window": "2h"}, "two dates such as"),
        ({"window": ".."}, "two dates such as"),
        ({"window": "x..y"}, "two dates such as"),
        ({"window": "2017-10-03..4h"}, "give two of a kind"),
        ({"window": "2017-10-03..2017-10-04T00:00+08:00"}, "give a zone to both or none"),
        ({"time_zone": "+8"}, r"time zone '\+8': an offset such as \+08:00 or a name such as Asia"),
        ({"time_zone": "+08:60"}, "an offset such as"),
        ({"time_zone": "Mars/Olympus"}, "an offset such as"),
        ({"time_zone": "../etc"}, "an offset such as"),
        ({"time_zone": "+08:00"}, "the trace has no dates; leave out --time-zone"),
        ({"group": "z"}, "no group 'z'; choose one of x, y"),
        ({"max_jobs": 0}, "max jobs 0: it must be a whole number of at least 1"),
        ({"default_seconds": -1.0}, "default duration -1.0: it must be above 0"),
        ({"slot_seconds": float("nan")}, "slot seconds nan: it must be at least"),
        ({"horizon": 0}, "horizon 0: it must be a whole number of at least 1"),
        ({"horizon": 2.5}, "horizon 2.5: it must be a whole number of at least 1"),
        ({"max_jobs": True}, "max jobs True: it must be a whole number of at least 1"),
        ({"seed": "x"}, "seed 'x': it must be a whole number of at least 0"),
        ({"model": "nope"}, "no profile of model 'nope'; choose one of a2c"),
        ({"max_jobs": "3"}, "max jobs '3': it must be a whole number of at least 1"),
        ({"colour": 1}, "no option colour; choose from arrivals"),
    ],
)
def test_impossible_choices_are_refused(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        imported(tmp_path / "t.csv", THREE, **options)


def test_empty_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name: an empty text"):
        imported(tmp_path / "t.csv", THREE, name="")


def test_nothing_left_says_why(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no job is left of 3 rows: 3 rows: submitted outside"):
        imported(tmp_path / "t.csv", THREE, window="9h..")


def test_nothing_left_for_want_of_durations_says_what_helps(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"1 row: no duration \(line 2\); --default-seconds giv"):
        imported(tmp_path / "t.csv", rows("a,0,1,0,,,,,"))


def test_model_of_a_job_depends_on_seed_and_name_alone(tmp_path: Path) -> None:
    lines = [f"j{k},0,1,0,60,,,," for k in range(40)]
    whole = jobs_of(imported(tmp_path / "t.csv", rows(*lines)).instance)
    part = jobs_of(imported(tmp_path / "t.csv", rows(*lines[20:])).instance)
    other = jobs_of(imported(tmp_path / "t.csv", rows(*lines), seed=1).instance)
    assert {name: whole[name] for name in part} == part
    assert whole != other
    assert len({job.gradient_mb for job in whole.values()}) > 5


def test_model_can_be_given_to_all_jobs_without_one(tmp_path: Path) -> None:
    text = rows("a,0,1,0,60,,,,", "b,0,1,0,60,,dcgan,32768,", "c,0,1,0,60,,bert,4,")
    instance, account = imported(tmp_path / "t.csv", text, model="VGG-16")
    jobs = jobs_of(instance)
    assert [jobs[name].gradient_mb for name in "abc"] == [553.43, 553.43, 437.93]
    assert jobs["b"].batch_size == 16
    assert reasons(account.notes) == {
        "no model; the given one is used": 1,
        "model 'dcgan' has no profile; the given one is used": 1,
    }


ROW = st.builds(
    "{},s,{},{},{},{},{},{},g".format,
    st.sampled_from("abcdef"),
    st.sampled_from(["", "0", "1", "8", "40", "-1", "0.5", "x"]),
    st.sampled_from(["", "0", "5", "2017-10-09"]),
    st.sampled_from(["", "0", "90", "-3", "1e12", "1:00"]),
    st.sampled_from(["", "10", "y"]),
    st.sampled_from(["", "vgg16", "dcgan"]),
    st.sampled_from(["", "0", "16", "99999999"]),
)


@given(lines=st.lists(ROW, max_size=12), skip=st.booleans(), most=st.sampled_from([None, 2]))
@examples(50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_in_are_jobs_out_plus_rows_explained(
    tmp_path: Path, lines: list[str], skip: bool, most: int | None
) -> None:
    with suppress(InputError):
        found = imported(tmp_path / "t.csv", rows(*lines), skip_invalid=skip, max_jobs=most)
        assert found.account.rows == len(lines)  # `imported` checks the rest.


def test_jobs_may_be_interrupted_if_a_restoration_has_a_length(tmp_path: Path) -> None:
    assert imported(tmp_path / "t.csv", THREE).instance.preemption is None
    for seconds in (0.0, 90.0):
        found = imported(tmp_path / "t.csv", THREE, restore_seconds=seconds).instance
        assert found.preemption == Preemption(restore_seconds=seconds)
    with pytest.raises(UsageError, match="restore seconds -1: they must be at least 0"):
        imported(tmp_path / "t.csv", THREE, restore_seconds=-1)


def test_work_for_a_row_does_not_grow_with_the_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each row once asked for the sum over all servers: 1,000,000 rows took hours.
    sums = 0
    total = Cluster.total_gpus.fget  # type: ignore[attr-defined]

    def counted(cluster: Cluster) -> int:
        nonlocal sums
        sums += 1
        gpus: int = total(cluster)
        return gpus

    monkeypatch.setattr(Cluster, "total_gpus", property(counted))
    asked = []
    for count in (5, 50):
        sums = 0
        lines = [f"{k},0,{1 + k % 3},{k},600,,vgg16,16,x" for k in range(count)]
        imported(tmp_path / "t.csv", rows(*lines))
        asked.append(sums)
    assert asked[0] == asked[1]
