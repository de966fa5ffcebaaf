"""`rarmodel plot` and `rarmodel report`: files, notes, and refusals in one line."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from documents import assignment_data, schedule_data

if TYPE_CHECKING:
    from invocation import Invoke

pytest.importorskip("altair")

STARTS = {"png": b"\x89PNG", "svg": b"<svg", "pdf": b"%PDF", "html": b"<!DOCTYPE html>"}


@pytest.mark.parametrize("form", STARTS)
def test_plot_writes_the_form_that_the_file_is_named_for(
    invoke: Invoke, instance_file: Path, schedule_file: Path, tmp_path: Path, form: str
) -> None:
    output = tmp_path / f"picture.{form}"
    outcome = invoke("plot", instance_file, schedule_file, "--output", output)
    assert outcome == (0, "", "")
    assert output.read_bytes().startswith(STARTS[form])


def test_plot_of_one_part_leaves_the_others_out(
    invoke: Invoke, instance_file: Path, schedule_file: Path, tmp_path: Path
) -> None:
    output = tmp_path / "x.svg"
    arguments = ("plot", instance_file, schedule_file, "--output", output, "--part", "contention")
    assert invoke(*arguments).code == 0
    text = output.read_text(encoding="utf-8")
    assert "rings on each link" in text
    assert "GPUs held" not in text


def test_report_compares_schedules_from_files_and_stdin(
    invoke: Invoke, instance_file: Path, schedule_file: Path, tmp_path: Path
) -> None:
    other = {**schedule_data(), "method": "from stdin"}
    output = tmp_path / "report.html"
    outcome = invoke(
        *("report", instance_file, schedule_file, "-", "--output", output), stdin=json.dumps(other)
    )
    assert outcome == (0, "", "")
    page = output.read_text(encoding="utf-8")
    assert '<tr data-label="by hand">' in page
    assert '<tr data-label="from stdin">' in page


def test_report_goes_to_stdout_if_asked(
    invoke: Invoke, instance_file: Path, schedule_file: Path, tmp_path: Path
) -> None:
    output = tmp_path / "report.html"
    invoke("report", instance_file, schedule_file, "--output", output)
    outcome = invoke("report", instance_file, schedule_file, "--output", "-")
    assert outcome == (0, output.read_text(encoding="utf-8") + "\n", "")


def test_invalid_schedule_of_another_instance_is_shown_with_a_note(
    invoke: Invoke, instance_file: Path, tmp_path: Path
) -> None:
    broken = schedule_data(assignment_data("a", 0, s0=[0, 1]), instance="other")
    source = tmp_path / "broken.json"
    source.write_text(json.dumps(broken), encoding="utf-8")
    output = tmp_path / "report.html"
    outcome = invoke("report", instance_file, source, "--output", output)
    assert outcome.code == 0
    assert outcome.lines == [f"{source}: note: made for instance 'other', taken for 'example'"]
    assert "The verifier refuses this schedule" in output.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("command", "output", "more", "message"),
    [
        ("plot", "x.gif", (), "x.gif: a file that ends in .png, .svg, .pdf or .html is expected"),
        ("plot", "x.png", ("--part", "pie"), "no part 'pie' of plots"),
        ("plot", "x.html", ("--part", "gantt"), "parts are for pictures"),
        ("plot", "none/x.png", (), "none/x.png: cannot be written: no such file or directory"),
        ("report", "none/x.html", (), "none/x.html: cannot be written: no such file"),
        ("report", "x.html", ("-", "-"), "only one input can come from stdin"),
    ],
)
def test_refusals_are_one_line_and_write_nothing(
    invoke: Invoke,
    instance_file: Path,
    schedule_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    output: str,
    more: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = invoke(command, instance_file, schedule_file, *more, "--output", output)
    assert outcome.code == 2
    assert len(outcome.lines) == 1
    assert message in outcome[2]
    assert not Path(output).exists()


@pytest.mark.parametrize(
    ("command", "output", "module", "extra"),
    [("plot", "x.png", "altair", "plot"), ("report", "x.html", "vl_convert", "plot")],
)
def test_missing_extra_is_one_line(
    invoke: Invoke,
    instance_file: Path,
    schedule_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    output: str,
    module: str,
    extra: str,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    outcome = invoke(command, instance_file, schedule_file, "--output", tmp_path / output)
    assert outcome.code == 2
    assert len(outcome.lines) == 1
    assert outcome.err.endswith(f"install it with: pip install 'rarmodel[{extra}]'\n")
    assert not (tmp_path / output).exists()


@pytest.mark.parametrize("command", ["plot", "report"])
def test_objective_of_the_comparison_can_be_asked_for(
    invoke: Invoke, instance_file: Path, schedule_file: Path, tmp_path: Path, command: str
) -> None:
    output = tmp_path / "page.html"
    outcome = invoke(
        command, instance_file, schedule_file, "--output", output, "--objective", "total-flow"
    )
    assert outcome == (0, "", "")
    assert "by hand is optimal by total-flow." in output.read_text(encoding="utf-8").replace(
        '<span class="unbroken">', ""
    ).replace("</span>", "")


def test_report_compares_schedules_as_those_of_arriving_jobs(
    invoke: Invoke, instance_file: Path, schedule_file: Path, tmp_path: Path
) -> None:
    output = tmp_path / "arriving.html"
    arguments = ("report", instance_file, schedule_file, "--simulations", "--output", output)
    assert invoke(*arguments) == (0, "", "")
    assert "Queue over time" in output.read_text(encoding="utf-8")
    outcome = invoke(*arguments, "--objective", "total-flow")
    assert outcome.code == 2
    assert "leave --objective out" in outcome[2]


@pytest.mark.parametrize("form", ["svg", "html"])
def test_on_a_terminal_the_file_is_named(
    invoke: Invoke,
    instance_file: Path,
    schedule_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
) -> None:
    monkeypatch.setattr("rarmodel.cli.output_files.on_terminal", lambda: True)
    output = tmp_path / f"drawn.{form}"
    command = "report" if form == "html" else "plot"
    outcome = invoke(command, instance_file, schedule_file, "--output", output)
    kind = "HTML page" if form == "html" else "SVG picture"
    (line,) = outcome.lines
    assert re.fullmatch(rf"{re.escape(str(output))}: {kind}, \d+(\.\d MB| kB)", line)


@pytest.mark.parametrize(
    ("arguments", "name", "kind"),
    [
        (["solve", "two-servers", "--output"], "schedule.json", "schedule"),
        (["solve", "two-servers", "--certificate"], "proof.json", "certificate"),
        (["generate", "small", "--output"], "small.json", "instance"),
        (
            ["formulate", "two-servers", "--formulation", "time-indexed", "--output"],
            "model.lp",
            "model",
        ),
        (
            ["simulate", "two-servers", "--policy", "fifo", "--output"],
            "played.json",
            "schedule",
        ),
    ],
)
def test_on_a_terminal_files_of_all_kinds_are_named_with_their_size(
    invoke: Invoke,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    name: str,
    kind: str,
) -> None:
    assert invoke(*arguments, tmp_path / f"piped-{name}").code == 0
    monkeypatch.setattr("rarmodel.cli.output_files.on_terminal", lambda: True)
    output = tmp_path / name
    outcome = invoke(*arguments, output)
    assert outcome.code == 0
    size = max(1, round(output.stat().st_size / 1e3))
    assert f"{output}: {kind}, {size:,} kB" in outcome.lines
