"""A schedule without GPU indices: start, completion and servers of each job."""

from __future__ import annotations

import gc
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from rarmodel.engine import Engine, decisions
from rarmodel.engine.arrays import Ints
from rarmodel.errors import VerificationError
from rarmodel.model import best_placements, job_extremes
from rarmodel.model.gpu_assignment import assign_gpus
from rarmodel.proof import Plan
from rarmodel.schema import Instance, Schedule


class Packed(NamedTuple):
    """A packing: start slots, and workers by server."""

    starts: Ints
    """(jobs) Start slots."""
    workers: list[dict[int, int]]
    """(jobs) Workers by server."""


class Solution(NamedTuple):
    """Start, completion and servers of each job, and the makespan."""

    makespan: int
    """In slots."""
    starts: Ints
    """(jobs) Start slots a_j."""
    completions: Ints
    """(jobs) Completion times T_j in slots."""
    at: Ints
    """(jobs + 1) Offsets into the next two."""
    server: Ints
    """Servers of each job."""
    workers: Ints
    """Workers on each of them."""

    @property
    def used(self) -> Ints:
        """(jobs) Number of servers of each job."""
        return np.diff(self.at)

    @property
    def rings(self) -> list[dict[int, int]]:
        """(jobs) Workers of each job by server index."""
        server, workers = self.server.tolist(), self.workers.tolist()
        return [
            dict(zip(server[first:end], workers[first:end], strict=True))
            for first, end in pairwise(self.at.tolist())
        ]

    def schedule(self, instance: Instance, method: str) -> Schedule:
        """The schedule, with GPUs numbered."""
        on = gc.isenabled()
        gc.disable()  # It finds nothing, and takes as long as all the rest.
        try:
            return self._schedule(instance, method)
        finally:
            if on:
                gc.enable()

    def _schedule(self, instance: Instance, method: str) -> Schedule:
        return Schedule(
            schema_version=1,
            instance=instance.name,
            method=method,
            assignments=assign_gpus(
                instance, self.starts.tolist(), self.completions.tolist(), self.rings
            ),
        )


def solution_of_schedule(instance: Instance, schedule: Schedule) -> Solution:
    """The solution of a feasible schedule; its GPUs are numbered anew.

    Raises
    ------
    VerificationError
        If the schedule never ends, or a server would hold more workers than it has GPUs.
    """
    plan = Plan(*decisions(instance, schedule))
    return solution_of_plan(instance, plan, f"the schedule by {schedule.method!r}")


def solution_of_plan(instance: Instance, plan: Plan, name: str = "the plan") -> Solution:
    """The solution of starts and placements.

    Raises
    ------
    VerificationError
        As above; it names the plan.
    """
    makespan, completions = Engine(instance).evaluate(*plan)
    if makespan < 0:
        raise VerificationError(f"{name} is not feasible")
    return Solution(makespan, plan.starts, completions, *plan.placements)


def one_after_another(instance: Instance) -> Solution:
    """Each job alone in the cluster, in its best placement: this solution always ends."""
    least = [extreme.least_slots for extreme in job_extremes(instance)]
    rings = best_placements(instance)
    completions = np.cumsum(least, dtype=np.int64)
    return Solution(
        makespan=int(completions[-1]),
        starts=completions - np.array(least, np.int64),
        completions=completions,
        at=np.cumsum([0, *map(len, rings)], dtype=np.int64),
        server=np.array([server for ring in rings for server in ring], np.int64),
        workers=np.array([count for ring in rings for count in ring.values()], np.int64),
    )
