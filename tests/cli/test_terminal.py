"""Where output goes, and what happens when it can go nowhere."""

from __future__ import annotations

import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from documents import instance_data, replaced, schedule_data

from rarmodel.cli.terminal import (
    ClosedOutput,
    Doing,
    answer,
    answer_json,
    compilation_shown,
    forecast,
    progress,
    say,
    show,
    show_lines,
    show_text,
)
from rarmodel.cli.text_tables import TextTable, prose, words
from rarmodel.errors import InputError
from rarmodel.files import read_instance
from rarmodel.online import Progress
from rarmodel.schema import SlotTime

if TYPE_CHECKING:
    from invocation import Invoke


class Broken(io.StringIO):
    """A stream that fails to be written."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error

    def write(self, _: str) -> int:
        raise self.error


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def stream(encoding: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n")


def written(to: io.TextIOWrapper) -> bytes:
    to.flush()
    buffer = to.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue()


def test_answers_go_to_stdout_and_all_else_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    answer("42")
    say("thinking")
    assert capsys.readouterr() == ("42\n", "thinking\n")


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8", "é – 😀".encode()),
        ("ascii", b"\\xe9 \\u2013 \\U0001f600"),
        ("latin-1", b"\xe9 \\u2013 \\U0001f600"),
    ],
)
def test_answer_is_escaped_where_stdout_cannot_take_it(
    monkeypatch: pytest.MonkeyPatch, encoding: str, text: bytes
) -> None:
    out = stream(encoding)
    monkeypatch.setattr(sys, "stdout", out)
    answer("é – 😀")
    assert written(out) == text + b"\n"


@pytest.mark.parametrize("encoding", ["utf-8", "UTF8", "ascii", "latin-1", "cp1252", "utf-16-le"])
def test_json_answer_means_the_same_in_every_encoding(
    monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    out = stream(encoding)
    monkeypatch.setattr(sys, "stdout", out)
    value = {"name": 'é – 任务 😀 \n \x1b \\ "'}
    answer_json(value)
    assert json.loads(written(out).decode(encoding)) == value


def test_half_of_a_surrogate_pair_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    out = stream("utf-8")
    monkeypatch.setattr(sys, "stdout", out)
    answer("file \udcff")
    assert written(out) == b"file \\udcff\n"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (BrokenPipeError(32, "Broken pipe"), "its reader is gone"),
        (OSError(28, "No space left on device"), "no space left on device"),
    ],
)
def test_an_answer_that_is_lost_is_an_error_of_the_input_kind(
    monkeypatch: pytest.MonkeyPatch, error: OSError, reason: str
) -> None:
    monkeypatch.setattr(sys, "stdout", Broken(error))
    with pytest.raises(InputError) as refused:
        answer("42")
    assert refused.value.lines() == [f"standard output: cannot be written: {reason}"]


def _table() -> None:
    table = TextTable(None, [words("a")])
    table.add("b")
    show(table)


@pytest.mark.parametrize(
    "work",
    [
        lambda: answer("42"),
        lambda: answer_json("42"),
        _table,
        lambda: show_lines({"a": "b"}),
        lambda: show_text("a"),
        lambda: progress().__enter__(),
        lambda: forecast().__enter__(),
    ],
    ids=["text", "json", "table", "lines", "sentence", "solve", "simulate"],
)
def test_closed_stdout_is_reported_and_before_long_work(
    monkeypatch: pytest.MonkeyPatch, work: Callable[[], object]
) -> None:
    monkeypatch.setattr(sys, "stdout", ClosedOutput())
    with pytest.raises((InputError, OSError), match="it is closed"):
        work()


def test_closed_stderr_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    say("thinking")
    with progress() as (name, report):
        name("work")
        assert report is None


COMMANDS = [
    "--help",
    "--version",
    "list methods",
    "schema instance",
    "instances --json",
    "generate",
]
WRITERS = [*COMMANDS, "solve two-servers --method first-fit"]
LOST = {
    ">&-": "it is closed",
    ">/dev/full": "no space left on device",
    "| true": "its reader is gone",
}
"""Why an answer is lost, by where the shell sends it."""


@pytest.mark.skipif(os.name == "nt", reason="closes streams by the shell")
@pytest.mark.parametrize(
    ("to", "command"),
    [
        # However it is lost, commands write it in the same way, those of text and of JSON apart.
        *((">&-", command) for command in WRITERS),
        *(
            pytest.param(to, command, marks=[] if command in WRITERS[-2:] else [pytest.mark.slow])
            for to in (">/dev/full", "| true")
            for command in WRITERS
        ),
    ],
)
def test_a_command_whose_answer_is_lost_says_so(to: str, command: str) -> None:
    if to == ">/dev/full" and not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    reason = LOST[to]
    run = f"{sys.executable} -m rarmodel {command}"
    # The pipe's reader ends before the command writes, which takes a second to load.
    script = f"({run}; echo $? >&2) {to}" if to.startswith("|") else f"{run} {to}; echo $? >&2"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    *before, line, code = done.stderr.splitlines()
    assert (line, code) == (f"standard output: cannot be written: {reason}", "2")
    assert "Traceback" not in done.stderr
    assert not any("Exception ignored" in line for line in before)


@pytest.mark.skipif(os.name == "nt", reason="closes streams by the shell")
def test_no_file_takes_the_place_of_a_closed_stream(instance_file: Path, tmp_path: Path) -> None:
    made = tmp_path / "made.json"
    command = f"{sys.executable} -m rarmodel solve {instance_file} --method first-fit --output"
    done = subprocess.run(
        ["sh", "-c", f"{command} {made} >&- 2>&-"], capture_output=True, check=False
    )
    assert done.returncode == 2
    assert not made.exists()
    done = subprocess.run(["sh", "-c", f"{command} {made} 2>&-"], capture_output=True, check=False)
    assert done.returncode == 0
    assert json.loads(made.read_text("utf-8"))["method"] == "first-fit"


def test_message_is_not_diverted_to_stdout_if_stderr_is_closed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    say("thinking")
    assert capsys.readouterr().out == ""


def test_message_to_a_reader_that_has_gone_away_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stderr", Broken(BrokenPipeError(32, "Broken pipe")))
    say("thinking")


def test_table_takes_names_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    table = TextTable(None, [words("name")])
    for name in ("[red]x[/red]", "[/]", ":smile:", "a\\", "[link=x]y"):
        table.add(name)
    show(table)
    out = capsys.readouterr().out
    for name in ("[red]x[/red]", "[/]", ":smile:", "a\\", "[link=x]y"):
        assert name in out


def test_row_of_a_piped_table_is_one_line_of_any_length(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "5")
    table = TextTable(None, [words("name"), prose("what")])
    table.add("x" * 3000, "word " * 600)
    show(table)
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_table_on_a_terminal_goes_on_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    out = Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    table = TextTable(None, [words("name"), prose("what")])
    table.add("x", "yes " * 25)
    show(table)
    lines = out.getvalue().splitlines()
    assert len(lines) > 3
    assert max(map(len, lines)) <= 40
    assert out.getvalue().split().count("yes") == 25


def test_progress_is_silent_unless_stderr_is_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with progress() as (name, report):
        name("example: sjf-bco")
        assert report is None
    assert capsys.readouterr() == ("", "")


def test_a_line_on_a_terminal_breaks_between_words_and_never_in_its_path(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = "/a folder/" + "x" * 60 + "/my own instance.json"
    message = f"{path}: jobs[3].gpus: -1 is given, and a number of at least 1 is expected"
    say(message)
    assert capsys.readouterr().err == f"{message}\n"
    err = Terminal()
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setenv("COLUMNS", "80")
    say(message)
    assert err.getvalue().splitlines() == [
        f"{path}:",
        "  jobs[3].gpus: -1 is given, and a number of at least 1 is expected",
    ]


def test_progress_on_a_terminal_shows_work_and_numbers_on_stderr_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    err = Terminal()
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    with progress() as (name, report):
        assert report is not None
        report(None, None)
        report(12.0, None)
        report(0.0, 0.0)
        name("[red]x[/red] [/bold]: sjf-bco")
        report(12.0, 9.0)
    assert "[red]x[/red] [/bold]: sjf-bco  makespan 12  bound 9  gap 25.0%" in err.getvalue()
    assert capsys.readouterr().out == ""


def test_progress_tells_slots_by_the_clock_where_their_length_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    err = Terminal()
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    with progress() as (name, report):
        assert report is not None
        name("example: search", SlotTime(slot_seconds=1365.0))
        report(12.0, 9.0)
    assert "example: search  makespan 12 (4 h 33 min)  bound 9  gap 25.0%" in err.getvalue()


def test_progress_tells_the_time_that_has_passed_and_its_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    monkeypatch.setattr("rarmodel.cli.terminal.monotonic", lambda: now[0])
    doing = Doing()
    doing("example: search, 3 of 15", SlotTime(slot_seconds=1365.0), limit=60.0)
    assert doing.line(80) == "example: search, 3 of 15"
    now[0] = 145.0
    assert doing.line(80) == "example: search, 3 of 15  45 s of 1 min"
    # Compilation is beyond the limit: "75 s of 60 s" would look like a fault.
    now[0] = 175.0
    assert doing.line(80) == "example: search, 3 of 15  1 min 15 s"
    doing("another")
    now[0] = 177.0
    assert doing.line(80) == "another  2 s"


def test_progress_without_room_leaves_out_whole_values(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("rarmodel.cli.terminal.monotonic", lambda: now[0])
    doing = Doing()
    doing("example: search", SlotTime(slot_seconds=1365.0), limit=60.0)
    doing.report(12.0, 9.0)
    now[0] = 3.0
    whole = "example: search  makespan 12 (4 h 33 min)  bound 9  gap 25.0%  3 s of 1 min"
    assert doing.line(len(whole)) == whole
    assert doing.line(len(whole) - 1) == (
        "example: search  makespan 12 (4 h 33 min)  gap 25.0%  3 s of 1 min"
    )
    assert doing.line(60) == "example: search  makespan 12 (4 h 33 min)  3 s of 1 min"
    assert doing.line(50) == "example: search  makespan 12  3 s of 1 min"
    assert doing.line(30) == "example: search  3 s of 1 min"
    assert doing.line(20) == "example: search"
    assert doing.line(5) == "example: search"  # The terminal's own ellipsis shortens it.


def test_forecast_says_how_many_jobs_are_complete_and_how_long_the_rest_takes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 30.0])
    monkeypatch.setattr("rarmodel.cli.terminal.perf_counter", lambda: next(clock))
    with forecast() as silent:
        assert silent is None
    err = Terminal()
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    with forecast() as report:
        assert report is not None
        report("srtf", Progress(0, 400, 0))
        report("srtf", Progress(100, 400, 1234))
    assert "srtf  slot 1,234  100 of 400 jobs complete  about 1 min 30 s left" in err.getvalue()
    assert capsys.readouterr().out == ""


HOSTILE = "a\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\u202eb"


def _is_tame(text: str) -> bool:
    return all(char.isprintable() or char == "\n" for char in text)


def test_no_control_character_reaches_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    say(HOSTILE)
    say("a\tcolumn")
    answer_json({"name": HOSTILE, HOSTILE: 1})
    out, err = capsys.readouterr()
    assert _is_tame(err)
    assert "a       column" in err
    assert json.loads(out) == {"name": HOSTILE, HOSTILE: 1}
    assert not set("\x1b\x07\x9b\x7f") & set(out)
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    with progress() as (name, report):
        assert report is not None
        name(HOSTILE)
        report(12.0, 10.0)
    shown = stream.getvalue()
    assert "owned" in shown
    assert not set("\x07\x9b\x7f\u202e") & set(shown)
    assert "\x1b]" not in shown
    assert "\x1b[2J" not in shown


@pytest.mark.parametrize(
    "command",
    [
        ("solve", "hostile.json", "--method", "first-fit"),
        ("solve", "hostile.json", "--method", "first-fit", "--json"),
        ("solve", "hostile.json", "--formulation", "time-indexed", "--log"),
        ("compare", "hostile.json", "--method", "first-fit", "--method", "random"),
        ("verify", "hostile.json", "hostile-schedule.json"),
        ("verify", "hostile.json", "other.json", "--json"),
        ("audit", "hostile.json", "--schedule", "hostile-schedule.json"),
        ("campaign", "run", "hostile.yaml", "--output", "out"),
        ("solve", "bad.json"),
        ("formulate", "hostile.json", "--formulation", "time-indexed", "--output", "x.lp"),
    ],
    ids=" ".join,
)
def test_names_of_an_input_reach_the_terminal_as_escapes(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    schedule = schedule_data()
    for old, data, new in (
        ("instance.json", instance_data(), "hostile.json"),
        ("schedule.json", schedule, "hostile-schedule.json"),
        ("other.json", replaced(schedule, ("instance",), "other"), "other.json"),
        ("bad.json", replaced(instance_data(), (HOSTILE,), HOSTILE), "bad.json"),
    ):
        text = json.dumps(data)
        for name in ("a", "s0", "example"):
            text = text.replace(json.dumps(name), json.dumps(f"{name}{HOSTILE}"))
        assert old
        (tmp_path / new).write_text(text, encoding="utf-8")
    campaign = {"name": HOSTILE, "instances": ["hostile.json"], "methods": ["first-fit", "no:No"]}
    (tmp_path / "hostile.yaml").write_text(json.dumps(campaign), encoding="utf-8")
    outcome = invoke(*command)
    assert outcome.out + outcome.err
    assert _is_tame(outcome.err)
    if "--json" in command:
        assert json.loads(outcome.out)
        assert not set("\x1b\x07\x9b\x7f") & set(outcome.out)
    else:
        assert _is_tame(outcome.out)


def test_the_first_50_faults_are_shown_and_the_number_of_the_others(
    invoke: Invoke, tmp_path: Path
) -> None:
    path = tmp_path / "bad.json"
    data = {**instance_data(), **{f"field {i}": i for i in range(1000)}}
    path.write_text(json.dumps(data), encoding="utf-8")
    outcome = invoke("solve", path)
    assert outcome.code == 2
    assert len(outcome.lines) == 51
    assert all("unknown field" in line for line in outcome.lines[:50])
    assert outcome.lines[50] == "and 950 more problems"
    with pytest.raises(InputError) as refused:
        read_instance(path)
    assert len(refused.value.problems) == len(refused.value.lines()) == 1000


def test_no_memory_is_one_line(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    def exhaust(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("rarmodel.api.solving.solve", exhaust)
    outcome = invoke("solve", "two-servers")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.lines == ["out of memory; use a smaller instance or file, or a simpler method"]


def test_a_terminal_shows_what_is_compiled_and_how_much(monkeypatch: pytest.MonkeyPatch) -> None:
    log, shown = logging.getLogger("rarmodel"), list[str]()
    monkeypatch.setattr(log, "disabled", False)
    level = log.level
    with compilation_shown(shown.append):
        for name in ("decode", "anneal"):
            log.debug("compiles %s", name)
        log.info("another line")
    assert [line.partition(" in ")[0] for line in shown] == [
        "compiles decode  1 so far",
        "compiles anneal  2 so far",
    ]
    log.debug("compiles %s", "later")
    assert len(shown) == 2
    assert log.level == level


def test_progress_line_says_what_is_compiled_until_there_is_a_value() -> None:
    doing = Doing()
    doing("search on lab")
    doing.compile("compiles decode  1 so far")
    assert doing.line(80) == "search on lab  compiles decode  1 so far"
    assert doing.line(20) == "search on lab"
    doing.report(12.0, None)
    assert doing.line(80) == "search on lab  makespan 12"


def test_values_of_the_progress_line_are_called_by_their_objective() -> None:
    doing = Doing()
    doing("planning …", SlotTime(slot_seconds=60.0), objective="total-flow")
    doing.report(1314.0, 1289.5)
    assert doing.line(80) == "planning …  total-flow 1,314  bound 1,289.50  gap 1.9%"
