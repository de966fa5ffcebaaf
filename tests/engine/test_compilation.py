"""That something is compiled is said, once; what is loaded from disk is not worth a word."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from depth import first

import rarmodel
from rarmodel.engine.compilation import compiled, told

SOURCE = "def double(x):\n    return 2 * x\n"
BEGIN = "rarmodel compiles what it needs, once; later runs load it from disk"


def typed_at_a_prompt() -> Callable[[int], int]:
    """A function without a file, so that it is never kept on disk."""
    namespace: dict[str, Any] = {}
    exec(SOURCE, namespace)  # noqa: S102
    double: Callable[[int], int] = compiled(namespace["double"])
    return double


def of_file(path: Path) -> Callable[[int], int]:
    """The function of a file, compiled as in a new process."""
    spec = spec_from_file_location("doubling", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    double: Callable[[int], int] = compiled(module.double)
    return double


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [message.partition(" in ")[0] for message in caplog.messages]


def test_compilation_is_said_when_it_begins_and_when_it_has_ended(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "rarmodel")
    double, triple = typed_at_a_prompt(), typed_at_a_prompt()
    with told():
        assert messages(caplog) == []
        assert double(3) == 6
        assert messages(caplog) == [BEGIN]
        assert triple(3) == 6
    assert messages(caplog) == [BEGIN, "compiled"]
    assert caplog.messages[-1].endswith(" s (not counted in any method's seconds)")
    with told():
        double(4)
    assert len(caplog.messages) == 2


def test_it_is_said_once_for_what_is_within(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "rarmodel")
    with told():
        for double in (typed_at_a_prompt(), typed_at_a_prompt()):
            with told():
                double(3)
    assert messages(caplog) == [BEGIN, "compiled"]


def test_nothing_is_said_of_what_is_loaded_from_disk(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "rarmodel")
    path = tmp_path / "doubling.py"
    path.write_text(SOURCE)
    for _ in range(2):
        with told():
            of_file(path)(3)
    assert messages(caplog) == [BEGIN, "compiled"]


def test_after_an_interrupt_the_next_compilation_is_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "rarmodel")
    with pytest.raises(KeyboardInterrupt), told():
        raise KeyboardInterrupt
    with told():
        typed_at_a_prompt()(3)
    assert messages(caplog) == [BEGIN, "compiled"]


def test_the_library_is_quiet_unless_asked(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    # The command line, whose tests may have run, asks; it does so each time anew.
    log = logging.getLogger("rarmodel")
    monkeypatch.setattr(log, "handlers", [])
    log.setLevel(logging.NOTSET)
    with told():
        typed_at_a_prompt()(3)
    assert capfd.readouterr() == ("", "")


MEAN_COMPLETION = """rarmodel.solve(
    'paper-160',
    formulation=importlib.import_module('rarmodel.formulations.time_indexed').TIME_INDEXED.extended(
        'mean', objective=lambda model, scope: sum(model.completion[job] for job in scope.jobs)
    ),
    time_limit=2,
)"""
"""Too large for a model, so that orders of jobs are searched."""
SELECTION = "rarmodel.solve('two-servers', formulation='schedule-selection', data={'pool': 'all'})"

LOADED_IN_TIME = """
import importlib
from time import perf_counter
import rarmodel
from rarmodel.engine import compilation

loaded = []
load = compilation._SourcesCache.load_overload

def noted(self, *arguments):
    loaded.append((perf_counter(), self._name))
    return load(self, *arguments)

compilation._SourcesCache.load_overload = noted
result = {}
ended = perf_counter()
assert loaded
late = [name for moment, name in loaded if moment > ended - result.seconds]
assert not late, late
"""
"""What a function compiled earlier is loaded by is what it would be compiled by otherwise."""


@pytest.mark.parametrize(
    "solve",
    [
        *first(
            1,
            [
                f"rarmodel.solve('start-later', method='{name}', time_limit=2)"
                for name in ("sjf-bco", "first-fit", "random", "search")
            ],
        ),
        *first(
            1,
            ["rarmodel.solve('start-later', formulation='time-indexed', time_limit=2)", SELECTION],
        ),
        "rarmodel.compare('start-later', methods=['search'], time_limit=1)[0].results[0]",
        MEAN_COMPLETION,
        *first(
            1, ["rarmodel.audit('start-later', time_limit=2)", "rarmodel.audit('lemma-3-fails')"]
        ),
    ],
)
def test_nothing_is_left_to_compile_once_the_clock_runs(solve: str) -> None:
    # In a process of its own, where no other test has compiled anything.
    code = LOADED_IN_TIME.format(solve)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


GONE = """
import pickle, sys, types
from pathlib import Path
from rarmodel.engine import compilation
from rarmodel.engine.random_numbers import below_plain
import numpy as np

state = np.zeros(1, np.uint64)
index = Path(below_plain._cache._cache_file._index_path)
first = below_plain(state, 100)
with index.open("rb") as file:
    version = pickle.load(file)
