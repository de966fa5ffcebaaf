"""The least excess of a server's jobs: against every order, and against the time a search has."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rarmodel.packing.least_excess import Items, least_excess, new_stack

ALL = 10**9
"""More than any number of steps, and than any excess."""

Job = tuple[int, int, int, int]
"""GPUs, execution time, first slot, and the slot by which it is to end."""


@st.composite
def servers(draw: st.DrawFn) -> tuple[int, int, list[Job]]:
    """GPUs, a target, and jobs; some are pieces of rings, which have a time of their own."""
    gpus, target = draw(st.integers(1, 5)), draw(st.integers(1, 9))
    jobs = []
    for _ in range(draw(st.integers(0, 5))):
        size, slots = draw(st.integers(1, gpus)), draw(st.integers(1, 6))
        if slots <= target and draw(st.booleans()):
            start = draw(st.integers(0, target - slots))
            jobs.append((size, slots, start, start + slots))
        else:
            jobs.append((size, slots, 0, target))
    return gpus, target, jobs


def found(
    gpus: int,
    target: int,
    jobs: list[Job],
    most: int = ALL,
    steps: int = ALL,
    *,
    backwards: bool = False,
) -> int:
    """Excess by the search; a schedule without excess is checked."""
    items = Items(*np.array(jobs, np.int64).reshape(-1, 4).T.copy())
    stack, row = new_stack(len(jobs)), np.arange(len(jobs))
    if backwards:
        row = row[::-1].copy()
    excess = least_excess(items, row, len(jobs), gpus, target, most, steps, stack)
    if excess == 0:
        held = np.zeros(100, np.int64)
        places = stack.chosen[: len(jobs)]
        assert sorted(stack.item[places]) == list(range(len(jobs)))
        for item, start in zip(stack.item[places], stack.start, strict=False):
            size, slots, release, due = jobs[item]
            assert release <= start <= due - slots
            held[start : start + slots] += size
        assert held.max() <= gpus
    return int(excess)


def by_order(gpus: int, jobs: tuple[Job, ...]) -> int:
    """Excess of jobs that start in this order of preference, each as early as it can."""
    held, excess = np.zeros(100, np.int64), 0
    for size, slots, release, due in jobs:
        start = release
        while held[start : start + slots].max() + size > gpus:
            start += 1
        held[start : start + slots] += size
        excess += size * max(0, start + slots - due)
    return excess


@given(servers())
@settings(deadline=None)
def test_it_is_the_least_of_all_orders(server: tuple[int, int, list[Job]]) -> None:
    gpus, target, jobs = server
    least = min(by_order(gpus, order) for order in permutations(jobs))
    assert found(gpus, target, jobs) == least
    assert found(gpus, target, jobs, backwards=True) == least
    for most in {0, least // 2, least}:
        assert found(gpus, target, jobs, most) == (least if least <= most else -1)


@given(servers(), st.integers(0, 12), st.integers(0, 60))
def test_a_short_search_finds_a_schedule(
    server: tuple[int, int, list[Job]], steps: int, most: int
) -> None:
    gpus, target, jobs = server
    first = found(gpus, target, jobs, ALL, steps)
    assert first >= found(gpus, target, jobs)
    assert found(gpus, target, jobs, ALL, steps, backwards=True) == first
    some = found(gpus, target, jobs, most, steps)
    if first <= most:
        assert 0 <= some <= first
    if some >= 0:
        assert some <= most
        assert 0 <= found(gpus, target, jobs, some, steps) <= some
