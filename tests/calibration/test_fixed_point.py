"""Duties at the speed that rings have: by hand, and what holds for all rings."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rings_on_links import RATES, RINGS, contention, contentions

from rarmodel.calibration.fixed_point import fixed_point_bandwidths
from rarmodel.model import RingOnLinks, bandwidths
from rarmodel.model.sharing_rule import DUTY
from rarmodel.schema import Contention

CONTENTION = contentions(DUTY.name)


def test_two_rings_that_exchange_half_of_their_time_meet_the_golden_ratio() -> None:
    # E = 1 + E/(E + 1), so E² − E − 1 = 0.
    ring = RingOnLinks((0,), 1e9, 1.0)
    first, second = fixed_point_bandwidths(contention(), [1.0], [ring, ring])
    assert first == second == pytest.approx(2 / (1 + math.sqrt(5)), rel=1e-5)


def test_a_lone_ring_gets_the_whole_link() -> None:
    ring = RingOnLinks((0, 1), 1e9, 0.5)
    assert fixed_point_bandwidths(contention(0.5, 3.0), [4.0, 2.0], [ring]) == [2]
    assert fixed_point_bandwidths(contention(), [1.0], []) == []


@given(CONTENTION, RATES, RINGS, st.data())
def test_no_ring_is_faster_with_one_more(
    constants: Contention, gbps: list[float], rings: list[RingOnLinks], data: st.DataObject
) -> None:
    gone = data.draw(st.integers(0, len(rings) - 1))
    among = fixed_point_bandwidths(constants, gbps, rings)
    without = fixed_point_bandwidths(constants, gbps, [*rings[:gone], *rings[gone + 1 :]])
    del among[gone]
    assert all(now <= before for now, before in zip(among, without, strict=True))


@given(CONTENTION, RATES, RINGS, st.randoms())
def test_order_of_rings_does_not_matter(
    constants: Contention, gbps: list[float], rings: list[RingOnLinks], draw: Random
) -> None:
    order = list(range(len(rings)))
    draw.shuffle(order)
    straight = fixed_point_bandwidths(constants, gbps, rings)
    mixed = fixed_point_bandwidths(constants, gbps, [rings[i] for i in order])
    assert [straight[i] for i in order] == mixed


@given(CONTENTION, RATES, RINGS)
def test_it_is_one_and_lies_between_duty_and_presence_all_the_time(
    constants: Contention, gbps: list[float], rings: list[RingOnLinks]
) -> None:
    found = fixed_point_bandwidths(constants, gbps, rings)
    duties = [ring.weight(DUTY, rate) for ring, rate in zip(rings, found, strict=True)]
    for j, ring in enumerate(rings):
        shares = [
            DUTY.share(
                constants,
                gbps[link],
                sum(duties[i] for i, one in enumerate(rings) if i != j and link in one.links),
            )
            for link in ring.links
        ]
        assert found[j] == min([ring.most_gbps, *shares])
    always = [ring._replace(rest=0.0, compute=0.0) for ring in rings]
    alone, present = bandwidths(constants, gbps, rings), bandwidths(constants, gbps, always)
    assert all(p <= f <= a for p, f, a in zip(present, found, alone, strict=True))


@given(CONTENTION, RATES, RINGS)
def test_rings_on_other_links_do_not_matter(
    constants: Contention, gbps: list[float], rings: list[RingOnLinks]
) -> None:
    here = [ring for ring in rings if set(ring.links) <= {0, 1}]
    there = [RingOnLinks((2, 3), 1e9, 1.0)] * 3
    alone = fixed_point_bandwidths(constants, gbps, here)
    assert fixed_point_bandwidths(constants, gbps, [*here, *there])[: len(here)] == alone
