"""The installed command as a user meets it: pipes, locales, closed streams, full disks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from depth import first
from documents import assignment_data, instance_data, job_data, replaced, schedule_data

NAME = "任务 😀 é"
RARMODEL = [sys.executable, "-m", "rarmodel"]
PLAIN = {
    key: value
    for key, value in os.environ.items()
    if not key.startswith(("LC_", "PYTHON", "FORCE_", "TTY_")) and key not in {"LANG", "COLUMNS"}
}
NO_UTF8 = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")


def run(
    *arguments: object, env: dict[str, str] | None = None, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*RARMODEL, *map(str, arguments)],
        env={**PLAIN, **(env or {})},
        input=stdin,
        capture_output=True,
        timeout=120,
        check=False,
    )


def shell(line: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in which `rarmodel` is the command and `$1`, … are arguments."""
    return subprocess.run(
        [
            "sh",
            "-c",
            f'rarmodel() {{ "{sys.executable}" -m rarmodel "$@"; }}; {line}',
            "sh",
            *map(str, arguments),
        ],
        env=PLAIN,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """An instance and a schedule that breaks its horizon, with names in no one's alphabet."""
    instance, schedule = tmp_path / "instance.json", tmp_path / "schedule.json"
    data = instance_data(job_data(NAME), horizon=4)
    instance.write_text(json.dumps({**data, "name": NAME}), encoding="utf-8")
    late = replaced(assignment_data("", 9, s0=[0]), ("job",), NAME)
    claimed = {**schedule_data(late), "instance": NAME}
    schedule.write_text(json.dumps(claimed), encoding="utf-8")
    return instance, schedule


def test_module_and_script_are_the_same_command() -> None:
    script = Path(sys.executable).with_name("rarmodel")
    if not script.exists():
        pytest.skip("the script is installed elsewhere")
    one = subprocess.run([script, "schema", "schedule"], capture_output=True, check=True)
    assert run("schema", "schedule").stdout == one.stdout
    json.loads(one.stdout)


def test_solve_verify_pipeline(files: tuple[Path, Path]) -> None:
    solved = run("solve", files[0], "--output", "-")
    assert solved.returncode == 0
    verified = run("verify", files[0], "-", "--json", stdin=solved.stdout)
    assert verified.returncode == 0
    assert verified.stderr == b""
    assert json.loads(verified.stdout)["completion"] == {NAME: 1}


def test_malformed_file_is_lines_on_stderr_and_no_traceback(tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    data = replaced(replaced(instance_data(), ("jobs", 0, "gpus"), 0), ("nmae",), 1)
    bad.write_text(json.dumps(data), encoding="utf-8")
    refused = run("solve", bad)
    assert refused.returncode == 2
    assert refused.stdout == b""
    assert refused.stderr.decode().splitlines() == [
        f"{bad}: jobs[0].gpus: 0; it must be at least 1",
        f"{bad}: nmae: unknown field; was 'name' meant?",
    ]


def test_broken_schedule_exits_1(files: tuple[Path, Path]) -> None:
    verified = run("verify", *files, env={"COLUMNS": "10"})
    assert verified.returncode == 1
    assert verified.stderr == b""
    last = verified.stdout.decode().splitlines()[-1]
    assert last.split("  ")[0].strip() == "horizon"
    assert last.endswith(f"job '{NAME}' completes at slot 10, past the horizon 4")


@needs_posix
@pytest.mark.parametrize("env", first(2, [NO_UTF8, {"PYTHONIOENCODING": "latin-1"}, {"LANG": "C"}]))
def test_foreign_names_are_no_trouble_in_any_locale(
    files: tuple[Path, Path], env: dict[str, str]
) -> None:
    shown = run("verify", *files, env=env)
    assert shown.returncode == 1
    assert shown.stderr == b""
    told = run("verify", *files, "--json", env=env)
    assert told.returncode == 1
    assert json.loads(told.stdout)["violations"][0]["job"] == NAME
    made = run("solve", files[0], "--output", "-", env=env)
    assert made.returncode == 0
    assert json.loads(made.stdout)["assignments"][0]["job"] == NAME


@needs_posix
def test_file_in_an_ascii_locale_is_written_in_utf8(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    output = tmp_path / "out.json"
    assert run("solve", files[0], "--output", output, env=NO_UTF8).returncode == 0
    assert NAME in output.read_text(encoding="utf-8")


@needs_posix
def test_reader_that_goes_away_is_reported(files: tuple[Path, Path]) -> None:
    # The exit code goes through a file: that of a pipe is its last command's.
    code = files[0].with_name("code")
    gone = "standard output: cannot be written: its reader is gone\n"
    for options in ("--json", ""):
        line = f'{{ rarmodel verify "$1" "$2" {options}; echo $? > "$3"; }} | true'
        assert shell(line, *files, code).stderr == gone
        assert code.read_text(encoding="utf-8") == "2\n"
    head = shell("rarmodel schema instance | head -1")
    assert head.stdout == "{\n"
    assert head.stderr in {"", gone}  # All may be in the pipe before its reader ends.


@needs_posix
def test_closed_stdout_is_reported(files: tuple[Path, Path]) -> None:
    closed = shell('rarmodel verify "$1" "$2" >&-', *files)
    assert (closed.returncode, closed.stdout) == (2, "")
    assert closed.stderr == "standard output: cannot be written: it is closed\n"


@needs_posix
def test_closed_stderr_does_not_send_messages_to_stdout(tmp_path: Path) -> None:
    closed = shell('rarmodel solve "$1" 2>&-', tmp_path / "none.json")
    assert (closed.returncode, closed.stdout) == (2, "")


@needs_posix
def test_closed_stdin_is_one_line() -> None:
    closed = shell("rarmodel solve - <&-")
    assert closed.returncode == 2
    assert closed.stderr == "standard input: cannot be read: it is closed\n"


@needs_posix
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_full_disk_is_one_line(files: tuple[Path, Path]) -> None:
    for options in ("--json", ""):
        full = shell(f'rarmodel verify "$1" "$2" {options} > /dev/full', *files)
        assert full.returncode == 2
        assert full.stderr == "standard output: cannot be written: no space left on device\n"


def test_importing_is_light() -> None:
    heavy = ["pyomo", "numba", "numpy", "rich", "click", "networkx", "pydantic", "highspy"]
    code = f"import sys, rarmodel; print([m for m in {heavy!r} if m in sys.modules])"
    imported = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True
    )
    assert imported.stdout == "[]\n"
