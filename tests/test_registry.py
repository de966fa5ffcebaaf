"""Parts by name, by import path, or as they are."""

from __future__ import annotations

import pickle
import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest

from rarmodel import kinds, registry
from rarmodel.errors import PartError, UsageError
from rarmodel.heuristics.policies import first_fit
from rarmodel.kinds import Kind
from rarmodel.registry import find, names


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
        ("methods", {"sjf-bco", "first-fit", "list-scheduling", "random"}),
        ("formulations", {"time-indexed"}),
        ("solvers", {"highs"}),
    ],
)
def test_built_in_parts_are_found_by_name(kind: Kind, built_in: set[str]) -> None:
    assert built_in <= set(names(kind))
    for name in built_in:
        assert find(kind, name).name == name


@pytest.mark.parametrize("kind", ["methods", "formulations", "solvers"])
def test_names_are_sorted_and_distinct(kind: Kind) -> None:
    assert names(kind) == sorted(set(names(kind)))


def test_part_is_found_by_import_path() -> None:
    assert find("methods", "rarmodel.heuristics.policies:first_fit") is first_fit


def test_import_path_may_go_into_an_object(monkeypatch: pytest.MonkeyPatch) -> None:
    holder = type("Holder", (), {"inner": Part()})
    monkeypatch.setattr("rarmodel.heuristics.policies.holder", holder, raising=False)
    found = find("methods", "rarmodel.heuristics.policies:holder.inner")
    assert found.name == "mine"


@pytest.mark.parametrize("kind", ["methods", "formulations", "solvers"])
def test_object_is_taken_as_it_is(kind: Kind) -> None:
    part = Part()
    assert find(kind, part) is part


@pytest.mark.parametrize(
    ("kind", "part", "message"),
    [
        ("methods", "nope", "no method 'nope'; choose one of .*first-fit.*sjf-bco"),
        ("formulations", "nope", "no formulation 'nope'; choose one of .*time-indexed"),
        ("solvers", "nope", "no solver 'nope'; choose one of .*highs"),
        ("methods", "time-indexed", "no method 'time-indexed'"),
        ("methods", "SJF-BCO", "no method 'SJF-BCO'"),
        ("methods", "", "no method ''"),
        ("methods", "no_such_module:x", "method 'no_such_module:x' cannot be imported: No module"),
        ("solvers", "rarmodel.solvers:nope", "solver 'rarmodel.solvers:nope' cannot be imported"),
        ("methods", ".relative:x", "method '.relative:x' cannot be imported"),
        ("methods", ":", "method ':' cannot be imported"),
        ("methods", "json:", "method 'json:' cannot be imported"),
        ("methods", "json::dumps", "method 'json::dumps' cannot be imported"),
        ("methods", "json:dumps", "'json:dumps' is not a method: it lacks name"),
        ("formulations", "json:dumps", "is not a formulation: it lacks name, build, load"),
        ("solvers", "json:dumps", "'json:dumps' is not a solver: it lacks name, model_classes"),
        ("solvers", 3, "3 is not a solver: it lacks name, model_classes"),
        ("methods", None, "None is not a method: it lacks name, __call__"),
    ],
)
def test_what_is_no_such_part_is_a_usage_error(kind: Kind, part: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        find(kind, part)


@pytest.mark.parametrize(
    ("kind", "asked", "meant"),
    [
        ("methods", "sjf_bco", "sjf-bco"),
        ("methods", "SJF-BCO", "sjf-bco"),
        ("methods", "First Fit", "first-fit"),
        ("methods", "fcfs", "fifo-backfill"),
        ("methods", "fifo", "fifo-backfill"),
        ("methods", "serach", "search"),
        ("policies", "tiresias", "las"),
        ("policies", "Tiresias", "las"),
        ("policies", "2dlas", "las"),
        ("policies", "2D-LAS", "las"),
        ("policies", "gavel", "gavel-max-min"),
        ("policies", "themis", "finish-time-fairness"),
        ("policies", "fcfs", "fifo"),
        ("policies", "srpt", "srtf"),
        ("policies", "elasticflow", "elastic-deadline"),
        ("solvers", "cp-sat", "cpsat"),
        ("solvers", "CP_SAT", "cpsat"),
        ("solvers", "ortools", "cpsat"),
        ("solvers", "OR-Tools", "cpsat"),
        ("solvers", "highspy", "highs"),
        ("solvers", "gurobipy", "gurobi"),
        ("formulations", "time_indexed", "time-indexed"),
        ("formulations", "rarddls", "rar-ddls"),
        ("objectives", "cmax", "makespan"),
        ("objectives", "jct", "total-flow"),
        ("objectives", "total_flow", "total-flow"),
        ("placements", "consolidated", "consolidate"),
        ("placements", "contention_aware", "contention-aware"),
        ("bounds", "cuting-stock", "cutting-stock"),
        ("neighbourhoods", "order", "orders"),
    ],
)
def test_a_name_from_elsewhere_or_misspelt_has_a_suggestion(
    kind: Kind, asked: str, meant: str
) -> None:
    with pytest.raises(UsageError, match=f"; was '{meant}' meant\\?$"):
        find(kind, asked)


def test_a_part_of_another_kind_has_its_option() -> None:
    with pytest.raises(UsageError, match=r"; 'las' is a policy, for --policy$"):
        find("methods", "las")
    with pytest.raises(UsageError, match=r"; 'time-indexed' is a formulation, for --formulation$"):
        find("methods", "time-indexed")


def test_nothing_is_suggested_for_a_name_that_resembles_none() -> None:
    with pytest.raises(UsageError, match=r"weighted-shortest-first$"):
        find("methods", "quantum")


def test_suggested_names_are_those_of_parts() -> None:
    for kind, about in kinds.KINDS.items():
        assert set(about.elsewhere.values()) <= set(names(kind))
        assert not set(about.elsewhere) & set(names(kind))


BROKEN = """
import json

def fails():
    json.loads("[")

{what}
"""
FAULTS = {
    "name error": ("missing + 1", ":7: NameError: name 'missing' is not defined"),
    "in a library": (
        "fails()",
        r":5: JSONDecodeError: Expecting value: line 1 column 2 .char 1.",
    ),
    "syntax": ("def (", ":7: SyntaxError: invalid syntax"),
    "import": ("import no_such_package", ":7: No module named 'no_such_package'"),
    "exit": ("exit(3)", r":7: it called exit.3.; it must return, or raise an exception"),
    "sys.exit": ("import sys; sys.exit()", r":7: it called exit..; it must return, or .*"),
    "lines": ("raise ValueError('one\\ntwo')", ":7: ValueError: one two"),
    "silent": ("raise ValueError", ":7: ValueError"),
    "recursion": ("f = lambda: f(); f()", ":7: RecursionError: .*"),
    "attribute": ("[].nope", ":7: AttributeError: 'list' object has no attribute 'nope'"),
}
KINDS = list(kinds.KINDS)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "broken_part", raising=False)
    monkeypatch.delitem(sys.modules, "inner_part", raising=False)
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_module_that_fails_is_one_line_with_its_place(
    folder: Path, kind: Kind, fault: str
) -> None:
    code, message = FAULTS[fault]
    (folder / "broken_part.py").write_text(BROKEN.format(what=code), encoding="utf-8")
    what = kinds.KINDS[kind].singular
    expected = f"^{what} 'broken_part:X' cannot be imported: broken_part.py{message}$"
    with pytest.raises(PartError, match=expected) as caught:
        find(kind, "broken_part:X")
    assert caught.value.__cause__ is not None


