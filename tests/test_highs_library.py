"""HiGHS and OR-Tools cannot share a process: rarmodel says so in a line."""

from __future__ import annotations

import subprocess
import sys

import pytest

CALLER = """
import ortools.sat.python.cp_model
import rarmodel
try:
    rarmodel.solve("two-servers", {}, time_limit=5)
except rarmodel.UsageError as error:
    print(error)
"""


@pytest.mark.parametrize("part", ['method="search"', 'formulation="time-indexed", solver="highs"'])
def test_a_caller_that_has_loaded_or_tools_reads_why_highs_is_refused(part: str) -> None:
    pytest.importorskip("highspy")
    ran = subprocess.run(
        [sys.executable, "-c", CALLER.format(part)], capture_output=True, text=True, check=True
    )
    assert "cannot load HiGHS" in ran.stdout
    assert "OR-Tools" in ran.stdout
    assert "\n" not in ran.stdout.strip()
