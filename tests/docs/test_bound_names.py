"""The page on lower bounds names every bound that a result can carry."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import rarmodel
from rarmodel import registry
from rarmodel.bounds import all_bounds, bounds

ROOT = Path(__file__).parents[2]
FOLDERS = [ROOT / name for name in ("rarmodel", "formulations", "solvers")]
PAGE = ROOT / "docs" / "bounds.md"
COPIED = re.compile(r"(.*\.)?(bound|claim|known|found)\.name|found\.bound_name")
"""Expressions for the name of a bound that another place has made."""


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Every module of the package with its tree; `rglob` does not follow the folder's links."""
    for folder in FOLDERS:
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            parts = parts if parts[0] == "rarmodel" else ("rarmodel", *parts)
            yield ".".join(parts), ast.parse(path.read_text(encoding="utf-8"))


def names_made(module: str, tree: ast.Module) -> Iterator[str]:
    """Names of the bounds that a module makes, by its calls of `LowerBound(slots, name)`."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not ast.unparse(call.func).endswith("LowerBound"):
            continue
        values = [one.value for one in call.keywords if one.arg == "name"] or call.args[1:2]
        value, source = values[0], ast.unparse(values[0])
        if isinstance(value, ast.Constant):
            yield str(value.value)
        elif source.endswith("solver.name"):
            yield from registry.names("solvers")
        elif isinstance(value, ast.Name):
            yield str(getattr(import_module(module), value.id))
        elif not COPIED.fullmatch(source):
            raise AssertionError(f"{module}: which names can {source} be? Teach this test")


def documented(heading: str = "Makespan") -> set[str]:
    """Names in the first column of the table below a heading of the page."""
    below = PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    cells = re.findall(r"(?m)^\| (`.*?`) \|", below)
    return {name for cell in cells for name in re.findall("`(.+?)`", cell)}


def test_page_has_the_name_of_every_bound() -> None:
    made = {name for module, tree in modules() for name in names_made(module, tree)}
    made |= {bound.name for bound in bounds() if bound.objectives is not None}
    assert {"longest job", "cutting stock", "least limit", "highs"} <= made
    assert made - {""} == documented()


def test_page_has_the_name_of_every_bound_on_other_objectives() -> None:
    others = {bound.name for bound in bounds() if bound.objectives is None}
    assert others
    assert documented("Other objectives") == others


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("LowerBound(3, 'cutting stock')", ["cutting stock"]),
        ("bounds.LowerBound(slots=3, name='cutting stock')", ["cutting stock"]),
        ("LowerBound(3, __name__)", ["rarmodel.bounds"]),
        ("LowerBound(claim.slots, claim.name)", []),
        ("LowerBound(3, self.solver.name)", ["cpsat", "gurobi", "highs", "scip"]),
        ("best_bound(3, 'cutting stock')", []),
    ],
)
def test_names_are_read_from_calls(code: str, names: list[str]) -> None:
    assert list(names_made("rarmodel.bounds", ast.parse(code))) == names


def test_a_name_that_cannot_be_read_from_a_call_is_an_error() -> None:
    with pytest.raises(AssertionError, match=r"which names can f\(x\) be"):
        list(names_made("rarmodel.bounds", ast.parse("LowerBound(3, f(x))")))


@pytest.mark.parametrize(
    "entry", rarmodel.list_instances("examples"), ids=lambda entry: entry["name"]
)
def test_page_has_the_names_of_the_bounds_of_bundled_instances(entry: dict[str, object]) -> None:
    bounds = all_bounds(rarmodel.load_instance(str(entry["name"])))
    assert {bound.name for bound in bounds} <= documented()
