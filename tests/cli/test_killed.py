"""What SIGTERM leaves: nothing, and the exit code of a process that it has killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rarmodel.cli.process import KilledError, killable

pytestmark = pytest.mark.skipif(os.name == "nt", reason="sends SIGTERM to another process")

HARD = """\
import random
import sys

import pyomo.environ as pyo

from rarmodel import registry
from rarmodel.cli.process import killable
from rarmodel.limits import Limits

# A market split problem: solvers of integer programs take hours.
draw = random.Random(1)
rows, columns = range(6), range(50)
weights = [[draw.randrange(100) for _ in columns] for _ in rows]
model = pyo.ConcreteModel()
model.x = pyo.Var(columns, domain=pyo.Binary)
model.off = pyo.Var(rows, domain=pyo.Integers, bounds=(0, 5000))
model.under = pyo.Var(rows, domain=pyo.Integers, bounds=(0, 5000))
model.split = pyo.Constraint(
    rows,
    rule=lambda m, i: sum(weights[i][j] * m.x[j] for j in columns) + m.under[i] - m.off[i]
    == sum(weights[i]) // 2,
)
model.objective = pyo.Objective(expr=sum(model.off[i] + model.under[i] for i in rows))
with killable():
    registry.find("solvers", sys.argv[1]).solve(
        model, Limits(time_limit=300, progress=lambda *_: print("solving", flush=True))
    )
print("not killed")
"""


def _wait_for(what: Callable[[], bool], seconds: float = 60) -> bool:
    deadline = time.monotonic() + seconds
    while not (met := what()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return met


def _processes_with(text: str) -> list[str]:
    """Processes whose environment has a text, as far as the system tells."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if text.encode() in path.read_bytes():
                found.append((path.parent / "cmdline").read_text())
        except OSError:
            pass  # It has ended, or is another's.
    return found


@pytest.mark.parametrize("solver", ["cpsat", "highs", "scip"])
def test_a_solve_that_is_killed_leaves_no_file_and_no_process(tmp_path: Path, solver: str) -> None:
    pytest.importorskip({"cpsat": "ortools", "highs": "highspy", "scip": "pyscipopt"}[solver])
    place = tmp_path / "temporary"
    place.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", HARD, solver],
        env={**os.environ, "TMPDIR": str(place)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        assert process.stdout.readline() == "solving\n"
        process.terminate()
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == -signal.SIGTERM
    assert "not killed" not in out
    assert "Traceback" not in err
    assert list(place.iterdir()) == []
    if Path("/proc/self/environ").exists():
        assert _wait_for(lambda: not _processes_with(str(place))), _processes_with(str(place))


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds processes in /proc")
def test_the_process_of_cpsat_ends_with_one_that_cannot_clean_up(tmp_path: Path) -> None:
    pytest.importorskip("ortools")
    process = subprocess.Popen(
        [sys.executable, "-c", HARD, "cpsat"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        assert process.stdout.readline() == "solving\n"
    finally:
        process.kill()
        process.communicate()
    assert _wait_for(lambda: not _processes_with(str(tmp_path))), _processes_with(str(tmp_path))


def test_the_command_line_is_killed_by_the_signal(tmp_path: Path) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "rarmodel", "solve", "paper-160", "--method", "search"],
        env={**os.environ, "TMPDIR": str(place), "PYTHONFAULTHANDLER": ""},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # Its own handler is there once it catches the signal, whatever it does by then.
    assert _wait_for(lambda: _catches(process.pid, signal.SIGTERM))
    process.terminate()
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (-signal.SIGTERM, "", "")
    assert list(place.iterdir()) == []


def _catches(pid: int, number: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        time.sleep(2)
        return True  # No such system: by then it is.
    (caught,) = [line.split()[1] for line in status.splitlines() if line.startswith("SigCgt")]
    return bool(int(caught, 16) >> (number - 1) & 1)


def test_a_handler_of_somebody_else_stays() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: seen.append(number))
    try:
        with killable():
            signal.raise_signal(signal.SIGTERM)
        assert seen == [signal.SIGTERM]
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with killable():
            signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_what_is_under_way_is_unwound_before_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda *what: sent.append(what))
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    steps: list[str] = []

    def work() -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
            steps.append("went on")
        except Exception:  # noqa: BLE001 - as a library might
            steps.append("held up")
        finally:
            steps.append("cleaned up")

    try:
        with pytest.raises(KilledError), killable():
            work()
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)
    assert steps == ["cleaned up"]
    assert sent == [(os.getpid(), signal.SIGTERM)]
