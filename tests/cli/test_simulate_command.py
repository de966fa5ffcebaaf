"""`rarmodel simulate`, `policies` and `placements`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from by_hand import worked

from rarmodel.files import to_json

if TYPE_CHECKING:
    from invocation import Invoke

JOBS = [{"slots": 4, "gpus": 3}, {"slots": 2, "gpus": 4}, {"slots": 3, "gpus": 1}]


@pytest.fixture
def instance(tmp_path: Path) -> Path:
    path = tmp_path / "instance.json"
    path.write_text(to_json(worked(JOBS)))
    return path


def test_one_policy_gives_an_object_and_several_a_list(invoke: Invoke, instance: Path) -> None:
    one = invoke("simulate", instance, "--policy", "fifo", "--json")
    assert (one.code, one.json()["policy"], one.json()["makespan"]) == (0, "fifo", 9)
    two = invoke("simulate", instance, "--policy", "fifo,fifo-backfill", "--json")
    assert [row["makespan"] for row in two.json()] == [9, 6]


def test_schedule_is_written_and_the_verifier_accepts_it(
    invoke: Invoke, instance: Path, tmp_path: Path
) -> None:
    output = tmp_path / "played.json"
    assert invoke("simulate", instance, "--policy", "srtf", "--output", output).code == 0
    assert json.loads(output.read_text())["method"] == "srtf"
    assert invoke("verify", instance, output).code == 0


def test_guarantees_hold_unless_the_user_does_without(invoke: Invoke, tmp_path: Path) -> None:
    jobs: list[dict[str, Any]] = [
        {"slots": 9, "gpus": 4},
        {"slots": 2, "gpus": 2, "tenant": "x", "release": 1},
    ]
    path = tmp_path / "instance.json"
    tenants = [{"name": "x", "guaranteed": 2}]
    path.write_text(to_json(worked(jobs, restore=0, tenants=tenants)))
    found = invoke("simulate", path, "--policy", "fifo", "--json").json()
    assert (found["preemptions"], found["tenants"]["x"]["mean_flow"]) == (1, 2)
    found = invoke("simulate", path, "--policy", "fifo", "--no-reclaim", "--json").json()
    assert (found["preemptions"], found["tenants"]["x"]["mean_flow"]) == (0, 10)


def test_missed_deadline_exits_with_1(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "late.json"
    path.write_text(to_json(worked([{"slots": 3}, {"slots": 3, "deadline": 5}], servers=[1])))
    found = invoke("simulate", path, "--policy", "fifo", "--json")
    assert (found.code, found.json()["verified"]) == (1, False)
    assert found.lines[-1] == "fifo: job 'b' completes at slot 6, past its deadline 5"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--policy", "fifo,las", "--output", "x.json"], "--output takes the schedule of one"),
        (["--policy", "fif"], "no policy 'fif'; choose one of"),
        (["--policy", "fifo", "--placement", "nowhere"], "no placement 'nowhere'; choose one of"),
        (["--policy", "optimus"], "policy 'optimus' chooses ring sizes, and no job"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    invoke: Invoke, instance: Path, arguments: list[str], line: str
) -> None:
    found = invoke("simulate", instance, *arguments)
    assert found.code == 2
    assert found.lines[-1].startswith(line)


def test_policies_and_placements_are_listed(invoke: Invoke) -> None:
    assert "srtf" in [row["name"] for row in invoke("list", "policies", "--json").json()]
    assert [
        row["name"] for row in invoke("list", "placements", "--json").json() if row["default"]
    ] == ["consolidate"]
    assert "consolidate" in invoke("list", "placements").out
