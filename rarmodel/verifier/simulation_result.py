"""Input and result of a simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rarmodel.schema import Job

from .report import Period

Gpu = tuple[int, int]
"""A GPU: index of its server, and index there."""


class Run(NamedTuple):
    """A job from one slot on, or a segment of it where jobs may be interrupted (section 11).

    Attributes
    ----------
    job
        The job.
    start
        The slot from which on it holds its GPUs, a_j for the first segment.
    workers
        Workers y_js on each server that it uses, by index.
    end
        The slot in which it is interrupted; None if it goes on to its completion.
    restore
        Slots from the start on without progress and without use of links.
    follows
        Index of the run that is the job's segment before this one; None if there is none.
    left
        Iterations to do when the job's first run begins; None for what is left at slot 0.
    gpus
        The GPUs of which it takes slices, so that others may be there; none if it has its GPUs
        alone.
    """

    job: Job
    start: int
    workers: Mapping[int, int]
    end: int | None = None
    restore: int = 0
    follows: int | None = None
    left: int | None = None
    gpus: tuple[Gpu, ...] = ()

    @property
    def iterations(self) -> int:
        """Iterations to do when it begins, if it is the job's first run."""
        return self.job.iterations_left if self.left is None else self.left


class SimulationResult(NamedTuple):
    """Result of a simulation.

    Attributes
    ----------
    completion
        When the job of each run completes in it; None if it does not.
    ends
        When each run gives its GPUs back: at the completion, or where it is interrupted; None if it
        never does. A run that starts after its job has completed holds nothing: it ends at its
        start.
    stuck_since
        The slot after which nothing changes, if some job never completes.
    periods
        The periods; in each, the set of active jobs is constant.
    lost
        Iterations that the job of each run loses where the run ends, or, if it does not go on where
        it runs at slot 0, before the run begins.
    """

    completion: tuple[int | None, ...]
    ends: tuple[int | None, ...]
    stuck_since: int | None
    periods: Sequence[Period]
    lost: tuple[int, ...] = ()
