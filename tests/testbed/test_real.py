"""Facts about real rings: `pytest -m testbed`, on Linux as root; under a minute."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from rarmodel.defaults import TESTBED_MBIT
from rarmodel.errors import UsageError
from rarmodel.model import exchange_bits
from rarmodel.testbed import Plan, Ring, Together, existing, measure, network

pytestmark = pytest.mark.testbed

GOODPUT = 0.94
"""Part of a link's rate that is left for data, below the headers of TCP, IP and Ethernet."""
MB = 1.0


@pytest.fixture(autouse=True)
def _possible() -> None:
    """Skip where there can be no testbed, or there is one that is not ours."""
    try:
        network.check_possible()
        there = existing()
    except UsageError as error:
        pytest.skip(str(error))
    if there:
        pytest.skip("a testbed is up already")


def exchange_ms(*runs: Sequence[Sequence[int]]) -> list[list[float]]:
    """Time of the exchange of each ring, in milliseconds."""
    plan = Plan(
        runs=tuple(
            Together(
                name=str(number),
                rings=tuple(Ring(servers=tuple(servers), gradient_mb=MB) for servers in rings),
            )
            for number, rings in enumerate(runs)
        )
    )
    found = [[one.exchange_ms for one in each] for each in measure(plan, seconds=3.0)]
    assert existing() == []
    return found


def test_rings_alone_together_and_across() -> None:
    short, wide, both, crowded = exchange_ms(
        [[0, 1]], [[0, 1, 2, 3]], [[0, 1], [0, 1]], [[0, 1], [1, 2], [2, 3], [2, 4], [2, 5]]
    )
    for workers, (alone,) in ((2, short), (4, wide)):
        assert alone == pytest.approx(
            1e3 * exchange_bits(MB, workers) / (GOODPUT * TESTBED_MBIT * 1e6), rel=0.2
        )
    assert sum(both) / 2 == pytest.approx(2 * short[0], rel=0.15)
    # Ring 12 is held up on link 2, so ring 01 gets more than half of link 1.
    assert crowded[0] < 2 * short[0]


PLAN = """\
runs:
  - name: for long
    rings: [{servers: [0, 1, 2], gradient_mb: 1}, {servers: [0, 1], gradient_mb: 1}]
"""


def command(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "rarmodel", "testbed", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def workers_of(parent: int) -> list[int]:
    """Processes whose parent this is, and that are workers."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status = (folder / "stat").read_text(encoding="ascii")
            line = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if int(status.rpartition(")")[2].split()[1]) == parent and b"ring_worker.py" in line:
            found.append(int(folder.name))
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_a_run_that_is_ended(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN, encoding="utf-8")
    options = ["run", "plan.yaml", "--output", "table.csv", "--seconds", "60"]
    with command(tmp_path, *options) as process:
        until = time.monotonic() + 20
        while len(workers := workers_of(process.pid)) < 5:
            assert time.monotonic() < until
            time.sleep(0.05)
        process.send_signal(number)
        process.communicate()
    until = time.monotonic() + 5
    while any(Path(f"/proc/{one}").exists() for one in workers) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{one}").exists() for one in workers)
    assert not (tmp_path / "table.csv").exists()
    if number == signal.SIGKILL:
        assert len(existing()) == 7
        with command(tmp_path, "down") as process:
            assert "removed: rarmodel-testbed-0," in process.communicate()[0]
    assert existing() == []
