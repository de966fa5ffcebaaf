"""How long jobs take from their release to their completion, and how late they are (section 12)."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median, quantiles
from typing import NamedTuple


class FlowTimes(NamedTuple):
    """The flow times of a schedule, in slots.

    Attributes
    ----------
    mean, median
        Their mean and their median.
    p95
        The time that 95 % of the jobs do not exceed, interpolated between two jobs.
    greatest
        The longest.
    """

    mean: float
    median: float
    p95: float
    greatest: int


class Lateness(NamedTuple):
    """How a schedule keeps the due slots.

    Attributes
    ----------
    due
        Number of jobs with a due slot.
    late
        How many of them complete after it.
    mean, greatest
        Slots past the due slots, over all jobs that have one; jobs in time count as 0.
    """

    due: int
    late: int
    mean: float
    greatest: int


def flow_times_of(flows: Sequence[int]) -> FlowTimes:
    """The statistics of at least one flow time."""
    p95 = quantiles(flows, n=20, method="inclusive")[-1] if len(flows) > 1 else flows[0]
    return FlowTimes(fmean(flows), median(flows), p95, max(flows))


def lateness_of(tardiness: Sequence[int]) -> Lateness:
    """The statistics of the slots past at least one due slot."""
    late = sum(slots > 0 for slots in tardiness)
    return Lateness(len(tardiness), late, fmean(tardiness), max(tardiness))
