"""Limits and measurements of memory."""

from __future__ import annotations

import subprocess
import sys

import pytest

linux = pytest.mark.skipif(sys.platform != "linux", reason="limits memory on Linux")


def run(code: str) -> str:
    script = f"from rarmodel.campaigns.memory import *; import subprocess, sys; {code}"
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True
    ).stdout.strip()


@linux
def test_a_process_gets_no_more_than_its_limit() -> None:
    code = "limit_memory(200); bytearray(100_000_000); print('fits'); {}"
    assert run(code.format("")) == "fits"
    with pytest.raises(subprocess.CalledProcessError) as error:
        run(code.format("bytearray(300_000_000)"))
    assert "MemoryError" in error.value.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="measures nothing on Windows")
def test_peak_memory_counts_what_was_let_go() -> None:
    peak = float(run("held = bytes(b'1') * 80_000_000; del held; print(peak_memory_mb())"))
    assert 80 < peak < 400


@pytest.mark.skipif(sys.platform == "win32", reason="measures nothing on Windows")
def test_most_memory_counts_processes_that_were_started() -> None:
    child = "subprocess.run([sys.executable, '-c', \"held = b'1' * 120_000_000\"])"
    own, most = run(f"{child}; print(peak_memory_mb(), most_memory_mb())").split()
    assert float(own) < 120 < float(most) < 400


@linux
def test_a_process_that_is_gone_has_no_peak() -> None:
    assert run("print(peak_memory_mb(2**22 + 1))") == "None"
