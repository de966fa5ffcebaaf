"""Traces as text, and what importing them gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import rarmodel
from rarmodel.model import job_extremes
from rarmodel.schema import Instance, Job
from rarmodel.workloads import Account, Group, Imported

FIXTURES = Path(__file__).parents[1] / "workloads" / "fixtures"

SCHEMA = "job_id,source_id,num_gpus,submit_s,duration_s,iterations,model,batch_size,group"


def rows(*lines: str, header: str = SCHEMA) -> str:
    """Text of a table."""
    return "\n".join([header, *lines]) + "\n"


def imported(path: Path, content: str | bytes | None = None, **options: Any) -> Imported:
    """Import a file of that content onto 4 servers of 8 GPUs."""
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    if "slurm_conf" not in options:
        options |= {"servers": 4, "gpus_per_server": 8}
    found = rarmodel.import_trace(path, **options)
    assert accounted(found.account) == found.account.rows
    assert len(found.instance.jobs) == found.account.used
    return found


def accounted(account: Account) -> int:
    """Rows that are used or explained."""
    return account.used + sum(group.rows for group in account.left_out)


def reasons(groups: Sequence[Group]) -> dict[str, int]:
    """Rows by reason."""
    return {group.reason: group.rows for group in groups}


def jobs_of(instance: Instance) -> dict[str, Job]:
    return {job.name: job for job in instance.jobs}


def seconds_of(instance: Instance) -> Mapping[str, float]:
    """Execution time of each job in its best placement without contention, in seconds."""
    slot = instance.time.slot_seconds
    extremes = job_extremes(instance)
    return {
        job.name: extreme.least_slots * slot
        for job, extreme in zip(instance.jobs, extremes, strict=True)
    }
