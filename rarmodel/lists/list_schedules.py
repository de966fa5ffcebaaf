"""List schedules of an instance from Python: decisions go in, a schedule comes out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rarmodel.engine.arrays import Ints
from rarmodel.engine.gpu_loads import GpuLoads, SharedGpus
from rarmodel.model.gpu_assignment import assign_gpus
from rarmodel.schema import Assignment, Instance, Schedule

from .decoding import decode
from .instance_arrays import InstanceArrays, instance_arrays
from .partial_schedule import new_schedule


class ListSchedules:
    """An instance laid out, with the memory of one thread.

    Parameters
    ----------
    instance
        The problem.
    arrays
        The same laid out, if it is known.
    stop
        (1) Another thread sets it to 1 to end what runs at once.

    Attributes
    ----------
    arrays
        The instance laid out.
    partial
        The schedule that was made last.
    """

    def __init__(
        self, instance: Instance, arrays: InstanceArrays | None = None, stop: Ints | None = None
    ) -> None:
        self.instance = instance
        self.arrays = instance_arrays(instance) if arrays is None else arrays
        self.partial = new_schedule(self.arrays, stop)

    def makespan(
        self, order: Sequence[int] | Ints, option: Ints | None = None, earliest: Ints | None = None
    ) -> int:
        """Make the list schedule of an order; its makespan, or why there is none, see `decode`.

        Parameters
        ----------
        order
            Job indices, most urgent first.
        option
            (jobs) Which of its options each job takes; by default the first, of least area.
        earliest
            (jobs) Slot from which on each may start; by default its release.
        """
        none = np.zeros(len(self.instance.jobs), np.int64)
        return decode(
            self.arrays,
            self.partial,
            np.asarray(order, np.int64),
            none if option is None else option,
            none if earliest is None else earliest,
        )

    def made(
        self, order: Sequence[int] | Ints, option: Ints | None = None, earliest: Ints | None = None
    ) -> bool:
        """Make the list schedule of an order; whether there is one."""
        return self.makespan(order, option, earliest) >= 0

    def schedule(self, method: str) -> Schedule:
        """The schedule that was made last, with GPUs numbered."""
        partial, completions = self.partial, self.partial.state.rings["finish"]
        loads, gpus = partial.state.gpus, self.arrays.engine.gpus
        if loads is not None and gpus is not None:
            return self._schedule_on_gpus(method, gpus, loads)
        rings = []
        for j, at in enumerate(self.arrays.place_at[:-1].tolist()):
            end = at + int(partial.used[j])
            servers, workers = partial.server[at:end].tolist(), partial.workers[at:end].tolist()
            rings.append(dict(zip(servers, workers, strict=True)))
        return Schedule(
            schema_version=1,
            instance=self.instance.name,
            method=method,
            assignments=assign_gpus(
                self.instance, partial.starts.tolist(), completions.tolist(), rings
            ),
        )

    def _schedule_on_gpus(self, method: str, gpus: SharedGpus, loads: GpuLoads) -> Schedule:
        """The same where jobs share GPUs: the schedule says which GPUs each has."""
        partial, cluster = self.partial, self.instance.cluster
        assignments = []
        for j, job in enumerate(self.instance.jobs):
            at, used = int(self.arrays.place_at[j]), int(partial.used[j])
            held, own = int(gpus.held_at[j]), dict[str, tuple[int, ...]]()
            for p in range(at, at + used):
                server, workers = int(partial.server[p]), int(partial.workers[p])
                numbers = loads.held[held : held + workers] - gpus.first[server]
                own[cluster.servers[server].name] = tuple(sorted(numbers.tolist()))
                held += workers
            assignments.append(Assignment(job=job.name, start=int(partial.starts[j]), gpus=own))
        return Schedule(
            schema_version=1,
            instance=self.instance.name,
            method=method,
            assignments=tuple(assignments),
        )
