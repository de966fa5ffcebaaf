"""No command overwrites what it reads, however it is named, or one output by another."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from rarmodel.cli.commands import rarmodel
from rarmodel.cli.overwriting import OUTPUTS

if TYPE_CHECKING:
    from invocation import Invoke

COMMANDS = [
    "solve F --output F",
    "simulate F --policy fifo --output F",
    "formulate F --formulation time-indexed --output F",
    "solve other --formulation time-indexed --data F --output F",
    "import F --servers 1 --gpus-per-server 1 --output F",
    "import other --cluster F --output F",
    "import other --slurm-conf F --output F",
    "import other --slurm-conf other --slurm-topology F --output F",
    "calibrate F --output F",
    "calibrate F --plot F",
    "calibrate --nccl-tests F --output F",
    "calibrate other --instance F --output F",
    "plot F other --output F",
    "plot other x F --output F",
    "report other F --output F",
    "instances improve F --output F",
    "campaign report F --output F",
    "slurm read --profiles F --output F",
    "slurm read --cluster F --output F",
    "slurm plan F --output F",
    "slurm plan F --plot F",
    "slurm apply F --script F",
    "kubernetes read --from F --output F",
    "kubernetes read --from other --profiles F --output F",
    "testbed run F --output F",
    "testbed play F other --output F",
    "testbed play other F --output F",
]
LINKS = ["same", "dotted", "absolute", "symbolic", "hard"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "F").write_text("kept", encoding="utf-8")
    (tmp_path / "other").write_text("other", encoding="utf-8")
    return tmp_path


def _linked(link: str) -> str:
    if link == "symbolic":
        Path("linked").symlink_to("F")
    if link == "hard":
        os.link("F", "linked")
    return {"same": "F", "dotted": "./F", "absolute": str(Path("F").absolute())}.get(link, "linked")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("link", ["same", "hard"])
def test_what_is_read_is_not_written(invoke: Invoke, folder: Path, command: str, link: str) -> None:
    *words, _ = command.split()
    output = _linked(link)
    outcome = invoke(*words, output)
    assert outcome.code == 2
    (line,) = outcome.lines
    assert line.startswith(f"{output}: ")
    assert "reads it" in line
    assert words[-1] in line
    assert (folder / "F").read_text("utf-8") == "kept"


@pytest.mark.parametrize("link", LINKS)
def test_links_and_spellings_hide_nothing(invoke: Invoke, folder: Path, link: str) -> None:
    output = _linked(link)
    outcome = invoke("solve", "F", "--output", output)
    assert outcome.code == 2
    assert outcome.lines == [
        f"{output}: INSTANCE reads it, so --output cannot write it; name another file"
    ]
    assert (folder / "F").read_text("utf-8") == "kept"


def test_a_file_on_standard_input_is_one_that_is_read(folder: Path) -> None:
    with Path("F").open("rb") as content:
        done = subprocess.run(
            [sys.executable, "-m", "rarmodel", "solve", "-", "--output", "F"],
            stdin=content,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert "INSTANCE reads it" in done.stderr
    assert (folder / "F").read_text("utf-8") == "kept"


@pytest.mark.parametrize(
    "command",
    [
        "calibrate F --output new.png --plot ./new.png",
        "slurm plan F --output new.svg --plot new.svg",
    ],
)
def test_two_outputs_are_two_files(invoke: Invoke, folder: Path, command: str) -> None:
    outcome = invoke(*command.split())
    assert outcome.code == 2
    assert "would both write it" in outcome.lines[0]
    assert sorted(path.name for path in folder.iterdir()) == ["F", "other"]


@pytest.mark.parametrize(
    ("command", "read"),
    [
        ("slurm read --from D --record D", "D"),
        ("slurm read --from D --output D/job.txt", "D/job.txt"),
        ("slurm plan --from D --output D/job.txt", "D/job.txt"),
        ("kubernetes read --from D --output D/1.schedule.json", "D/1.schedule.json"),
        ("campaign export D --output D/ledger.sqlite", "D/ledger.sqlite"),
        ("campaign report D --output D/schedules/1.json", "D/schedules/1.json"),
        ("instances improve D --output D/1.schedule.json", "D/1.schedule.json"),
    ],
)
def test_what_is_read_in_a_folder_is_not_written(
    invoke: Invoke, folder: Path, command: str, read: str
) -> None:
    for name in ("job.txt", "ledger.sqlite", "schedules/1.json", "1.schedule.json"):
        path = folder / "D" / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text("kept", encoding="utf-8")
    outcome = invoke(*command.split())
    assert outcome.code == 2
    assert "reads it" in outcome.lines[0]
    assert outcome.lines[0].startswith(f"{read}: ")
    for path in (folder / "D").rglob("*.*"):
        assert path.read_text("utf-8") == "kept"


def test_names_beside_a_model_count(invoke: Invoke, folder: Path) -> None:
    (folder / "model.row").write_text("kept", encoding="utf-8")
    outcome = invoke(
        *("formulate", "model.row", "--formulation", "rar-ddls", "--output", "model.nl")
    )
    assert (outcome.code, outcome.lines[0].split(":")[0]) == (2, "model.row")


def test_devices_and_other_files_are_no_concern(
    invoke: Invoke, instance_file: Path, folder: Path
) -> None:
    solve = ("solve", instance_file, "--method", "first-fit", "--output")
    assert invoke(*solve, folder / "schedule.json").code == 0
    assert invoke(*solve, folder / "schedule.json").code == 0  # It was not read.
    assert invoke(*solve, os.devnull).code == 0


def _options(command: click.Command) -> Iterator[click.Option]:
    yield from (one for one in command.params if isinstance(one, click.Option))
    for inner in getattr(command, "commands", {}).values():
        yield from _options(inner)


def test_every_option_that_writes_is_known() -> None:
    writing = {
        str(option.name)
        for option in _options(rarmodel)
        if {"FILE", "DIR"} & {option.metavar or ""}
        and (option.help or "").startswith(("Write", "Draw", "Plot", "Keep", "Folder for"))
    }
    assert writing
    assert writing <= OUTPUTS
