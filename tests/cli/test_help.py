"""What `--help` says, of every option of every command."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click
import pytest

import rarmodel as public
from rarmodel import registry
from rarmodel.cli.commands import rarmodel
from rarmodel.cli.help_panels import COMMANDS as GROUPS
from rarmodel.cli.help_panels import OPTIONS as OPTION_GROUPS
from rarmodel.cli.help_panels import ORDER, panels_of
from rarmodel.defaults import AUTO, DEFAULT_METHOD
from rarmodel.kinds import LISTED

if TYPE_CHECKING:
    from invocation import Invoke


def commands(command: Any, name: str = "rarmodel") -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, by its full name."""
    inner = getattr(command, "commands", {})
    if not inner:
        yield name, command
    for part, below in inner.items():
        yield from commands(below, f"{name} {part}")


COMMANDS = dict(commands(rarmodel))
OPTIONS = {
    f"{name} {option.opts[0]}": option
    for name, command in COMMANDS.items()
    for option in command.params
    if isinstance(option, click.Option)
}
each_option = pytest.mark.parametrize("name", OPTIONS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_what_it_does(name: str) -> None:
    text = (COMMANDS[name].help or "").strip()
    assert text
    assert text.endswith(".")


@each_option
def test_every_option_says_what_it_means(name: str) -> None:
    text = getattr(OPTIONS[name], "help", None)
    assert text, "no help"
    assert len(text.split()) >= 4, text
    assert text[0] == text[0].upper()
    assert text.endswith(".")
    assert not text.startswith("What") or "all_reduce_perf" in text


@each_option
def test_an_option_that_adds_up_says_so_and_no_other_does(name: str) -> None:
    option = OPTIONS[name]
    assert ("may be given several times" in (option.help or "")) == option.multiple
    assert not re.search(r"\brepeat", option.help or "")


@each_option
def test_numbers_have_their_unit_or_are_counts(name: str) -> None:
    option = OPTIONS[name]
    units = {"SECONDS": r"seconds|time", "RATE": "Gbit/s", "MS": "milliseconds", "SLOTS": "slots"}
    if option.metavar in units:
        assert re.search(units[option.metavar], option.help or "", re.IGNORECASE)


@each_option
def test_a_value_that_is_taken_by_default_is_shown(name: str) -> None:
    option = OPTIONS[name]
    if isinstance(option.default, int | float | str) and not option.is_flag:
        assert option.show_default


@pytest.mark.parametrize("asked", ["method", "formulation", "solver"])
def test_help_names_the_command_that_lists_what_there_is(asked: str) -> None:
    of_parts = [name for name in OPTIONS if name.endswith(f" --{asked}")]
    assert of_parts
    for name in of_parts:
        assert f"`rarmodel list {asked}s` lists them" in (OPTIONS[name].help or "")
    assert f"{asked}s" in LISTED


def test_methods_are_listed_with_what_they_do(invoke: Invoke) -> None:
    rows = invoke("list", "methods", "--json").json()
    assert [row["name"] for row in rows] == registry.names("methods")
    assert all(row["description"] for row in rows)
    assert [row["name"] for row in rows if row["default"]] == [DEFAULT_METHOD]
    assert [row["name"] for row in rows if row["counts_iterations"]] == ["search"]
    shown = invoke("list", "methods").out
    assert all(f"{row['name']} " in shown and row["description"] in shown for row in rows)


@pytest.mark.parametrize("kind", [None, *LISTED])
def test_every_kind_is_listed(invoke: Invoke, kind: str | None) -> None:
    asked = ["list", *filter(None, [kind])]
    rows = invoke(*asked, "--json").json()
    assert rows == json.loads(json.dumps(public.parts(kind)))
    shown = invoke(*asked).out
    assert all(row["name"] in shown for row in rows)


def test_an_unknown_kind_is_refused_with_the_one_that_was_meant(invoke: Invoke) -> None:
    outcome = invoke("list", "neighborhoods")
    assert outcome.code == 2
    assert "no kind of parts 'neighborhoods'" in outcome.err
    assert "was 'neighbourhoods' meant?" in outcome.err


def test_a_kind_in_place_of_a_command_is_said_to_be_listed(invoke: Invoke) -> None:
    outcome = invoke("policies")
    assert outcome.code == 2
    assert "no command 'policies'; was 'list policies' meant?" in outcome.err


def test_formulations_are_listed_with_who_solves_them(invoke: Invoke) -> None:
    rows = {row["name"]: row for row in invoke("list", "formulations", "--json").json()}
    assert list(rows) == registry.names("formulations")
    assert all(row["description"] for row in rows.values())
    assert "highs" in rows["time-indexed"]["solvers"]
    assert "highs" not in rows["rar-ddls"]["solvers"]
    shown = invoke("list", "formulations").out
    assert all(f" {name} " in shown for name in rows)


def test_a_default_in_the_help_is_the_one_that_is_taken(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    text = invoke("solve", "--help").out
    assert f"By default {DEFAULT_METHOD}." in text
    assert f"By default {AUTO}:" in text


def test_commands_are_in_groups_and_none_is_left_over(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(rarmodel.commands)
    monkeypatch.setenv("COLUMNS", "100")
    shown = invoke("--help").out
    assert re.findall(r"╭─ (\w+) ─", shown) == ["Options", *GROUPS]


@pytest.mark.parametrize("name", COMMANDS)
def test_options_are_in_groups_and_each_in_one(name: str) -> None:
    inner = name.partition(" ")[2]
    panels = panels_of(inner, COMMANDS[name])
    in_panels = [option for some in panels.values() for option in some]
    options = [one for one in COMMANDS[name].params if isinstance(one, click.Option)]
    assert sorted(in_panels) == sorted(max(one.opts, key=len) for one in options)
    assert list(panels) == [group for group in ORDER if group in panels]


def test_every_option_of_a_group_exists() -> None:
    names = {max(one.opts, key=len).removeprefix("--") for one in OPTIONS.values()}
    assert {option for some in OPTION_GROUPS.values() for option in some} <= names


@pytest.mark.parametrize("name", COMMANDS)
def test_help_breaks_no_option_at_80_columns(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = invoke(*name.split()[1:], "--help").out.split()
    for option in COMMANDS[name].params:
        if isinstance(option, click.Option):
            spelled = "/".join([*option.opts, *option.secondary_opts])
            assert {spelled, max(option.opts, key=len)} & set(shown), spelled


@pytest.mark.parametrize("name", COMMANDS)
def test_help_tells_no_range_of_numbers(invoke: Invoke, name: str) -> None:
    assert not re.search(r"\[[^\]]*x[<>]=?", invoke(*name.split()[1:], "--help").out)
