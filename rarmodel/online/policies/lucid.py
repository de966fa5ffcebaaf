"""Lucid: jobs join a running one that both barely slow down, and only while others wait."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from rarmodel.engine.arrays import Ints
from rarmodel.model.features import ALL

from ..policy import Decision, Policy, ranked
from ..state import DURATIONS, State

LIMIT = 2
"""The greatest sum of two sharing scores."""
PATIENCE = 2.0
"""A job joins one whose length times GPUs is at least a half of its own."""


def make_lucid(name: str = "lucid", *, limit: int = LIMIT, patience: float = PATIENCE) -> Policy:
    """Lucid's binder and its order: pairs by sharing scores, nobody is interrupted.

    Q. Hu and others, ASPLOS 2023. Waiting jobs are gone through by length times GPUs, the least
    first. Each joins the job that began first of those that are alone on their GPUs, have as many
    GPUs, all of one server, and memory enough, if their two sharing scores add up to `limit` at
    most. Where there is none, it starts on GPUs of its own that are idle, or waits. It also joins
    none that is so short that it would soon be alone.

    Readings. The score is that of the labels that Lucid's decision tree learns: 0, or 1 for a job
    that keeps less than 0.95 of its speed beside others in the mean of the measured pairs, or 2 for
    less than 0.85; see `State.kept_beside`. No tree is needed, because the instance has what the
    labels are made of. Length is known, where Lucid estimates it. Lucid shares only while it
    forecasts that many jobs will come; here, while those that wait need more GPUs than are idle.
    A waiting job without room keeps no other waiting. A partner that starts in the same slot counts
    as within a server that has room for it, which is where `consolidate` places it.

    Parameters
    ----------
    name
        Its name for `--policy`.
    limit
        The greatest sum of two scores: 2 as in Lucid's default mode, or fewer to share less.
    patience
        How many times as long a job may be as the one that it joins, in length times GPUs.
    """
    return Policy(
        name,
        partial(_decide, limit, patience),
        "Lucid: least length times GPUs first; two jobs share GPUs if both barely slow down",
        DURATIONS,
        handles=ALL,
        packs=True,
    )


def scores(kept: npt.NDArray[np.float64]) -> Ints:
    """(jobs) Sharing scores by the part of their speed that jobs keep beside others."""
    from rarmodel.calibration.pair_predictors import SLOW, SLOWER  # noqa: PLC0415 - loads SciPy

    return (kept < SLOW).astype(np.int64) + (kept < SLOWER)


def _decide(limit: int, patience: float, state: State) -> Decision:
    area, score = state.length * state.gpus, scores(state.kept_beside)
    order = ranked(area)
    waiting = [j for j in order.tolist() if not state.running[j]]
    if state.gpus[waiting].sum() <= state.idle.sum():
        return Decision(order, together=[])
    there = _within_one_server(state)
    room = _Room(state)
    pairs = []
    for j in waiting:
        mate = next(
            (
                i
                for i, server in there.items()
                if score[i] + score[j] <= limit
                and area[j] <= patience * area[i]
                and _fits_beside(state, i, j, server)
            ),
            None,
        )
        if mate is not None:
            del there[mate]
            pairs.append((mate, j))
        elif (server := room.start(j)) is not None:
            there[j] = server
    return Decision(order, together=pairs)


def _within_one_server(state: State) -> dict[int, int]:
    """The server of each running job that is alone on GPUs of one server, the oldest first."""
    alone = [j for j in range(len(state)) if state.running[j] and not state.mates[j]]
    alone.sort(key=lambda j: state.since[j])
    return {j: next(iter(state.places[j])) for j in alone if len(state.places[j]) == 1}


def _fits_beside(state: State, first: int, second: int, server: int) -> bool:
    """Whether the second job may have the GPUs of the first, and both work there."""
    size, kind = int(state.gpus[first]), state.cluster.servers[server].gpu_type
    return (
        size == state.gpus[second]
        and state.asks[second].kept_by({server: size})
        and state.speeds_beside(first, second)[kind] > 0
        and state.speeds_beside(second, first)[kind] > 0
    )


class _Room:
    """Idle GPUs of the servers, as jobs start one after another."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._idle = state.idle.copy()

    def start(self, j: int) -> int | None:
        """A job starts alone if it has room; the server that it is in, None if it is in no one."""
        asks, size = self._state.asks[j], int(self._state.gpus[j])
        fullest: list[int] = np.argsort(self._idle, kind="stable").tolist()
        for server in fullest:
            if self._idle[server] >= size and asks.kept_by({server: size}):
                self._idle[server] -= size
                return server
        some = [server for server in fullest if asks.allowed[-1][server]]
        if self._idle[some].sum() >= size:
            for server in reversed(some):
                taken = min(size, int(self._idle[server]))
                self._idle[server] -= taken
                size -= taken
        return None


LUCID = make_lucid()
