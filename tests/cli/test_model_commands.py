"""`rarmodel formulate`, `list solvers`, `--data` and pairings of formulations and solvers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import rarmodel
from rarmodel import registry
from rarmodel.solvers.choice import fitting_solvers

if TYPE_CHECKING:
    from invocation import Invoke


def test_solvers_are_listed_with_versions(invoke: Invoke) -> None:
    outcome = invoke("list", "solvers")
    assert outcome.code == 0
    assert outcome.err == ""
    names = {line.split()[0] for line in outcome.out.splitlines()[2:]}
    assert names == set(registry.names("solvers"))
    rows = {row["name"]: row for row in invoke("list", "solvers", "--json").json()}
    assert rows["highs"]["version"]
    assert rows["highs"]["model_classes"] == ["integer", "linear"]
    assert "ortools" in rows["cpsat"]["install"]


@pytest.mark.parametrize("ending", ["lp", "mps", "nl"])
@pytest.mark.parametrize("formulation", ["time-indexed", "busy-time"])
def test_a_model_is_written_with_readable_names(
    invoke: Invoke, tmp_path: Path, formulation: str, ending: str
) -> None:
    output = tmp_path / f"model.{ending}"
    outcome = invoke(
        "formulate", "two-servers", "--formulation", formulation, "--output", str(output), "--json"
    )
    assert outcome.code == 0
    size = outcome.json()
    _, same = rarmodel.formulate("two-servers", formulation)
    assert size == same.summary()
    assert size["binaries"] > 0
    names = output.with_suffix(".col") if ending == "nl" else output
    text = names.read_text(encoding="utf-8")
    assert ("started(j1_1)" if formulation == "time-indexed" else "y(") in text.replace(
        "[", "("
    ).replace(",", "_").replace("]", ")")


def test_a_nonlinear_model_goes_into_an_nl_file_only(invoke: Invoke, tmp_path: Path) -> None:
    options = ("formulate", "two-servers", "--formulation", "rar-ddls", "--output")
    assert invoke(*options, str(tmp_path / "m.nl")).code == 0
    outcome = invoke(*options, str(tmp_path / "m.mps"))
    assert outcome.code == 2
    (line,) = outcome.lines
    assert "an .mps file cannot hold this model" in line
    assert not (tmp_path / "m.mps").exists()


def test_names_that_a_format_forbids_or_that_collide_stay_apart(
    invoke: Invoke, tmp_path: Path
) -> None:
    instance = json.loads(rarmodel.to_json(rarmodel.load_instance("two-servers")))
    for job, name in zip(instance["jobs"], ["a b", "a_b", "a-b", "ä"], strict=False):
        job["name"] = name
    (tmp_path / "odd.json").write_text(json.dumps(instance), encoding="utf-8")
    output = tmp_path / "odd.lp"
    outcome = invoke(
        *("formulate", str(tmp_path / "odd.json"), "--formulation", "time-indexed"),
        *("--output", str(output)),
    )
    assert outcome.code == 0
    import highspy

    highs = highspy.Highs()
    highs.silent()
    assert highs.readModel(str(output)) == highspy.HighsStatus.kOk
    _, size = rarmodel.formulate(tmp_path / "odd.json", "time-indexed")
    # Pyomo adds a variable for the objective's constant.
    columns = size.binaries + size.integers
    assert highs.getLp().num_col_ in {columns, columns + 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--formulation", "nope", "--output", "m.lp"), "no formulation 'nope'"),
        (("--formulation", "time-indexed", "--output", "m.txt"), "written to .lp or .mps or .nl"),
        (("--formulation", "time-indexed", "--output", "no/m.lp"), "no/m.lp: cannot be written"),
    ],
)
def test_a_wrong_request_exits_2_with_one_line(
    invoke: Invoke, options: tuple[str, ...], message: str
) -> None:
    outcome = invoke("formulate", "two-servers", *options)
    assert outcome.code == 2
    (line,) = outcome.lines
    assert message in line


def test_a_class_that_the_solver_does_not_solve_is_refused_in_one_line(invoke: Invoke) -> None:
    outcome = invoke("solve", "two-servers", "--formulation", "rar-ddls", "--solver", "highs")
    assert outcome.code == 2
    (line,) = outcome.lines
    assert "solver 'highs' solves integer and linear models; 'rar-ddls' is nonlinear" in line
    outcome = invoke("compare", "two-servers", "--formulation", "rar-ddls", "--solver", "highs")
    assert outcome.code == 2
    assert "formulation 'rar-ddls' is nonlinear, which highs cannot solve" in outcome.lines[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "the top level is a list"),
        ("{", "not JSON"),
        ('{"a": 1, "a": 2}', "a: this field occurs twice in one object; keep one"),
    ],
)
def test_malformed_data_is_one_line(
    invoke: Invoke, tmp_path: Path, text: str, message: str
) -> None:
    data = tmp_path / "data.json"
    data.write_text(text, encoding="utf-8")
    options = ("--formulation", "time-indexed", "--data", str(data))
    outcome = invoke("solve", "two-servers", *options)
    assert outcome.code == 2
    (line,) = outcome.lines
    assert line.startswith(f"{data}: ")
    assert message in line
    assert invoke("solve", "two-servers", "--data", str(data)).code == 2


def test_compare_with_nothing_asked_takes_the_preferred_solver_of_each(invoke: Invoke) -> None:
    outcome = invoke("compare", "two-servers", "--time-limit", "30", "--json")
    assert outcome.code == 0
    rows = outcome.json()
    pairs = [(row["formulation"], row["chosen_solver"]) for row in rows if row["formulation"]]
    stated = [registry.find("formulations", name) for name in registry.names("formulations")]
    assert pairs == [
        (formulation.name, fitting[0].name)
        for formulation in stated
        if not (formulation.restricts or formulation.meant_for)
        and (fitting := fitting_solvers(formulation.model_class))
    ]
    assert {row["method"] for row in rows} >= set(registry.names("methods"))
    assert all(row["verified"] for row in rows)
    exact = [r for r in rows if r["formulation"] == "time-indexed"]
    assert all((row["status"], row["makespan"]) == ("optimal", 12) for row in exact)
    assert all(row["makespan"] >= 12 and row["best_bound"] == 12 for row in rows)
