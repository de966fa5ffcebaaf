"""Methods for runs of campaigns: one that is soon done, and ones that fail in each way."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rarmodel.heuristics import Attempt
from rarmodel.limits import Limits
from rarmodel.schema import Assignment, Instance, Schedule


def in_turn(instance: Instance, name: str) -> Schedule:
    """A schedule of one-GPU jobs on the first GPU, far enough apart."""
    server = instance.cluster.servers[0].name
    slots = instance.time.horizon // len(instance.jobs)
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
        return Turns(seconds)


@dataclass(frozen=True)
class Failing:
    """Does something that no method should."""

    name: str
    do: Callable[[], object]

    def __call__(self, instance: Instance, limits: Limits) -> Attempt:
        self.do()
        return Attempt(None, "nothing to fail at")


def _raise() -> None:
    raise ZeroDivisionError("nothing to divide by")


def _exhaust() -> None:
    held = []
    while True:
        held.append(bytearray(50_000_000))


TURNS = Turns()
RAISES = Failing("raises", _raise)
EXITS = Failing("exits", lambda: os._exit(3))
ABORTS = Failing("aborts", os.abort)
HANGS = Failing("hangs", lambda: time.sleep(600))
EXHAUSTS = Failing("exhausts", _exhaust)