gone = types.ModuleType("gone")
gone.Type = type("Type", (), {{"__module__": "gone"}})
sys.modules["gone"] = gone
index.write_bytes(pickle.dumps(version, protocol=-1) + {left})
del sys.modules["gone"]
cache = compilation._SourcesCache(below_plain.py_func, {{}})
assert cache.load_overload(below_plain.signatures[0], below_plain.targetctx) is None
"""


def copy_of_the_package(folder: Path) -> Path:
    """The package without any compiled code, which is not the one that others use."""
    source = Path(rarmodel.__file__).parent
    without = shutil.ignore_patterns("__pycache__", "compiled_code")
    shutil.copytree(source, folder / "rarmodel", ignore=without)
    return folder


@pytest.mark.parametrize("left", first(2, ["pickle.dumps((1, gone.Type))", "b''", "b'nonsense'"]))
def test_a_cache_that_another_version_left_is_no_error(left: str, tmp_path: Path) -> None:
    code, site = GONE.format(left=left), copy_of_the_package(tmp_path / "site")
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(site), "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


IN_A_CHECKOUT = """
import numpy as np
from numba.core import event
from rarmodel.engine import compilation
from rarmodel.engine.random_numbers import below_plain

with compilation.told(), event.install_recorder("numba:compile") as recorder:
    below_plain(np.zeros(1, np.uint64), 100)
print(compilation.__file__, len(recorder.buffer) > 0)
"""


def run_in(folder: Path, installed: Path) -> tuple[str, str]:
    """What the snippet says in a folder, which Python looks at before what is installed."""
    done = subprocess.run(
        [sys.executable, "-c", IN_A_CHECKOUT],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout, done.stderr


def test_a_checkout_does_not_compile_again_what_is_installed(tmp_path: Path) -> None:
    for name in ("elsewhere", "checkout", "site"):
        (tmp_path / name).mkdir()
    elsewhere = tmp_path / "elsewhere"
    checkout, site = (copy_of_the_package(tmp_path / name) for name in ("checkout", "site"))
    file = Path("rarmodel", "engine", "compilation.py")
    assert run_in(elsewhere, site) == (f"{site / file} True\n", "")
    assert run_in(elsewhere, site) == (f"{site / file} False\n", "")
    assert run_in(checkout, site) == (f"{checkout / file} False\n", "")
    # Another code must be compiled, and Python's library is not quiet about why.
    with (checkout / "rarmodel" / "engine" / "random_numbers.py").open("a") as source:
        source.write("# changed\n")
    out, err = run_in(checkout, site)
    assert out == f"{checkout / file} True\n"
    assert err.startswith(f"Python imports rarmodel from {checkout / 'rarmodel'}, and not the one ")
    assert err.count("\n") == 1
    assert run_in(checkout, site) == (f"{checkout / file} False\n", "")
    assert run_in(elsewhere, site) == (f"{site / file} False\n", "")


@pytest.mark.skipif(sys.platform == "win32", reason="locks")
def test_of_processes_that_begin_together_one_compiles(tmp_path: Path) -> None:
    site = copy_of_the_package(tmp_path / "site")
    begun = [
        subprocess.Popen(
            [sys.executable, "-c", IN_A_CHECKOUT],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(site), "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    compiled_something = [one.communicate()[0].split()[-1] for one in begun]
    assert sorted(compiled_something) == ["False", "False", "True"]


@pytest.mark.skipif(sys.platform == "win32", reason="locks")
def test_nobody_waits_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    monkeypatch.setattr("rarmodel.engine.compilation._MOST_WAITING", 0.1)
    path = tmp_path / "doubling.py"
    path.write_text(SOURCE)
    assert of_file(path)(3) == 6
    (lock,) = tmp_path.glob("__pycache__/*.lock")
    with lock.open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert of_file(path)(3) == 6


def in_a_namespace(source: str, **names: Any) -> Callable[..., int]:
    """The function `wanted` of a source that may use some names."""
    exec(source, names)  # noqa: S102
    wanted: Callable[..., int] = names["wanted"]
    return wanted


def test_an_inner_function_is_compiled_into_its_caller_and_works_for_python_too() -> None:
    inner = compiled(in_a_namespace("def wanted(x, y):\n    return x // y"), inner=True)
    outer = compiled(in_a_namespace("def wanted(x, y):\n    return 1 + inner(x, y)", inner=inner))
    assert outer(7, 2) == 1 + inner(7, 2) == 4
    for function in (outer, inner):
        with pytest.raises(ZeroDivisionError):
            function(7, 0)


def test_constants_ask_for_no_versions_of_their_own() -> None:
    inner = compiled(in_a_namespace("def wanted(x, y):\n    return x + y"), inner=True)
    source = "def wanted(x):\n    return inner(x, 1) + inner(x, 2) + inner(3, x)"
    assert compiled(in_a_namespace(source, inner=inner))(4) == 5 + 6 + 7
    assert len(getattr(inner, "overloads")) == 1  # noqa: B009
