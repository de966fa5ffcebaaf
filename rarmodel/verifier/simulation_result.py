"""What a simulation is given, and what comes out of it."""

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
    """Outcome of a simulation.

    Attributes
    ----------
    completion
        Completion time of each run; None for one that never completes.
    stuck_since
        The slot from which on nothing changes any more, if some run never completes.
    periods
        Each run of slots with one active set.
    """

    completion: tuple[int | None, ...]
    stuck_since: int | None
    periods: Sequence[Period]
