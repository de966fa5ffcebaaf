"""Estimated busy time of each GPU in a schedule, and the GPU numbering that evens it out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import inf
from typing import NamedTuple

Held = Mapping[int, tuple[int, ...]]
"""GPU indices that a job holds, by server index."""


def loads(gpus: Sequence[Held], work: Sequence[float]) -> dict[tuple[int, int], float]:
    """By server and GPU index: `Σ_j ρ̂_j/u` over the jobs that the GPU serves, in slots.

    Parameters
    ----------
    gpus
        (jobs) GPUs held.
    work
        (jobs) Estimated execution times ρ̂_j/u in slots.
    """
    busy: dict[tuple[int, int], float] = {}
    for held, slots in zip(gpus, work, strict=True):
        for server, indices in held.items():
            for index in indices:
                busy[server, index] = busy.get((server, index), 0) + slots
    return busy


class Stay(NamedTuple):
    """The stay of a job on one server."""

    start: int
    end: int
    workers: int
    work: float


@lru_cache(maxsize=100_000)
def least_busy_numbering(gpus: int, stays: tuple[Stay, ...]) -> tuple[tuple[int, ...], ...]:
    """GPUs for each stay on a server, such that the busiest GPU is the least busy.

    The function tries all numberings, job by job in the order of starts; of idle GPUs of equal load
    it tries one. Only tiny instances have few numberings.

    Parameters
    ----------
    gpus
        GPUs of the server; the stays never need more at once.
    stays
        The jobs' stays.

    Returns
    -------
    tuple
        GPU indices for each stay, in the given order.
    """
    order = sorted(range(len(stays)), key=lambda i: stays[i].start)
    load, free_at = [0.0] * gpus, [0] * gpus
    best = inf
    chosen: list[tuple[int, ...]] = [()] * len(stays)
    best_chosen = tuple(chosen)

    def decide(place: int, busiest: float) -> None:
        nonlocal best, best_chosen
        if busiest >= best:
            return
        if place == len(order):
            best, best_chosen = busiest, tuple(chosen)
            return
        stay = stays[order[place]]
        idle = sorted((load[g], g) for g in range(gpus) if free_at[g] <= stay.start)
        for picked in _choices(idle, stay.workers):
            before = [free_at[g] for g in picked]
            for g in picked:
                load[g] += stay.work
                free_at[g] = stay.end
            chosen[order[place]] = picked
            decide(place + 1, max(busiest, *(load[g] for g in picked)))
            for g, until in zip(picked, before, strict=True):
                load[g] -= stay.work
                free_at[g] = until

    decide(0, 0.0)
    return best_chosen


def _choices(idle: list[tuple[float, int]], count: int) -> Iterator[tuple[int, ...]]:
    """Ways to take this many of the GPUs, sorted by load; of equal loads the first are taken."""
    if count == 0:
        yield ()
        return
    if count > len(idle):
        return
    equal = sum(load == idle[0][0] for load, _ in idle)
    for here in range(min(count, equal), -1, -1):
        for rest in _choices(idle[equal:], count - here):
            yield (*(g for _, g in idle[:here]), *rest)
