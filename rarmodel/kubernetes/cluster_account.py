"""A cluster as an instance, and the account of every object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rarmodel.counting import counted
from rarmodel.errors import FEW, one_line
from rarmodel.schema import Instance

from .account import Account


class Reading(NamedTuple):
    """A cluster as an instance.

    Attributes
    ----------
    instance
        The instance; running jobs first, then the others as they wait: by priority and age.
    account
        What became of every object.
    network
        Where the network is from; empty for a star.
    notes
        Jobs, nodes and queues by what was assumed of them.
    """

    instance: Instance
    account: Account
    network: str
    notes: Mapping[str, Sequence[str]]

    def lines(self) -> list[str]:
        """The account in lines."""
        jobs, cluster = self.instance.jobs, self.instance.cluster
        running = sum(job.running is not None for job in jobs)
        return [
            one_line(
                f"{self.instance.name}: {counted(len(jobs), 'job')}, {running} running and "
                f"{len(jobs) - running} waiting; {counted(len(cluster.servers), 'server')}, "
                f"{counted(cluster.total_gpus, 'GPU')}"
            ),
            one_line(f"network: {self.network or 'nothing tells of it, so a star'}"),
            *self.account.lines(),
            *(_told(note, names) for note, names in self.notes.items() if names),
        ]

    def summary(self) -> dict[str, Any]:
        """The account as plain data."""
        origin = self.instance.time.origin
        return {
            "name": self.instance.name,
            "now": None if origin is None else origin.isoformat(),
            "jobs": [job.name for job in self.instance.jobs],
            "servers": [server.name for server in self.instance.cluster.servers],
            "network": self.network or None,
            **self.account.summary(),
            "notes": {note: [*names] for note, names in self.notes.items() if names},
        }


def _told(note: str, names: Sequence[str]) -> str:
    few = ", ".join(names[:FEW]) + (", …" if len(names) > FEW else "")
    return one_line(f"{len(names)} × {note} ({few})")
