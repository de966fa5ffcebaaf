"""Find parts by name. Built-in parts and yours are found in the same way: by entry points."""

from __future__ import annotations

import contextlib
import difflib
import sys
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoints, entry_points
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, Literal, SupportsIndex

from .errors import UsageError

Kind = Literal[
    "policies",
    "formulations",
    "solvers",
    "objectives",
    "bounds",
    "neighbourhoods",
    "online_policies",
    "placements",
]
_SINGULAR = {
    "policies": "method",
    "formulations": "formulation",
    "solvers": "solver",
    "objectives": "objective",
    "bounds": "bound",
    "neighbourhoods": "neighbourhood",
    "online_policies": "policy",
    "placements": "placement",
}
_MEMBERS = {
    "policies": ("name", "__call__"),
    "formulations": (
        *("name", "build", "load", "plan", "size", "unfit"),
        *("model_class", "objective", "restricts", "proves"),
    ),
    "solvers": ("name", "model_classes", "version", "solve"),
    "objectives": ("name", "unit", "terms", "value"),
    "bounds": ("name", "prove", "tighten", "rank", "supports"),
    "neighbourhoods": ("name", "improve", "supports"),
    "online_policies": ("name", "decide", "knows", "interrupts", "elastic", "round_slots"),
    "placements": ("name", "place"),
}
_ADDED: ContextVar[tuple[tuple[Kind, Any], ...]] = ContextVar("added parts", default=())
_BY_PATH: dict[tuple[Kind, str], Any] = {}
"""Parts that were found by `package.module:Name`."""


class Part:
    """A part that is pickled as the name or the path by which another process finds it too.

    The functions of a part may be such as Python cannot pickle. A part that nobody finds by a name
    or a path is pickled with its fields, as far as its functions can be.
    """

    kind: ClassVar[Kind]

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        where = _where(self.kind, self)
        return super().__reduce_ex__(protocol) if where is None else (find, (self.kind, where))


def _where(kind: Kind, part: Any) -> str | None:
    """Name or path by which `find` gives this very part."""
    for point in _installed(kind):
        # Its module is there already if the part is this one; no other needs to be loaded.
        with contextlib.suppress(ImportError, AttributeError):
            if attrgetter(point.attr)(sys.modules.get(point.module)) is part:
                return point.name
    paths = (path for (one, path), found in _BY_PATH.items() if one == kind and found is part)
    return next(paths, None)


def names(kind: Kind) -> list[str]:
    """Names of all installed parts of a kind, in alphabetical order."""
    return sorted(_installed(kind).names)


@cache
def _installed(kind: Kind) -> EntryPoints:
    """Entry points of all installed parts of a kind; finding them reads every distribution."""
    found = entry_points(group=f"rarmodel.{kind}")
    if not found:
        raise UsageError(
            f"no {kind} are installed: rarmodel's code is newer than its installation; run "
            "'pip install' for rarmodel again"
        )
    return found


def parts(kind: Kind) -> list[Any]:
    """All installed parts of a kind, by name, and then those added for a while.

    Raises
    ------
    UsageError
        If an installed part cannot be imported, or is none of its kind.
    """
    return [*_loaded(kind), *(part for one, part in _ADDED.get() if one == kind)]


@cache
def _loaded(kind: Kind) -> tuple[Any, ...]:
    return tuple(find(kind, name) for name in names(kind))


@contextlib.contextmanager
def added(kind: Kind, some: Iterable[object]) -> Iterator[None]:
    """Use more parts than those installed: names, `package.module:Name`, or objects.

    Raises
    ------
    UsageError
        As `find` does.
    """
    known = parts(kind)
    found = (find(kind, part) for part in some)
    token = _ADDED.set((*_ADDED.get(), *((kind, part) for part in found if part not in known)))
    try:
        yield
    finally:
        _ADDED.reset(token)


def find(kind: Kind, part: object, *, by_path: bool = True) -> Any:
    """Find a part by its name or `package.module:Name`; an object is returned as it is.

    Python looks for modules on its path, and then in the working folder.

    Parameters
    ----------
    kind, part
        The part.
    by_path
        Whether `package.module:Name` will do. Files of data name installed parts only, as whoever
        reads data should not run code that it names.

    Raises
    ------
    UsageError
        If there is no such part, or it lacks a member that parts of its kind need.
    """
    found = _load(kind, part, by_path=by_path) if isinstance(part, str) else part
    if lacking := [member for member in _MEMBERS[kind] if not hasattr(found, member)]:
        raise UsageError(f"{part!r} is not a {_SINGULAR[kind]}: it lacks {', '.join(lacking)}")
    return found


def _load(kind: Kind, part: str, *, by_path: bool) -> Any:
    what = _SINGULAR[kind]
    if by_path and ":" in part:
        module, _, attribute = part.partition(":")
        # A module beside the instance is as good as an installed one, but hides none of those.
        if (folder := str(Path.cwd())) not in sys.path:
            sys.path.append(folder)
        try:
            found = attrgetter(attribute)(import_module(module))
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            raise UsageError(f"{what} {part!r} cannot be imported: {error}") from error
        _BY_PATH[kind, part] = found
        return found
    matching = _installed(kind).select(name=part)
    if not matching:
        known = names(kind)
        close = difflib.get_close_matches(part, known, n=1, cutoff=0.75)
        meant = f"; was {close[0]!r} meant?" if close else ""
        raise UsageError(f"no {what} {part!r}; choose one of {', '.join(known)}{meant}")
    try:
        return next(iter(matching)).load()
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{what} {part!r} cannot be imported: {error}") from error
