"""No circle of imports between files: a reader can go through the code from the ground up.

Import-linter keeps the floors between rooms; here are the files inside them. An import inside a
function counts, as it is one all the same, and so does one for type checkers only: to read a file,
one has to know those that it names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import networkx as nx

ROOT = Path(__file__).parents[1]
LINKED = ("formulations", "instances", "solvers")


def source_files() -> dict[str, Path]:
    """All files of source, by the name under which they are imported."""
    found = {}
    for base in (ROOT / "rarmodel", *(ROOT / name for name in LINKED)):
        inside = Path("rarmodel") if base.name == "rarmodel" else Path("rarmodel") / base.name
        for path in base.rglob("*.py"):
            below = path.relative_to(base)
            if base.name == "rarmodel" and below.parts[0] in LINKED:
                continue  # The links: these folders come under their own.
            parts = (inside / below).with_suffix("").parts
            name = parts[:-1] if parts[-1] == "__init__" else parts
            found[".".join(name)] = path
    return found


def imported_by(module: str, path: Path, known: dict[str, Path]) -> Iterator[str]:
    """Files that a file imports, from anywhere in it."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(above if node.level else []), *filter(None, [node.module])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                if inner in known or base in known:
                    yield inner if inner in known else base


def circles(imports: dict[str, set[str]]) -> set[frozenset[str]]:
    """The largest sets of files of which each leads to every other."""
    graph = nx.DiGraph([(file, other) for file, others in imports.items() for other in others])
    together = map(frozenset, nx.strongly_connected_components(graph))
    return {some for some in together if len(some) > 1}


def test_no_circle_of_files() -> None:
    known = source_files()
    imports = {
        module: set(imported_by(module, path, known)) - {module} for module, path in known.items()
    }
    assert sum(map(len, imports.values())) > len(known)  # It sees the imports at all.
    assert not circles(imports)


def test_circle_is_seen_in_every_way_to_import(tmp_path: Path) -> None:
    texts = {
        "rarmodel.room.first": "from . import second\n",
        "rarmodel.room.second": "def late() -> None:\n    from .third import name\n",
        "rarmodel.room.third": "if TYPE_CHECKING:\n    from rarmodel.room.fourth import Type\n",
        "rarmodel.room.fourth": "import rarmodel.room.first\n",
        "rarmodel.room.fifth": "from .first import name\nimport numpy\n",
    }
    files = {name: tmp_path / f"{name.rpartition('.')[2]}.py" for name in texts}
    for name, text in texts.items():
        files[name].write_text(text, encoding="utf-8")
    imports = {name: set(imported_by(name, path, files)) for name, path in files.items()}
    assert circles(imports) == {frozenset(set(texts) - {"rarmodel.room.fifth"})}
