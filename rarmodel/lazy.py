"""Names of a package that load what they need when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def exports(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """What a package has as `__getattr__` and `__dir__`, so that importing it is light.

    Parameters
    ----------
    package
        Its `__name__`.
    homes
        Module in it where each of its names is.
    """

    def get(name: str) -> Any:
        if name in homes:
            return getattr(import_module(f".{homes[name]}", package), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        return sorted({*vars(import_module(package)), *homes})

    return get, names
