"""Duties by hand, and what holds for all rings."""

from __future__ import annotations

import math
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarmodel.model import Pace, RingOnLinks, contention_level, ring_share
from rarmodel.model.duty import UNITS, duty_bandwidths, duty_units, effective_rings, share_by_duty
from rarmodel.schema import Contention

SECONDS = st.floats(0, 1e6) | st.floats(1e-60, 1e40)
LINKS = 4


def contention(concurrency: float = 1.0, alpha: float = 0.0) -> Contention:
    return Contention.model_validate(
        {
            "concurrency": concurrency,
            "degradation": {"kind": "linear", "alpha": alpha},
            "overhead_ms_per_server": 0.0,
        }
    )


CONTENTION = st.builds(contention, st.floats(0.01, 1.0), st.floats(0.0, 2.0))
RATES = st.lists(st.floats(0.01, 100.0), min_size=LINKS, max_size=LINKS)
RINGS = st.lists(
    st.builds(
        RingOnLinks,
        st.sets(st.integers(0, LINKS - 1), min_size=1).map(lambda links: tuple(sorted(links))),
        st.floats(1e3, 1e11),
        st.floats(0.0, 100.0),
    ),
    min_size=1,
    max_size=6,
)


def test_duty_is_the_part_of_the_iteration_that_is_exchange() -> None:
    assert duty_units(1.0, 3.0) == UNITS // 4
    assert duty_units(1.0, 0.0) == UNITS
    assert duty_units(0.0, 1.0) == 0
    assert duty_units(0.0, 0.0) == 0


def test_duty_is_rounded_up() -> None:
    assert duty_units(1.0, 2.0) == math.ceil(UNITS / 3)
    assert duty_units(1e-60, 1e40) == 1


def test_two_rings_that_exchange_half_of_their_time_meet_one_and_a_half() -> None:
    # Alone: 1 Gbit on a link of 1 Gbit/s takes 1 s, and 1 s of compute follows.
    ring = RingOnLinks((0,), 1e9, 1.0)
    assert duty_bandwidths(contention(), [1.0], [ring, ring]) == [1 / 1.5, 1 / 1.5]
    assert (
        duty_bandwidths(contention(0.5, 0.2), [1.0], [ring, ring]) == [1 / (1.25 + 0.2 * 0.25)] * 2
    )


def test_two_such_rings_meet_the_golden_ratio_at_the_fixed_point() -> None:
    # E = 1 + E/(E + 1), so E² − E − 1 = 0.
    ring = RingOnLinks((0,), 1e9, 1.0)
    first, second = duty_bandwidths(contention(), [1.0], [ring, ring], fixed_point=True)
    assert first == second == pytest.approx(2 / (1 + math.sqrt(5)), rel=1e-5)


def test_a_ring_gets_the_least_share_over_its_links() -> None:
    busy, idle = RingOnLinks((0, 1), 1e9, 0.0), RingOnLinks((1, 2), 1e9, 3.0)
    # Link 2 of 0.5 Gbit/s alone: 2 s of exchange and 3 s of the rest, a duty of 0.4.
    first, second = duty_bandwidths(contention(), [1.0, 1.0, 0.5], [busy, idle])
    assert first == pytest.approx(1 / 1.4, rel=1e-6)
    assert second == 0.5  # Link 1 gives half of its rate, and link 2 all.


def test_a_lone_ring_gets_the_whole_link() -> None:
    for fixed_point in (False, True):
        ring = RingOnLinks((0, 1), 1e9, 0.5)
        assert duty_bandwidths(
            contention(0.5, 3.0), [4.0, 2.0], [ring], fixed_point=fixed_point
        ) == [2]
    assert duty_bandwidths(contention(), [1.0], []) == []


@given(st.integers(1, 2**20))
def test_rings_that_only_exchange_are_counted_to_the_last_bit(rings: int) -> None:
    assert effective_rings(1.0, (rings - 1) * UNITS) == contention_level(1.0, rings)
    both = contention(1.0, 0.3)
    assert share_by_duty(both, 10.0, (rings - 1) * UNITS) == ring_share(both, 10.0, rings)


