"""Limits of QOS and associations on GPUs, as resources of the model.

Slurm lets a job wait that would pass such a limit. Of the same limit, that of the partition's QOS
counts before that of the job's, and either before that of the associations. A limit on a type of
GPU lets a job wait that asks for this type; all GPUs of the type that jobs hold count against it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .accounts import Association
from .licences import capacity_left
from .queue import Queue
from .slurm_jobs import HOLDING, SlurmJob
from .slurm_values import value

_USES = "resources", "resources_per_gpu"
"""Fields of a job that uses limits: of several types of GPU, and of one."""


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

    def counted(self, job: SlurmJob, gpus: int) -> dict[str, int]:
        """By limit that a job is under, how many of its so many GPUs count against it."""
        found: dict[str, int] = {}
        kinds = self._kinds(job, gpus) if gpus and self._queue.has_limits else {}
        for kind, number in kinds.items():
            for limit, most in self._of_kind(job, kind):
                name = f"{limit} ({kind})" if kind else limit
                found[name], self._most[name] = number, most
                self._changes.setdefault(name, Counter({0: 0}))
        return found

    def evaded(self, job: SlurmJob) -> bool:
        """Whether there are limits on types of GPU that let a job start which names no type."""
        if job.gpu_type or not self._queue.has_limits:
            return False
        qos = [self._queue.qos[name] for name in self._qos(job)]
        limits = [one for some in qos for one in (some.all_gpus, some.user_gpus, some.account_gpus)]
        limits += [one.all_gpus for _, one in self._associations(job)]
        return any(kind for one in limits for kind in one)

    def lacking(self, job: SlurmJob, gpus: int) -> str:
        """A limit that keeps a job of so many GPUs waiting for ever; empty if there is none."""
        for name, number in self.counted(job, gpus).items():
            if number > self._most[name]:
                return f"asks for {gpus} GPUs, and {name} may have {self._most[name]}"
        for kind in self._kinds(job, gpus):
            most = self._most_of_job(job, kind)
            if most is not None and gpus > most:
                told = f"{most} {kind}".rstrip()
                return f"asks for {gpus} GPUs, and its QOS or association lets a job have {told}"
        return ""

    def take(self, counted: Mapping[str, int], start: int, end: int) -> None:
        """Keep GPUs under some limits from the jobs of the instance, from one slot to another."""
        for name, gpus in counted.items():
            self._changes[name][start] += gpus
            self._changes[name][end] -= gpus

    def resources_for(self, jobs: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The resources of an instance of these jobs, as plain data."""
        listed = [*jobs]
        used = {name for job in listed for key in _USES for name in job.get(key, ())}
        found = []
        for name in sorted(used & self._most.keys()):
            held = sum(_held(job, name) for job in listed)
            most = max(self._most[name], held)  # A limit that was lowered ends no job.
            found.append({"name": name, "capacity": capacity_left(most, self._changes[name])})
        return found

    def _kinds(self, job: SlurmJob, gpus: int) -> Mapping[str, int]:
        """How many of its GPUs count against limits on each type, and under `` on all."""
        if job.gpu_type:
            return {"": gpus, job.gpu_type: gpus}
        by_type = Counter[str]()
        for node, held in job.held.items():
            by_type[self._queue.nodes[node].gpu_type] += len(held) * (job.slices or 1)
        return {**by_type, "": gpus}

    def _of_kind(self, job: SlurmJob, kind: str) -> Iterator[tuple[str, int]]:
        """The same for a type of GPU, or for all."""
        account = value(job.record, "Account")
        of_all = of_user = of_account = False
        for name in self._qos(job):
            qos = self._queue.qos[name]
            if kind in qos.all_gpus and not of_all:
                of_all = True
                yield f"QOS {name}", qos.all_gpus[kind]
            if kind in qos.user_gpus and not of_user:
                of_user = True
                yield f"user {job.user} in QOS {name}", qos.user_gpus[kind]
            if kind in qos.account_gpus and not of_account:
                of_account = True
                yield f"account {account} in QOS {name}", qos.account_gpus[kind]
        for told, one in () if of_all else self._associations(job):
            if kind in one.all_gpus:
                yield told, one.all_gpus[kind]

    def _qos(self, job: SlurmJob) -> list[str]:
        """The QOS of a job's partition and of the job, the ones that count first."""
        partition = self._queue.partitions.get(job.partitions[0])
        names = [partition.qos if partition else "", value(job.record, "QOS")]
        return [name for name in dict.fromkeys(names) if name in self._queue.qos]

    def _associations(self, job: SlurmJob) -> Iterator[tuple[str, Association]]:
        """A user in an account, the account, and those above it."""
        known, account = self._queue.associations, value(job.record, "Account")
        for partition in (job.partitions[0], ""):
            if (one := known.get((account, job.user, partition))) is not None:
                yield f"user {job.user} of account {account}", one
                break
        seen = set[str]()
        while account not in seen and (one := known.get((account, "", ""))) is not None:
            seen.add(account)
            yield f"account {account}", one
            account = one.parent

    def _most_of_job(self, job: SlurmJob, kind: str) -> int | None:
        """The most GPUs of a type, or of all, that a job may have."""
        if not self._queue.has_limits:
            return None
        limits = [self._queue.qos[name].job_gpus for name in self._qos(job)]
        known, account = self._queue.associations, value(job.record, "Account")
        keys = [(account, user, "") for user in (job.user, "")]
        limits += [known[key].job_gpus for key in keys if key in known]
        return next((one[kind] for one in limits if kind in one), None)


def _held(job: Mapping[str, Any], name: str) -> int:
    """How much of a limit a running job uses."""
    if "running" not in job:
        return 0
    number: int = job.get("resources", {}).get(name, 0)
    each: int = job.get("resources_per_gpu", {}).get(name, 0)
    gpus: int = job["gpus"]
    return number + gpus * each


def held_outside(jobs: Iterable[SlurmJob], inside: set[str]) -> Iterator[tuple[SlurmJob, int]]:
    """Jobs that hold GPUs but are not in an instance, and how many Slurm counts."""
    for job in jobs:
        if job.state in HOLDING and (job.held or job.parts) and job.id not in inside:
            yield job, job.counted_gpus
