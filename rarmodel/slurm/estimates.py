"""How long a job is expected to run, and where that is from."""

from __future__ import annotations

from typing import NamedTuple

from .history import History, learned
from .jobs import SlurmJob
from .profiles import Found


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
