"""Parts by name: built-in ones are found exactly as those of other packages, by entry point."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Literal

from .errors import UsageError

Kind = Literal["policies", "formulations", "solvers"]
_SINGULAR = {"policies": "method", "formulations": "formulation", "solvers": "solver"}


def names(kind: Kind) -> list[str]:
    """Names of all installed parts of a kind, in alphabetical order."""
    return sorted(entry_points(group=f"rarmodel.{kind}").names)


def find(kind: Kind, part: object) -> Any:
    """A part from its name, from `package.module:Name`, or itself if it is no text.

    Raises
    ------
    UsageError
        If there is none.
    """
    if not isinstance(part, str):
        return part
    what = _SINGULAR[kind]
    if ":" in part:
        module, _, attribute = part.partition(":")
        try:
            found = import_module(module)
            for name in attribute.split("."):
                found = getattr(found, name)
        except (ImportError, AttributeError, ValueError) as error:
            raise UsageError(f"{what} {part!r} cannot be imported: {error}") from error
        return found
    matching = entry_points(group=f"rarmodel.{kind}", name=part)
    if not matching:
        raise UsageError(f"no {what} {part!r}; there are {', '.join(names(kind))}")
    return next(iter(matching)).load()
