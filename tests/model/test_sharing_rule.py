"""Duties by hand, and what holds for all rings by every sharing rule."""

from __future__ import annotations

import math
from itertools import pairwise
from random import Random
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rings_on_links import RATES, RINGS, contention, contentions

from rarmodel.model import Pace, RingOnLinks, bandwidths, contention_level
from rarmodel.model.sharing_rule import (
    COUNT,
    DUTY,
    RULES,
    UNITS,
    SharingRule,
    duty_units,
    effective_rings,
)
from rarmodel.schema import Contention

SECONDS = st.floats(0, 1e6) | st.floats(1e-60, 1e40)
CONTENTION = contentions(*RULES)


def test_duty_is_the_part_of_the_iteration_that_is_exchange() -> None:
    assert duty_units(1.0, 3.0, 0.0, 1.0) == UNITS // 4
    assert duty_units(1.0, 0.0, 0.0, 1.0) == UNITS
    assert duty_units(0.0, 1.0, 0.0, 1.0) == 0
    assert duty_units(0.0, 0.0, 0.0, 1.0) == 0


def test_duty_is_rounded_up() -> None:
    assert duty_units(1.0, 2.0, 0.0, 1.0) == math.ceil(UNITS / 3)
    assert duty_units(1e-60, 1e40, 0.0, 1.0) == 1


def test_two_rings_that_exchange_half_of_their_time_meet_one_and_a_half() -> None:
    # Alone: 1 Gbit on a link of 1 Gbit/s takes 1 s, and 1 s of compute follows.
    ring = RingOnLinks((0,), 1e9, 1.0)
    assert bandwidths(contention(), [1.0], [ring, ring]) == [1 / 1.5, 1 / 1.5]
    assert bandwidths(contention(0.5, 0.2), [1.0], [ring, ring]) == [1 / (1.25 + 0.2 * 0.25)] * 2


def test_a_ring_gets_the_least_share_over_its_links() -> None:
    busy, idle = RingOnLinks((0, 1), 1e9, 0.0), RingOnLinks((1, 2), 1e9, 3.0)
    # Link 2 of 0.5 Gbit/s alone: 2 s of exchange and 3 s of the rest, a duty of 0.4.
    first, second = bandwidths(contention(), [1.0, 1.0, 0.5], [busy, idle])
    assert first == pytest.approx(1 / 1.4, rel=1e-6)
    assert second == 0.5  # Link 1 gives half of its rate, and link 2 all.


def test_a_lone_ring_gets_the_whole_link() -> None:
    for model in RULES:
        ring = RingOnLinks((0, 1), 1e9, 0.5)
        assert bandwidths(contention(0.5, 3.0, model), [4.0, 2.0], [ring]) == [2]
        assert bandwidths(contention(model=model), [1.0], []) == []


@given(st.integers(1, 2**20))
def test_rings_that_only_exchange_are_counted_to_the_last_bit(rings: int) -> None:
    assert effective_rings(1.0, (rings - 1) * UNITS) == contention_level(1.0, rings)
    both = contention(1.0, 0.3)
    assert DUTY.share(both, 10.0, (rings - 1) * UNITS) == COUNT.share(both, 10.0, rings - 1)


@given(SECONDS, SECONDS, SECONDS)
def test_duty_never_falls_with_the_exchange_nor_rises_with_the_rest(
    x: float, y: float, z: float
) -> None:
    less, more = sorted((x, y))
    assert 0 <= duty_units(less, z, 0.0, 1.0) <= duty_units(more, z, 0.0, 1.0) <= UNITS
    assert duty_units(z, less, 0.0, 1.0) >= duty_units(z, more, 0.0, 1.0)


@given(
    st.sampled_from([*RULES.values()]),
    CONTENTION,
    st.floats(0.01, 100.0),
    st.lists(st.integers(0, 2**40), min_size=2),
)
def test_share_never_rises_with_the_others(
    rule: SharingRule, constants: Contention, gbps: float, loads: list[int]
) -> None:
    shares = [rule.share(constants, gbps, load) for load in [0, *sorted(loads)]]
    assert shares[0] == gbps
    assert all(less >= more for less, more in pairwise(shares))


@given(CONTENTION, RATES, RINGS, st.data())
def test_no_ring_is_faster_with_one_more(
    constants: Contention,
    gbps: list[float],
    rings: list[RingOnLinks],
    data: st.DataObject,
) -> None:
    gone = data.draw(st.integers(0, len(rings) - 1))
    fewer = [*rings[:gone], *rings[gone + 1 :]]
    among = bandwidths(constants, gbps, rings)
    without = bandwidths(constants, gbps, fewer)
    del among[gone]
    assert all(now <= before for now, before in zip(among, without, strict=True))


@given(CONTENTION, RATES, RINGS, st.randoms())
def test_order_of_rings_does_not_matter(
    constants: Contention,
    gbps: list[float],
    rings: list[RingOnLinks],
    draw: Random,
) -> None:
    order = list(range(len(rings)))
    draw.shuffle(order)
    straight = bandwidths(constants, gbps, rings)
    mixed = bandwidths(constants, gbps, [rings[i] for i in order])
    assert [straight[i] for i in order] == mixed


@given(CONTENTION, RATES, RINGS)
def test_rings_on_other_links_do_not_matter(
    constants: Contention, gbps: list[float], rings: list[RingOnLinks]
) -> None:
    here = [ring for ring in rings if set(ring.links) <= {0, 1}]
    there = [RingOnLinks((2, 3), 1e9, 1.0)] * 3
    alone = bandwidths(constants, gbps, here)
    beside = bandwidths(constants, gbps, [*here, *there])
    assert beside[: len(here)] == alone


def test_exchange_and_rest_of_a_pace_are_its_iteration() -> None:
    pace = Pace(4, 2e9, 0.25, 0.5, 1000.0, 60.0, 100)
    assert pace.rest(3) == 0.25 + 3.0 + 0.5
    assert pace.rest(3) + 0.5 == pace.seconds(3, 4.0)


def test_duty_can_be_compiled() -> None:
    from numba import njit

    from rarmodel.engine.formulas import weight

    for exchange, rest in [(0.0, 1.0), (1.0, 2.0), (3.7, 0.0), (1e-60, 1e40)]:
        assert weight(exchange, rest, 0.0, 1.0) == duty_units(exchange, rest, 0.0, 1.0)
    assert njit(effective_rings)(0.7, 3 * UNITS) == effective_rings(0.7, 3 * UNITS)


def test_the_schema_names_the_rules() -> None:
    field = Contention.model_fields["model"]
    assert get_args(field.annotation) == tuple(RULES)
    assert all(name == rule.name for name, rule in RULES.items())


@given(st.sampled_from([*RULES.values()]), SECONDS, SECONDS, SECONDS)
def test_a_weight_never_falls_with_the_exchange_nor_rises_with_the_rest(
    rule: SharingRule, x: float, y: float, z: float
) -> None:
    less, more = sorted((x, y))
    assert 0 <= rule.weight(less, z, 0.0, 1.0) <= rule.weight(more, z, 0.0, 1.0)
    assert rule.weight(z, less, 0.0, 1.0) >= rule.weight(z, more, 0.0, 1.0)
    assert not rule.equal_weights or rule.weight(x, y, 0.0, 1.0) == 1


def test_a_ring_of_the_count_meets_all_others() -> None:
    ring = RingOnLinks((0,), 1e9, 1.0)
    assert bandwidths(contention(model="count"), [6.0], [ring] * 3) == [2.0] * 3
