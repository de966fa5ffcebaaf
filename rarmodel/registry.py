"""Find parts by name. Built-in parts and yours are found in the same way: by entry points."""

from __future__ import annotations

import contextlib
import difflib
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoints, entry_points
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, SupportsIndex

from .culprits import culprit, shown, told
from .errors import PartError, RarmodelError, UsageError
from .kinds import KINDS, Kind

SIMILAR = 0.75
"""How much a name resembles the one that was meant, at least: of 1."""
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
    with calling(kind, found, name=part):
        lacking = [member for member in KINDS[kind].members if not hasattr(found, member)]
        name: object = None if lacking else getattr(found, "name", None)
    what = KINDS[kind].singular
    if lacking:
        raise UsageError(f"{shown(part)} is not a {what}: it lacks {', '.join(lacking)}")
    if not isinstance(name, str) or not name:
        raise UsageError(f"{shown(part)} is not a {what}: its name is {shown(name)}, and no text")
    return found


def meant(
    asked: str,
    known: Iterable[str],
    kind: Kind | None = None,
    elsewhere: Mapping[str, str] | None = None,
) -> str:
    """The end of a message about an unknown name: the known name that was meant, if any.

    Parameters
    ----------
    asked, known
        The name that was asked for, and those that there are.
    kind
        The kind of part, for the names that parts have elsewhere.
    elsewhere
        Other names, with the known ones; by default those of the kind.
    """
    known = list(known)
    if elsewhere is None:
        elsewhere = {} if kind is None else KINDS[kind].elsewhere
    plain = {_plain(name): name for name in known}
    plain |= {other: own for other, own in elsewhere.items() if own in known and other not in plain}
    wanted = _plain(str(asked))
    if kind is not None and wanted not in plain:
        for other, about in KINDS.items():
            if about.option and other != kind and asked in _installed(other).names:
                return f"; {asked!r} is a {about.singular}, for {about.option}"
    close = difflib.get_close_matches(wanted, plain, n=1, cutoff=SIMILAR)
    return f"; was {plain[close[0]]!r} meant?" if close else ""


def unknown(what: str, asked: Sequence[str], known: Iterable[str]) -> str:
    """A message about unknown names, with all that are known, and the one that was meant first."""
    known = list(known)
    hints = (hint for name in asked if (hint := meant(name, known)))
    return f"no {what} {', '.join(asked)}; choose from {', '.join(known)}{next(hints, '')}"


def _plain(name: str) -> str:
    return "-".join(name.lower().replace("_", " ").replace("-", " ").split())


@contextlib.contextmanager
def calling(
    kind: Kind,
    part: object,
    *,
    name: object = None,
    when: str = "",
    passing: tuple[type[Exception], ...] = (),
) -> Iterator[None]:
    """Blame an exception on the part that is called within, and on the line of its author.

    Errors of rarmodel pass: they say more than that a part failed. So do exceptions in parts of
    rarmodel's own, which are faults of rarmodel, and want of memory.

    Parameters
    ----------
    kind, part
        The part that is called.
    name
        Its name, if it may have none yet.
    when
        When it fails, for the message, such as ` at slot 3`.
    passing
        Exceptions that mean something else here.

    Raises
    ------
    PartError
        In one line: the part, the line of its author, and the exception, which is the cause.
    """
    through: tuple[type[BaseException], ...] = (RarmodelError, MemoryError, *passing)
    try:
        yield
    except through:
        raise
    except (Exception, SystemExit) as error:
        if _is_ours(kind, part):
            raise
        label = shown(part.name if name is None else name)  # type: ignore[attr-defined]
        raise _failure(f"{KINDS[kind].singular} {label}", error, when) from error


@contextlib.contextmanager
def blaming(label: str) -> Iterator[None]:
    """The same for what has no kind of parts, such as a stopping criterion."""
    try:
        yield
    except (RarmodelError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        raise _failure(label, error) from error


def _failure(label: str, error: BaseException, when: str = "") -> PartError:
    """The error for an exception in a part, with the line of its author."""
    place = f"{',' if when else ''} at {where}" if (where := culprit(error)) else ""
    return PartError(f"{label} failed{when}{place}: {told(error)}")


def _is_ours(kind: Kind, part: object) -> bool:
    """Whether a part is one that rarmodel brings."""
    own = (point for point in _installed(kind) if point.value.startswith("rarmodel."))
    return any(point.load() is part for point in own)


def nonsense(kind: Kind, part: Any, returned: object, expected: str, where: str = "") -> PartError:
    """The error for a part that returns something else than it should."""
    label = f"{KINDS[kind].singular} {part.name!r}"
    return PartError(f"{label} returned {shown(returned)}{where}; {expected} is expected")


def _load(kind: Kind, part: str, *, by_path: bool) -> Any:
    what = KINDS[kind].singular
    if by_path and ":" in part:
        module, _, attribute = part.partition(":")
        # A module beside the instance is as good as an installed one, but hides none of those.
        if (folder := str(Path.cwd())) not in sys.path:
            sys.path.append(folder)
        try:
            found = attrgetter(attribute)(import_module(module))
        except MemoryError:
            raise
        except (Exception, SystemExit) as error:
            raise _not_imported(what, part, error, module, attribute) from error
        _BY_PATH[kind, part] = found
        return found
    matching = _installed(kind).select(name=part)
    if not matching:
        known = names(kind)
        hint = meant(part, known, kind)
        raise UsageError(f"no {what} {part!r}; choose one of {', '.join(known)}{hint}")
    (point, *_) = matching
    try:
        return point.load()
    except MemoryError:
        raise
    except (Exception, SystemExit) as error:
        raise _not_imported(what, part, error, point.module, point.attr) from error


def _not_imported(
    what: str, part: str, error: BaseException, module: str, attribute: str
) -> PartError:
    """The error for a part that cannot be imported, with the line at fault if there is one."""
    place = f"{where}: " if (where := culprit(error)) else ""
    hint = ""
    loaded = sys.modules.get(module)
    if isinstance(error, AttributeError) and loaded is not None and not place:
        hint = meant(attribute, _public(loaded))
        beside = Path.cwd() / f"{module.replace('.', '/')}.py"
        file = getattr(loaded, "__file__", None)
        if beside.is_file() and not (file and beside.samefile(file)):
            hint = f"; {beside.name} in this folder is hidden by {file or 'a module of Python'}"
    if isinstance(error, AttributeError | TypeError | ValueError) and not place:
        said = str(error)  # About the path, and not about code.
    else:
        said = told(error)
    return PartError(f"{what} {part!r} cannot be imported: {place}{said}{hint}")


def _public(module: object) -> Collection[str]:
    return [name for name in dir(module) if not name.startswith("_")]
