"""Parts by name, by import path, or as they are."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoints
from pathlib import Path

import pytest

from rarmodel import registry
from rarmodel.errors import UsageError
from rarmodel.heuristics.policies import first_fit
from rarmodel.registry import Kind, find, names


class Part:
    """Has what any part needs."""

    name = "mine"
    model_class = "linear"
    model_classes = frozenset({"linear"})
    objective = "makespan"
    restricts = False

    def __call__(self) -> None: ...

    def unfit(self) -> None: ...

    def size(self) -> None: ...

    def build(self) -> None: ...

    def load(self) -> None: ...

    def plan(self) -> None: ...

    def proves(self) -> None: ...

    def version(self) -> None: ...

    def solve(self) -> None: ...


@pytest.mark.parametrize(
    ("kind", "built_in"),
    [
        ("policies", {"sjf-bco", "first-fit", "list-scheduling", "random"}),
        ("formulations", {"time-indexed"}),
        ("solvers", {"highs"}),
    ],
)
def test_built_in_parts_are_found_by_name(kind: Kind, built_in: set[str]) -> None:
    assert built_in <= set(names(kind))
    for name in built_in:
        assert find(kind, name).name == name


@pytest.mark.parametrize("kind", ["policies", "formulations", "solvers"])
def test_names_are_sorted_and_distinct(kind: Kind) -> None:
    assert names(kind) == sorted(set(names(kind)))


def test_part_is_found_by_import_path() -> None:
    assert find("policies", "rarmodel.heuristics.policies:first_fit") is first_fit


def test_import_path_may_go_into_an_object(monkeypatch: pytest.MonkeyPatch) -> None:
    holder = type("Holder", (), {"inner": Part()})
    monkeypatch.setattr("rarmodel.heuristics.policies.holder", holder, raising=False)
    found = find("policies", "rarmodel.heuristics.policies:holder.inner")
    assert found.name == "mine"


@pytest.mark.parametrize("kind", ["policies", "formulations", "solvers"])
def test_object_is_taken_as_it_is(kind: Kind) -> None:
    part = Part()
    assert find(kind, part) is part


@pytest.mark.parametrize(
    ("kind", "part", "message"),
    [
        ("policies", "nope", "no method 'nope'; choose one of .*first-fit.*sjf-bco"),
        ("formulations", "nope", "no formulation 'nope'; choose one of .*time-indexed"),
        ("solvers", "nope", "no solver 'nope'; choose one of .*highs"),
        ("policies", "time-indexed", "no method 'time-indexed'"),
        ("policies", "SJF-BCO", "no method 'SJF-BCO'"),
        ("policies", "", "no method ''"),
        ("policies", "no_such_module:x", "method 'no_such_module:x' cannot be imported: No module"),
        ("solvers", "rarmodel.solvers:nope", "solver 'rarmodel.solvers:nope' cannot be imported"),
        ("policies", ".relative:x", "method '.relative:x' cannot be imported"),
        ("policies", ":", "method ':' cannot be imported"),
        ("policies", "json:", "method 'json:' cannot be imported"),
        ("policies", "json::dumps", "method 'json::dumps' cannot be imported"),
        ("policies", "json:dumps", "'json:dumps' is not a method: it lacks name"),
        ("formulations", "json:dumps", "is not a formulation: it lacks name, build, load"),
        ("solvers", "json:dumps", "'json:dumps' is not a solver: it lacks name, model_classes"),
        ("solvers", 3, "3 is not a solver: it lacks name, model_classes"),
        ("policies", None, "None is not a method: it lacks name, __call__"),
    ],
)
def test_what_is_no_such_part_is_a_usage_error(kind: Kind, part: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        find(kind, part)


def test_a_module_in_the_working_folder_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "from rarmodel.heuristics import first_fit as my_policy\n"
    (tmp_path / "beside_the_instance.py").write_text(source, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    assert find("policies", "beside_the_instance:my_policy").name == "first-fit"


def test_an_installation_older_than_its_code_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "entry_points", lambda group: EntryPoints())
    registry._installed.cache_clear()
    with pytest.raises(UsageError, match=r"no bounds are installed: .* run 'pip install'"):
        names("bounds")
