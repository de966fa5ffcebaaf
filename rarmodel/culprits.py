"""The culprit of an exception: the line of a user's own code that raised it.

An exception in a part that a user wrote passes through rarmodel, Pyomo and others. The user can
mend one line only: the last one that is neither rarmodel's nor a library's.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator
from pathlib import Path
from reprlib import Repr
from traceback import walk_tb
from typing import NamedTuple

from .errors import RarmodelError

_LIBRARIES = {"site-packages", "dist-packages"}
"""Folders of installed packages."""
_USED = frozenset(
    (
        *("altair", "click", "dask", "distributed", "gurobipy", "highspy", "llvmlite"),
        *("networkx", "numba", "numpy", "ortools", "pandas", "pyarrow", "pydantic"),
        *("pydantic_core", "pyomo", "pyscipopt", "rich", "rich_click", "scipy", "yaml"),
    )
)
"""Packages that rarmodel uses itself: who calls them is at fault."""
_LONGEST = 400
"""Most characters of somebody else's message: Pyomo's and Numba's run over many lines."""
_BRIEF = Repr()
_BRIEF.maxstring = _BRIEF.maxother = 100
_BRIEF.maxlevel = 3


class _Frame(NamedTuple):
    """A line that was being carried out."""

    module: str
    file: str
    line: int

    @property
    def package(self) -> str:
        """The package that the module is in."""
        return self.module.partition(".")[0]

    @property
    def is_ours(self) -> bool:
        """Whether it is rarmodel's."""
        return self.package == "rarmodel"

    @property
    def is_pythons(self) -> bool:
        """Whether it is of the standard library, or was made at run time."""
        if self.file.startswith("<"):
            return self.module != "__main__"  # Else it was typed at a prompt.
        library = sysconfig.get_path("stdlib")
        return not self.is_installed and Path(self.file).is_relative_to(library)

    @property
    def is_installed(self) -> bool:
        """Whether it is of a package that was installed."""
        return not _LIBRARIES.isdisjoint(Path(self.file).parts)

    def __str__(self) -> str:
        path = Path(self.file)
        if path.is_absolute() and path.is_relative_to(Path.cwd()):
            path = path.relative_to(Path.cwd())
        return f"{path}:{self.line}"


def culprit(error: BaseException) -> str:
    """The last line of a user's own code, as `file:line`; empty if no line of it was involved.

    Without such a line it is the last one of the installed package that rarmodel called.
    """
    if isinstance(error, SyntaxError) and error.filename and not error.filename.startswith("<"):
        return str(_Frame("", error.filename, error.lineno or 1))
    others = [one for one in _frames(error) if not (one.is_ours or one.is_pythons)]
    if own := [one for one in others if not one.is_installed]:
        return str(own[-1])
    theirs = [one for one in others if one.package not in _USED]
    last = [one for one in theirs if one.package == theirs[0].package][-1:]
    return str(last[0]) if last else ""


def _frames(error: BaseException) -> Iterator[_Frame]:
    for frame, line in walk_tb(error.__traceback__):
        yield _Frame(frame.f_globals.get("__name__") or "", frame.f_code.co_filename, line)


def told(error: BaseException) -> str:
    """An exception in one line: its kind, and its message."""
    if isinstance(error, SystemExit):
        code = "" if error.code is None else shown(error.code)
        return f"it called exit({code}); it must return, or raise an exception"
    said = str(error.msg if isinstance(error, SyntaxError) else error)
    said = " ".join(said.split())
    if len(said) > _LONGEST:
        said = said[:_LONGEST] + "…"
    if isinstance(error, ImportError | RarmodelError) and said:
        return said  # A sentence that needs no kind.
    kind = type(error).__name__
    return f"{kind}: {said}" if said else kind


def shown(value: object) -> str:
    """A value that a user's code returned, in one short line, whatever its `repr` does."""
    return " ".join(_BRIEF.repr(value).split())
