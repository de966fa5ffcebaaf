"""`rarmodel solve`: answers, options, exit codes, and what is written where."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from documents import instance_data, job_data, label, replaced

from rarmodel.files import read_schedule

if TYPE_CHECKING:
    from invocation import Invoke


def write(path: Path, data: object) -> Path:
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


FIELDS = {"method", "formulation", "solver", "status", "makespan", "lower_bound", "gap", "seconds"}


def test_default_method_solves_and_exits_0(invoke: Invoke, instance_file: Path) -> None:
    outcome = invoke("solve", instance_file)
    assert outcome.code == 0
    assert outcome.err == ""
    names = [line.split("  ")[0] for line in outcome.out.splitlines()]
    assert names == [
        "instance",
        "method",
        "status",
        "makespan",
        "lower bound",
        "gap",
        "total-completion",
        "total-links",
        "mean completion",
        "seconds",
    ]
    assert "search" in outcome.out
    assert "2 slots" in outcome.out


def test_json_of_a_method(invoke: Invoke, instance_file: Path) -> None:
    outcome = invoke("solve", instance_file, "--method", "first-fit", "--json")
    assert outcome.code == 0
    assert outcome.err == ""
    answer = outcome.json()
    assert set(answer) >= FIELDS
    assert answer["method"] == "first-fit"
    assert answer["formulation"] is None
    assert answer["solver"] is None
    # Job a takes 2 slots alone, so nothing beats the makespan of 2.
    assert answer["status"] == "optimal"
    assert answer["makespan"] == answer["lower_bound"] == 2
    assert answer["gap"] == 0.0
    assert answer["seconds"] > 0


def test_json_of_a_formulation(invoke: Invoke, instance_file: Path) -> None:
    outcome = invoke(
        *("solve", instance_file, "--formulation", "time-indexed", "--solver", "highs"),
        *("--model-only", "--json"),
    )
    assert outcome.code == 0
    answer = outcome.json()
    assert set(answer) >= FIELDS
    assert answer["method"] is None
    assert (answer["formulation"], answer["solver"]) == ("time-indexed", "highs")
    assert answer["by_others"] is None
    assert answer["status"] == "optimal"
    assert answer["makespan"] == 2


def test_a_horizon_takes_the_place_of_the_instances(invoke: Invoke, instance_file: Path) -> None:
    model = ("--formulation", "time-indexed", "--model-only", "--json")
    answer = invoke("solve", instance_file, *model, "--horizon", 3).json()
    assert (answer["status"], answer["makespan"], answer["model"]["horizon"]) == ("optimal", 2, 3)
    assert answer["stopped"] == "the solver proved it"
    outcome = invoke("solve", instance_file, "--horizon", 1)
    assert outcome.code == 1
    assert "infeasible (the lower bound exceeds the horizon)" in outcome.out
    assert outcome.lines[-1] == "longer than the horizon of 1 slot even alone: job 'a'"


def test_no_certificate_is_written_for_another_horizon(
    invoke: Invoke, instance_file: Path, tmp_path: Path
) -> None:
    output = tmp_path / "certificate.json"
    outcome = invoke("solve", instance_file, "--horizon", 3, "--certificate", output)
    assert outcome.code == 2
    assert outcome.lines == [
        (
            "--certificate proves bounds of INSTANCE as it is; write --horizon as time.horizon "
            "into the instance"
        )
    ]
    assert not output.exists()


def test_schedule_is_written_and_verifies(
    invoke: Invoke, instance_file: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out.json"
    outcome = invoke("solve", instance_file, "--output", output)
    assert outcome.code == 0
    assert read_schedule(output).method == "search"
    assert invoke("verify", instance_file, output).code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["instance.json", "out.json"]


def test_schedule_to_stdout_is_all_that_is_there(
    invoke: Invoke, instance_file: Path, tmp_path: Path
) -> None:
    outcome = invoke("solve", instance_file, "--output", "-")
    assert outcome.code == 0
    schedule = write(tmp_path / "s.json", outcome.json())
    assert "makespan" in outcome.err
    assert invoke("verify", instance_file, schedule).code == 0


def test_schedule_and_json_to_stdout_exclude_each_other(
    invoke: Invoke, instance_file: Path
) -> None:
    outcome = invoke("solve", instance_file, "--output", "-", "--json")
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.lines == ["--output - and --json both write to stdout; choose one"]


def test_instance_comes_from_standard_input(invoke: Invoke) -> None:
    outcome = invoke("solve", "-", "--json", stdin=json.dumps(instance_data()))
    assert outcome.code == 0
    assert outcome.json()["makespan"] == 2


def test_bundled_instance_comes_by_name(invoke: Invoke) -> None:
    outcome = invoke("solve", "two-servers", "--json")
    assert outcome.code == 0
    assert outcome.json()["instance"] == "two-servers"


def test_names_of_any_kind_go_through(invoke: Invoke, tmp_path: Path) -> None:
    name = "[red]a\nb\x1b[/red] :smile: 任务😀"
    data = {**instance_data(job_data(name)), "name": name}
    instance, output = write(tmp_path / "i", data), tmp_path / "o"
    outcome = invoke("solve", instance, "--output", output)
    assert outcome.code == 0
    assert len(outcome.out.splitlines()) == 9
    assert "[red]a\\nb\\x1b[/red] :smile: 任务😀" in outcome.out
    assert read_schedule(output).assignments[0].job == name
    assert invoke("solve", instance, "--json").json()["instance"] == name


# Unsolved


def infeasible() -> dict[str, object]:
    return instance_data(job_data("a", iterations=50), horizon=4)


@pytest.mark.parametrize("how", [(), ("--formulation", "time-indexed")], ids=["method", "model"])
def test_infeasible_instance_exits_1_and_leaves_the_output_as_it_was(
    invoke: Invoke, tmp_path: Path, how: tuple[str, ...]
) -> None:
    instance, output = write(tmp_path / "i", infeasible()), tmp_path / "out.json"
    outcome = invoke("solve", instance, *how, "--json", "--output", output)
    assert outcome.code == 1
    first, why = outcome.lines
    assert first.startswith("example: no schedule: infeasible (")
    assert why == "longer than the horizon of 4 slots even alone: job 'a'"
    answer = outcome.json()
    assert answer["status"] == "infeasible"
    assert answer["makespan"] is answer["gap"] is answer["mean_completion"] is None
    assert answer["lower_bound"] == 5
    assert not output.exists()
    output.write_text("old", encoding="utf-8")
    assert invoke("solve", instance, *how, "--output", output).code == 1
    assert output.read_text(encoding="utf-8") == "old"


def test_no_schedule_found_exits_1_with_status_unknown(
    invoke: Invoke, instance_file: Path, parts: str
) -> None:
    outcome = invoke("solve", instance_file, "--method", f"{parts}:giving_up", "--json")
    assert outcome.code == 1
    assert outcome.json()["status"] == "unknown"
    assert outcome.json()["lower_bound"] == 2
    outcome = invoke("solve", instance_file, "--method", f"{parts}:giving_up")
    assert outcome.code == 1
    assert "makespan          -\n" in outcome.out
    assert "total-completion  - (at least 3)\n" in outcome.out
    assert outcome.lines == ["example: no schedule: unknown (gave up)"]


def test_schedule_that_fails_verification_is_never_shown(
    invoke: Invoke, instance_file: Path, parts: str, tmp_path: Path
) -> None:
    output = tmp_path / "out.json"
    outcome = invoke(
        "solve", instance_file, "--method", f"{parts}:wrong", "--json", "--output", output
    )
    assert outcome.code == 1
    assert outcome.out == ""
    (line,) = outcome.lines
    assert line.startswith("wrong made a schedule that fails verification: job 'b' has no assign")
    assert not output.exists()


def test_interruption_exits_1_without_traceback(
    invoke: Invoke, instance_file: Path, parts: str
) -> None:
    outcome = invoke("solve", instance_file, "--method", f"{parts}:interrupted", "--json")
    assert outcome.code == 1
    assert outcome.json()["stopped"] == "interrupted"


def test_method_of_a_third_party_is_taken(invoke: Invoke, instance_file: Path, parts: str) -> None:
    outcome = invoke("solve", instance_file, "--method", f"{parts}:slow", "--json")
    assert outcome.code == 0
    answer = outcome.json()
    assert answer["method"] == "slow"
    assert answer["status"] == "feasible"
    assert (answer["makespan"], answer["lower_bound"]) == (6, 2)
    assert answer["gap"] == pytest.approx(4 / 6)


def test_options_reach_the_method(
    invoke: Invoke,
    instance_file: Path,
    parts: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ["--time-limit", 7.5, "--gap", 0.25, "--threads", 3, "--seed", 11]
    assert invoke("solve", instance_file, "--method", f"{parts}:telling", *options).code == 0
    limits = (tmp_path / "limits.txt").read_text(encoding="utf-8")
    assert "gap=0.25, threads=3, seed=11" in limits
    seconds = re.search(r"time_limit=([\d.]+)", limits)
    assert seconds is not None
    assert 7 < float(seconds[1]) <= 7.5  # Bounds took a moment of it.


def test_same_seed_gives_the_same_schedule(invoke: Invoke, tmp_path: Path) -> None:
    data = instance_data(*(job_data(f"j{i}", iterations=10 * i + 5) for i in range(9)))
    instance = write(tmp_path / "i", data)
    command = ("solve", instance, "--method", "random", "--output", "-", "--seed")
    assert invoke(*command, 5).out == invoke(*command, 5).out


# Usage


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            ("--method", "sjf-bco", "--formulation", "time-indexed"),
            "a method and a formulation exclude each other; choose one",
        ),
        (("--solver", "highs"), "a solver needs a formulation, for instance time-indexed"),
        (("--method", "sjfbco"), "no method 'sjfbco'; choose one of "),
        (("--method", "[red]x\n[/red]"), "no method '[red]x\\n[/red]'; choose one of "),
        (("--formulation", "nope"), "no formulation 'nope'; choose one of "),
        (
            ("--formulation", "time-indexed", "--solver", "nope"),
            "no solver 'nope'; choose one of ",
        ),
        (
            ("--method", "no_such_module:x"),
            "method 'no_such_module:x' cannot be imported: No module named 'no_such_module'",
        ),
        (("--method", "json:nope"), "method 'json:nope' cannot be imported: "),
        (("--method", "json:dumps.x"), "method 'json:dumps.x' cannot be imported: "),
        (("--method", ":"), "method ':' cannot be imported: "),
        (("--method", "json:"), "method 'json:' cannot be imported: "),
        (("--method", ".json:dumps"), "method '.json:dumps' cannot be imported: "),
        (("--method", "json:dumps"), "'json:dumps' is not a method: it lacks name"),
        (("--method", "os:path"), "'os:path' is not a method: it lacks name, __call__"),
        (("--method", "their_parts:nameless"), "'their_parts:nameless' is not a method: "),
        (("--method", "their_parts:not_callable"), "'their_parts:not_callable' is not a method: "),
        (("--formulation", "json:dumps"), "'json:dumps' is not a formulation: it lacks name, "),
        (
            ("--formulation", "time-indexed", "--solver", "their_parts:slow"),
            "'their_parts:slow' is not a solver: it lacks model_classes, version, solve",
        ),
    ],
    ids=label,
)
@pytest.mark.usefixtures("parts")
def test_wrong_request_exits_2_with_one_line(
    invoke: Invoke, instance_file: Path, options: tuple[str, ...], line: str
) -> None:
    outcome = invoke("solve", instance_file, *options)
    assert outcome.code == 2
    assert outcome.out == ""
    assert len(outcome.lines) == 1
    assert outcome.lines[0].startswith(line)


def test_an_empty_method_asks_for_nothing_and_gives_the_default(
    invoke: Invoke, instance_file: Path
) -> None:
    asked, plain = (
        invoke("solve", instance_file, *options, "--json") for options in (("--method", ""), ())
    )
    assert asked.code == plain.code == 0
    assert json.loads(asked.out)["method"] == json.loads(plain.out)["method"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("solve",),
        ("solve", "a", "b"),
        ("solve", "two-servers", "--colour"),
        ("solve", "two-servers", "--time-limit"),
        ("solve", "two-servers", "--time-limit", "soon"),
        ("solve", "two-servers", "--time-limit", "0"),
        ("solve", "two-servers", "--time-limit", "-1"),
        ("solve", "two-servers", "--time-limit", "nan"),
        ("solve", "two-servers", "--time-limit", "-inf"),
        ("solve", "two-servers", "--gap", "-0.1"),
        ("solve", "two-servers", "--gap", "1"),
        ("solve", "two-servers", "--gap", "nan"),
        ("solve", "two-servers", "--gap", "inf"),
        ("solve", "two-servers", "--gap", "5%"),
        ("solve", "two-servers", "--threads", "0"),
        ("solve", "two-servers", "--threads", "1.5"),
        ("solve", "two-servers", "--seed", "-1"),
        ("solve", "two-servers", "--seed", "2147483648"),
        ("solve", "two-servers", "--seed", "x"),
        ("verify",),
        ("verify", "two-servers"),
        ("verify", "two-servers", "x", "y"),
        ("compare",),
        ("compare", "two-servers", "--time-limit", "0"),
        ("compare", "two-servers", "--gap", "nan"),
        ("schema",),
        ("schema", "job"),
        ("instances", "x"),
        ("slove", "two-servers"),
        ("--colour",),
        (),
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_2_and_says_why_on_stderr(
    invoke: Invoke, arguments: tuple[str, ...]
) -> None:
    outcome = invoke(*arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert "Error" in outcome.err


@pytest.mark.parametrize("limit", ["inf", "1e9", "0.001"])
def test_any_positive_time_limit_is_taken(invoke: Invoke, instance_file: Path, limit: str) -> None:
    assert invoke("solve", instance_file, "--time-limit", limit).code == 0


# Output that cannot be written


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("none/out.json", "no such file or directory"),
        (".", "is a directory"),
        ("instance.json/out.json", "not a directory"),
        ("x" * 300, "file name too long"),
    ],
    ids=label,
)
def test_impossible_output_exits_2_with_one_line_before_anything_is_solved(
    invoke: Invoke,
    instance_file: Path,
    parts: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    why: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = invoke("solve", instance_file, "--method", f"{parts}:telling", "--output", name)
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.lines == [f"{name}: cannot be written: {why}"]
    assert not (tmp_path / "limits.txt").exists()


def test_empty_output_name_exits_2_with_one_line(invoke: Invoke, instance_file: Path) -> None:
    outcome = invoke("solve", instance_file, "--output", "")
    assert outcome.code == 2
    assert outcome.lines == ["'': cannot be written: is a directory"]


def test_existing_output_is_untouched_if_the_disk_is_full(
    invoke: Invoke, instance_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "out.json"
    output.write_text("old", encoding="utf-8")

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    outcome = invoke("solve", instance_file, "--output", output)
    assert outcome.code == 2
    assert outcome.lines == [f"{output}: cannot be written: no space left on device"]
    assert output.read_text(encoding="utf-8") == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["instance.json", "out.json"]


def test_extreme_numbers_within_range_are_solved_or_refused_in_lines(
    invoke: Invoke, tmp_path: Path
) -> None:
    data = instance_data(job_data("a", gpus=2, gradient_mb=1e30, iterations=2**53 - 1))
    for path, value in (
        (("time", "slot_seconds"), 1e30),
        (("time", "slot_seconds"), 1e-30),
        (("contention", "degradation", "alpha"), 1e30),
        (("time", "horizon"), 2**53 - 1),
    ):
        instance = write(tmp_path / "i", replaced(data, path, value))
        outcome = invoke("solve", instance)
        assert outcome.code in {0, 1, 2}
        assert len(outcome.lines) <= 2  # A verdict, and perhaps its reason.


def test_objectives_are_separated_by_commas(invoke: Invoke) -> None:
    outcome = invoke(
        *("solve", "two-servers", "--formulation", "time-indexed", "--json"),
        *("--objective", "max-stretch,total-completion"),
    )
    assert outcome.code == 0
    found = outcome.json()
    assert found["objective"] == ["max-stretch", "total-completion"]
    assert found["objective_value"] == found["objective_bound"]
    refused = invoke("solve", "two-servers", "--objective", "makespan,none")
    assert refused.code == 2
    assert "no objective 'none'" in refused.err


def test_an_empty_objective_is_no_default_and_blanks_do_not_count(invoke: Invoke) -> None:
    refused = invoke("solve", "two-servers", "--objective", "")
    assert refused.code == 2
    (line,) = refused.lines
    assert line.startswith("no objective ''; choose one of cost, ")
    asked = ("--objective", "makespan, cost", "--method", "fifo-backfill", "--json")
    assert invoke("solve", "two-servers", *asked).json()["objective"] == ["makespan", "cost"]


@pytest.mark.parametrize("command", ["solve", "compare", "audit"])
def test_threads_have_a_ceiling(invoke: Invoke, command: str) -> None:
    outcome = invoke(command, "two-servers", "--threads", 5000)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("threads 5000: it must be a whole number from 1 to ")
    assert outcome.err.count("\n") == 1


def test_a_solve_starts_from_a_file(invoke: Invoke, instance_file: Path, tmp_path: Path) -> None:
    first = tmp_path / "first.json"
    assert invoke("solve", instance_file, "--method", "sjf-bco", "--output", first).code == 0
    outcome = invoke("solve", instance_file, "--method", "random", "--start", first, "--json")
    assert outcome.code == 0
    assert outcome.json()["makespan"] == 2
    assert outcome.json()["schedule_by"] == "start"


def test_no_output_overwrites_the_start(
    invoke: Invoke, instance_file: Path, tmp_path: Path
) -> None:
    first = tmp_path / "first.json"
    assert invoke("solve", instance_file, "--output", first).code == 0
    outcome = invoke("solve", instance_file, "--start", first, "--output", first)
    assert outcome.code == 2
    assert "--start reads it" in outcome.err


def test_only_one_input_comes_from_standard_input(invoke: Invoke) -> None:
    outcome = invoke("solve", "-", "--start", "-")
    assert (outcome.code, outcome.err) == (2, "only one input can come from stdin\n")


def test_options_reach_the_solver(invoke: Invoke, instance_file: Path) -> None:
    command = ["solve", instance_file, "--formulation", "time-indexed", "--solver", "highs"]
    options = ["--solver-option", "presolve=off", "--solver-option", "mip_max_nodes=5"]
    outcome = invoke(*command, "--model-only", "--log", *options)
    assert outcome.code == 0
    assert "Presolve is switched off" in outcome.err
    wrong = invoke(*command, "--solver-option", "presolv=off")
    assert wrong.code == 2
    assert wrong.err.startswith("solver 'highs' has no option 'presolv' (was 'presolve' ")
    assert wrong.err.count("\n") == 1


@pytest.mark.parametrize("option", ["presolve", "=off"])
def test_an_option_of_the_solver_is_a_name_and_a_value(
    invoke: Invoke, instance_file: Path, option: str
) -> None:
    outcome = invoke("solve", instance_file, "--solver-option", option)
    assert outcome.code == 2
    assert "a name and a value" in outcome.err


def test_json_has_the_log_if_asked(invoke: Invoke, instance_file: Path) -> None:
    answer = invoke("solve", instance_file, "--json-log").json()
    assert answer["log"][-1]["value"] == answer["makespan"]
    assert "log" not in invoke("solve", instance_file, "--json").json()
