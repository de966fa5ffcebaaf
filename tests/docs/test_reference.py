"""The pages that list everything do: options, fields, numbers of the paper."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rarmodel
from rarmodel import registry
from rarmodel.cli.commands import rarmodel as commands
from rarmodel.model import horizon_of

DOCS = Path(__file__).parents[2] / "docs"
COMMAND_LINE = runpy.run_path(str(DOCS / "command_line.py"))
LAB = DOCS / "examples" / "lab.json"


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def sections(text: str, level: int = 2) -> dict[str, str]:
    """Text under each heading of a level, by heading."""
    parts = re.split(rf"(?m)^{'#' * level} (.+)$", text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("name", sorted(commands.commands))
def test_command_line_page_has_every_command_and_option(name: str) -> None:
    section = sections(page("cli.md"))[name]
    command = commands.commands[name]
    of_group = getattr(command, "commands", {})
    assert [one for one in of_group if not re.search(rf"{name} {one}[ `]", section)] == []
    parameters = [p for one in (command, *of_group.values()) for p in one.params]
    options = [option for parameter in parameters for option in parameter.opts]
    assert [o for o in options if o.startswith("-") and o not in section and o != "--help"] == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_command_line_page_says_how_a_shell_learns_to_complete(shell: str) -> None:
    section = sections(page("cli.md"))["Shell completion"]
    assert f"\n_RARMODEL_COMPLETE={shell}_source rarmodel > ~/." in section


def test_the_command_line_page_is_that_of_the_help() -> None:
    text = page("cli.md")
    assert COMMAND_LINE["renewed"](text) == text, "run: python docs/command_line.py"


def test_a_command_without_its_marks_is_an_error() -> None:
    text = page("cli.md").replace("<!-- options of solve -->", "")
    with pytest.raises(ValueError, match="0 times <!-- options of solve -->"):
        COMMAND_LINE["renewed"](text)


def test_shared_options_have_one_meaning_each() -> None:
    names = [option.partition(" ")[0] for option, _ in COMMAND_LINE["shared_options"]()]
    assert len(names) == len(set(names)) > 5


def test_the_json_page_has_every_field() -> None:
    found = sections(page("json-output.md"))
    found |= sections(found["list"], level=3)
    result = rarmodel.solve(LAB)
    assert result.report is not None
    rows = rarmodel.compare(LAB, methods=["first-fit"])[0].rows()
    audit = rarmodel.audit(LAB).summary()
    calibration = rarmodel.calibrate(
        DOCS / "examples" / "measured.csv",
        rates={"network_gbps": 10.0, "intra_server_gbps": 100.0},
    ).summary()
    outputs = {
        "solve": result.summary(),
        "verify": result.report.summary(),
        "compare": {key: rows[0][key] for key in rows[0].keys() - result.summary().keys()},
        "instances": rarmodel.list_instances()[0],
        "describe": rarmodel.describe(LAB).summary(),
        "methods": rarmodel.parts("methods")[0],
        "formulations": rarmodel.parts("formulations")[0],
        "objectives": rarmodel.parts("objectives")[0],
        "bounds": rarmodel.parts("bounds")[0],
        "neighbourhoods": rarmodel.parts("neighbourhoods")[0],
        "solvers": rarmodel.parts("solvers")[0],
        "import": rarmodel.import_trace(
            DOCS / "examples" / "philly.csv", servers=1, gpus_per_server=8
        ).account.summary(),
        "calibrate": {
            **calibration,
            **{f"parameters[].{field}": None for field in calibration["parameters"][0]},
            **dict.fromkeys(calibration["rows"][0]),
        },
        "audit": {**audit, **{f"claims[].{field}": None for field in audit["claims"][0]}},
    }
    missing = [
        f"{c}: {f}" for c, fields in outputs.items() for f in fields if f"`{f}" not in found[c]
    ]
    assert missing == []


def fields_of(model: type[rarmodel.Instance | rarmodel.Schedule]) -> Iterator[str]:
    """Names of all fields of a schema and of what it is made of."""
    schema: dict[str, Any] = model.model_json_schema()
    for part in (schema, *schema["$defs"].values()):
        yield from part.get("properties", {})


@pytest.mark.parametrize("model", [rarmodel.Instance, rarmodel.Schedule])
def test_formats_page_has_every_field(model: type[rarmodel.Instance | rarmodel.Schedule]) -> None:
    text = page("formats.md")
    assert [
        name for name in fields_of(model) if not re.search(rf"`[\w.\[\]]*\b{name}\b", text)
    ] == []


def test_methods_page_has_every_built_in_method() -> None:
    built_in = ["first-fit", "list-scheduling", "random", "sjf-bco", "sjf-bco-occupied-first"]
    assert set(built_in) <= set(registry.names("methods"))
    assert [name for name in built_in if f"| `{name}` |" not in page("methods.md")] == []


def test_paper_to_code_has_every_number_of_the_paper() -> None:
    text = page("paper-to-code.md")
    numbers = {int(n) for n in re.findall(r"(?m)^\| \((\d+)\)", text)}
    for first, last in re.findall(r"\((\d+)\)–\((\d+)\)", text):
        numbers |= set(range(int(first), int(last) + 1))
    assert numbers >= set(range(1, 17))
    assert {int(n) for n in re.findall(r"Algorithm (\d)", text)} == {1, 2, 3}
    assert {int(n) for n in re.findall(r"(?m)^\| (\d) ", text)} == set(range(1, 8))
    assert {"Lemma 2", "Lemma 3", "Lemma 4", "Theorem 5"} <= set(re.findall(r"[LT]\w+ \d", text))


def test_search_for_counter_examples_finds_the_bundled_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    search = runpy.run_path(str(DOCS / "counterexamples.py"))
    search["search_all"](1, 3, 3)
    cases = {
        name: search["case_of"](rarmodel.load_instance(name))
        for name in ("lemma-4-fails", "lemma-3-fails")
    }
    assert capsys.readouterr().out.splitlines() == [
        f"lemma-2-equality fails: horizon 3, {cases['lemma-4-fails']}",
        f"lemma-4 fails: horizon 3, {cases['lemma-4-fails']}",
        f"lemma-3 fails: horizon 3, {cases['lemma-3-fails']}",
        "76 cases, each with horizons of 1 to 3 slots",
    ]


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("lemma-3-fails", "lemma-3"),
        ("lemma-3-real-fails", "lemma-3-real"),
        ("lemma-4-fails", "lemma-4"),
        ("theorem-5-fails", "theorem-5"),
    ],
)
def test_bundled_counter_example_is_of_the_family_that_is_searched(name: str, claim: str) -> None:
    search = runpy.run_path(str(DOCS / "counterexamples.py"))
    instance = rarmodel.load_instance(name)
    case, horizon = search["case_of"](instance), horizon_of(instance)
    without = {"name", "description", "jobs"}
    made = search["instance_of"](case, horizon)
    assert made.model_dump(exclude=without) == instance.model_dump(exclude=without)
    assert (horizon, claim) in set(search["failing"](case, range(1, horizon + 1)))
    assert (horizon - 1, claim) not in set(search["failing"](case, range(1, horizon)))
