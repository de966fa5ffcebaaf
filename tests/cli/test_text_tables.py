"""Tables on terminals: no word is ever broken, and no line is longer than the terminal."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from documents import instance_data, replaced, schedule_data
from hypothesis import given
from hypothesis import strategies as st

from rarmodel.cli import main
from rarmodel.cli.tables import VERIFIED, of_rows
from rarmodel.cli.text_tables import (
    PROSE,
    Column,
    TextTable,
    named_lines,
    numbers,
    plain,
    prose,
    width_of,
    words,
    wrapped,
)
from rarmodel.kinds import LISTED

if TYPE_CHECKING:
    from invocation import Invoke

WIDTHS = (60, 80, 120)
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def told(table: TextTable, width: int | None = None) -> list[str]:
    return [plain(line) for line in table.lines(width)]


def comparison(*rows: tuple[str, ...]) -> TextTable:
    columns = [words("method"), words("status"), numbers("makespan"), numbers("ratio", 1)]
    table = TextTable(None, [*columns, words("verified", 2, said_once="{} are verified".format)])
    for row in rows:
        table.add(*row)
    return table


TWO = (("search", "optimal", "12", "1.000", "yes"), ("first-fit", "feasible", "20", "1.667", "yes"))


def test_without_a_width_each_row_is_one_line_with_all_columns() -> None:
    assert told(comparison(*TWO)) == [
        " method      status     makespan   ratio   verified",
        " ──────────────────────────────────────────────────",
        " search      optimal          12   1.000   yes",
        " first-fit   feasible         20   1.667   yes",
    ]


def test_a_column_of_yes_becomes_a_line() -> None:
    assert told(comparison(*TWO), 80) == [
        " method      status     makespan   ratio",
        " ───────────────────────────────────────",
        " search      optimal          12   1.000",
        " first-fit   feasible         20   1.667",
        " 2 are verified",
    ]


@pytest.mark.parametrize("last", ["no", "unknown"])
def test_a_column_with_another_word_stays(last: str) -> None:
    row = ("first-fit", "feasible", "20", "1.667", last)
    lines = told(comparison(TWO[0], row), 80)
    assert lines[0].endswith("verified")
    assert lines[-1].endswith(last)


def test_a_missing_value_does_not_keep_a_column_of_yes_but_alone_is_no_yes() -> None:
    skipped = ("first-fit", "skipped", "-", "-", "-")
    assert told(comparison(TWO[0], skipped), 80)[-1] == " 1 are verified"
    assert "are verified" not in "".join(told(comparison(skipped), 80))


def test_columns_come_closer_before_one_leaves() -> None:
    width = len(" method     status    makespan  ratio")
    assert told(comparison(*TWO), width)[:3] == [
        " method     status    makespan  ratio",
        " ────────────────────────────────────",
        " search     optimal         12  1.000",
    ]


def test_columns_leave_by_priority_and_are_named() -> None:
    assert told(comparison(*TWO), 35) == [
        " method     status    makespan",
        " ─────────────────────────────",
        " search     optimal         12",
        " first-fit  feasible        20",
        " 2 are verified",
        " no room for: ratio",
    ]


def test_rows_become_blocks_with_all_columns_where_nothing_more_can_leave() -> None:
    assert told(comparison(*TWO), 20) == [
        "method    search",
        "status    optimal",
        "makespan  12",
        "ratio     1.000",
        "",
        "method    first-fit",
        "status    feasible",
        "makespan  20",
        "ratio     1.667",
        " 2 are verified",
    ]


def test_prose_goes_on_below_itself_between_words() -> None:
    table = TextTable(None, [words("name"), prose("description")])
    table.add("search", "improves a schedule until nothing better is found")
    assert told(table, 44) == [
        " name    description",
        " ───────────────────────────────────────────",
        " search  improves a schedule until nothing",
        "         better is found",
    ]


def test_a_header_goes_on_between_words() -> None:
    table = TextTable(None, [words("method"), numbers("mean completion")])
    table.add("search", "8.0")
    assert told(table, 19) == [
        "               mean",
        " method  completion",
        " ──────────────────",
        " search         8.0",
    ]


def test_wide_characters_take_two_columns() -> None:
    table = TextTable(None, [words("name"), numbers("jobs")])
    table.add("任务", "3")
    table.add("ab", "12")
    assert told(table) == [" name   jobs", " ───────────", " 任务      3", " ab       12"]


def test_a_word_longer_than_the_terminal_stays_whole() -> None:
    table = TextTable(None, [words("name"), prose("description")])
    table.add("x" * 50, "a word")
    assert told(table, 40) == ["name", "  " + "x" * 50, "description  a word"]


def test_values_go_on_below_their_beginning() -> None:
    lines = named_lines({"instance": "lab", "status": "optimal (the makespan meets the bound)"}, 30)
    assert [plain(line) for line in lines] == [
        "instance  lab",
        "status    optimal (the",
        "          makespan meets the",
        "          bound)",
    ]
    assert [piece.style for piece in lines[1][1:]] == ["green", ""]


TEXT = st.text("ab9 ,.", max_size=60).map(lambda text: " ".join(text.split()))
COLUMNS = st.builds(
    Column,
    header=TEXT.filter(bool),
    side=st.sampled_from(["left", "right"]),
    leaves=st.integers(0, 3),
    prose=st.booleans(),
)


@given(st.data(), st.lists(COLUMNS, min_size=1, max_size=6), st.integers(20, 120))
def test_any_table_keeps_its_words_and_its_width(
    data: st.DataObject, columns: list[Column], width: int
) -> None:
    table = TextTable(None, columns)
    for _ in range(data.draw(st.integers(0, 3))):
        table.add(*(data.draw(TEXT) for _ in columns))
    texts = [column.header for column in columns] + [cell for row in table.rows for cell in row]
    known = {word for text in texts for word in text.split()} | {"no", "room", "for:"}
    known |= {f"{word}," for word in known}
    lines = told(table, width)
    for line in lines:
        assert set(line.replace("─", " ").split()) <= known
        assert width_of(line) <= width or max(map(len, line.split())) > width - PROSE
    assert not any("\n" in line for line in lines)


@given(TEXT, st.integers(1, 40))
def test_wrapping_keeps_all_words(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert " ".join(lines) == text
    assert all(len(line) <= width or " " not in line for line in lines)


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


Shown = Callable[..., str]


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Shown:
    """What a command shows on a terminal of some width."""

    def run(width: int, *arguments: object) -> str:
        out = Terminal()
        with monkeypatch.context() as patched:
            patched.setattr(sys, "argv", ["rarmodel", *map(str, arguments)])
            patched.setattr(sys, "stdout", out)
            patched.setenv("COLUMNS", str(width))
            patched.setenv("TERM", "dumb")
            with pytest.raises(SystemExit):
                main()
        return out.getvalue()

    return run


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the commands below read."""
    monkeypatch.chdir(tmp_path)
    broken = replaced(schedule_data(), ("assignments", 0, "start"), 500)
    for name, data in {
        "instance.json": instance_data(),
        "schedule.json": schedule_data(),
        "broken.json": broken,
    }.items():
        (tmp_path / name).write_text(json.dumps(data), encoding="utf-8")
    return tmp_path


