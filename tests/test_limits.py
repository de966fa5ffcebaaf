"""Limits: what is left of them."""

from __future__ import annotations

from time import perf_counter

import pytest

from rarmodel.limits import Limits


def test_a_limit_counts_from_when_its_time_began() -> None:
    left = Limits(time_limit=10, seed=3).since(perf_counter() - 4)
    assert left.time_limit == pytest.approx(6, abs=1)
    assert left.seed == 3
    assert Limits(time_limit=10).since(perf_counter() - 11).time_limit == 0
    assert Limits().since(0).time_limit is None
