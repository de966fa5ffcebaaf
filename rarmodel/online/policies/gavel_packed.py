"""Gavel's policies with pairs: who shares GPUs with whom, and for which part of the time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rarmodel.model.features import ALL

from ..policy import Decision, Policy, listed_first
from ..state import ATTAINED, DURATIONS, State
from .gavel import (
    ROUND_SECONDS,
    Free,
    Known,
    Reached,
    known_of,
    least_ratio,
    needs_by_due,
    proportional,
)

if TYPE_CHECKING:
    from ..gavel_pairs import Packed, Pair

Floats = npt.NDArray[np.float64]
Pack = Callable[[State, Known, "list[Pair]"], "Packed | None"]
"""Solves a program for pairs that may share; see `rarmodel.online.gavel_pairs`."""
Shares = dict[tuple[tuple[int, ...], int], float]
"""By numbers of one job or two, and type of GPU: the part of the time."""


def _shares_of(known: Known, pairs: list[Pair], need: Floats) -> Packed | None:
    from ..gavel_pairs import packed_shares  # noqa: PLC0415 - loads HiGHS

    return packed_shares(known.speed, known.gpus, need, known.there, pairs)


def _max_min(state: State, known: Known, pairs: list[Pair]) -> Packed | None:
    """The greatest least share, by weight."""
    need = np.asarray(state.weight * proportional(known) / known.gpus, np.float64)
    return _shares_of(known, pairs, need)


def _makespan(state: State, known: Known, pairs: list[Pair]) -> Packed | None:
    """The least time until the last of the known jobs completes."""
    return _shares_of(known, pairs, state.iterations.astype(np.float64))


def _fairness(state: State, known: Known, pairs: list[Pair]) -> Packed | None:
    """The least of the greatest ratios of finish times; alone on an n-th a job shares nothing."""
    from ..gavel_pairs import iterations_of  # noqa: PLC0415 - loads HiGHS

    def allocated(need: Floats) -> Reached | None:
        found = _shares_of(known, pairs, need)
        if found is None:
            return None
        return Reached(found, iterations_of(found, known.speed, pairs), found.level)

    best = least_ratio(state, known, allocated)
    packed: Packed | None = None if best is None else best.answer
    return packed


def _cost(state: State, known: Known, pairs: list[Pair]) -> Packed | None:
    """The greatest throughput for the price, with due slots kept where that is possible."""
    from ..gavel_pairs import packed_worth  # noqa: PLC0415 - loads HiGHS

    def packed(need: Floats) -> Packed | None:
        return packed_worth(known.speed, known.gpus, need, known.there, known.price, pairs)

    return packed(needs_by_due(state)) or packed(np.zeros(len(state)))


def make_packed(name: str, pack: Pack, description: str, *, durations: bool) -> Policy:
    """A policy by Gavel's program with pairs; see `rarmodel.online.gavel_pairs`.

    The program is solved when the set of jobs changes. At each decision single jobs and pairs are
    gone through by `X_cr` over the slots that they had on type r; each of whose jobs none has GPUs
    yet gets some, if there are enough of the type (section 5 of the paper). Readings: those that
    had nothing yet come first, the greater X first; jobs that got nothing come after them in order
    of arrival, alone. Jobs of equally many GPUs make pairs, as in the paper, and no three share.
    Slots count since a job or a pair was first there, as in `make_gavel`.
    """
    return Policy(
        name,
        partial(_by_pairs, pack),
        description,
        DURATIONS if durations else ATTAINED,
        interrupts=True,
        round_seconds=ROUND_SECONDS,
        handles=ALL,
        packs=True,
    )


def _by_pairs(pack: Pack, state: State) -> Decision:
    memory, known = state.memory, known_of(state)
    numbers = tuple(state.number.tolist())
    had: Shares = memory.setdefault("had", {})
    running = set(state.number[state.running].tolist())
    for one in memory.get("chosen", ()):
        if running.issuperset(one[0]):
            had[one] = had.get(one, 0.0) + state.now - memory["then"]
    if memory.get("numbers") != numbers:
        memory["numbers"], memory["shares"] = numbers, _shares(state, known, pack)
    return _round(state, known, memory["shares"])


def _shares(state: State, known: Known, pack: Pack) -> Shares:
    from ..gavel_pairs import Pair  # noqa: PLC0415 - loads HiGHS

    pairs = [Pair(*one) for one in _pairs(state, known)]
    found = pack(state, known, pairs)
    if found is None:
        return {}
    numbers = state.number.tolist()
    shares: Shares = {
        ((numbers[j],), int(r)): float(found.alone[j, r])
        for j, r in zip(*np.nonzero(found.alone > 1e-9), strict=True)
    }
    for p, r in zip(*np.nonzero(found.together > 1e-9), strict=True):
        both = numbers[pairs[p].first], numbers[pairs[p].second]
        shares[both, int(r)] = float(found.together[p, r])
    return shares


def _pairs(state: State, known: Known) -> Iterator[tuple[int, int, Floats]]:
    """Pairs of positions that together have more than one of them alone on some type of GPU."""
    numbers, sizes, before = state.number.tolist(), state.gpus.tolist(), state.memory
    there = state.capacity.tobytes()
    if before.get("there") != there:  # A type of which all GPUs are reserved is none.
        before |= {"there": there, "pairs": {}}
    pairs: dict[tuple[int, int, int], Floats | None] = before["pairs"]
    for first in range(len(state)):
        for second in range(first + 1, len(state)):
            if sizes[first] != sizes[second]:
                continue
            key = numbers[first], numbers[second], sizes[first]
            if key not in pairs:
                pairs[key] = _speeds_of_pair(state, known, first, second)
            speed = pairs[key]
            if speed is not None:
                yield first, second, speed


def _speeds_of_pair(state: State, known: Known, first: int, second: int) -> Floats | None:
    """(2, types) Iterations per slot of both, where that pays; None if it pays nowhere."""
    both = (first, second), (second, first)
    found = [[state.speeds_beside(*one)[kind] for kind in known.kinds] for one in both]
    speed = np.array(found, np.float64)
    alone = np.maximum(known.speed[[first, second]], 1.0)
    pays = ((speed / alone).sum(axis=0) > 1.0) & (speed > 0).all(axis=0)
    return np.where(pays, speed, 0.0) if pays.any() else None


def _round(state: State, known: Known, shares: Shares) -> Decision:
    """Who has which type of GPU now, and with whom."""
    memory, had = state.memory, state.memory["had"]
    place = {number: j for j, number in enumerate(state.number.tolist())}
    free, size = Free(state, known), known.gpus
    chosen: dict[int, int] = {}
    groups: list[tuple[int, ...]] = []

    def urgency(one: tuple[tuple[int, ...], int]) -> tuple[float, float, tuple[int, ...], int]:
        share, slots = shares[one], had.get(one, 0.0)
        return (-share / slots if slots else -np.inf, -share, *one)

    memory["chosen"], memory["then"] = [], state.now
    for numbers, r in sorted(shares, key=urgency):
        members = [place[number] for number in numbers]
        if any(j in chosen for j in members):
            continue
        if all(known.speed[j, r] > 0 and free.has(j, r, size[j]) for j in members):
            free.take(members[0], r, size[members[0]])
            chosen |= dict.fromkeys(members, r)
            memory["chosen"].append((numbers, r))
            groups.append(tuple(members))
    for j in range(len(state)):
        fits = [r for r in np.argsort(-known.speed[j], kind="stable") if free.has(j, r, size[j])]
        if j not in chosen and (there := [int(r) for r in fits if known.speed[j, r] > 0]):
            chosen[j] = there[0]
            free.take(j, there[0], size[j])
    types = {j: kind for j, r in chosen.items() if (kind := known.kinds[r]) is not None}
    return Decision(listed_first([*chosen], len(state)), types=types, together=groups)


MAX_MIN_PACKED = make_packed(
    "gavel-max-min-packed",
    _max_min,
    "Gavel with pairs on the same GPUs: the greatest least share of the cluster, by weight",
    durations=False,
)
MAKESPAN_PACKED = make_packed(
    "gavel-makespan-packed",
    _makespan,
    "Gavel with pairs on the same GPUs: the least time until the last known job completes",
    durations=True,
)
FAIRNESS_PACKED = make_packed(
    "gavel-fairness-packed",
    _fairness,
    "Gavel with pairs on the same GPUs: the least of the greatest ratios of finish times",
    durations=True,
)
COST_PACKED = make_packed(
    "gavel-cost-packed",
    _cost,
    "Gavel with pairs on the same GPUs: the greatest throughput for its price, with due slots",
    durations=True,
)
