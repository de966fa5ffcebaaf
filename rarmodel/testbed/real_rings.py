"""Real rings: start their workers in the servers' namespaces, and read what the first one says."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple, Self, cast

from rarmodel.errors import RarmodelError

from .network import address, namespace

WORKER = Path(__file__).with_name("ring_worker.py")
CONGESTION_CONTROL = "cubic"
_FIRST_PORT = 20_000
_ISOLATED = ("-I", "-S")
"""Python starts in a few hundredths of a second without its site packages."""


class Iteration(NamedTuple):
    """Moments of an iteration of a ring, in seconds of the machine's monotonic clock."""

    begin: float
    exchange: float
    end: float


@dataclass(frozen=True)
class Work:
    """The work of a ring.

    Attributes
    ----------
    servers
        Index of the server of each worker.
    gradient_mb
        Size of the vector in MB.
    compute_seconds
        Seconds between two exchanges.
    iterations
        Number of iterations; None to go on until told.
    """

    servers: tuple[int, ...]
    gradient_mb: float
    compute_seconds: float
    iterations: int | None = None


class RealRing:
    """The processes of a ring. Leaving it as a context ends them, whatever they do."""

    def __init__(self, work: Work, first_port: int) -> None:
        self.work = work
        ports = range(first_port, first_port + len(work.servers))
        workers = len(work.servers)
        task = {
            "addresses": [(address(s), port) for s, port in zip(work.servers, ports, strict=True)],
            "piece": 4 * math.ceil(work.gradient_mb * 1e6 / (4 * workers)),
            "compute_seconds": work.compute_seconds,
            "iterations": work.iterations,
            "congestion_control": CONGESTION_CONTROL,
            "parent": os.getpid(),
        }
        self._workers: list[subprocess.Popen[str]] = []
        try:
            for rank, server in enumerate(work.servers):
                self._workers.append(_started(server, {**task, "rank": rank}))
        except BaseException:
            self._end()
            raise
        self._input = cast("IO[str]", self._workers[0].stdin)
        self._output = cast("IO[str]", self._workers[0].stdout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end()

    def _end(self) -> None:
        for worker in self._workers:
            worker.kill()
        for worker in self._workers:
            worker.communicate()

    def go(self, begin: float, until: float = math.inf) -> None:
        """Let the ring begin at a moment, and stop after the iteration under way at another."""
        self._input.write(f"{begin} {until}\n")
        self._input.flush()

    def fileno(self) -> int:
        """The file to wait for, until there is a line to read."""
        return self._output.fileno()

    def line(self) -> str:
        """What the first worker says next; waits for it.

        Raises
        ------
        RarmodelError
            If the ring has failed.
        """
        line = self._output.readline()
        if not line:
            for worker in self._workers:
                worker.kill()
            said = [worker.communicate()[1].strip() for worker in self._workers]
            why = next((text.splitlines()[-1] for text in said if text), "a worker has gone")
            raise RarmodelError(f"a ring has failed: {why}")
        return line

    def iterations(self) -> list[Iteration]:
        """All iterations of a ring that stops."""
        return [Iteration(*moments) for moments in json.loads(self.line())]


def _started(server: int, task: dict[str, object]) -> subprocess.Popen[str]:
    program = [sys.executable, *_ISOLATED, str(WORKER), json.dumps(task)]
    return subprocess.Popen(  # noqa: S603
        ["ip", "netns", "exec", namespace(server), *program],  # noqa: S607
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def ready(works: Sequence[Work]) -> Iterator[list[RealRing]]:
    """Rings that are connected and wait for `go`; afterwards none of their processes is left."""
    with ExitStack() as stack:
        rings, port = [], _FIRST_PORT
        for work in works:
            rings.append(stack.enter_context(RealRing(work, port)))
            port += len(work.servers)
        for ring in rings:
            ring.line()
        yield rings


def measured(works: Sequence[Work], seconds: float, settle_seconds: float) -> list[list[Iteration]]:
    """Iterations of rings that run at the same time, without those that begin before they settle.

    Parameters
    ----------
    works
        The rings.
    seconds
        Time to measure.
    settle_seconds
        Time before that: connections speed up, and rings come to interleave.

    Raises
    ------
    RarmodelError
        If a ring fails.
    """
    with ready(works) as rings:
        begin = time.monotonic() + 0.05
        settled = begin + settle_seconds
        until = settled + seconds
        for ring in rings:
            ring.go(begin, until)
        found = [ring.iterations() for ring in rings]
    return [[one for one in each if one.begin >= settled and one.end <= until] for each in found]
