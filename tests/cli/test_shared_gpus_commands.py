"""Every command on an instance whose jobs share GPUs: it works, or one line names the field."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from documents import assignment_data, instance_data, job_data, schedule_data

from rarmodel.cli.commands import rarmodel

if TYPE_CHECKING:
    from invocation import Invoke

SHARED = "shared GPUs (jobs[0].slices)"

WORKING: dict[str, Sequence[Any]] = {
    "solve": ["solve", "I", "--iterations", 1],
    "solve, objective": ["solve", "I", "--iterations", 1, "--objective", "late-jobs,cost"],
    "solve by a rule": ["solve", "I", "--method", "fifo-backfill"],
    "compare": ["compare", "I", "--time-limit", 0.1],
    "slurm plan": ["slurm", "plan", "I", "--iterations", 1],
    "solve exactly": ["solve", "I", "--formulation", "time-indexed", "--time-limit", 9],
    "formulate": ["formulate", "I", "--formulation", "time-indexed", "--output", "model.lp"],
    "describe": ["describe", "I", "--jobs"],
    "describe --json": ["describe", "I", "--json", "--jobs"],
    "verify": ["verify", "I", "S"],
    "verify --json": ["verify", "I", "S", "--json"],
    "simulate": ["simulate", "I", "--policy", "fifo"],
    "plot": ["plot", "I", "S", "--output", "plot.svg"],
    "report": ["report", "I", "S", "--output", "report.html"],
}
REFUSING: dict[str, Sequence[Any]] = {
    "solve by a policy": ["solve", "I", "--method", "first-fit"],
    "solve exactly": ["solve", "I", "--formulation", "busy-time", "--time-limit", 9],
    "formulate": ["formulate", "I", "--formulation", "busy-time", "--output", "model.lp"],
    "simulate by a policy that cannot": ["simulate", "I", "--policy", "gavel-max-min"],
    "audit": ["audit", "I"],
}
ELSEWHERE = {
    *("calibrate", "campaign", "check", "generate", "import", "instances", "kubernetes"),
    *("frontier", "import-requests", "list", "schema", "testbed", "what-if"),
}
"""Commands that take no such file, or that have tests below or in their own files."""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An instance I and a schedule S: two jobs on one GPU, and one that has its GPU alone."""
    monkeypatch.chdir(tmp_path)
    part = {"slices": 1, "memory_gb": 10}
    data = instance_data(
        job_data("a", 2, 20, **part), job_data("b", **part), job_data("c"), horizon=99
    )
    data["cluster"] |= {"gpu_slices": 2, "gpu_memory_gb": 20}
    plan = schedule_data(
        assignment_data("a", 0, s0=[0, 1]),
        assignment_data("b", 0, s0=[1]),
        assignment_data("c", 0, s1=[0]),
    )
    Path("I").write_text(json.dumps(data), encoding="utf-8")
    Path("S").write_text(json.dumps(plan), encoding="utf-8")


def test_every_command_is_tested() -> None:
    tested = {str(command[0]) for command in (*WORKING.values(), *REFUSING.values())}
    assert tested | ELSEWHERE == set(rarmodel.commands)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("command", WORKING)
def test_commands_that_look_at_schedules_work(command: str, invoke: Invoke) -> None:
    if command in {"plot", "report"}:
        pytest.importorskip("altair")
    outcome = invoke(*WORKING[command])
    assert outcome.code == 0, outcome.err
    assert outcome.err == ""


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("command", REFUSING)
def test_commands_that_make_schedules_name_the_field(command: str, invoke: Invoke) -> None:
    outcome = invoke(*REFUSING[command])
    assert outcome.code == 2
    (line,) = outcome.lines
    assert f" does not handle {SHARED}" in line


@pytest.mark.usefixtures("files")
def test_compare_says_what_it_skips(invoke: Invoke) -> None:
    outcome = invoke("compare", "I", "--time-limit", 0.1)
    assert f"do not handle {SHARED}" in outcome.out + outcome.err


@pytest.mark.usefixtures("files")
def test_describe_tells_slices_and_memory(invoke: Invoke) -> None:
    outcome = invoke("describe", "I")
    assert "2 jobs with 1 of 2 slices" in outcome.out
    assert "2 jobs with 10 GB of 20" in outcome.out
    data = json.loads(invoke("describe", "I", "--json", "--jobs").out)
    # a holds half of 2 GPUs for 2 slots, b half of one for a slot, and c one for a slot.
    assert [job["least_area"] for job in data["each_job"]] == [2, 0.5, 1]


@pytest.mark.usefixtures("files")
def test_a_certificate_is_written_and_checked(invoke: Invoke) -> None:
    invoke("solve", "I", "--method", "fifo-backfill", "--certificate", "c.json")
    outcome = invoke("check", "I", "c.json")
    assert outcome.code == 0
    assert all(line.startswith("proven: ") for line in outcome.out.splitlines())
