"""Rules that know what jobs have had so far, and not how long they are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from rarmodel.model.features import ALL

from ..policy import Decision, Policy, ranked
from ..state import State

GPU_SECONDS = 57_600.0
"""Where the first queue of Tiresias ends: 16 GPU hours, as in adaptdl's replay."""
MOST_SAMPLES = 256
"""Services of complete jobs of which the Gittins index takes account, spread evenly by size."""

Floats = npt.NDArray[np.float64]


def make_las(
    name: str = "las", thresholds: Sequence[float] = (GPU_SECONDS,), description: str = ""
) -> Policy:
    """Tiresias' discretised two-dimensional least attained service.

    J. Gu et al., "Tiresias: A GPU cluster manager for distributed deep learning", NSDI 2019,
    section 3.2. A job is in the queue that its attained service, GPUs times time, has reached;
    jobs of a lower queue come first, each that fits; within one in order of arrival. Readings: the
    service includes restorations; a job that reaches a threshold changes its queue at the next
    decision; nobody is promoted for waiting.

    Parameters
    ----------
    name, description
        Of the policy.
    thresholds
        Service in GPU seconds at which each queue but the last one ends, ascending.
    """
    return Policy(
        name, partial(_by_queue, tuple(thresholds)), description, interrupts=True, handles=ALL
    )


def _by_queue(thresholds: Sequence[float], state: State) -> Decision:
    seconds = state.attained * state.slot_seconds
    return Decision(ranked(np.searchsorted(thresholds, seconds, side="right")))


def _by_gittins_index(state: State) -> Decision:
    """Greatest Gittins index first, each that fits.

    `max_Δ P(S − a ≤ Δ | S > a) / E[min(S − a, Δ) | S > a]` for a job that attained a, where S is
    the service of a job (J. Gittins, "Bandit processes and dynamic allocation indices", Journal of
    the Royal Statistical Society B 41, 1979; Tiresias, section 3.3). Readings: S is distributed as
    that of the jobs complete so far; before there are any, and for a job that outlasts them all,
    the index is 0. Equal ones go in order of arrival.
    """
    index = gittins_indices(state.attained, state.completed_service)
    return Decision(ranked(-index))


def gittins_indices(attained: npt.NDArray[Any], services: npt.NDArray[Any]) -> Floats:
    """The Gittins index of jobs from the services of others."""
    index = np.zeros(len(attained))
    if len(services) == 0:
        return index
    samples = np.sort(services).astype(np.float64)
    if len(samples) > MOST_SAMPLES:
        places = np.linspace(0, len(samples) - 1, MOST_SAMPLES)
        samples = samples[np.round(places).astype(np.int64)]
    count = len(samples)
    summed = np.concatenate([[0.0], np.cumsum(samples)])
    for value in np.unique(attained):
        first = int(np.searchsorted(samples, value, side="right"))
        if first == count:
            continue
        # Δ = S_i − a for each i: those up to i are done, the others had Δ.
        i = np.arange(first, count)
        done = i - first + 1
        spent = summed[i + 1] - summed[first] - done * value
        spent += (count - 1 - i) * (samples[i] - value)
        index[attained == value] = float((done / spent).max())
    return index


LAS = make_las(description="Tiresias: jobs below 16 GPU hours first, then the others")
GITTINS = Policy(
    "gittins",
    _by_gittins_index,
    "Tiresias: by Gittins index, from the services of complete jobs",
    interrupts=True,
    handles=ALL,
)
