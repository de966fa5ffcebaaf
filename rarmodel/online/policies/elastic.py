"""Policies that choose ring sizes: Optimus, and ElasticFlow with due slots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import NEVER, Ints

from ..policy import Decision, Policy, listed_first
from ..state import DURATIONS, State

ROUND_SECONDS = 600.0
"""Seconds of an interval of Optimus: its 10 minutes."""

Speeds = Mapping[int, int]
"""Iterations per slot by ring size, alone in the best placement."""


def _speeds(state: State) -> Sequence[Speeds]:
    """(jobs) Speeds by ring size on the best type of GPU; sizes that gain nothing are left out."""
    found = []
    for shapes in state.speeds:
        best: dict[int, int] = {}
        for (size, _), speed in sorted(shapes.items(), key=lambda one: one[0][0]):
            best[size] = max(best.get(size, 0), speed)
        gaining: dict[int, int] = {}
        for size, speed in best.items():
            if speed > max(gaining.values(), default=0):
                gaining[size] = speed
        found.append(gaining)
    return found


def _grow(
    state: State,
    speeds: Sequence[Speeds],
    gpus: Ints,
    free: int,
    among: Iterable[int],
    *,
    by_time: bool,
) -> int:
    """Give free GPUs to the jobs that gain most by each; how many are then left.

    Jobs go from one of their sizes to the next. The gain for each GPU is the time that it saves,
    `(1/φ(w) − 1/φ(w'))·iterations left / (w' − w)`, or the speed that it adds, in parts of the
    speed of the smallest ring.
    """

    def step(position: int) -> tuple[float, int, int] | None:
        """Gain with the opposite sign, position and next size."""
        one, now = speeds[position], int(gpus[position])
        larger = next((size for size in one if size > now), None)
        if larger is None:
            return None
        if by_time:
            gain = (1 / one[now] - 1 / one[larger]) * int(state.iterations[position])
        else:
            gain = (one[larger] - one[now]) / min(one.values())
        return -gain / (larger - now), position, larger

    steps = [found for position in among if gpus[position] and (found := step(position))]
    heapify(steps)
    while steps and free > 0:
        _, position, larger = heappop(steps)
        more = larger - int(gpus[position])
        if more <= free:
            gpus[position] = larger
            free -= more
            if found := step(position):
                heappush(steps, found)
    return free


def _smallest_each(speeds: Sequence[Speeds], gpus: Ints, free: int, among: Iterable[int]) -> int:
    """Give jobs without GPUs their smallest ring, each that fits; how many GPUs are then left."""
    for position in among:
        smallest = min(speeds[position])
        if gpus[position] == 0 and smallest <= free:
            gpus[position] = smallest
            free -= smallest
    return free


def _at_hand(state: State) -> tuple[Ints, int, list[int]]:
    """GPUs that jobs have already, GPUs to give, and the positions of jobs that may get some."""
    if state.interruptible:
        stays = state.running & ~state.preemptible
        held = np.where(stays, state.held, 0)
        free = int(state.capacity.sum() - held.sum())
        return held, free, np.flatnonzero(~stays).tolist()
    free = int(state.idle.sum())
    return state.held.copy(), free, np.flatnonzero(~state.running).tolist()


def _optimus(state: State) -> Decision:
    """The next GPU to the job whose remaining time it shortens most.

    Y. Peng et al., "Optimus: an efficient dynamic resource scheduler for deep learning clusters",
    EuroSys 2018, section 4.1: each job gets its smallest ring, and then GPUs go one after another
    to the greatest `[time(w) − time(w+1)]·remaining`. Readings: smallest rings go by order of
    arrival; where sizes are not consecutive, the gain of a step counts by GPU; times are those
    alone in the best placement. Between two rounds running jobs keep their rings.
    """
    speeds = _speeds(state)
    gpus, free, among = _at_hand(state)
    if state.interruptible and not state.is_round:
        gpus = state.held.copy()
        free = int(state.capacity.sum() - gpus.sum())
        among = np.flatnonzero(~state.running).tolist()
    free = _smallest_each(speeds, gpus, free, among)
    _grow(state, speeds, gpus, free, among, by_time=True)
    return Decision(gpus=gpus)


class _Piece(NamedTuple):
    """GPUs that are free until before a slot, since the piece before."""

    until: int
    free: int


def _share(
    profile: list[_Piece], now: int, due: int, iterations: int, speeds: Speeds, most: int
) -> list[tuple[int, int]] | None:
    """GPUs by the slot until which they are used, with at most so many at once; None if too late.

    In each piece the job has the largest ring that is free and no larger than the most.
    """
    uses, at = list[tuple[int, int]](), now
    for until, free in profile:
        size = max((size for size in speeds if size <= min(most, free)), default=0)
        end = min(until, due)
        speed = speeds.get(size, 0)
        if speed and at + -(-iterations // speed) <= end:
            return [*uses, (at + -(-iterations // speed), size)]
        uses.append((end, size))
        iterations -= speed * (end - at)
        at = end
        if at >= due:
            return None
    return None


def _without(profile: list[_Piece], uses: list[tuple[int, int]], now: int) -> list[_Piece]:
    """The profile without what a job uses."""
    moments = sorted({piece.until for piece in profile} | {until for until, _ in uses})
    found, at = list[_Piece](), now
    for until in moments:
        free = next(piece.free for piece in profile if piece.until > at)
        used = next((size for end, size in uses if end > at), 0)
        found.append(_Piece(until, free - used))
        at = until
    return found


def _least_shares(
    state: State, speeds: Sequence[Speeds], positions: Iterable[int]
) -> dict[int, int] | None:
    """By position, GPUs now of the smallest shares with which all keep their due slots, or None.

    Jobs are gone through by due slot. Each one gets the smallest allocation that is in time, in
    what those before it leave.
    """
    profile = [_Piece(NEVER, int(state.capacity.sum()))]
    found = {}
    for position in sorted(positions, key=lambda p: (int(state.due[p]), p)):
        one, due = speeds[position], int(state.due[position])
        work = int(state.iterations[position])
        shares = (_share(profile, state.now, due, work, one, most) for most in _powers(one))
        uses = next((share for share in shares if share is not None), None)
        if uses is None:
            return None
        profile = _without(profile, uses, state.now)
        found[position] = uses[0][1]
    return found


def _powers(speeds: Speeds) -> list[int]:
    """The allowed sizes that are powers of two; all of them if none is."""
    return [size for size in speeds if size & (size - 1) == 0] or [*speeds]


def _elastic_deadline(state: State) -> Decision:
    """Admit what can keep its due slot, with the smallest shares; spare GPUs by marginal gain.

    D. Gu et al., "ElasticFlow: an elastic serverless training platform for distributed deep
    learning", ASPLOS 2023, algorithms 1 and 2. A job is admitted when it arrives, iff it and all
    jobs admitted before keep their due slots with shares of powers of two in the free profile.
    Readings: restorations do not count in the profile; what a job that is not admitted, or has no
    due slot, gets is what the others leave, by order of arrival; an admitted job that contention
    makes late is admitted no longer. Where jobs cannot be interrupted, running ones keep their
    rings, and those that wait are gone through in the same order.
    """
    speeds = _speeds(state)
    known: set[int] = state.memory.setdefault("known", set())
    admitted: set[int] = state.memory.setdefault("admitted", set())
    numbers = state.number.tolist()
    admitted &= set(numbers)
    positions = [p for p, number in enumerate(numbers) if number in admitted]
    while positions and _least_shares(state, speeds, positions) is None:
        # Contention or restorations took longer than the profile says.
        late = max(positions, key=lambda p: (state.remaining[p] - state.due[p], p))
        positions.remove(late)
        admitted.discard(numbers[late])
    for p, number in enumerate(numbers):
        if number in known:
            continue
        known.add(number)
        with_it = [*positions, p]
        if state.due[p] < NEVER and _least_shares(state, speeds, with_it) is not None:
            positions = with_it
            admitted.add(number)
    shares = _least_shares(state, speeds, positions) or {}
    gpus, free, among = _at_hand(state)
    may = set(among)
    order = sorted(positions, key=lambda p: (int(state.due[p]), p))
    for p in order:
        if p in may and shares[p] <= free:
            gpus[p] = shares[p]
            free -= shares[p]
    free = _smallest_each(speeds, gpus, free, (p for p in order if p in may))
    free = _grow(state, speeds, gpus, free, (p for p in order if p in may), by_time=False)
    others = [p for p in among if p not in positions]
    free = _smallest_each(speeds, gpus, free, others)
    _grow(state, speeds, gpus, free, others, by_time=False)
    return Decision(listed_first(order, len(state)), gpus)


OPTIMUS = Policy(
    "optimus",
    _optimus,
    "Optimus: the next GPU to the job whose remaining time it shortens most",
    DURATIONS,
    interrupts=True,
    elastic=True,
    round_seconds=ROUND_SECONDS,
)
ELASTIC_DEADLINE = Policy(
    "elastic-deadline",
    _elastic_deadline,
    "ElasticFlow: admits jobs that keep their due slots, with the smallest rings that do",
    DURATIONS,
    interrupts=True,
    elastic=True,
)
