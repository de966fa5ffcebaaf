"""QOS and associations of Slurm's accounting: who interrupts whom, and limits on GPUs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .preempt_modes import mode_of

_DEFAULT_QOS = (
    *("Name", "Priority", "GraceTime", "Preempt", "PreemptExemptTime", "PreemptMode", "Flags"),
    *("UsageThres", "UsageFactor", "GrpTRES", "GrpTRESMins", "GrpTRESRunMins", "GrpJobs"),
    *("GrpSubmit", "GrpWall", "MaxTRES", "MaxTRESPerNode", "MaxTRESMins", "MaxWall", "MaxTRESPU"),
    *("MaxJobsPU", "MaxSubmitPU", "MaxTRESPA"),
)
_LAST_QOS = ("MaxJobsPA", "MaxSubmitPA", "MinTRES")
_DEFAULT_ASSOCIATIONS = (
    *("Cluster", "Account", "User", "Partition", "Share", "Priority", "GrpJobs", "GrpTRES"),
    *("GrpSubmit", "GrpWall", "GrpTRESMins", "MaxJobs", "MaxTRES", "MaxTRESPerNode", "MaxSubmit"),
    *("MaxWall", "MaxTRESMins", "QOS", "Def QOS", "GrpTRESRunMins"),
)
QOS = ("Name", "Priority", "Preempt", "PreemptMode", "GrpTRES", "MaxTRESPU", "MaxTRESPA", "MaxTRES")
"""Columns of `sacctmgr -nP show qos` in a recording."""
ASSOCIATIONS = ("Cluster", "Account", "User", "Partition", "ParentName", "GrpTRES", "MaxTRES")
"""Columns of `sacctmgr -nP show assoc` in a recording."""
_LAYOUTS = {
    "Name": (
        QOS,
        (*_DEFAULT_QOS, *_LAST_QOS),
        (*_DEFAULT_QOS, "MaxTRESRunMinsPA", "MaxTRESRunMinsPU", *_LAST_QOS),
    ),
    "Cluster": (ASSOCIATIONS, _DEFAULT_ASSOCIATIONS),
}
"""By first column, the layouts that are told apart by their numbers of columns: those of a
recording, and what `sacctmgr` prints by default."""


GpuLimit = Mapping[str, int]
"""The most GPUs by type; those of any type together under ``."""


class Qos(NamedTuple):
    """A quality of service.

    Attributes
    ----------
    priority
        Greater ones go first.
    preempts
        The QOS whose jobs Slurm interrupts to start its jobs.
    mode
        What Slurm does to jobs of this QOS then; None if the cluster says so.
    all_gpus, user_gpus, account_gpus, job_gpus
        The most GPUs of all its jobs, of one user's, of one account's, and of one job.
    """

    priority: int
    preempts: frozenset[str]
    mode: str | None
    all_gpus: GpuLimit
    user_gpus: GpuLimit
    account_gpus: GpuLimit
    job_gpus: GpuLimit


class Association(NamedTuple):
    """An account, or a user of one: what is above it, and the most GPUs at once and of a job."""

    parent: str
    all_gpus: GpuLimit
    job_gpus: GpuLimit


def qos_of(text: str) -> Iterator[tuple[str, Qos]]:
    """The QOS in the output of `sacctmgr -nP show qos`, of the columns `QOS` or by default."""
    for row in _rows(text, "Name"):
        mode = row["PreemptMode"]
        yield (
            row["Name"],
            Qos(
                priority=int(row["Priority"]) if row["Priority"].isdigit() else 0,
                preempts=frozenset(filter(None, row["Preempt"].split(","))),
                mode=None if mode.lower() in {"", "cluster"} else mode_of(mode),
                all_gpus=_gpus(row["GrpTRES"]),
                user_gpus=_gpus(row["MaxTRESPU"]),
                account_gpus=_gpus(row["MaxTRESPA"]),
                job_gpus=_gpus(row["MaxTRES"]),
            ),
        )


def associations_of(text: str, cluster: str) -> Iterator[tuple[tuple[str, str, str], Association]]:
    """The associations of a cluster by account, user and partition, as `sacctmgr -nP` prints them.

    Those of a whole account have no user.
    """
    for row in _rows(text, "Cluster"):
        if row["Cluster"] in {cluster, ""}:
            key = row["Account"], row["User"], row["Partition"]
            parent = row.get("ParentName", "")
            yield key, Association(parent, _gpus(row["GrpTRES"]), _gpus(row["MaxTRES"]))


def _rows(text: str, first: str) -> Iterator[Mapping[str, str]]:
    """Rows by column; those of a header and of other numbers of columns are skipped."""
    layouts = {len(columns): columns for columns in _LAYOUTS[first]}
    for line in text.splitlines():
        cells = line.split("|")
        columns = layouts.get(len(cells))
        if columns is not None and cells[0] != first:
            yield dict(zip(columns, cells, strict=True))


def _gpus(tres: str) -> GpuLimit:
    """The limits on GPUs in `cpu=8,gres/gpu=8,gres/gpu:a100=4`."""
    found: dict[str, int] = {}
    for part in tres.split(","):
        name, _, number = part.partition("=")
        resource, _, kind = name.partition(":")
        if resource == "gres/gpu" and number.isdigit():
            found[kind] = int(number)
    return found
