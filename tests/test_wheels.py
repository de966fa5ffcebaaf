"""Wheels bring compiled code, which is used where it fits."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from numba.core.dispatcher import Dispatcher

import rarmodel
from rarmodel.engine import compilation
from rarmodel.engine.source_files import PACKAGE
from rarmodel.wheels import backend

LEFT_OUT = {
    "rarmodel.engine.modes.modes_in",
    "rarmodel.engine.segmented_runs.modes_in",
    "rarmodel.online.interruptible_rings.lose",
    "rarmodel.online.interruptible_rings.stop",
    "rarmodel.proof.event_steps.leave",
}
"""What few need, and little code: for jobs of several modes, and for what stops at a moment."""

INNER = {"rarmodel.proof.cuts.appraise"}
"""What is compiled with its caller, and so not asked for where the caller is loaded."""

COMPILED_BY_KERNELS = """
import sys
from rarmodel.wheels.kernels import compile_kernels
from rarmodel.engine import compilation
compile_kernels()
for module in [module for name, module in sys.modules.items() if name.startswith("rarmodel.")]:
    for value in vars(module).values():
        if isinstance(value, compilation._Compiled) and value.overloads:
            print(f"{value.py_func.__module__}.{value.py_func.__name__}")
"""

CALLED = """
import sys
import numpy as np
from numba.core import event
from rarmodel.engine.random_numbers import below_plain

with event.install_recorder("numba:compile") as recorder:
    answer = below_plain(np.zeros(1, np.uint64), 1000)
print(answer, len(recorder.buffer) > 0)
"""


def called(site: Path, cache: Path | None, **environment: str) -> tuple[int, bool]:
    """What a compiled function of a copy of the package says, and whether it was compiled."""
    given = {**os.environ, "PYTHONPATH": str(site), **environment}
    given.pop("NUMBA_CACHE_DIR", None)
    if cache is not None:
        given["NUMBA_CACHE_DIR"] = str(cache)
    done = subprocess.run(
        [sys.executable, "-c", CALLED],
        cwd=site.parent,
        env=given,
        capture_output=True,
        text=True,
        check=True,
    )
    answer, compiled = done.stdout.split()
    return int(answer), compiled == "True"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with the sources of the package."""
    place = tmp_path / "site"
    for file in PACKAGE.rglob("*.py"):
        copy = place / "rarmodel" / file.relative_to(PACKAGE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    return place


def ship(site: Path) -> list[Path]:
    """Move what was compiled beside the sources to where a wheel has it."""
    moved = []
    for name, content in backend.compiled_code(site).items():
        file = site / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        moved.append(file)
    for file in site.glob("rarmodel/*/__pycache__/*.nb[ic]"):
        file.unlink()
    return moved


@pytest.mark.parametrize(
    "processors", [{}, {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}]
)
def test_code_of_a_wheel_is_loaded_and_never_written_to(
    site: Path, tmp_path: Path, processors: dict[str, str]
) -> None:
    answer, compiled = called(site, None, **processors)
    assert compiled
    moved = ship(site)
    assert moved
    before = {file: file.read_bytes() for file in moved}
    for cache in (None, tmp_path / "cache"):
        assert called(site, cache) == (answer, False)
    assert {file: file.read_bytes() for file in moved} == before


def test_code_of_other_sources_or_another_numba_is_not_used(site: Path, tmp_path: Path) -> None:
    answer, _ = called(site, None)
    moved = ship(site)
    source = site / "rarmodel" / "engine" / "random_numbers.py"
    text = source.read_text(encoding="utf-8")
    source.write_text(f"{text}# changed\n", encoding="utf-8")
    assert called(site, tmp_path / "changed") == (answer, True)
    source.write_text(text, encoding="utf-8")
    for file in moved:
        file.write_bytes(b"of another Numba")
    assert called(site, tmp_path / "other") == (answer, True)
    assert called(site, tmp_path / "other") == (answer, False)


def test_files_added_to_a_wheel_are_in_its_record(tmp_path: Path) -> None:
    wheel = tmp_path / "one-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("one.py", "x = 1\n")
        archive.writestr("one-1.dist-info/RECORD", "one.py,,\none-1.dist-info/RECORD,,\n")
    backend.write_into(wheel, {"one/code.nbc": b"code"})
    with zipfile.ZipFile(wheel) as archive:
        assert archive.namelist() == ["one.py", "one/code.nbc", "one-1.dist-info/RECORD"]
        assert archive.read("one/code.nbc") == b"code"
        digest = "VpTQii5T_8rgwxA-Wtb2B2q9lg6x-KVldwQLwQKPcCs"
        assert (
            f"one/code.nbc,sha256={digest},4\n" in archive.read("one-1.dist-info/RECORD").decode()
        )


def test_a_word_that_says_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(backend.ASKED, "perhaps")
    with pytest.raises(ValueError, match=r"RARMODEL_COMPILE: 'perhaps' is none of here, any"):
        backend.asked()


def test_the_build_needs_what_compilation_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(rarmodel.__file__).resolve().parents[1])
    assert [line.partition(">=")[0] for line in backend.requirements()] == list(backend.NEEDED)
    assert backend.SHIPPED == compilation.SHIPPED
    code = COMPILED_BY_KERNELS + (
        "print(*sorted({'highspy', 'networkx', 'ortools', 'pyomo', 'scipy.optimize', 'pyarrow'}"
        " & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *functions, loaded = done.stdout.splitlines()
    assert loaded == "highspy"
    assert set(kernels()) - set(functions) - INNER == LEFT_OUT


def kernels() -> Iterator[str]:
    """All functions that are kept on disk when they are compiled."""
    for file in sorted(PACKAGE.rglob("*.py")):
        if "compiled" in file.read_text(encoding="utf-8"):
            parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
            module: Any = import_module(".".join(parts).removesuffix(".__init__"))
            for value in vars(module).values():
                own = isinstance(value, Dispatcher) and value.__module__ == module.__name__
                if own and isinstance(value._cache, compilation._SourcesCache):
                    yield f"{value.__module__}.{value.py_func.__name__}"
