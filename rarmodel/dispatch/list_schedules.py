"""List schedules of a wider instance from Python: decisions go in, a schedule comes out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rarmodel.engine.arrays import Ints, arrays_of, new_state
from rarmodel.engine.modes import modes_of
from rarmodel.model.gpu_assignment import assign_gpus
from rarmodel.schema import Instance, Schedule

from .decode import decode
from .facts import Facts, facts_of
from .work import new_work


class ListSchedules:
    """A wider instance laid out, with the memory of one thread.

    Parameters
    ----------
    instance
        The instance.
    facts
        The instance laid out, if that is known.
    other
        List schedules of the same instance, made for another thread: they share what never changes.

    Attributes
    ----------
    facts
        The instance.
    """

    def __init__(
        self, instance: Instance, facts: Facts | None = None, other: ListSchedules | None = None
    ) -> None:
        self.instance = instance
        if other is None:
            self.facts = facts_of(instance) if facts is None else facts
            self.arrays, self.modes = arrays_of(instance), modes_of(instance)
            self.compute = np.ascontiguousarray(self.arrays.modes["compute"])
        else:
            self.facts, self.arrays = other.facts, other.arrays
            self.modes, self.compute = other.modes, other.compute
        self.state, self.saved = new_state(self.arrays), new_state(self.arrays)
        self.work = new_work(self.facts)

    def made(
        self, order: Sequence[int] | Ints, option: Ints | None = None, earliest: Ints | None = None
    ) -> bool:
        """Make the list schedule of an order; whether there is one.

        Parameters
        ----------
        order
            Job indices, most urgent first.
        option
            (jobs) Which of its options each job takes; by default the one of least area.
        earliest
            (jobs) Slot from which on each may start; by default its release.
        """
        none = np.zeros(len(self.instance.jobs), np.int64)
        return (
            decode(
                self.arrays,
                self.state,
                self.saved,
                self.modes,
                self.compute,
                self.facts,
                self.work,
                np.asarray(order, np.int64),
                none if option is None else option,
                none if earliest is None else earliest,
            )
            == 0
        )

    def schedule(self, method: str) -> Schedule:
        """The schedule that was made last, with GPUs numbered."""
        work, facts = self.work, self.facts
        rings = []
        for j, at in enumerate(facts.place_at[:-1].tolist()):
            end = at + int(work.used[j])
            pairs = zip(work.server[at:end].tolist(), work.workers[at:end].tolist(), strict=True)
            rings.append(dict(pairs))
        return Schedule(
            schema_version=1,
            instance=self.instance.name,
            method=method,
            assignments=assign_gpus(
                self.instance, work.starts.tolist(), self.state.rings["finish"].tolist(), rings
            ),
        )
