"""Workers of a ring on this machine's loopback: no namespaces, no root."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from rarmodel.testbed.real_rings import WORKER

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are programs for Linux")


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def tasks(workers: int, **changes: Any) -> list[str]:
    addresses = [("127.0.0.1", port) for port in free_ports(workers)]
    task = {
        "addresses": addresses,
        "piece": 4000,
        "compute_seconds": 0.0,
        "iterations": None,
        "congestion_control": "cubic",
        "parent": os.getpid(),
        **changes,
    }
    return [json.dumps({**task, "rank": rank}) for rank in range(workers)]


@contextmanager
def started(texts: Sequence[str]) -> Iterator[list[subprocess.Popen[str]]]:
    pipe = subprocess.PIPE
    program = [sys.executable, "-I", "-S", str(WORKER)]
    processes = [
        subprocess.Popen([*program, text], stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        for text in texts
    ]
    try:
        yield processes
    finally:
        for one in processes:
            one.kill()
            one.communicate()


def said(workers: Sequence[subprocess.Popen[str]], begin: float, until: float) -> list[list[float]]:
    """The iterations of a ring that is let go."""
    first = workers[0]
    assert first.stdin is not None
    assert first.stdout is not None
    assert first.stdout.readline() == "ready\n"
    first.stdin.write(f"{begin} {until}\n")
    first.stdin.flush()
    line = first.stdout.readline()
    found: list[list[float]] = json.loads(line)
    for one in workers:
        assert one.wait(10) == 0, one.stderr and one.stderr.read()
    return found


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_a_ring_does_its_iterations_and_all_workers_end(workers: int) -> None:
    # A worker whose sums are wrong ends with an error.
    with started(tasks(workers, iterations=4)) as processes:
        done = said(processes, 0.0, float("inf"))
    assert len(done) == 4
    moments = [moment for each in done for moment in each]
    assert moments == sorted(moments)


def test_a_ring_stops_after_the_iteration_under_way() -> None:
    with started(tasks(3, compute_seconds=0.02)) as processes:
        begin = time.monotonic() + 0.1
        done = said(processes, begin, begin + 0.3)
    assert begin <= done[0][0]
    late = [exchange >= begin + 0.3 for _, exchange, _ in done]
    assert late == [False] * (len(done) - 1) + [True]
    assert all(exchange - start >= 0.02 for start, exchange, _ in done)


def test_wrong_sums_are_noticed() -> None:
    first, second = tasks(2, iterations=4)
    other = json.dumps({**json.loads(second), "rank": 1, "piece": 4000})
    # Both think that they are the first: the sums are not those of ranks 0 and 1.
    wrong = WORKER.read_text(encoding="utf-8").replace("* (rank + 1)", "* (rank + 2)")
    pipe = subprocess.PIPE
    with started([first]) as processes:
        program = [sys.executable, "-I", "-S", "-c", wrong, other]
        processes.append(subprocess.Popen(program, stdin=pipe, stdout=pipe, stderr=pipe, text=True))
        assert "wrong sums" in processes[1].communicate(timeout=10)[1]
        assert processes[0].wait(10) != 0


def test_a_worker_without_its_neighbour_ends_with_an_error() -> None:
    with started(tasks(3, compute_seconds=1.0)) as processes:
        assert processes[0].stdout is not None
        assert processes[0].stdout.readline() == "ready\n"
        processes[1].kill()
        assert processes[2].wait(10) != 0


def test_workers_die_with_their_parent() -> None:
    code = (
        "import json, os, subprocess, sys, time\n"
        "worker, *texts = sys.argv[1:]\n"
        "for text in texts:\n"
        "    task = json.dumps({**json.loads(text), 'parent': os.getpid()})\n"
        "    one = subprocess.Popen([sys.executable, '-I', '-S', worker, task],\n"
        "        stdin=subprocess.PIPE, stdout=sys.stdout)\n"
        "    print(one.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    program = [sys.executable, "-c", code, str(WORKER), *tasks(2)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        lines = [parent.stdout.readline().strip() for _ in range(3)]
        assert "ready" in lines
        parent.send_signal(signal.SIGKILL)
        # The pipe ends when the last process that can write to it has gone.
        assert parent.stdout.read() == ""


def test_a_worker_whose_parent_has_gone_already_does_nothing() -> None:
    with started(tasks(1, parent=1)) as (only,):
        assert only.communicate(timeout=10) == ("", "")
        assert only.returncode == 0
