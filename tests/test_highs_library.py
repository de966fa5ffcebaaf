"""HiGHS is silent, and shares a process with OR-Tools from 1.16 on."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest
from depth import first

from rarmodel.errors import UsageError
from rarmodel.highs_library import highspy, silent_highs

CALLER = """
import ortools.sat.python.cp_model
import rarmodel
try:
    print(rarmodel.solve("two-servers", {}, time_limit=60).makespan)
except rarmodel.UsageError as error:
    print(error)
"""


@pytest.mark.parametrize(
    "part", first(1, ['formulation="time-indexed", solver="highs"', 'method="search"'])
)
def test_a_caller_that_has_loaded_or_tools_gets_an_answer_or_reads_why_not(part: str) -> None:
    pytest.importorskip("highspy")
    pytest.importorskip("ortools")
    ran = subprocess.run(
        [sys.executable, "-c", CALLER.format(part)], capture_output=True, text=True, check=True
    )
    (line,) = ran.stdout.splitlines()
    if tuple(map(int, version("highspy").split(".")[:2])) < (1, 16):
        assert "cannot load HiGHS" in line
        assert "OR-Tools" in line
    else:
        assert line == "12"


def test_highs_that_cannot_be_loaded_is_said_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(UsageError, match="rarmodel cannot load HiGHS") as refused:
        highspy()
    assert "\n" not in str(refused.value)


def test_highs_prints_nothing_unless_told_to(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("highspy")
    highs = silent_highs()
    highs.addVar(0.0, 1.0)
    highs.run()
    assert capfd.readouterr() == ("", "")
    highs.setOptionValue("output_flag", True)
    highs.clearSolver()
    highs.run()
    assert "HiGHS" in capfd.readouterr().out
