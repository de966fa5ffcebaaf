"""The table of a plan: names, users, folded nodes, who waits longer; and what is told of users."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from recorded_slurm import Replayed, changed

from rarmodel import slurm
from rarmodel.cli import main
from rarmodel.slurm.host_lists import folded

RECORDED = Path(__file__).parent / "recorded"


def run(monkeypatch: pytest.MonkeyPatch, command: list[str]) -> object:
    """The exit code of a command."""
    monkeypatch.setattr(sys, "argv", ["rarmodel", *command])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["node1", "node2", "node3"], "node[1-3]"),
        (["node1"], "node1"),
        (["node1", "node3", "node4"], "node[1,3-4]"),
        (["gpu01", "gpu02", "gpu10"], "gpu[01-02], gpu10"),
        (["r1n1", "r1n2", "r2n1"], "r1n[1-2], r2n1"),
        (["a-1-ib", "a-2-ib", "login"], "a-[1-2]-ib, login"),
        ([], ""),
    ],
)
def test_nodes_are_folded_as_slurm_does(names: list[str], told: str) -> None:
    assert folded(names) == told


def test_users_names_and_who_waits_longer_are_told(queue: Replayed) -> None:
    outputs = changed(queue.outputs, "5", UserId="bob(1001)", JobName="train")
    made = slurm.plan(slurm.read(run=Replayed(outputs)), iterations=50, threads=1)
    planned = {one.job: one for one in made.jobs}
    assert planned["5"].name == "train"
    assert planned["5"].user == "bob"
    longer = made.waiting_longer()
    for one in made.jobs:
        assert one.by_slurm is not None
        assert (one.start > one.by_slurm) == (one.job in longer)
    by_user = made.by_user()
    assert set(by_user) == {"bob", *(one.user for one in made.jobs)}
    less = [one for one in made.jobs if one.user == "bob"]
    assert by_user["bob"] == pytest.approx(
        sum(60.0 * ((one.by_slurm or 0) - one.start) for one in less) / len(less)
    )
    assert "bob" in made.lines()["mean wait by user"]
    told = made.summary()
    assert told["waiting_longer"] == longer
    assert told["seconds_less_by_user"] == by_user
    (row,) = [one for one in made.rows() if one["job"] == "5"]
    assert row["name"] == "train"


def test_pictures_have_slurms_names(queue: Replayed) -> None:
    outputs = changed(queue.outputs, "5", JobName="train")
    made = slurm.plan(slurm.read(run=Replayed(outputs)), iterations=20, threads=1)
    instance, schedules = made.named()
    assert "5 train" in {job.name for job in instance.jobs}
    names = {job.name for job in instance.jobs}
    for schedule in schedules:
        assert {one.job for one in schedule.assignments} == names
    assert {one for job in instance.jobs for one in job.after} <= names


def test_a_page_that_cannot_be_made_is_refused_before_planning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> object:
        raise AssertionError("planned")

    monkeypatch.setattr("rarmodel.slurm.plan", fail)
    page = str(tmp_path / "page.html")
    command = ["slurm", "plan", "--from", str(RECORDED / "tiers"), "--plot", page]
    assert run(monkeypatch, command) == 2
    assert "claims none" in capsys.readouterr().err


def test_a_watch_logs_what_it_tells(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def watch(*, tell: object, **_: object) -> None:
        assert callable(tell)
        tell("2026-11-28T14:00:00Z scontrol release 5")

    monkeypatch.setattr("rarmodel.slurm.watch", watch)
    log = tmp_path / "watch.log"
    for _ in range(2):
        command = ["slurm", "watch", "--log", str(log), "--json"]
        assert run(monkeypatch, command) == 0
    told = [json.loads(line) for line in log.read_text().splitlines()]
    assert told == [{"time": "2026-11-28T14:00:00Z", "text": "scontrol release 5"}] * 2
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == told


def test_jobs_without_a_profile_are_counted_in_the_plan() -> None:
    made = slurm.plan(slurm.read(RECORDED / "types"), iterations=20, threads=1)
    assert set(made.assumed) <= {"6", "7", "8", "12", "14"}
    assert made.lines()["no profile"].startswith(f"{len(made.assumed)} jobs")
    assert made.summary()["no_profile"] == [*made.assumed]
