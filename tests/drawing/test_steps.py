"""Step functions, beside a naive list of one value for each slot."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarmodel.drawing.steps import Steps, steps_of, time_bins

CHANGES = st.lists(st.tuples(st.integers(0, 20), st.integers(-3, 3)), max_size=12)


def slot_by_slot(changes: list[tuple[int, int]], end: int) -> list[int]:
    """The value in each slot."""
    return [sum(change for slot, change in changes if slot <= at) for at in range(end)]


@given(CHANGES, st.integers(1, 30), st.integers(1, 30))
def test_bins_have_the_mean_and_greatest_value_of_their_slots(
    changes: list[tuple[int, int]], end: int, most: int
) -> None:
    steps, values = steps_of(changes), slot_by_slot(changes, end)
    edges = time_bins(end, most)
    assert edges[0] == 0
    assert edges[-1] == end
    assert len(edges) - 1 == min(end, most)
    # Bins need not begin at a whole slot: a slot counts by the part of it that is in the bin.
    for i, (first, last) in enumerate(pairwise(edges)):
        parts = {s: min(s + 1, last) - max(s, first) for s in range(end)}
        inside = {s: part for s, part in parts.items() if part > 1e-9}
        mean = sum(values[s] * part for s, part in inside.items()) / (last - first)
        assert steps.means(edges)[i] == pytest.approx(mean, abs=1e-6)
        assert steps.maxima(edges)[i] == max(values[s] for s in inside)


@given(CHANGES, st.integers(0, 30))
def test_integral_is_the_sum_over_slots(changes: list[tuple[int, int]], end: int) -> None:
    assert steps_of(changes).integral(end) == pytest.approx(sum(slot_by_slot(changes, end)))


def test_changes_that_cancel_leave_no_step() -> None:
    assert steps_of([(3, 2), (5, 1), (5, -1), (8, -2)]) == Steps((3, 8), (2, 0))


def test_nothing_is_0_everywhere() -> None:
    edges = time_bins(10, 4)
    assert steps_of([]).greatest == 0
    assert np.array_equal(steps_of([]).means(edges), np.zeros(4))
    assert np.array_equal(steps_of([]).maxima(edges), np.zeros(4))


def test_horizons_of_ten_million_slots_take_no_array_of_slots() -> None:
    steps = steps_of([(0, 1), (10_000_000, -1)])
    assert steps.integral(10_000_000) == 10_000_000
    assert time_bins(10_000_000, 400).size == 401
