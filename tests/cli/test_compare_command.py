"""`rarmodel compare`: a table, or rows of JSON, with common bounds."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from documents import instance_data, job_data

from rarmodel.api.formulation_choices import solvers_for
from rarmodel.formulations.time_indexed import TIME_INDEXED

if TYPE_CHECKING:
    from invocation import Invoke


def write(path: Path, data: object) -> Path:
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_rows_come_in_the_order_asked_for(invoke: Invoke, instance_file: Path, parts: str) -> None:
    outcome = invoke(
        "compare", instance_file, "--method", f"{parts}:slow", "--method", "first-fit", "--json"
    )
    assert outcome.code == 0
    assert outcome.err == ""
    slow, fit = outcome.json()
    assert (slow["method"], slow["makespan"], slow["ratio"]) == ("slow", 6, 3.0)
    assert (fit["method"], fit["makespan"], fit["ratio"]) == ("first-fit", 2, 1.0)
    assert slow["best_bound"] == fit["best_bound"] == 2
    assert slow["gap"] == pytest.approx(4 / 6)
    assert slow["verified"] is fit["verified"] is True
    assert (slow["status"], fit["status"]) == ("feasible", "optimal")


def test_methods_and_formulations_stand_side_by_side(invoke: Invoke, instance_file: Path) -> None:
    outcome = invoke(
        "compare", instance_file, "--formulation", "time-indexed", "--method", "random", "--json"
    )
    assert outcome.code == 0
    method, formulation = outcome.json()
    assert (method["method"], method["formulation"]) == ("random", None)
    assert (formulation["method"], formulation["formulation"]) == (None, "time-indexed")
    assert formulation["chosen_solver"] == solvers_for(TIME_INDEXED, "auto")[0].name


def test_a_horizon_is_that_of_each_instance(invoke: Invoke, instance_file: Path) -> None:
    outcome = invoke(
        *("compare", instance_file, "two-servers", "--formulation", "time-indexed"),
        *("--model-only", "--horizon", 12, "--json"),
    )
    assert outcome.code == 0
    assert [row["model"]["horizon"] for row in outcome.json()] == [12, 12]
    assert [row["makespan"] for row in outcome.json()] == [2, 12]


def test_table_has_a_title_and_a_line_for_each_method(
    invoke: Invoke, instance_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "12")
    outcome = invoke(
        "compare", instance_file, "--method", "first-fit", "--method", "list-scheduling"
    )
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[0].strip() == "example"
    heads = "method status makespan wall-clock bound gap ratio mean completion seconds verified"
    assert " ".join(lines[2].split()) == heads
    assert [line.split()[0] for line in lines[4:]] == ["first-fit", "list-scheduling"]
    assert all(line.split()[-1] == "yes" for line in lines[4:])


def test_several_instances_are_tables_apart(
    invoke: Invoke, instance_file: Path, tmp_path: Path
) -> None:
    other = write(tmp_path / "o", {**instance_data(job_data("z")), "name": "[red]oth\ner[/red]"})
    outcome = invoke("compare", instance_file, other, "--method", "first-fit")
    assert outcome.code == 0
    first, second = outcome.out.split("\n\n[red]")
    assert first.startswith("example")
    assert second.startswith("oth\\ner[/red]")
    rows = invoke("compare", instance_file, other, "--method", "first-fit", "--json").json()
    assert [row["instance"] for row in rows] == ["example", "[red]oth\ner[/red]"]


def test_unsolved_instance_exits_1_and_has_dashes(
    invoke: Invoke, instance_file: Path, tmp_path: Path
) -> None:
    bad = write(tmp_path / "b", instance_data(job_data("a", iterations=50), horizon=4))
    outcome = invoke("compare", instance_file, bad, "--method", "first-fit")
    assert outcome.code == 1
    *_, row, why = outcome.out.splitlines()
    cells = row.split()
    assert cells[:8] == ["first-fit", "infeasible", "-", "-", "5", "-", "-", "-"]
    assert cells[9] == "-"
    assert why == "infeasible: longer than the horizon of 4 slots even alone: job 'a'"
    rows = invoke("compare", bad, "--method", "first-fit", "--json").json()
    assert rows[0]["makespan"] is rows[0]["gap"] is rows[0]["ratio"] is rows[0]["verified"] is None


def test_one_method_that_solves_is_enough_for_exit_0(
    invoke: Invoke, instance_file: Path, parts: str
) -> None:
    outcome = invoke(
        "compare", instance_file, "--method", f"{parts}:giving_up", "--method", "first-fit"
    )
    assert outcome.code == 0


def test_method_that_breaks_constraints_exits_1(
    invoke: Invoke, instance_file: Path, parts: str
) -> None:
    outcome = invoke("compare", instance_file, "--method", f"{parts}:wrong", "--json")
    assert outcome.code == 1
    assert outcome.out == ""
    assert len(outcome.lines) == 1


def test_one_instance_may_come_from_standard_input(invoke: Invoke) -> None:
    text = json.dumps(instance_data())
    assert invoke("compare", "-", "--method", "first-fit", stdin=text).code == 0
    outcome = invoke("compare", "-", "-", "--method", "first-fit", stdin=text)
    assert outcome.code == 2
    assert outcome.lines == ["only one input can come from stdin"]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--method", "nope"), "no method 'nope'; choose one of "),
        (("--formulation", "nope"), "no formulation 'nope'; choose one of "),
        (("--formulation", "time-indexed", "--solver", "nope"), "no solver 'nope'; choose one of "),
        (("--method", "json:dumps"), "'json:dumps' is not a method: it lacks name"),
    ],
)
def test_wrong_request_exits_2_with_one_line(
    invoke: Invoke, instance_file: Path, options: tuple[str, ...], line: str
) -> None:
    outcome = invoke("compare", instance_file, *options)
    assert outcome.code == 2
    assert outcome.out == ""
    assert len(outcome.lines) == 1
    assert outcome.lines[0].startswith(line)


def test_nothing_is_solved_if_one_file_is_malformed(
    invoke: Invoke, instance_file: Path, tmp_path: Path, parts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    bad = write(tmp_path / "bad.json", [])
    outcome = invoke("compare", instance_file, bad, "--method", f"{parts}:telling")
    assert outcome.code == 2
    assert outcome.lines == [f"{bad}: the top level is a list; an object is expected"]
    assert not (tmp_path / "limits.txt").exists()


def test_profiles_and_gaps_are_drawn_beside_the_tables(
    invoke: Invoke, instance_file: Path, tmp_path: Path
) -> None:
    pytest.importorskip("altair")
    plot = tmp_path / "compared.svg"
    methods = ("--method", "first-fit", "--method", "sjf-bco")
    outcome = invoke("compare", instance_file, "two-servers", *methods, "--plot", plot)
    assert outcome.code == 0, outcome
    assert "sjf-bco" in outcome.out
    assert "performance profile over 2 problems" in plot.read_text(encoding="utf-8")
    only = invoke("compare", "two-servers", *methods, "--plot", plot, "--part", "gap")
    assert only.code == 0, only
    assert "performance profile" not in plot.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--part", "gap"], "--part is for --plot FILE"),
        (["--plot", "x.txt"], "x.txt: a picture's name ends in one of .png, .svg, .pdf"),
        (["--plot", "nowhere/x.pdf"], "nowhere/x.pdf"),
    ],
)
def test_wrong_plot_is_refused_before_any_work(
    invoke: Invoke, arguments: list[str], said: str
) -> None:
    pytest.importorskip("altair")
    refused = invoke("compare", "two-servers", *arguments)
    assert (refused.code, refused.out) == (2, "")
    assert said in refused.err
    assert refused.err.count("\n") == 1


def test_tables_are_written_as_they_are_shown(
    invoke: Invoke, instance_file: Path, tmp_path: Path
) -> None:
    methods = ("--method", "first-fit", "--method", "sjf-bco")
    latex, text = tmp_path / "table.tex", tmp_path / "table.csv"
    outcome = invoke("compare", instance_file, "two-servers", *methods, "--table", latex)
    assert outcome.code == 0, outcome
    assert "sjf-bco" in outcome.out
    lines = latex.read_text(encoding="utf-8").splitlines()
    assert lines[2].startswith("instance & method & status & makespan")
    assert lines[6] == r"\midrule"
    assert lines[7].startswith("two-servers & first-fit & feasible & 20 & ")
    assert invoke("compare", "two-servers", *methods, "--table", text).code == 0
    rows = list(csv.DictReader(io.StringIO(text.read_text(encoding="utf-8"))))
    assert [(row["method"], row["makespan"]) for row in rows] == [
        ("first-fit", "20"),
        ("sjf-bco", "20"),
    ]
    refused = invoke("compare", "two-servers", "--table", "table.xlsx")
    assert (refused.code, refused.out) == (2, "")
    assert "table.xlsx: the name of a table ends in .tex or .csv" in refused.err
