"""Which files compiled code can come from: found by words, against what functions really call."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest
from numba.core.dispatcher import Dispatcher

from rarmodel.engine.sources import PACKAGE, digest_of, digest_of_all, files_from


def function_of(value: Any) -> Any:
    """The Python function of a compiled one."""
    return value.py_func if isinstance(value, Dispatcher) else value


def names_in(code: CodeType) -> Iterator[str]:
    """All names that code looks up, also in the functions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)


def called_by(function: FunctionType) -> Iterator[Any]:
    """Functions of the package that a function names, directly or in a module."""
    names = set(names_in(function.__code__))
    for name in names & function.__globals__.keys():
        value = function.__globals__[name]
        inside = [getattr(value, one, None) for one in names] if inspect.ismodule(value) else []
        for found in map(function_of, (value, *inside)):
            if isinstance(found, FunctionType) and found.__module__.startswith("rarmodel."):
                yield found


def compiled_functions() -> list[FunctionType]:
    """All functions that rarmodel compiles."""
    found: dict[FunctionType, None] = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        if "compiled" in file.read_text(encoding="utf-8") and file.name != "compilation.py":
            parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
            module: ModuleType = import_module(".".join(parts).removesuffix(".__init__"))
            for value in vars(module).values():
                if isinstance(value, Dispatcher):
                    found[value.py_func] = None
    return list(found)


def test_all_that_compiled_functions_call_is_in_files_that_theirs_lead_to() -> None:
    functions = compiled_functions()
    assert len(functions) > 100
    across = 0
    for function in functions:
        file = Path(inspect.getfile(function))
        reached = files_from(file)
        seen, new = {function}, [function]
        while new:
            for found in called_by(new.pop()):
                if found not in seen:
                    seen.add(found)
                    new.append(found)
                    other = Path(inspect.getfile(found))
                    across += other != file
                    assert other in reached, (function, found)
    assert across > 100


def package(folder: Path, **texts: str) -> Path:
    """A package of files, by their names with `__` for a folder."""
    for name, text in texts.items():
        file = folder / "rarmodel" / f"{name.replace('__', '/')}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder / "rarmodel"


@pytest.mark.parametrize(
    "line",
    [
        "from .other import value",
        "from . import other",
        "from . import (\n    third,  # noqa\n    other,\n)",
        "import rarmodel.room.other as it",
        "import numpy, rarmodel.room.other",
        "from rarmodel.room import other as it",
        "def late():\n    from rarmodel.room.other import value",
        "from ..room.other import (\n    value,\n)",
        "from .third import again",
    ],
)
def test_every_way_to_import_leads_to_the_file(line: str, tmp_path: Path) -> None:
    place = package(
        tmp_path,
        room__first=line,
        room__other="value = 1",
        room__third="from rarmodel.room.other import value as again",
        room__apart="value = 2",
    )
    first, other, apart = (place / "room" / f"{one}.py" for one in ("first", "other", "apart"))
    found = files_from(first, place)
    assert {first, other} <= found
    assert apart not in found


def test_a_digest_changes_with_the_files_it_covers_and_no_others(tmp_path: Path) -> None:
    def digests(folder: str, other: str, apart: str) -> tuple[str, str]:
        place = package(
            tmp_path / folder, first="from .other import value", other=other, apart=apart
        )
        return digest_of(place / "first.py", place), digest_of_all(place)

    one, all_of_one = digests("a", "value = 1", "value = 2")
    assert digests("b", "value = 1", "value = 2") == (one, all_of_one)
    same, all_differ = digests("c", "value = 1", "value = 3")
    assert same == one
    assert all_differ != all_of_one
    assert digests("d", "value = 5", "value = 2")[0] != one


def test_code_of_others_can_come_from_anywhere_in_the_package(tmp_path: Path) -> None:
    assert digest_of(tmp_path / "mine.py") == digest_of_all()
    assert Path(sys.modules[__name__].__file__ or "") not in files_from(PACKAGE / "lazy.py")
