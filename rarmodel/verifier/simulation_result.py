"""Input and result of a simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rarmodel.schema import Job

from .report import Period


class Run(NamedTuple):
    """One job, its start slot a_j, and its workers y_js on each server it uses (by index)."""

    job: Job
    start: int
    workers: Mapping[int, int]


class SimulationResult(NamedTuple):
    """Result of a simulation.

    Attributes
    ----------
    completion
        Completion time of each job; None if the job never completes.
    stuck_since
        The slot after which nothing changes, if some job never completes.
    periods
        The periods; in each, the set of active jobs is constant.
    """

    completion: tuple[int | None, ...]
    stuck_since: int | None
    periods: Sequence[Period]
