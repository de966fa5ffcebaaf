"""Durations learned from earlier runs: medians of what `sacct` tells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from statistics import median

from .jobs import SlurmJob
from .values import value

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