def test_the_place_is_in_the_module_at_fault(folder: Path) -> None:
    (folder / "inner_part.py").write_text("x = 1\ny = 1 / 0\n", encoding="utf-8")
    (folder / "broken_part.py").write_text("import inner_part\n", encoding="utf-8")
    with pytest.raises(PartError, match=r": inner_part\.py:2: ZeroDivisionError"):
        find("methods", "broken_part:X")
    (folder / "inner_part.py").write_text("x = 1\ny = = 0\n", encoding="utf-8")
    with pytest.raises(PartError, match=r": inner_part\.py:2: SyntaxError"):
        find("methods", "broken_part:X")


def test_an_installed_part_that_fails_has_its_place(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = folder / "site-packages"
    place.mkdir()
    (place / "broken_part.py").write_text("import json\njson.loads('[')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(place)
    point = EntryPoint("theirs", "broken_part:X", "rarmodel.solvers")
    monkeypatch.setattr(registry, "_installed", lambda kind: EntryPoints([point]))
    expected = r"^solver 'theirs' cannot be imported: site-packages.broken_part\.py:2: JSONDecode"
    with pytest.raises(PartError, match=expected):
        find("solvers", "theirs")


def test_a_misspelt_member_of_a_module_has_a_suggestion(folder: Path) -> None:
    (folder / "broken_part.py").write_text("MY_METHOD = 1\n", encoding="utf-8")
    with pytest.raises(PartError, match="no attribute 'MY_METHD'; was 'MY_METHOD' meant"):
        find("methods", "broken_part:MY_METHD")


def test_a_module_that_another_hides_is_named(folder: Path) -> None:
    (folder / "json.py").write_text("MINE = 1\n", encoding="utf-8")
    with pytest.raises(PartError, match=r"; json\.py in this folder is hidden by .*json.__init__"):
        find("methods", "json:MINE")


def test_a_member_that_fails_is_one_line() -> None:
    class Failing(Part):
        @property
        def model_classes(self) -> None:  # type: ignore[override]
            raise RuntimeError("why")

    with pytest.raises(PartError, match=r"^solver .* failed at \S*test_registry\.py:\d+: Runtime"):
        find("solvers", Failing())


@pytest.mark.parametrize("name", [None, "", 3])
def test_a_part_needs_a_name(name: Any) -> None:
    part = Part()
    part.name = name
    with pytest.raises(UsageError, match=rf"is not a method: its name is {name!r}, and no text"):
        find("methods", part)


def test_faults_of_our_own_parts_are_no_fault_of_users() -> None:
    with pytest.raises(ZeroDivisionError), registry.calling("methods", first_fit):
        1 / 0  # noqa: B018
    with pytest.raises(PartError), registry.calling("methods", Part()):
        1 / 0  # noqa: B018
    with pytest.raises(KeyboardInterrupt), registry.calling("methods", Part()):
        raise KeyboardInterrupt
    with pytest.raises(MemoryError), registry.calling("methods", Part()):
        raise MemoryError


def test_errors_of_parts_can_be_pickled() -> None:
    with pytest.raises(PartError) as caught, registry.calling("methods", Part()):
        exit(3)  # noqa: PLR1722
    copy = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert (type(copy), str(copy)) == (PartError, str(caught.value))


def test_a_module_in_the_working_folder_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "from rarmodel.heuristics import first_fit as my_policy\n"
    (tmp_path / "beside_the_instance.py").write_text(source, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    assert find("methods", "beside_the_instance:my_policy").name == "first-fit"


def test_an_installation_older_than_its_code_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "entry_points", lambda group: EntryPoints())
    registry._installed.cache_clear()
    with pytest.raises(UsageError, match=r"no bounds are installed: .* run 'pip install'"):
        names("bounds")
