"""Lengths of time in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarmodel.duration import duration


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (0.25, "0.25 s"),
        (9.996, "10 s"),
        (12.4, "12 s"),
        (59.7, "1 min"),
        (750, "12 min 30 s"),
        (3599.6, "1 h"),
        (7500, "2 h 5 min"),
        (86_399, "1 d"),
        (86_401, "1 d"),
        (273_600, "3 d 4 h"),
        (86_400 * 12_345, "12,345 d"),
        (-90, "−1 min 30 s"),
    ],
)
def test_two_greatest_units_are_named(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@given(st.floats(10, 1e9))
def test_words_are_true_to_half_of_the_smaller_unit(seconds: float) -> None:
    sizes = {"d": 86_400, "h": 3_600, "min": 60, "s": 1}
    parts = duration(seconds).replace(",", "").split()
    named = [
        (float(number), sizes[unit]) for number, unit in zip(parts[::2], parts[1::2], strict=True)
    ]
    next_smaller = {86_400: 3_600, 3_600: 60, 60: 1, 1: 1}
    off = abs(sum(number * size for number, size in named) - seconds)
    assert off <= next_smaller[named[0][1]] / 2 + 0.5
