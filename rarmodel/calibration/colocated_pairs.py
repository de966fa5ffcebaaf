"""Pairs of jobs on the same GPUs in published layouts: Gavel's and Lucid's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from rarmodel.errors import Problem
from rarmodel.schema.base import Count, Name, NonNegativeInteger, Positive, Record

NO_TYPE = ""
"""The type of GPU of a table that names none."""
_GPUS = re.compile(r"\('(.+)', ([1-9][0-9]{0,5})\)")
_SPREAD = "_unconsolidated"
"""Ending of types in Gavel's file for rings on several servers; one GPU is the same there."""
_ALONE = "null"


@dataclass(frozen=True)
class SpeedBeside:
    """Speed of a job beside another one on the same GPUs.

    Attributes
    ----------
    gpu_type
        Type of the GPUs; empty if the table names none.
    kind, beside
        Kinds of the job and of the other one.
    model
        The model of the job, which many kinds may train.
    ratio
        Speed of the job, divided by its speed alone.
    memory_mb
        Memory that both use together of each GPU in MB; None if it is not known.
    """

    gpu_type: str
    kind: str
    beside: str
    model: str
    ratio: float
    memory_mb: float | None = None

    @property
    def measured(self) -> float:
        """The measured ratio."""
        return self.ratio

    @property
    def group(self) -> str:
        """What errors are told apart by."""
        return f"{self.gpu_type} {self.model}".strip()

    @property
    def job(self) -> str:
        """The kind on its type of GPU."""
        return on_type(self.gpu_type, self.kind)

    @property
    def other(self) -> str:
        """The kind of the other one on the type of GPU."""
        return on_type(self.gpu_type, self.beside)


def on_type(gpu_type: str, kind: str) -> str:
    """A kind on a type of GPU, as one text."""
    return f"{gpu_type} {kind}".strip()


class GavelPair(Record):
    """Two jobs in Gavel's layout; its fields are columns of a table."""

    texts: ClassVar = frozenset({"gpu_type", "job", "beside"})

    gpu_type: Name
    """Type of the GPUs."""

    job: Name
    """The first job: model and batch, as in `ResNet-18 (batch size 16)`."""

    gpus: Count = 1
    """Its GPUs."""

    beside: Name
    """The second job."""

    gpus_beside: Count = 1
    """Its GPUs."""

    ratio: Positive
    """Speed of the first job, divided by its speed alone."""

    ratio_beside: Positive
    """Speed of the second job, likewise."""

    def measurements(self) -> tuple[SpeedBeside, SpeedBeside]:
        """The speed of each job beside the other."""
        first, second = _kind(self.job, self.gpus), _kind(self.beside, self.gpus_beside)
        kind = self.gpu_type
        return (
            SpeedBeside(kind, first, second, _model(self.job), self.ratio),
            SpeedBeside(kind, second, first, _model(self.beside), self.ratio_beside),
        )


class LucidPair(Record):
    """Two jobs in Lucid's layout; its fields are columns of a table."""

    texts: ClassVar = frozenset({"job", "dataset", "beside", "dataset_beside", "gpu_type"})

    gpu_type: Name | None = None
    """Type of the GPUs."""

    job: Name
    """Model of the first job."""

    dataset: Name
    """Its dataset."""

    batch: Count
    """Its mini-batch."""

    amp: NonNegativeInteger
    """1 if it computes in mixed precision, else 0."""

    beside: Name
    """Model of the second job."""

    dataset_beside: Name
    """Its dataset."""

    batch_beside: Count
    """Its mini-batch."""

    amp_beside: NonNegativeInteger
    """1 if it computes in mixed precision, else 0."""

    ratio: Positive
    """Speed of the first job, divided by its speed alone."""

    ratio_beside: Positive
    """Speed of the second job, likewise."""

    memory_used_mb: Positive | None = None
    """Memory of each GPU that both use together in MB."""

    def measurements(self) -> tuple[SpeedBeside, SpeedBeside]:
        """The speed of each job beside the other."""
        first = _profile(self.job, self.dataset, self.batch, self.amp)
        second = _profile(self.beside, self.dataset_beside, self.batch_beside, self.amp_beside)
        kind, memory = self.gpu_type or NO_TYPE, self.memory_used_mb
        return (
            SpeedBeside(kind, first, second, self.job, self.ratio, memory),
            SpeedBeside(kind, second, first, self.beside, self.ratio_beside, memory),
        )


