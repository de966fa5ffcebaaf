"""`rarmodel schema`, `rarmodel instances`, help and version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import rarmodel
from rarmodel.instances import Library
from rarmodel.schema import Instance, Schedule

if TYPE_CHECKING:
    from invocation import Invoke


@pytest.mark.parametrize(
    ("kind", "model"), [("instance", Instance), ("schedule", Schedule), ("library", Library)]
)
def test_json_schema_of_each_format_is_printed(
    invoke: Invoke, kind: str, model: type[Instance | Schedule | Library]
) -> None:
    outcome = invoke("schema", kind)
    assert outcome.code == 0
    assert outcome.err == ""
    assert outcome.json() == model.model_json_schema()


def test_instances_are_listed_with_sizes(invoke: Invoke) -> None:
    outcome = invoke("instances")
    assert outcome.code == 0
    assert outcome.err == ""
    head, _, *rows = outcome.out.splitlines()
    assert head.split()[:5] == ["name", "jobs", "servers", "GPUs", "network"]
    assert any(row.split()[0] == "two-servers" for row in rows)


def test_instances_are_listed_as_json(invoke: Invoke) -> None:
    outcome = invoke("instances", "--json")
    assert outcome.code == 0
    rows = outcome.json()
    assert len({row["name"] for row in rows}) == len(rows)
    for row in rows:
        assert {"name", "jobs", "servers", "gpus", "network", "horizon", "optimum"} <= set(row)
        assert row["jobs"] >= 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("-h",),
        ("solve", "--help"),
        ("verify", "-h"),
        ("compare", "--help"),
        ("schema", "--help"),
        ("instances", "--help"),
    ],
    ids=" ".join,
)
def test_help_goes_to_stdout_and_exits_0(invoke: Invoke, arguments: tuple[str, ...]) -> None:
    outcome = invoke(*arguments)
    assert outcome.code == 0
    assert "Usage" in outcome.out
    assert outcome.err == ""


def test_help_of_a_command_names_its_options(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    text = invoke("solve", "--help").out
    for option in ("method", "formulation", "solver", "time-limit", "gap", "threads", "seed"):
        assert f"--{option}" in text
    assert "--output" in text
    assert "--json" in text


def test_version_is_the_packages(invoke: Invoke) -> None:
    outcome = invoke("--version")
    assert outcome.code == 0
    assert rarmodel.__version__ in outcome.out


def test_interruption_anywhere_exits_130_with_one_line(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: str | None) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rarmodel.api.library_listing.list_instances", interrupt)
    outcome = invoke("instances")
    assert outcome.code == 130
    assert outcome.lines[-1] == "interrupted"


def test_failure_of_the_system_exits_2_with_one_line(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: str | None) -> None:
        raise PermissionError(13, "Permission denied", "a\nfile")

    monkeypatch.setattr("rarmodel.api.library_listing.list_instances", fail)
    outcome = invoke("instances")
    assert outcome.code == 2
    (line,) = outcome.lines
    assert "Permission denied" in line
