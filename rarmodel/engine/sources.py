"""Source files of rarmodel that the code of a function can come from.

Compiled code contains what its function calls, also in other files. A function can only call what
its own file imports, and what those files import. So the files that one file leads to are all that
its compiled code can come from, and an edit of any other file leaves that code valid.

Imports are found by their words, not parsed: each process asks this when it loads compiled code. An
import inside a function counts, as does one for type checkers only. That can only lead to more
files.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<dots>\.*)(?P<base>[\w.]*)[ \t]+import[ \t]+"
    r"(?P<names>\([^)]*\)|[^\n]*)|import[ \t]+(?P<modules>[^\n]*))",
    re.MULTILINE,
)


def digest_of(file: Path, package: Path = PACKAGE) -> str:
    """Digest of the source files that a file leads to, itself included.

    Parameters
    ----------
    file
        A Python file. If it is none of the package, it is taken to lead to all of its files.
    package
        Folder of the package.
    """
    if package not in file.parents:
        return digest_of_all(package)
    return _digest_of(file, package)


@cache
def digest_of_all(package: Path = PACKAGE) -> str:
    """Digest of all source files of the package."""
    return _digest(sorted(package.rglob("*.py")), package)


@cache
def _digest_of(file: Path, package: Path) -> str:
    return _digest(sorted(files_from(file, package)), package)


def _digest(files: list[Path], package: Path) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(package)}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def files_from(file: Path, package: Path = PACKAGE) -> set[Path]:
    """Files of the package that a file of it leads to by imports, itself included."""
    found, new = {file}, [file]
    while new:
        fresh = _imported(new.pop(), package) - found
        found |= fresh
        new += fresh
    return found


@cache
def _imported(file: Path, package: Path) -> frozenset[Path]:
    return frozenset(_imports(file, package))


def _imports(file: Path, package: Path) -> Iterator[Path]:
    for found in _IMPORT.finditer(file.read_text(encoding="utf-8")):
        if found["modules"] is not None:
            for words in map(str.split, found["modules"].split(",")):
                yield from _files(words[0].split("."), package) if words else ()
            continue
        base = [*filter(None, found["base"].split("."))]
        if found["dots"]:
            above = file.parents[len(found["dots"]) - 1]
            if above != package and package not in above.parents:
                continue
            base = [package.name, *above.relative_to(package).parts, *base]
        for name in re.findall(r"\w+", re.sub(r"#[^\n]*", "", found["names"])):
            # A name is that of a file, or else one that the file of the base has.
            inside = [*_files([*base, name], package)]
            yield from inside or _files(base, package)


def _files(module: list[str], package: Path) -> Iterator[Path]:
    """The file of a module, if it is one of the package."""
    if module[:1] == [package.name]:
        place = package.joinpath(*module[1:])
        yield from filter(Path.is_file, (place.with_suffix(".py"), place / "__init__.py"))
