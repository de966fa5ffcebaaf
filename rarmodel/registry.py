"""Find parts by name. Built-in parts and yours are found in the same way: by entry points."""

from __future__ import annotations

import difflib
import sys
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoints, entry_points
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

from .errors import UsageError

Kind = Literal["policies", "formulations", "solvers", "objectives"]
_SINGULAR = {
    "policies": "method",
    "formulations": "formulation",
    "solvers": "solver",
    "objectives": "objective",
}
_MEMBERS = {
    "policies": ("name", "__call__"),
    "formulations": (
        *("name", "build", "load", "plan", "size", "unfit"),
        *("model_class", "objective", "restricts", "proves"),
    ),
    "solvers": ("name", "model_classes", "version", "solve"),
    "objectives": ("name", "unit", "terms", "value"),
}


def names(kind: Kind) -> list[str]:
    """Names of all installed parts of a kind, in alphabetical order."""
    return sorted(_installed(kind).names)


@cache
def _installed(kind: Kind) -> EntryPoints:
    """Entry points of all installed parts of a kind; finding them reads every distribution."""
    return entry_points(group=f"rarmodel.{kind}")


def find(kind: Kind, part: object) -> Any:
    """Find a part by its name or `package.module:Name`; an object is returned as it is.

    Python looks for modules on its path, and then in the working folder.

    Raises
    ------
    UsageError
        If there is no such part, or it lacks a member that parts of its kind need.
    """
    found = _load(kind, part) if isinstance(part, str) else part
    if lacking := [member for member in _MEMBERS[kind] if not hasattr(found, member)]:
        raise UsageError(f"{part!r} is not a {_SINGULAR[kind]}: it lacks {', '.join(lacking)}")
    return found


def _load(kind: Kind, part: str) -> Any:
    what = _SINGULAR[kind]
    if ":" in part:
        module, _, attribute = part.partition(":")
        # A module beside the instance is as good as an installed one, but hides none of those.
        if (folder := str(Path.cwd())) not in sys.path:
            sys.path.append(folder)
        try:
            return attrgetter(attribute)(import_module(module))
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            raise UsageError(f"{what} {part!r} cannot be imported: {error}") from error
    matching = _installed(kind).select(name=part)
    if not matching:
        known = names(kind)
        close = difflib.get_close_matches(part, known, n=1, cutoff=0.75)
        meant = f"; was {close[0]!r} meant?" if close else ""
        raise UsageError(f"no {what} {part!r}; choose one of {', '.join(known)}{meant}")
    return next(iter(matching)).load()
