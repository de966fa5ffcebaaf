"""Tables of scores: a trial of a rung waits for all of the rung before; all errors at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rarmodel
from rarmodel.errors import InputError
from rarmodel.workloads import Imported

HEADER = "trial,rung,score,gpus,seconds,model\n"
TABLE = HEADER + (
    "a,0,0.61,2,600,resnet50\n"
    "b,0,-0.3,2,600,resnet50\n"
    "c,0,0.58,2,660,resnet50\n"
    "a,1,0.70,2,1200,resnet50\n"
    "c,1,0.72,2,1200,resnet50\n"
    "c,2,0.75,2,2400,resnet50\n"
)


def read(path: Path, text: str, **options: Any) -> Imported:
    (path / "scores.csv").write_text(text, encoding="utf-8")
    return rarmodel.import_trace(
        path / "scores.csv", servers=2, gpus_per_server=4, seed=0, **options
    )


def test_rungs_wait_for_each_other(tmp_path: Path) -> None:
    instance, account = read(tmp_path, TABLE)
    assert account.gpu_hours_recorded == 2 * (600 + 600 + 660 + 1200 + 1200 + 2400) / 3600
    assert {job.name: job.after for job in instance.jobs} == {
        **dict.fromkeys(["rung0-triala", "rung0-trialb", "rung0-trialc"], ()),
        "rung1-triala": ("rung0-triala", "rung0-trialb", "rung0-trialc"),
        "rung1-trialc": ("rung0-triala", "rung0-trialb", "rung0-trialc"),
        "rung2-trialc": ("rung1-triala", "rung1-trialc"),
    }
    assert {job.size for job in instance.jobs} == {2}
    found = rarmodel.solve(instance, formulation="time-indexed", time_limit=30)
    assert (found.makespan, found.status) == (11 + 20 + 40, "optimal")


def test_rows_of_several_sweeps_are_apart(tmp_path: Path) -> None:
    rows = ["x,a,0", "x,b,0", "y,a,0", "y,a,1", "x,b,1"]
    text = "sweep,trial,rung,score\n" + "".join(f"{row},0.5\n" for row in rows)
    found = read(tmp_path, text, default_seconds=600.0)
    after = {job.name: job.after for job in found.instance.jobs}
    assert after["x-rung1-trialb"] == ("x-rung0-triala", "x-rung0-trialb")
    assert after["y-rung1-triala"] == ("y-rung0-triala",)
    assert "no number of GPUs; a trial has one" in {note.reason for note in found.account.notes}
    (only,) = {
        job.name.partition("-")[0]
        for job in read(tmp_path, text, default_seconds=600.0, group="y").instance.jobs
    }
    assert only == "y"


def test_a_rung_without_jobs_is_no_rung(tmp_path: Path) -> None:
    text = TABLE.replace("a,1,0.70,2,", "a,1,0.70,9,").replace("c,1,0.72,2,", "c,1,0.72,9,")
    jobs = {job.name: job for job in read(tmp_path, text).instance.jobs}
    assert "rung1-trialc" not in jobs
    assert jobs["rung2-trialc"].after == ("rung0-triala", "rung0-trialb", "rung0-trialc")


def test_all_errors_of_a_table_are_told_at_once(tmp_path: Path) -> None:
    text = HEADER + (
        "a,0,0.61,2,600,resnet50\n"
        ",0,0.5,2,600,resnet50\n"
        "b,0.5,0.5,2,600,resnet50\n"
        "c,0,good,2,600,resnet50\n"
        "a,0,0.7,2,600,resnet50\n"
        "d,2,0.7,2,600,resnet50\n"
    )
    with pytest.raises(InputError) as error:
        read(tmp_path, text)
    lines = [f"{one.place}: {one.message}" for one in error.value.problems]
    assert lines == [
        "line 3, column 'trial': empty; the name of a trial is expected",
        "line 4, column 'rung': 0.5; a whole number is expected",
        "line 5, column 'score': 'good'; a finite number is expected",
        "line 6: trial 'a' is in rung 0 already in line 2",
        "line 7: trial 'd' is in rung 2 and not in rung 1",
    ]


def test_rows_that_contradict_each_other_cannot_be_skipped(tmp_path: Path) -> None:
    text = HEADER + "a,0,0.6,2,600,resnet50\na,2,0.7,2,600,resnet50\n"
    with pytest.raises(InputError, match="rung 2 and not in rung 1"):
        read(tmp_path, text, skip_invalid=True)