@given(SECONDS, SECONDS, SECONDS)
def test_duty_never_falls_with_the_exchange_nor_rises_with_the_rest(
    x: float, y: float, z: float
) -> None:
    less, more = sorted((x, y))
    assert 0 <= duty_units(less, z) <= duty_units(more, z) <= UNITS
    assert duty_units(z, less) >= duty_units(z, more)


@given(CONTENTION, st.floats(0.01, 100.0), st.lists(st.integers(0, 2**40), min_size=2))
def test_share_never_rises_with_the_others(
    constants: Contention, gbps: float, loads: list[int]
) -> None:
    shares = [share_by_duty(constants, gbps, load) for load in [0, *sorted(loads)]]
    assert shares[0] == gbps
    assert all(less >= more for less, more in pairwise(shares))


@given(CONTENTION, RATES, RINGS, st.booleans(), st.data())
def test_no_ring_is_faster_with_one_more(
    constants: Contention,
    gbps: list[float],
    rings: list[RingOnLinks],
    fixed_point: bool,
    data: st.DataObject,
) -> None:
    gone = data.draw(st.integers(0, len(rings) - 1))
    fewer = [*rings[:gone], *rings[gone + 1 :]]
    among = duty_bandwidths(constants, gbps, rings, fixed_point=fixed_point)
    without = duty_bandwidths(constants, gbps, fewer, fixed_point=fixed_point)
    del among[gone]
    assert all(now <= before for now, before in zip(among, without, strict=True))


@given(CONTENTION, RATES, RINGS, st.booleans(), st.randoms())
def test_order_of_rings_does_not_matter(
    constants: Contention,
    gbps: list[float],
    rings: list[RingOnLinks],
    fixed_point: bool,
    draw: Random,
) -> None:
    order = list(range(len(rings)))
    draw.shuffle(order)
    straight = duty_bandwidths(constants, gbps, rings, fixed_point=fixed_point)
    mixed = duty_bandwidths(constants, gbps, [rings[i] for i in order], fixed_point=fixed_point)
    assert [straight[i] for i in order] == mixed


@given(CONTENTION, RATES, RINGS)
def test_fixed_point_is_one_and_lies_between_duty_and_presence_all_the_time(
    constants: Contention, gbps: list[float], rings: list[RingOnLinks]
) -> None:
    found = duty_bandwidths(constants, gbps, rings, fixed_point=True)
    duties = [ring.duty(rate) for ring, rate in zip(rings, found, strict=True)]
    for j, ring in enumerate(rings):
        shares = [
            share_by_duty(
                constants,
                gbps[link],
                sum(duties[i] for i, one in enumerate(rings) if i != j and link in one.links),
            )
            for link in ring.links
        ]
        assert found[j] == min(shares)
    always = [ring._replace(rest=0.0) for ring in rings]
    alone, present = (
        duty_bandwidths(constants, gbps, rings),
        duty_bandwidths(constants, gbps, always),
    )
    assert all(p <= f <= a for p, f, a in zip(present, found, alone, strict=True))


@given(CONTENTION, RATES, RINGS)
def test_rings_on_other_links_do_not_matter(
    constants: Contention, gbps: list[float], rings: list[RingOnLinks]
) -> None:
    here = [ring for ring in rings if set(ring.links) <= {0, 1}]
    there = [RingOnLinks((2, 3), 1e9, 1.0)] * 3
    for fixed_point in (False, True):
        alone = duty_bandwidths(constants, gbps, here, fixed_point=fixed_point)
        beside = duty_bandwidths(constants, gbps, [*here, *there], fixed_point=fixed_point)
        assert beside[: len(here)] == alone


def test_exchange_and_rest_of_a_pace_are_its_iteration() -> None:
    pace = Pace(4, 2e9, 0.25, 0.5, 1000.0, 60.0, 100)
    assert pace.rest(3) == 0.25 + 3.0 + 0.5
    assert pace.rest(3) + 0.5 == pace.seconds(3, 4.0)


def test_duty_can_be_compiled() -> None:
    from numba import njit

    compiled = njit(duty_units)
    for exchange, rest in [(0.0, 1.0), (1.0, 2.0), (3.7, 0.0), (1e-60, 1e40)]:
        assert compiled(exchange, rest) == duty_units(exchange, rest)
    assert njit(effective_rings)(0.7, 3 * UNITS) == effective_rings(0.7, 3 * UNITS)
