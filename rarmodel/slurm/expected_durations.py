"""How long a job is expected to run: by its profile, earlier runs or time limit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from statistics import median
from typing import NamedTuple

from rarmodel.workloads.found_profiles import Found

from .slurm_jobs import SlurmJob
from .slurm_values import value

FEWEST = 3
"""Fewest earlier runs that teach a duration."""

History = Mapping[tuple[str, ...], float]
"""Median seconds of completed runs by user, account and job name."""


def history_of(text: str) -> History:
    """Medians of the completed runs in the output of `outputs.HISTORY`; odd lines are skipped."""
    runs: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for line in text.splitlines():
        seconds, *key = line.split("|", 3)
        if len(key) == 3 and seconds.isdigit() and int(seconds) > 0:
            runs[tuple(key)].append(int(seconds))
    return {key: float(median(found)) for key, found in runs.items() if len(found) >= FEWEST}


def learned(job: SlurmJob, history: History) -> float | None:
    """The median of the runs with its user, account and name; None if there are too few."""
    key = job.user, value(job.record, "Account"), job.record.get("JobName", "")
    return history.get(key)


class Estimate(NamedTuple):
    """How long a job runs in its best placement, and where that is from."""

    seconds: float
    origin: str


def estimate_of(
    job: SlurmJob, found: Found, history: History, default_seconds: float, *, lasts: bool
) -> Estimate:
    """The duration of a job: of its profile, earlier runs, its time limit, or by default.

    Parameters
    ----------
    job, found
        The job, and its profile.
    history
        Earlier runs.
    default_seconds
        Duration of a job about which nothing is known.
    lasts
        Whether it must be taken to last until its time limit, as Slurm would interrupt it for a
        plan that has it end earlier.
    """
    limit = job.seconds("TimeLimit")
    if lasts and limit is not None:
        seconds, origin = limit, "the time limit: else Slurm might preempt them for the plan"
    elif found.profile.seconds is not None:
        seconds, origin = found.profile.seconds, found.origin
    elif not found.profile.iterations and (median := learned(job, history)) is not None:
        seconds, origin = median, "the median of earlier runs"
    elif limit is not None:
        seconds, origin = limit, "the time limit"
    else:
        seconds, origin = default_seconds, "no limit, so the default"
    if limit is not None:  # Slurm ends it then.
        seconds = min(seconds, limit)
    return Estimate(max(seconds, 1.0), origin)
