"""Each trace format: recognised by its columns, and every row read as its source means it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from traces import FIXTURES, SCHEMA, imported, jobs_of, reasons, rows, seconds_of

import rarmodel
from rarmodel.errors import InputError, UsageError
from rarmodel.workloads import FORMATS

HELIOS = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration"


def test_philly_has_gpus_seconds_and_virtual_clusters(tmp_path: Path) -> None:
    found = imported(FIXTURES / "philly.csv", group="2869ce")
    assert (found.account.format, found.account.rows, found.account.used) == ("philly", 12, 12)
    jobs = jobs_of(found.instance)
    assert list(jobs)[:2] == ["line8", "line11"]  # 10:17:07 and 10:17:28 on the 3rd
    assert jobs["line8"].gpus == 32
    assert seconds_of(found.instance)["line8"] == 54900  # 54887 s in minutes
    assert "CC-BY-4.0" in (found.instance.description or "")


def test_muri_has_milliseconds_models_and_batches(tmp_path: Path) -> None:
    found = imported(FIXTURES / "muri.csv", slot_seconds=1.0)
    assert (found.account.format, found.account.used, found.account.notes) == ("muri", 8, ())
    job = jobs_of(found.instance)["5"]
    assert (job.size, job.gradient_mb, job.batch_size) == (8, 553.43, 16)
    forward, backward = job.milliseconds()
    assert forward * 16 + backward == pytest.approx(75)
    assert seconds_of(found.instance) == {
        "0": 927475,
        "1": 926133,
        "2": 575169,
        "3": 842781,
        "4": 557,
        "5": 4249,
        "6": 4207,
        "7": 4059,
    }


def test_gavel_has_no_header_and_steps_instead_of_durations() -> None:
    found = imported(FIXTURES / "gavel.trace", slot_seconds=10.0)
    assert (found.account.format, found.account.rows, found.account.used) == ("gavel", 8, 8)
    assert reasons(found.account.notes) == {"duration from iterations and profile": 8}
    jobs = jobs_of(found.instance)
    assert jobs["line1"].batch_size == 128
    # 19,605 steps of 183.62 ms, and 16,978 of 400.52 ms.
    assert seconds_of(found.instance)["line1"] == 3600
    assert seconds_of(found.instance)["line5"] == 6800


def test_gavel_steps_are_summed_over_the_gpus(tmp_path: Path) -> None:
    line = "LM (batch size 40)\tpython main.py\tlm\t--steps\t1\t2000000\t4\t1\t-1.0\t0\n"
    found = imported(tmp_path / "t.trace", line, slot_seconds=1.0)
    # With 4 GPUs an iteration of all takes 41.65 ms.
    assert list(seconds_of(found.instance).values()) == [20825]


def test_tiresias_has_seconds() -> None:
    found = imported(FIXTURES / "tiresias.csv", slot_seconds=1.0)
    assert (found.account.format, found.account.used, found.account.notes) == ("tiresias", 7, ())
    assert seconds_of(found.instance) == {
        "0": 164, "1": 147, "2": 127, "3": 121, "4": 121, "5": 138, "6": 121
    }  # fmt: skip


def test_helios_and_acme(tmp_path: Path) -> None:
    text = rows(
        "7,u,vcA,4,8,1,COMPLETED,2020-04-01 00:00:10,2020-04-01 00:01:00,2020-04-01 01:01:00,3600",
        "8,u,vcB,0,8,1,COMPLETED,2020-04-01 00:00:20,2020-04-01 00:01:00,2020-04-01 01:01:00,3600",
        header=HELIOS,
    )
    found = imported(tmp_path / "helios.csv", text)
    assert found.account.format == "helios"
    assert reasons(found.account.left_out) == {"no GPU": 1}
    assert seconds_of(found.instance) == {"7": 3600}
    text = rows(
        "x,u,1,8,96,Pretrain,COMPLETED,2023-03-01 00:18:41+08:00,,,600,normal,4800",
        header="job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,"
        "duration,queue,gpu_time",
    )
    found = imported(tmp_path / "acme.csv", text, group="Pretrain")
    assert (found.account.format, found.account.used) == ("acme", 1)


def test_alibaba_multiplies_gpus_by_workers_and_explains_parts_of_a_gpu(tmp_path: Path) -> None:
    text = rows(
        "a,org,A100,8,4,2,100,900,HP",
        "b,org,A100,8,0.5,1,200,900,Spot",
        header="job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,"
        "duration,job_type",
    )
    found = imported(tmp_path / "ali.csv", text)
    assert found.account.format == "alibaba-spot"
    assert jobs_of(found.instance)["a"].gpus == 8
    assert reasons(found.account.left_out) == {"a part of a GPU": 1}


def test_sacct_has_allocated_gpus_and_steps_are_no_jobs(tmp_path: Path) -> None:
    text = (
        "JobID|JobName|Partition|State|Submit|ElapsedRaw|AllocTRES\n"
        "11|train|gpu|COMPLETED|2024-05-01T10:00:00|3600|billing=8,cpu=8,gres/gpu=8,node=1\n"
        "11.batch|batch||COMPLETED|2024-05-01T10:00:00|3600|cpu=8,gres/gpu=8\n"
        "12_3|typed|gpu|CANCELLED by 7|2024-05-01T09:00:00|600|gres/gpu:a100=2,gres/gpu:t4=1\n"
        "13|wait|gpu|PENDING|2024-05-01T11:00:00|0|\n"
        "14|now|gpu|RUNNING|2024-05-01T11:00:00|50|gres/gpu=1\n"
        "17|held|gpu|SUSPENDED|2024-05-01T11:00:00|50|gres/gpu=1\n"
        "15|cpu|cpu|COMPLETED|2024-05-01T11:00:00|50|cpu=4\n"
        "16|short|gpu|FAILED|2024-05-01T11:00:00|0|gres/gpu=1\n"
    )
    found = imported(tmp_path / "sacct.txt", text)
    assert (found.account.format, found.account.rows) == ("sacct", 8)
    assert [(job.name, job.size) for job in found.instance.jobs] == [("12_3", 3), ("11", 8)]
    assert seconds_of(found.instance) == {"12_3": 600, "11": 3600}
    assert reasons(found.account.left_out) == {
        "a step of a job, which has a row of its own": 1,
        "it never started": 1,
        "it was still running": 2,
        "no GPU": 1,
        "a duration of 0": 1,
    }


@pytest.mark.parametrize(
    ("gres", "elapsed", "gpus", "seconds"),
    [
        ("gpu:2", "01:00:00", 2, 3600),
        ("gpu:v100:4(S:0-1),nvme:1", "1-00:00:00", 4, 86400),
        ("gres:gpu:1,gres:gpu:tesla:2", "10:00.500", 3, 600),
        ("gpu", "05:00", 1, 300),
    ],
)
def test_older_sacct_has_gres_and_times_of_day(
    tmp_path: Path, gres: str, elapsed: str, gpus: int, seconds: int
) -> None:
    text = f"JobID|State|Elapsed|AllocGRES|\n5|COMPLETED|{elapsed}|{gres}|\n"
    found = imported(tmp_path / "sacct.txt", text)
    assert jobs_of(found.instance)["5"].gpus == gpus
    assert seconds_of(found.instance) == {"5": seconds}


@pytest.mark.parametrize("text", ["gres/gpu=x", "gres/gpu="])
def test_allocation_without_a_number_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"line 2, column 'AllocTRES': .* a number of GPUs"):
        imported(tmp_path / "s.txt", f"JobID|ElapsedRaw|AllocTRES\n5|60|{text}\n")


def test_any_other_file_comes_through_a_mapping_of_columns(tmp_path: Path) -> None:
    text = "id;cards;ran;when;net\na;2;1800000;2024-01-01 00:00:00;vgg16\n"
    columns = {
        "name": "id", "gpus": "cards", "duration": "ran:ms", "submit": "when", "model": "net"
    }  # fmt: skip
    found = imported(tmp_path / "mine.csv", text, columns=columns)
    assert found.account.format == "columns"
    job = jobs_of(found.instance)["a"]
    assert (job.size, job.gradient_mb) == (2, 553.43)
    assert seconds_of(found.instance) == {"a": 1800}


def test_duration_is_the_difference_of_start_and_end(tmp_path: Path) -> None:
    text = "g,from,to\n1,2024-01-01 00:00:00,2024-01-01 01:00:00\n"
    columns = {"gpus": "g", "start": "from", "end": "to"}
    assert list(seconds_of(imported(tmp_path / "m.csv", text, columns=columns)[0]).values()) == [
        3600
    ]
    with pytest.raises(InputError, match=r"line 2, column 'to': .* must not be before the start"):
        imported(tmp_path / "m.csv", "g,from,to\n1,100,50\n", columns=columns)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": {"gpus": "a", "colour": "b"}}, "no field colour; choose from name, gpus"),
        ({"columns": {"duration": "b"}}, "a column for gpus is needed"),
        ({"columns": {"gpus": "a", "start": "b"}}, "give both start and end"),
        ({"form": "nope"}, "no format 'nope'; choose one of rarmodel, philly"),
        ({"form": "muri", "columns": {"gpus": "a"}}, "a format and columns exclude each other"),
    ],
)
def test_impossible_formats_are_refused(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        imported(tmp_path / "t.csv", rows("0,0,1,0,60,,,,"), **options)


def test_format_can_be_named(tmp_path: Path) -> None:
    text = rows("1,1,0,60,vgg16,60,30", header="job_id,num_gpu,submit_time,iterations,model_name,"
                "duration,interval")  # fmt: skip
    assert imported(tmp_path / "t.csv", text, form="tiresias").account.format == "tiresias"
    with pytest.raises(
        InputError, match=r"line 1: column 'iteration_time' is missing; format muri"
    ):
        imported(tmp_path / "t.csv", text, form="muri")


def test_column_more_than_a_format_needs_does_no_harm(tmp_path: Path) -> None:
    text = rows("0,0,1,0,60,,,,,red", header=f"{SCHEMA},colour")
    assert imported(tmp_path / "t.csv", text).account.used == 1


def test_every_format_has_a_test_in_this_folder() -> None:
    text = "".join(
        path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py")
    )
    assert [name for name in FORMATS if f'"{name}' not in text and name != "rarmodel"] == []
    assert rarmodel.workloads.FORMATS is FORMATS