LAB = EXAMPLES / "lab.json"
OUTPUTS = [
    *(("list", *kind) for kind in [(), *((kind,) for kind in LISTED)]),
    ("instances",),
    ("solve", LAB, "--method", "sjf-bco"),
    ("verify", "instance.json", "schedule.json"),
    ("verify", "instance.json", "broken.json"),
    ("audit", "instance.json", "--time-limit", "5"),
    ("describe", LAB, "--jobs"),
    ("describe", EXAMPLES / "cluster-at-work.json", "--jobs"),
    ("formulate", "instance.json", "--formulation", "time-indexed", "--output", "x.lp"),
    ("compare", LAB, *(part for name in ("sjf-bco", "first-fit") for part in ("--method", name))),
    ("compare", LAB, "--method", "sjf-bco", "--objective", "total-flow"),
    ("compare", LAB, "--method", "fifo-backfill", "--objective", "total-tardiness,total-flow"),
    ("simulate", EXAMPLES / "arrivals.json", "--policy", "fifo"),
    ("simulate", EXAMPLES / "arrivals.json", "--policy", "fifo,srtf"),
    (
        *("calibrate", EXAMPLES / "measured.csv"),
        *("--network-gbps", "10", "--intra-server-gbps", "100"),
    ),
    ("calibrate", EXAMPLES / "testbed.csv", "--compare-models", "--network-gbps", "0.1"),
    ("slurm", "read", "--from", EXAMPLES / "slurm-lab"),
]


