"""Gavel's policies with pairs: who shares GPUs with whom, and for which part of the time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from rarmodel.model.features import ALL

from ..policy import Decision, Policy, listed_first
from ..state import ATTAINED, DURATIONS, State
from .gavel import ROUND_SECONDS, Free, Known, known_of, proportional

Floats = npt.NDArray[np.float64]
Needs = Callable[[State, Known], Floats]
"""Gives (jobs) the needs; see `rarmodel.online.gavel_programs`."""
Shares = dict[tuple[tuple[int, ...], int], float]
"""By numbers of one job or two, and type of GPU: the part of the time."""


def _equal_shares(state: State, known: Known) -> Floats:
    return np.asarray(state.weight * proportional(known) / known.gpus, np.float64)


def _iterations(state: State, _: Known) -> Floats:
    return state.iterations.astype(np.float64)


def make_packed(name: str, needs: Needs, description: str, *, durations: bool) -> Policy:
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
        partial(_by_pairs, needs),
        description,
        DURATIONS if durations else ATTAINED,
        interrupts=True,
        round_seconds=ROUND_SECONDS,
        handles=ALL,
        packs=True,
    )


def _by_pairs(needs: Needs, state: State) -> Decision:
    memory, known = state.memory, known_of(state)
    numbers = tuple(state.number.tolist())
    had: Shares = memory.setdefault("had", {})
    running = set(state.number[state.running].tolist())
    for one in memory.get("chosen", ()):
        if running.issuperset(one[0]):
            had[one] = had.get(one, 0.0) + state.now - memory["then"]
    if memory.get("numbers") != numbers:
        memory["numbers"], memory["shares"] = numbers, _shares(state, known, needs)
    return _round(state, known, memory["shares"])


def _shares(state: State, known: Known, needs: Needs) -> Shares:
    from ..gavel_pairs import Pair, packed_shares  # noqa: PLC0415 - loads HiGHS

    pairs = [Pair(*one) for one in _pairs(state, known)]
    found = packed_shares(known.speed, known.gpus, needs(state, known), known.there, pairs)
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
    beside = state.speeds_beside
    sizes = state.gpus.tolist()
    for first in range(len(state)):
        for second in range(first + 1, len(state)):
            if sizes[first] != sizes[second]:
                continue
            both = (first, second), (second, first)
            found = [[beside(*one)[kind] for kind in known.kinds] for one in both]
            speed = np.array(found, np.float64)
            alone = np.maximum(known.speed[[first, second]], 1.0)
            pays = ((speed / alone).sum(axis=0) > 1.0) & (speed > 0).all(axis=0)
            if pays.any():
                yield first, second, np.where(pays, speed, 0.0)


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
    _equal_shares,
    "Gavel with pairs on the same GPUs: the greatest least share of the cluster, by weight",
    durations=False,
)
MAKESPAN_PACKED = make_packed(
    "gavel-makespan-packed",
    _iterations,
    "Gavel with pairs on the same GPUs: the least time until the last known job completes",
    durations=True,
)
