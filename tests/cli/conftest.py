"""The command line within the test process, and files to give to it."""

from __future__ import annotations

import io
import json
import logging
import sys
from pathlib import Path

import pytest
from documents import instance_data, schedule_data
from invocation import Invoke, Outcome

from rarmodel.cli import main


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """No colours, whatever the environment of the tests asks for."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is said of compilation, which the first test to need it would otherwise cause."""
    monkeypatch.setattr(logging.getLogger("rarmodel"), "disabled", True)


@pytest.fixture
def invoke(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Invoke:
    """Run a command; its output is captured apart from that of earlier ones."""

    def run(*arguments: object, stdin: str | bytes | None = None) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["rarmodel", *map(str, arguments)])
        if stdin is not None:
            content = stdin.encode() if isinstance(stdin, str) else stdin
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        code = end.value.code
        assert isinstance(code, int)
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Outcome(code, captured.out, captured.err)

    return run


@pytest.fixture
def instance_file(tmp_path: Path) -> Path:
    """A file with a small instance: jobs a and b, servers s0 and s1 of 2 GPUs each."""
    path = tmp_path / "instance.json"
    path.write_text(json.dumps(instance_data()), encoding="utf-8")
    return path


@pytest.fixture
def schedule_file(tmp_path: Path) -> Path:
    """A file with a feasible schedule of `instance_file`, of makespan 2."""
    path = tmp_path / "schedule.json"
    path.write_text(json.dumps(schedule_data()), encoding="utf-8")
    return path


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name of a module with methods of a third party."""
    (tmp_path / "their_parts.py").write_text(PARTS, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("their_parts", None)
    return "their_parts"


PARTS = """
from pathlib import Path

from rarmodel.files import parse_schedule
from rarmodel.methods import Attempt

class Method:
    def __init__(self, name, assignments):
        self.name = name
        self.assignments = assignments

    def __call__(self, instance, limits):
        if self.name == "telling":
            Path("limits.txt").write_text(str(limits), encoding="utf-8")
        if self.name == "interrupted":
            raise KeyboardInterrupt
        if self.assignments is None:
            return Attempt(None, "gave up")
        return Attempt(parse_schedule({
            "schema_version": 1, "instance": instance.name, "method": self.name,
            "assignments": self.assignments,
        }), "finished")

A = {"job": "a", "start": 0, "gpus": {"s0": [0, 1]}}
B = {"job": "b", "start": 5, "gpus": {"s1": [0]}}
slow = Method("slow", [A, B])
giving_up = Method("giving-up", None)
wrong = Method("wrong", [A])
interrupted = Method("interrupted", None)
telling = Method("telling", [A, B])

class Compiling(Method):
    def prepare(self, instance):
        from rarmodel.engine.compilation import compiled

        # Typed at a prompt, so to say: a function without a file is never kept on disk.
        namespace = {}
        exec("def double(x): return 2 * x", namespace)
        compiled(namespace["double"])(3)

compiling = Compiling("compiling", [A, B])
compiling_too = Compiling("compiling-too", [A, B])
nameless = lambda instance, limits: None
not_callable = type("NotCallable", (), {"name": "x"})()
"""