@pytest.mark.parametrize("command", OUTPUTS, ids=lambda command: " ".join(map(str, command[:2])))
def test_every_command_breaks_no_word_and_keeps_the_width(
    invoke: Invoke, on_terminal: Shown, place: Path, command: tuple[object, ...]
) -> None:
    assert place.is_dir()
    piped = {_timeless(word) for word in invoke(*command).out.split()}
    assert piped
    for width in WIDTHS:
        shown = on_terminal(width, *command)
        assert max(map(width_of, shown.splitlines())) <= width
        extra = {_timeless(word) for word in re.sub(OF_TABLES, "", shown).replace("─", "").split()}
        assert {word for word in extra if not {word, word.rstrip(",")} & piped} == set()


OF_TABLES = r"(?m)^ ((all \d+ schedules are|the schedule is) verified|no room for:.*(\n (?! ).*)*)$"
"""Lines that a table on a terminal has below it."""


def _timeless(word: str) -> str:
    """A word, but for the seconds that something took."""
    return re.sub(r"^\d+\.\d\d$", "0.00", word).replace("─", "")


def test_fifteen_methods_are_fifteen_lines_at_80_columns(on_terminal: Shown, place: Path) -> None:
    assert place.is_dir()
    names = ["search", "sjf-bco", "sjf-bco-occupied-first", "weighted-shortest-first", "random"]
    asked = [part for name in names * 3 for part in ("--method", name)]
    shown = on_terminal(80, "compare", "instance.json", *asked, "--time-limit", "1")
    _, _, rule, *rest = shown.splitlines()[1:]
    assert set(rule.strip()) == {"─"}
    assert [line.split()[0] for line in rest[:15]] == names * 3
    assert rest[15] == " all 15 schedules are verified"


def test_gap_and_objectives_stay_longer_than_a_makespan_that_is_none(
    on_terminal: Shown, place: Path
) -> None:
    """At 80 columns two objectives with long names leave no room for all."""
    assert place.is_dir()
    asked = ("--method", "fifo-backfill", "--method", "weighted-shortest-first")
    objectives = ("--objective", "total-tardiness,total-completion")
    shown = on_terminal(80, "compare", "instance.json", *asked, *objectives)
    header = shown.splitlines()[2].split()
    assert header[2:] == ["total-tardiness", "total-completion", "gap"]
    assert "no room for: makespan," in shown


@pytest.mark.parametrize(("number", "said"), [(1, "the schedule is"), (2, "all 2 schedules are")])
def test_the_verified_schedules_are_counted_without_rows_that_have_none(
    number: int, said: str
) -> None:
    rows = [{"method": "a", "verified": "yes"}] * number + [{"method": "b", "verified": "-"}]
    lines = told(of_rows(None, rows, {"verified": VERIFIED}), 80)
    assert lines[-1] == f" {said} verified"
    without = told(of_rows(None, rows[number:], {"verified": VERIFIED}), 80)
    assert not any(line.endswith((" is verified", " are verified")) for line in without)


def test_status_has_a_colour_where_the_terminal_has_colours(
    monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    assert place.is_dir()
    out = Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "argv", ["rarmodel", "verify", "instance.json", "broken.json"])
    with pytest.raises(SystemExit):
        main()
    assert "\x1b[1;31mno\x1b[0m" in out.getvalue()


@pytest.mark.skipif(os.name == "nt", reason="needs pseudo-terminals")
def test_the_width_is_that_of_the_terminal() -> None:
    pty = pytest.importorskip("pty")
    termios = pytest.importorskip("termios")
    parent, child = pty.openpty()
    termios.tcsetwinsize(child, (24, 61))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.run(
        [sys.executable, "-m", "rarmodel", "list", "placements"],
        stdin=child,
        stdout=child,
        stderr=subprocess.PIPE,
        env={**environment, "TERM": "dumb"},
        check=True,
    )
    os.close(child)
    shown = os.read(parent, 100_000).decode().replace("\r\n", "\n")
    os.close(parent)
    assert done.stderr == b""
    assert 55 <= max(map(width_of, shown.splitlines())) <= 61
    assert "contention-aware" in shown