def _kind(job: str, gpus: int) -> str:
    return job if gpus == 1 else f"{job}, {gpus} GPUs"


def _model(job: str) -> str:
    return job.partition(" (")[0]


def _profile(model: str, dataset: str, batch: int, amp: int) -> str:
    return f"{model} {dataset} {batch}" + " amp" * bool(amp)


@dataclass(frozen=True)
class Throughputs:
    """Pairs of jobs in a file of Gavel's throughputs.

    Attributes
    ----------
    rows
        The pairs as rows of the layout, with zeros left out.
    stopped
        Pairs of which a job does not run.
    problems
        All problems of the file.
    """

    rows: tuple[GavelPair, ...]
    stopped: int
    problems: tuple[Problem, ...]


def has_throughputs(data: object) -> bool:
    """Whether decoded JSON is a file of throughputs as Gavel's simulator reads them.

    For each type of GPU it has jobs, `('ResNet-18 (batch size 16)', 1)` with one GPU; for each job
    its iterations per second alone, `null`, and those of both beside each other job.
    """
    if not isinstance(data, dict):
        return False
    jobs = next(iter(data.values()), None)
    first = next(iter(jobs.values()), None) if isinstance(jobs, dict) else None
    return isinstance(first, dict) and _ALONE in first


def throughputs_of(data: Mapping[str, Any]) -> Throughputs:
    """Read the pairs of a file of Gavel's throughputs."""
    rows: list[GavelPair] = []
    problems: list[Problem] = []
    stopped = 0
    for gpu_type, jobs in data.items():
        if gpu_type.endswith(_SPREAD):
            continue
        if not isinstance(jobs, dict):
            problems.append(Problem(gpu_type, "jobs with their throughputs are expected"))
            continue
        alone, faults = _alone(gpu_type, jobs)
        problems += faults
        for place, job, beside, speeds in _pairs(gpu_type, jobs):
            if not (isinstance(speeds, list) and len(speeds) == 2 and all(map(_speed, speeds))):
                problems.append(Problem(place, "two numbers from 0 on are expected"))
            elif beside not in jobs:
                problems.append(Problem(place, f"{beside!r}; it is no job of {gpu_type!r}"))
            elif job in alone and beside in alone:
                if not all((*speeds, alone[job], alone[beside])):
                    stopped += 1
                else:
                    (first, gpus), (second, others) = _named(job), _named(beside)
                    rows.append(
                        GavelPair(
                            gpu_type=gpu_type,
                            job=first,
                            gpus=gpus,
                            beside=second,
                            gpus_beside=others,
                            ratio=speeds[0] / alone[job],
                            ratio_beside=speeds[1] / alone[beside],
                        )
                    )
    return Throughputs(tuple(rows), stopped, tuple(problems))


def _alone(gpu_type: str, jobs: Mapping[str, Any]) -> tuple[dict[str, float], list[Problem]]:
    """Speeds of jobs alone."""
    found: dict[str, float] = {}
    problems = []
    for job, speeds in jobs.items():
        place = f"{gpu_type}[{job!r}]"
        alone = speeds.get(_ALONE) if isinstance(speeds, dict) else None
        if not _GPUS.fullmatch(job):
            message = "a job and its GPUs are expected, such as ('LM (batch size 5)', 1)"
            problems.append(Problem(place, message))
        elif alone is None or not _speed(alone):
            message = f"{_ALONE!r}: iterations per second alone are expected, a number from 0 on"
            problems.append(Problem(place, message))
        else:
            found[job] = alone
    return found, problems


def _pairs(gpu_type: str, jobs: Mapping[str, Any]) -> Iterator[tuple[str, str, str, Any]]:
    """Place, names and speeds of each pair."""
    for job, speeds in jobs.items():
        if isinstance(speeds, dict):
            for beside, both in speeds.items():
                if beside != _ALONE:
                    yield f"{gpu_type}[{job!r}][{beside!r}]", job, beside, both


def _speed(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and 0 <= value < 1e30


def _named(job: str) -> tuple[str, int]:
    """Name and GPUs of a job that `_alone` has found."""
    (found,) = _GPUS.findall(job)
    return found[0], int(found[1])
