"""A queue as an instance, and the account of every job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from rarmodel.counting import counted
from rarmodel.errors import FEW, listed
from rarmodel.schema import Instance
from rarmodel.workloads.job_profile import MIDDLE_MODEL

from .caveats import PREEMPTION
from .giving_way import Given
from .queue import BELOW_NO_SWITCH, Queue
from .unavailable_gpus import hidden

NO_PROFILE = f"no profile, so they exchange as {MIDDLE_MODEL} does"
"""What the account says of jobs for which a profile is assumed."""


class Reading(NamedTuple):
    """A queue as an instance.

    Attributes
    ----------
    instance
        The instance; its jobs have Slurm's ids, running ones first, then as Slurm ranks them.
    queue
        What it was read from.
    mine
        Ids of the jobs that rarmodel may touch.
    others
        Ids of waiting jobs that are planned around.
    notes
        Jobs by what was assumed of them, or by why they were left out.
    given
        Running jobs that give way to urgent ones.
    """

    instance: Instance
    queue: Queue
    mine: tuple[str, ...]
    others: tuple[str, ...]
    notes: Mapping[str, Sequence[str]]
    given: Mapping[str, Given] = MappingProxyType({})

    @property
    def assumed(self) -> Sequence[str]:
        """The jobs without a profile that are taken to exchange as the middle one."""
        return self.notes.get(NO_PROFILE, ())

    def lines(self) -> list[str]:
        """The account in lines."""
        jobs = self.instance.jobs
        running = sum(job.running is not None for job in jobs)
        first = (
            f"{self.queue.name}: {counted(len(jobs), 'job')}, {running} running and "
            f"{len(jobs) - running} waiting; {len(self.mine)} held and marked; "
            f"{counted(len(self.instance.cluster.servers), 'server')}, "
            f"{counted(self.instance.cluster.total_gpus, 'GPU')}"
        )
        told = [_told(note, ids) for note, ids in self.notes.items() if ids]
        if unseen := sum(hidden(self.queue).values()):
            known = "held by jobs that Slurm does not show you, that cannot be read, or in shares"
            told.append(
                f"{counted(unseen, 'GPU')}: {known}; taken to be away for --default-seconds"
            )
        if outside := self.queue.outside:
            told.append(f"{counted(len(outside), 'node')}: {BELOW_NO_SWITCH} ({listed(outside)})")
        told += [f"{node}: {why}, left out" for node, why in self.queue.unequal.items()]
        if trees := self.queue.trees:
            roots = listed([tree.root for tree in trees])
            told.append(f"{len(trees)} trees of switches that no switch joins ({roots})")
        if licences := ", ".join(self._licences()):
            told.append(f"licences that the jobs can use: {licences}")
        if self.queue.preempts:
            told.append(f"{PREEMPTION} ({self.queue.preempts})")
        return [first, *told]

    def _licences(self) -> Iterator[str]:
        """How many there are of each licence that is a resource of the instance."""
        known = self.queue.licences or {}
        for one in self.instance.resources:
            if one.name in known:
                least, most = (f(window.capacity for window in one.windows) for f in (min, max))
                number = f"{most:g}" if least == most else f"{least:g} to {most:g}"
                yield f"{one.name} {number} of {known[one.name].total}"

    def summary(self) -> dict[str, Any]:
        """The account as plain data."""
        return {
            "cluster": self.queue.name,
            "now": self.queue.now.isoformat(),
            "jobs": [job.name for job in self.instance.jobs],
            "mine": [*self.mine],
            "others": [*self.others],
            "notes": {note: [*ids] for note, ids in self.notes.items() if ids},
            "below_no_switch": [*self.queue.outside],
            "trees": {tree.root: [*tree.nodes] for tree in self.queue.trees},
            "preempts": self.queue.preempts,
        } | (
            {}
            if self.queue.licences is None
            else {"licences": {name: one._asdict() for name, one in self.queue.licences.items()}}
        )


def _told(note: str, ids: Sequence[str]) -> str:
    few = ", ".join(ids[:FEW]) + (", …" if len(ids) > FEW else "")
    return f"{counted(len(ids), 'job')}: {note} ({few})"
