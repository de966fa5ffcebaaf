"""Methods for runs of campaigns: one that is soon done, and ones that fail in each way."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rarmodel.limits import Limits
from rarmodel.methods import Attempt
from rarmodel.model import horizon_of
from rarmodel.schema import Assignment, Instance, Schedule


def in_turn(instance: Instance, name: str) -> Schedule:
    """A schedule of one-GPU jobs on the first GPU, far enough apart."""
    server = instance.cluster.servers[0].name
    slots = horizon_of(instance) // len(instance.jobs)
    return Schedule(
        schema_version=1,
        instance=instance.name,
        method=name,
        assignments=tuple(
            Assignment(job=job.name, start=i * slots, gpus={server: (0,)})
            for i, job in enumerate(instance.jobs)
        ),
    )


@dataclass(frozen=True)
class Turns:
    """Places the jobs in turn after a while, and counts how often it is asked to."""

    seconds: float = 0.0
    name: str = "turns"

    def __call__(self, instance: Instance, limits: Limits) -> Attempt:
        if counts := os.environ.get("TURNS_COUNTED_IN"):
            with Path(counts, f"{instance.name}-{limits.seed}").open("a") as file:
                file.write("begun\n")
        time.sleep(self.seconds)
        return Attempt(in_turn(instance, self.name), "finished")

    def vary(self, *, seconds: float) -> Turns:
        return Turns(float(seconds))


@dataclass(frozen=True)
class Failing:
    """Does something that no method should."""

    name: str
    do: Callable[[], object]
    stopped: str = "nothing to fail at"

    def __call__(self, instance: Instance, limits: Limits) -> Attempt:
        self.do()
        return Attempt(None, self.stopped)


def _raise() -> None:
    raise ZeroDivisionError("nothing to divide by")


def _exhaust() -> None:
    held = []
    while True:
        held.append(bytearray(50_000_000))


def _begin(do: Callable[[], object]) -> Callable[[], object]:
    """The same, after a sign that it begins."""

    def begun() -> None:
        Path("begun").touch()
        do()

    return begun


def _says_too_much() -> None:
    raise ValueError("one\ntwo \udce9 " + "y" * 1_000_000)


def _write() -> None:
    os.write(2, b"z" * 1_000_000 + b"\nlast \x1b[2J\n")
    os._exit(4)


TURNS = Turns()
RAISES = Failing("raises", _raise)
EXITS = Failing("exits", lambda: os._exit(3))
ABORTS = Failing("aborts", os.abort)
HANGS = Failing("hangs", _begin(lambda: time.sleep(600)))
# With Python's lock held, as some solvers hold it.
HOLDS_THE_LOCK = Failing("holds-the-lock", _begin(lambda: ctypes.PyDLL(None).sleep(600)))
SAYS_TOO_MUCH = Failing("says-too-much", _says_too_much)
SAYS_NO_TEXT = Failing("says-no-text", lambda: None, "half \udce9")
WRITES = Failing("writes", _write)
READS = Failing("reads", sys.stdin.read)
GOES_AWAY = Failing("goes-away", lambda: os.chdir("/"))
LEAVES_A_THREAD = Failing("leaves", threading.Thread(target=time.sleep, args=(600,)).start)
INTERRUPTED = Failing("interrupted", lambda: os.kill(os.getpid(), signal.SIGINT))
EXHAUSTS = Failing("exhausts", _exhaust)
