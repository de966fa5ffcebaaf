"""The commands of `rarmodel slurm` on recorded outputs."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

import pytest

from rarmodel.cli import main

RECORDED = Path(__file__).parent / "recorded"
QUEUE = ["--from", str(RECORDED / "queue")]


@pytest.fixture(autouse=True)
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is said of compilation."""
    monkeypatch.setattr(logging.getLogger("rarmodel"), "disabled", True)


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["rarmodel", "slurm", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        main()
    assert isinstance(end.value.code, int)
    return end.value.code


def test_from_a_queue_to_a_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    instance, schedule = tmp_path / "queue.json", tmp_path / "plan.json"
    assert run(monkeypatch, "read", *QUEUE, "--output", instance, "--slot-seconds", 30) == 0
    assert "9 held and marked" in capsys.readouterr().out
    assert json.loads(instance.read_text())["time"]["slot_seconds"] == 30
    planning = ["--iterations", 20, "--threads", 1]
    assert run(monkeypatch, "plan", *QUEUE, *planning, "--output", schedule) == 0
    assert "less waiting on average" in capsys.readouterr().out
    assert run(monkeypatch, "apply", schedule, *QUEUE) == 0
    said = capsys.readouterr()
    assert said.out.count("scontrol update jobid=") == 18
    assert said.out.count("scontrol release ") == 9
    assert "not touched: 1 waiting ('13')" in said.err
    assert run(monkeypatch, "plan", instance, *planning, "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["jobs"]) == 9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["read", "--from", "nowhere"], "nowhere/job.txt: cannot be read"),
        (["read", *QUEUE, "--partition", "gpu"], "no partition 'gpu'; Slurm has main"),
        (["plan", "x.json", *QUEUE], "INSTANCE and --from exclude each other"),
        (["plan", *QUEUE, "--plot", "plan.gif"], "ends in .png, .svg, .pdf or .html"),
        (["watch", "--every", "soon"], "a length of time such as 30s or 5min is expected"),
        (["read", *QUEUE, "--profiles", "nowhere.json"], "nowhere.json: cannot be read"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, *arguments) == 2
    assert message in capsys.readouterr().err


def test_without_slurm_the_cure_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    assert run(monkeypatch, "read") == 2
    assert "scontrol is not installed here; run rarmodel where" in capsys.readouterr().err


def test_profiles_name_every_fault_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = tmp_path / "rules.json"
    faulty = {"profiles": [{"name": "a", "profile": {"second": 1.0}}, {"profile": {"model": "x"}}]}
    rules.write_text(json.dumps(faulty))
    assert run(monkeypatch, "read", *QUEUE, "--profiles", rules) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert "profiles[0].profile.second: unknown field" in first
    assert "profiles[1].profile.model: no profile of model 'x'" in second


def test_the_way_back_is_written_beside_the_script_and_never_over_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, "plan", *QUEUE, "--iterations", 20, "--output", "plan.json") == 0
    capsys.readouterr()
    assert run(monkeypatch, "apply", "plan.json", *QUEUE, "--script", "go.sh") == 0
    assert "the way back: go.undo.sh" in capsys.readouterr().err
    first = Path("go.undo.sh").read_text()
    assert first.count("scontrol uhold ") == 9
    assert run(monkeypatch, "apply", "plan.json", *QUEUE, "--script", "go.sh") == 0
    assert "the way back: go.undo-2.sh" in capsys.readouterr().err
    assert Path("go.undo.sh").read_text() == Path("go.undo-2.sh").read_text() == first
    assert run(monkeypatch, "apply", "plan.json", *QUEUE, "--undo", "back.sh") == 0
    assert Path("back.sh").read_text() == first
    assert run(monkeypatch, "apply", "plan.json", *QUEUE, "--undo", "no/where.sh") == 2
    assert "no/where.sh" in capsys.readouterr().err


def test_no_picture_claims_a_bound_that_the_plan_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    halls = ["--from", str(RECORDED / "two-trees"), "--iterations", 20, "--threads", 1]
    assert run(monkeypatch, "plan", *halls, "--plot", tmp_path / "plan.svg") == 0
    assert capsys.readouterr().out.startswith("rarmodel chose a tree of switches")
    drawn = (tmp_path / "plan.svg").read_text()
    assert "no schedule has less" not in drawn
    assert run(monkeypatch, "plan", *halls, "--plot", tmp_path / "plan.html") == 2
    assert "a page tells a gap" in capsys.readouterr().err
    assert not (tmp_path / "plan.html").exists()
    calm = [*QUEUE, "--iterations", 20, "--threads", 1]
    assert run(monkeypatch, "plan", *calm, "--plot", tmp_path / "calm.svg") == 0
    drawn = (tmp_path / "calm.svg").read_text()
    assert "no schedule has less" in drawn
    assert "The mean wait falls by" in drawn
