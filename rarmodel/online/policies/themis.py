"""Themis: GPUs go to the jobs that sharing hurts most."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rarmodel.model.features import ALL

from ..policy import Decision, Policy, ranked
from ..state import DURATIONS, State

LEASE_SECONDS = 1200.0
"""Seconds of a lease: the 20 minutes of the paper."""


def _worst_off(state: State) -> Decision:
    """Greatest finish-time fairness first, each that fits; leases last until the next round.

    K. Mahajan et al., "Themis: Fair and efficient GPU cluster scheduling", NSDI 2020: ρ is the time
    from submission to completion when sharing, by the same alone on an n-th of the cluster, where n
    is the mean number of jobs that were there since the job arrived. Readings: sharing, a job
    completes after its remaining time from now on; alone on its share it takes its length, and
    longer in proportion if it has more GPUs than the share. All leases end where a round begins;
    until then a job keeps its GPUs, and idle ones go to the others by ρ. There is no auction: all
    jobs tell their ρ truly.
    """
    share = state.cluster.total_gpus / _mean_present(state)
    isolated = state.length * np.maximum(1.0, state.gpus / share)
    shared = state.now - state.release + state.remaining
    leased = state.running & (not state.is_round)
    return Decision(ranked(~leased, -shared / isolated))


def _mean_present(state: State) -> npt.NDArray[np.float64]:
    """(jobs) Mean number of jobs that were there since each arrived; now, for those that come."""
    memory, now = state.memory, state.now
    before, count = memory.get("before", (now, 0))
    summed = memory.get("summed", 0) + count * (now - before)
    memory["summed"], memory["before"] = summed, (now, len(state))
    begun: dict[int, tuple[int, int]] = memory.setdefault("begun", {})
    first = np.array([begun.setdefault(k, (now, summed)) for k in state.number.tolist()])
    slots, jobs = now - first[:, 0], summed - first[:, 1]
    return np.where(slots > 0, jobs / np.maximum(slots, 1), len(state))


FINISH_TIME_FAIRNESS = Policy(
    "finish-time-fairness",
    _worst_off,
    "Themis: worst ratio of finish times with and without sharing first",
    DURATIONS,
    interrupts=True,
    round_seconds=LEASE_SECONDS,
    handles=ALL,
)
