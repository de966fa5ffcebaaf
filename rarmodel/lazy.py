"""Lazy names: a package loads a module when one of its names is first used."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple


class Lazy(NamedTuple):
    """What a package of lazy names needs: its `__getattr__`, `__dir__` and `__all__`."""

    get: Callable[[str], Any]
    dir: Callable[[], list[str]]
    names: list[str]


def exports(package: str) -> Lazy:
    """Names that a package imports for type checkers, each loaded from its module when it is used.

    They stand once, in the package's `if TYPE_CHECKING:`, in the form `from .module import name as
    name`, by which type checkers and editors take them for public.

    Parameters
    ----------
    package
        The package's `__name__`.
    """
    homes = dict(_imported_for_type_checkers(package))

    def get(name: str) -> Any:
        if name in homes:
            return getattr(import_module(homes[name], package), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        return sorted({*vars(import_module(package)), *homes})

    return Lazy(get, names, sorted(homes))


def _imported_for_type_checkers(package: str) -> Iterator[tuple[str, str]]:
    """Each name, with the module that has it, relative to the package."""
    module = sys.modules.get(package)
    spec = find_spec(package) if module is None else module.__spec__
    source = spec.loader.get_source(package)  # type: ignore[union-attr]
    for node in ast.parse(source).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for line in node.body:
                if isinstance(line, ast.ImportFrom) and line.level == 1:
                    yield from ((one.name, f".{line.module}") for one in line.names)
