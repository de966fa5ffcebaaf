"""What a simulation is worth to groups of jobs: those of a tenant, and those of a priority."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rarmodel.engine.arrays import NEVER, Ints
from rarmodel.schema import Instance
from rarmodel.schema.tenants import lineages

from .arriving_jobs import Jobs
from .cluster_at_work import Stay
from .shared_cluster import gpu_slots


class GroupMetrics(NamedTuple):
    """Figures of a group of jobs; means are None where none of them is complete.

    Attributes
    ----------
    jobs, completed
        How many there are, and how many of them are complete.
    mean_flow, mean_queueing
        Mean slots from release to completion, and those of them in which a job holds no GPUs.
    gpu_slots
        GPUs times slots that all of them held; a worker of some slices holds a part of a GPU.
    """

    jobs: int
    completed: int
    mean_flow: float | None
    mean_queueing: float | None
    gpu_slots: int | float

    def summary(self) -> dict[str, Any]:
        """The figures as plain data."""
        return self._asdict()


class Groups:
    """Groups of the jobs of a simulation up to a slot.

    Parameters
    ----------
    instance, jobs
        The problem, and its jobs in order of arrival.
    stays, completion, slot
        What was played.
    """

    def __init__(
        self, instance: Instance, jobs: Jobs, stays: Sequence[Stay], completion: Ints, slot: int
    ) -> None:
        self._instance, self._jobs = instance, jobs
        self._done = completion < NEVER
        self._flow = completion - jobs.release
        self._held = np.zeros_like(self._flow)
        self._area: list[Fraction | int] = [0] * len(jobs.index)
        for one in stays:
            slots = min(one.end, slot) - one.start
            self._held[one.job] += slots
            self._area[one.job] += gpu_slots(instance, jobs, one, slots)

    def of_tenants(self) -> Mapping[str, GroupMetrics]:
        """By name of a tenant: the jobs that it has, and all tenants below it, where it has any."""
        above = lineages(self._instance.tenants)
        members: dict[str, list[int]] = {name: [] for name in above}
        for k, j in enumerate(self._jobs.index.tolist()):
            for name in above.get(self._instance.jobs[j].tenant or "", ()):
                members[name].append(k)
        return {name: self._of(np.array(own, np.int64)) for name, own in members.items() if own}

    def of_priorities(self) -> Mapping[int, GroupMetrics]:
        """By priority, the greatest first; nothing if all jobs have the same."""
        found = np.unique(self._jobs.priority)[::-1].tolist()
        if len(found) == 1:
            return {}
        return {one: self._of(np.flatnonzero(self._jobs.priority == one)) for one in found}

    def _of(self, some: npt.NDArray[np.int64]) -> GroupMetrics:
        done = some[self._done[some]]
        return GroupMetrics(
            jobs=len(some),
            completed=len(done),
            mean_flow=float(self._flow[done].mean()) if len(done) else None,
            mean_queueing=float((self._flow - self._held)[done].mean()) if len(done) else None,
            gpu_slots=_number(sum(self._area[k] for k in some.tolist())),
        )


def _number(gpu_slots: Fraction | int) -> int | float:
    return int(gpu_slots) if gpu_slots == int(gpu_slots) else float(gpu_slots)
