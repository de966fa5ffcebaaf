"""Limits of QOS and associations on GPUs, as resources of the model.

Slurm lets a job wait that would pass such a limit. Of the same limit, that of the partition's QOS
counts before that of the job's, and either before that of the associations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .licences import capacity_left
from .queue import Queue
from .slurm_jobs import HOLDING, SlurmJob
from .slurm_values import value


class GpuLimits:
    """The limits on GPUs, and what is left of them for the jobs of an instance.

    Parameters
    ----------
    queue
        The whole queue.
    """

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._most: dict[str, int] = {}
        self._changes: dict[str, Counter[int]] = {}

    def of(self, job: SlurmJob) -> list[str]:
        """The names of the limits under which a job runs."""
        found = dict(self._limits(job)) if self._queue.has_limits else {}
        for name, most in found.items():
            self._most[name] = most
            self._changes.setdefault(name, Counter({0: 0}))
        return [*found]

    def most(self, name: str) -> int:
        """The most GPUs under a limit."""
        return self._most[name]

    def lacking(self, job: SlurmJob, gpus: int) -> str:
        """A limit that keeps a job of so many GPUs waiting for ever; empty if there is none."""
        for name in self.of(job):
            if gpus > self._most[name]:
                return f"asks for {gpus} GPUs, and {name} may have {self._most[name]}"
        most = self._most_of_job(job)
        if most is not None and gpus > most:
            return f"asks for {gpus} GPUs, and its QOS or association lets a job have {most}"
        return ""

    def take(self, names: Iterable[str], gpus: int, start: int, end: int) -> None:
        """Keep GPUs under some limits from the jobs of the instance, from one slot to another."""
        for name in names:
            self._changes[name][start] += gpus
            self._changes[name][end] -= gpus

    def resources_for(self, jobs: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The resources of an instance of these jobs, as plain data."""
        listed = [*jobs]
        names = sorted({name for job in listed for name in job.get("resources_per_gpu", ())})
        found = []
        for name in names:
            held = sum(
                job["gpus"]
                for job in listed
                if "running" in job and name in job.get("resources_per_gpu", ())
            )
            most = max(self._most[name], held)  # A limit that was lowered ends no job.
            found.append({"name": name, "capacity": capacity_left(most, self._changes[name])})
        return found

    def _limits(self, job: SlurmJob) -> Iterator[tuple[str, int]]:
        """Each limit on the GPUs of several jobs that a job is under."""
        account = value(job.record, "Account")
        of_all = of_user = of_account = False
        for name in self._qos(job):
            qos = self._queue.qos[name]
            if qos.all_gpus is not None and not of_all:
                of_all = True
                yield f"QOS {name}", qos.all_gpus
            if qos.user_gpus is not None and not of_user:
                of_user = True
                yield f"user {job.user} in QOS {name}", qos.user_gpus
            if qos.account_gpus is not None and not of_account:
                of_account = True
                yield f"account {account} in QOS {name}", qos.account_gpus
        for told, most in () if of_all else self._associations(job):
            if most is not None:
                yield told, most

    def _qos(self, job: SlurmJob) -> list[str]:
        """The QOS of a job's partition and of the job, the ones that count first."""
        partition = self._queue.partitions.get(job.partitions[0])
        names = [partition.qos if partition else "", value(job.record, "QOS")]
        return [name for name in dict.fromkeys(names) if name in self._queue.qos]

    def _associations(self, job: SlurmJob) -> Iterator[tuple[str, int | None]]:
        """The limits of a user in an account, of the account, and of those above it."""
        known, account = self._queue.associations, value(job.record, "Account")
        for partition in (job.partitions[0], ""):
            if (one := known.get((account, job.user, partition))) is not None:
                yield f"user {job.user} of account {account}", one.all_gpus
                break
        seen = set[str]()
        while account not in seen and (one := known.get((account, "", ""))) is not None:
            seen.add(account)
            yield f"account {account}", one.all_gpus
            account = one.parent

    def _most_of_job(self, job: SlurmJob) -> int | None:
        if not self._queue.has_limits:
            return None
        limits = [self._queue.qos[name].job_gpus for name in self._qos(job)]
        account = value(job.record, "Account")
        for user in (job.user, ""):
            one = self._queue.associations.get((account, user, ""))
            limits.append(one.job_gpus if one else None)
        return next((one for one in limits if one is not None), None)


def held_outside(jobs: Iterable[SlurmJob], inside: set[str]) -> Iterator[tuple[SlurmJob, int]]:
    """Jobs that hold GPUs but are not in an instance, and how many they hold."""
    for job in jobs:
        if job.state in HOLDING and job.held and job.id not in inside:
            yield job, sum(map(len, job.held.values()))
