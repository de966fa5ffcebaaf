"""Themis: GPUs go to the jobs that sharing hurts most."""

from __future__ import annotations

import numpy as np

from ..policy import DURATIONS, Decision, Policy, ranked
from ..state import State

LEASE_SLOTS = 20
"""Slots of a lease: the 20 minutes of the paper, in slots of a minute."""


def _worst_off(state: State) -> Decision:
    """Greatest finish-time fairness first, each that fits.

    K. Mahajan et al., "Themis: Fair and efficient GPU cluster scheduling", NSDI 2020: ρ is the time
    from submission to completion when sharing, by the same alone on an n-th of the cluster.
    Readings: sharing, a job completes after its remaining time from now on; alone on its share it
    takes its length, and longer in proportion if it has more GPUs than the share; n is the number
    of jobs that are there. A lease is a round. There is no auction: all jobs tell their ρ truly.
    """
    share = state.cluster.total_gpus / len(state)
    isolated = state.length * np.maximum(1.0, state.gpus / share)
    shared = state.now - state.release + state.remaining
    return Decision(ranked(-shared / isolated))


FINISH_TIME_FAIRNESS = Policy(
    "finish-time-fairness",
    _worst_off,
    "Themis: worst ratio of finish times with and without sharing first",
    DURATIONS,
    interrupts=True,
    round_slots=LEASE_SLOTS,
)
