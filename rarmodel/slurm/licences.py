"""Licences of Slurm as resources: how many there are, and who holds and asks for them.

A licence belongs to the whole cluster, so it is a resource of the model. Slurm sets aside what
reservations hold (`Reserved`), and what is used elsewhere beyond the share of other clusters
(`LastDeficit`, which it forms from `LastConsumed` of a remote licence): rarmodel does the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from rarmodel.errors import Problem
from rarmodel.workloads.licences import licences_in

from .records import LICENCE_KEYS, lines
from .slurm_jobs import HOLDING, SlurmJob
from .slurm_values import value


class Licence(NamedTuple):
    """How many there are of a licence.

    Attributes
    ----------
    total, used
        The licences of this cluster, and how many of them its jobs hold.
    set_aside
        How many Slurm keeps from jobs: for reservations, and for users elsewhere.
    """

    total: int
    used: int
    set_aside: int

    @property
    def usable(self) -> int:
        """How many jobs can hold at once."""
        return max(0, self.total - self.set_aside)


def licences_of(text: str, problems: list[Problem]) -> Iterator[tuple[str, Licence]]:
    """The licences in the output of `scontrol -o show license`."""
    for line in lines(text, "LicenseName", keys=LICENCE_KEYS):
        total, used, reserved, missing = (
            line.values.get(key, "0") for key in ("Total", "Used", "Reserved", "LastDeficit")
        )
        if not {"Total", "Used"} <= line.values.keys() or not all(
            one.isdigit() for one in (total, used, reserved, missing)
        ):
            problems.append(Problem(f"license {line.name!r}", "not as scontrol shows a licence"))
            continue
        yield line.name, Licence(int(total), int(used), int(reserved) + int(missing))


def licences_asked(job: SlurmJob) -> dict[str, int]:
    """By name, how many licences a job holds, or asks for while it waits.

    A request that leaves Slurm the choice, such as `a|b`, is one name that no licence has.
    """
    text = value(job.record, "LicensesAlloc") if job.state in HOLDING else ""
    return licences_in(text or value(job.record, "Licenses"))


class LicencesLeft:
    """The licences that are left for the jobs of an instance.

    Parameters
    ----------
    known
        The licences that Slurm lists; None if it was not asked, and then no job's are planned.
    """

    def __init__(self, known: Mapping[str, Licence] | None) -> None:
        self._is_known, self._known = known is not None, known or {}
        # By licence and slot, how many more are taken from that slot on.
        self._changes: dict[str, Counter[int]] = {name: Counter({0: 0}) for name in self._known}

    def of(self, job: SlurmJob) -> dict[str, int]:
        """The licences of a job that Slurm lists, by name."""
        asked = licences_asked(job) if self._known else {}
        return {name: asked[name] for name in sorted(asked) if name in self._known}

    def unknown_to(self, job: SlurmJob) -> list[str]:
        """What a job asks for that Slurm does not list; nothing if it was not asked."""
        asked = licences_asked(job) if self._is_known else {}
        return [name for name in asked if name not in self._known]

    def are_all_known(self, job: SlurmJob) -> bool:
        """Whether all licences of a job are planned."""
        return self._is_known and not self.unknown_to(job)

    def lacking(self, job: SlurmJob) -> str:
        """A licence of which a job asks for more than there ever is; empty if there is none."""
        for name, number in self.of(job).items():
            if number > (most := self._known[name].usable):
                return f"asks for {number} of licence {name!r}, of which jobs can have {most}"
        return ""

    def take(self, numbers: Mapping[str, int], start: int, end: int) -> None:
        """Keep licences from the jobs of the instance, from one slot to another."""
        for name, number in numbers.items():
            if name in self._known:
                self._changes[name][start] += number
                self._changes[name][end] -= number

    def take_held(
        self,
        jobs: Iterable[SlurmJob],
        inside: Container[str],
        until: Callable[[SlurmJob | None], int],
    ) -> None:
        """Keep licences that are held outside of the instance.

        Parameters
        ----------
        jobs
            All jobs that Slurm shows.
        inside
            Ids of those in the instance that run.
        until
            The slot by which a job has ended; of a job that Slurm does not show, with None.
        """
        hidden = Counter({name: one.used for name, one in self._known.items()})
        for job in jobs:
            if job.state in HOLDING:
                held = licences_asked(job)
                hidden.subtract(held)
                if job.id not in inside:
                    self.take(held, 0, until(job))
        self.take(+hidden, 0, until(None))

    def resources_for(self, jobs: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The resources of an instance of these jobs, as plain data."""
        used = {name for job in jobs for name in job.get("resources", ())}
        return [
            {
                "name": name,
                "capacity": capacity_left(self._known[name].usable, self._changes[name]),
            }
            for name in sorted(used & self._known.keys())
        ]


def capacity_left(usable: int, changes: Mapping[int, int]) -> int | list[dict[str, Any]]:
    """How much is left of a resource: a number, or windows if it changes.

    Parameters
    ----------
    usable
        How much there is of it.
    changes
        By slot, slot 0 among them, how much more is taken from that slot on.
    """
    steps: list[tuple[int, int]] = []
    taken = 0
    for slot in sorted(changes):
        taken += changes[slot]
        left = max(0, usable - taken)
        if not steps or steps[-1][1] != left:
            steps.append((slot, left))
    if len(steps) == 1:
        return steps[0][1]
    ends = [{"to": slot} for slot, _ in steps[1:]]
    return [
        {"from": slot, **end, "capacity": left}
        for (slot, left), end in zip(steps, [*ends, {}], strict=True)
    ]
