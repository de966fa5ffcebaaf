"""One run in a process of its own, and each way in which it can fail."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rarmodel.campaigns.supervise import run_in_process, run_on_worker
from rarmodel.campaigns.task import Outcome, Task, Work, canonical_instance, digest
from rarmodel.files import parse_schedule, read_instance
from rarmodel.verifier import verify


def work_of(
    method: str, seconds: float | None = None, memory_mb: float | None = None, version: str = ""
) -> Work:
    """Work on the instance of the working folder."""
    text = canonical_instance(read_instance("one.json"))
    own: dict[str, Any] = {"rarmodel": version} if version else {}
    task = Task(
        instance=digest(text),
        method=method if method == "sjf-bco" else f"campaign_methods:{method}",
        formulation=None,
        solver=None,
        parameters={},
        options={"threads": 1},
        data=None,
        seed=0,
        **own,
    )
    return Work(task.run, task, text, seconds, memory_mb)


def run(work: Work, folder: Path) -> Outcome:
    outcome = run_in_process(work, folder / "work")
    assert outcome
    return outcome


def test_a_run_leaves_result_and_verified_schedule(folder: Path) -> None:
    outcome = run(work_of("sjf-bco", seconds=300, memory_mb=4000), folder)
    assert outcome.failure is None, outcome
    assert outcome.result["makespan"] == 2
    assert outcome.result["verified"] is True
    assert outcome.schedule
    report = verify(read_instance("one.json"), parse_schedule(outcome.schedule))
    assert report.feasible
    assert report.makespan == 2
    assert outcome.versions["rarmodel"]
    assert outcome.versions["numba"]
    assert outcome.peak_memory_mb is None or 10 < outcome.peak_memory_mb < 4000


def test_an_exception_is_recorded(folder: Path) -> None:
    outcome = run(work_of("RAISES"), folder)
    assert outcome.failure == "exception"
    assert outcome.error.startswith("PartError: method 'raises' failed at ")
    assert outcome.error.endswith(": ZeroDivisionError: nothing to divide by")
    assert "campaign_methods.py" in outcome.details
    assert outcome.result == {}


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory on Linux")
def test_a_run_that_takes_too_much_memory_is_recorded(folder: Path) -> None:
    outcome = run(work_of("EXHAUSTS", memory_mb=600), folder)
    assert outcome.failure == "memory"
    assert "MemoryError" in outcome.error
    assert outcome.peak_memory_mb
    assert outcome.peak_memory_mb < 900


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory on Linux")
def test_too_little_memory_to_begin_with_is_recorded(folder: Path) -> None:
    outcome = run(work_of("TURNS", memory_mb=1), folder)
    assert outcome.failure in {"memory", "died"}
    assert outcome.error


def test_a_run_that_takes_too_long_is_ended(folder: Path) -> None:
    outcome = run(work_of("HANGS", seconds=3), folder)
    assert outcome.failure == "time"
    assert outcome.error == "the time limit of 3 s is up"
    assert outcome.process_seconds
    assert outcome.process_seconds >= 3


def test_a_process_that_exits_is_recorded(folder: Path) -> None:
    outcome = run(work_of("EXITS"), folder)
    assert outcome.failure == "died"
    assert outcome.error == "the process ended with exit code 3 and no result"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_process_that_a_signal_kills_is_recorded(folder: Path) -> None:
    outcome = run(work_of("ABORTS"), folder)
    assert outcome.failure == "died"
    assert outcome.error.startswith("the process was killed by signal SIGABRT")


def test_an_error_is_one_line_and_not_long(folder: Path) -> None:
    outcome = run(work_of("SAYS_TOO_MUCH"), folder)
    assert outcome.failure == "exception"
    assert ": ValueError: one two \\udce9 yyy" in outcome.error
    assert outcome.error.isprintable()
    assert len(outcome.error) < 1000
    assert len(outcome.details) < 5000


def test_only_the_end_of_what_a_process_writes_is_kept(folder: Path) -> None:
    outcome = run(work_of("WRITES"), folder)
    assert outcome.error == "the process ended with exit code 4 and no result: last \\x1b[2J"
    assert len(outcome.details) <= 4000


def test_a_thread_that_goes_on_does_not_keep_a_run_from_its_end(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rarmodel.campaigns.supervise.LEAVE_SECONDS", 0.2)
    outcome = run(work_of("LEAVES_A_THREAD"), folder)
    assert (outcome.failure, outcome.result["stopped"]) == (None, "nothing to fail at")


@pytest.mark.parametrize("method", ["READS", "GOES_AWAY"])
def test_a_run_neither_waits_for_input_nor_loses_its_folder(
    folder: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = run_in_process(work_of(method, seconds=60), Path("work"))
    assert outcome
    assert outcome.failure is None, outcome


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_run_that_is_interrupted_has_no_result(folder: Path) -> None:
    outcome = run(work_of("INTERRUPTED"), folder)
    assert outcome.failure == "died"
    assert outcome.error.startswith("the process was killed by signal SIGINT")


def test_another_version_is_refused(folder: Path) -> None:
    outcome = run(work_of("TURNS", version="0.0.1"), folder)
    assert outcome.failure == "exception"
    assert "the campaign has 0.0.1" in outcome.error


def test_a_run_can_be_stopped(folder: Path) -> None:
    asked = []

    def stop() -> bool:
        asked.append(True)
        return len(asked) > 3

    assert run_in_process(work_of("HANGS"), folder / "work", stop) is None


def test_a_worker_needs_no_folder(folder: Path) -> None:
    before = set(folder.iterdir())
    assert run_on_worker(work_of("TURNS")).result["makespan"] == 12
    assert set(folder.iterdir()) == before


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(
    "method",
    [
        "HANGS",
        pytest.param(
            "HOLDS_THE_LOCK",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="the kernel kills on Linux"),
        ),
    ],
)
def test_a_process_ends_with_the_one_that_started_it(folder: Path, method: str) -> None:
    script = (
        "import sys, pathlib; sys.path.insert(0, sys.argv[1])\n"
        "from rarmodel.campaigns.task import Work\n"
        "from rarmodel.campaigns.supervise import run_in_process\n"
        "work = Work.from_json(pathlib.Path('work.json').read_text())\n"
        "run_in_process(work, pathlib.Path('run'))\n"
    )
    Path("work.json").write_text(work_of(method).to_json())
    parent = subprocess.Popen([sys.executable, "-c", script, os.environ["PYTHONPATH"]])
    try:
        deadline = time.monotonic() + 60
        while not (children := _children(parent.pid)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert children
        while not Path("begun").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
    while any(map(_runs, children)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(_runs, children))


def _children(pid: int) -> list[int]:
    listed = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], capture_output=True, check=True)
    pairs = [tuple(map(int, line.split())) for line in listed.stdout.splitlines()]
    return [child for child, parent in pairs if parent == pid]


def _runs(pid: int) -> bool:
    """Whether a process is there, and no zombie that nobody waits for."""
    shown = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, check=False, text=True
    ).stdout.strip()
    return bool(shown) and not shown.startswith("Z")
