"""What jobs on each GPU count to each other, change by change (section 15).

When jobs begin or end, only the loads of their own GPUs change. A load belongs to a class of jobs
that suffer alike; a job reads that of its class, and takes off what it counts itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rarmodel.model.gpu_sharing import losses, slowdown
from rarmodel.schema import Instance

from .simulation_result import Gpu


class GpuLoads:
    """The active jobs on each GPU; at first none.

    Parameters
    ----------
    instance
        The problem.
    names
        Name of every job that may appear; the methods name it by its index here.
    gpus
        The GPUs of each, by index of the server and on the server.
    """

    def __init__(
        self, instance: Instance, names: Sequence[str], gpus: Sequence[Sequence[Gpu]]
    ) -> None:
        self._losses = losses(instance)
        index = {job.name: j for j, job in enumerate(instance.jobs)}
        self._job = [index[name] for name in names]
        self._gpus = gpus
        self._on: dict[Gpu, set[int]] = {}
        self._load: dict[Gpu, list[int]] = {}

    def begin(self, i: int) -> None:
        """A job becomes active on its GPUs."""
        for gpu in self._gpus[i]:
            self._on.setdefault(gpu, set()).add(i)
            load = self._load.setdefault(gpu, [0] * self._losses.columns)
            for column, units in enumerate(self._losses.counts(self._job[i])):
                load[column] += units

    def end(self, i: int) -> None:
        """It is not active any more."""
        for gpu in self._gpus[i]:
            self._on[gpu].remove(i)
            load = self._load[gpu]
            for column, units in enumerate(self._losses.counts(self._job[i])):
                load[column] -= units

    def beside(self, some: Iterable[int]) -> set[int]:
        """The active jobs on the GPUs of some."""
        return {k for i in some for gpu in self._gpus[i] for k in self._on.get(gpu, ())}

    def greatest(self, i: int) -> int:
        """The greatest load of others on a GPU of an active job, in `UNITS`."""
        job = self._job[i]
        column, own = self._losses.column[job], self._losses.of(job, job)
        return max((self._load[gpu][column] - own for gpu in self._gpus[i]), default=0)

    def slowdown(self, i: int) -> float:
        """How many times as long the passes of an active job take, g_j."""
        return slowdown(self.greatest(i))
