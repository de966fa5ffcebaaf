"""Network pressures and sensitivities: exact products, loads by sensitivity, shares."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, inf
from random import Random

import pytest
from contended import contended_instance
from hypothesis import given
from hypothesis import strategies as st
from pressed import PRESSURES, SENSITIVITIES, pressed
from rings_on_links import LINKS, RATES, contention, contentions

from rarmodel.model import RingOnLinks, bandwidths, best_share, topology, used, worst_share
from rarmodel.model.features import DUTY, NETWORK_PRESSURES
from rarmodel.model.link_shares import sensitivities, sensitivity_classes
from rarmodel.model.ring_rates import paces
from rarmodel.model.sharing_rule import (
    COUNT,
    NO_PRESSURE,
    RULES,
    UNITS,
    felt_units,
    pressure_of,
    pressure_units,
    sensitivity_of,
)
from rarmodel.schema import Contention, Instance
from rarmodel.schema.base import BILLION, MAX_FACTOR, exactly

FACTORS = st.integers(0, MAX_FACTOR * BILLION)
RINGS = st.lists(
    st.builds(
        RingOnLinks,
        st.sets(st.integers(0, LINKS - 1), min_size=1).map(lambda links: tuple(sorted(links))),
        st.floats(1e3, 1e11),
        st.floats(0.0, 100.0),
        *(st.just(0.0), st.just(0.0), st.just(1.0), st.just(inf)),
        st.just(NO_PRESSURE) | st.sampled_from([0, BILLION // 3, BILLION]) | FACTORS,
        st.sampled_from([0, BILLION // 3, BILLION]) | FACTORS,
    ),
    min_size=1,
    max_size=6,
)


@given(st.integers(0, UNITS), FACTORS, FACTORS)
def test_products_are_exact_and_rounded_up(duty: int, pressure: int, sensitivity: int) -> None:
    assert felt_units(duty, sensitivity) == ceil(Fraction(duty * sensitivity, BILLION))
    product = Fraction(pressure, BILLION) * Fraction(sensitivity, BILLION)
    assert pressure_units(pressure, sensitivity) == ceil(product * UNITS)
    assert felt_units(duty, BILLION) == duty


def test_products_can_be_compiled() -> None:
    from numba import njit

    compiled = njit(felt_units)
    for duty in (0, 1, 2**20 - 1, 2**20):
        for sensitivity in (0, 1, BILLION - 1, BILLION, MAX_FACTOR * BILLION - 1, 10**12):
            assert compiled(duty, sensitivity) == felt_units(duty, sensitivity)


def test_numbers_are_the_decimals_that_are_written() -> None:
    job = contended_instance(Random(0)).jobs[0]
    assert (pressure_of(job), sensitivity_of(job)) == (NO_PRESSURE, BILLION)
    job = job.model_copy(update={"network_pressure": 0.1, "network_sensitivity": 0.3})
    assert (pressure_of(job), sensitivity_of(job)) == (BILLION // 10, 3 * BILLION // 10)
    # 0.1 · 0.3 in binary floats is above 0.03.
    assert pressure_units(pressure_of(job), sensitivity_of(job)) == ceil(Fraction(3, 100) * UNITS)


def ring(pressure: float | None = None, sensitivity: float = 1) -> RingOnLinks:
    """A ring that exchanges for 1 s at 1 Gbit/s, and computes for 1 s."""
    own = NO_PRESSURE if pressure is None else int(exactly(pressure) * BILLION)
    felt = int(exactly(sensitivity) * BILLION)
    return RingOnLinks((0,), 1e9, 1.0, pressure=own, sensitivity=felt)


def test_a_ring_meets_its_sensitivity_times_the_pressures_of_others() -> None:
    # Duties are a half. The first meets 2·(0.25 + 0.5), the second 0.5 + 0.5, the third nothing.
    rings = [ring(sensitivity=2), ring(pressure=0.25), ring(sensitivity=0)]
    assert bandwidths(contention(), [1.0], rings) == [1 / 2.5, 1 / 2, 1.0]
    assert bandwidths(contention(0.5, 0.2), [1.0], rings)[0] == 1 / (1.75 + 0.2 * 0.75)


def test_a_pressure_of_the_duty_changes_nothing() -> None:
    plain, own = ring(), ring(pressure=0.5)
    assert bandwidths(contention(), [1.0], [plain] * 3) == bandwidths(
        contention(), [1.0], [own] * 3
    )


def test_by_the_count_they_say_nothing() -> None:
    rings = [ring(pressure=0.25), ring(sensitivity=3)]
    assert bandwidths(contention(model=COUNT.name), [1.0], rings) == [0.5, 0.5]


@given(contentions("duty"), RATES, RINGS, st.data())
def test_no_ring_is_faster_with_one_more(
    constants: Contention, gbps: list[float], rings: list[RingOnLinks], data: st.DataObject
) -> None:
    gone = data.draw(st.integers(0, len(rings) - 1))
    among = bandwidths(constants, gbps, rings)
    without = bandwidths(constants, gbps, [*rings[:gone], *rings[gone + 1 :]])
    del among[gone]
    assert all(now <= before for now, before in zip(among, without, strict=True))


@given(contentions("duty"), RATES, RINGS)
def test_each_ring_meets_the_sum_of_products(
    constants: Contention, gbps: list[float], rings: list[RingOnLinks]
) -> None:
    """Equation by equation, with fractions."""
    units = []
    for one in rings:
        alone = min(gbps[link] for link in one.links)
        own = RULES["duty"].weight(one.bits / (alone * 1e9), one.rest, one.compute, one.overlap)
        pressed = one.pressure != NO_PRESSURE
        units.append(Fraction(one.pressure * UNITS, BILLION) if pressed else Fraction(own))
    for j, one in enumerate(rings):
        shares = []
        for link in one.links:
            others = [units[i] for i, o in enumerate(rings) if i != j and link in o.links]
            met = sum(ceil(Fraction(one.sensitivity, BILLION) * other) for other in others)
            shares.append(RULES["duty"].share(constants, gbps[link], met))
        assert bandwidths(constants, gbps, rings)[j] == min(shares)


def drawn(seed: int) -> Instance:
    return pressed(Random(seed), contended_instance(Random(seed), jobs=5, tree=seed % 2 == 1))


@pytest.mark.parametrize("seed", range(8))
def test_the_best_share_is_that_of_the_least_sensitivity(seed: int) -> None:
    instance = drawn(seed)
    few = sensitivities(instance)
    assert list(few) == sorted({sensitivity_of(j) for j in instance.jobs if j.sizes[-1] > 1})
    for job, number in zip(instance.jobs, sensitivity_classes(instance), strict=True):
        assert job.sizes[-1] == 1 or few[number] == sensitivity_of(job)
    for gbps in {link.gbps for link in topology(instance.cluster).links}:
        for rings in range(1, 6):
            by_class = [best_share(instance, gbps, rings, one) for one in few]
            assert by_class == sorted(by_class, reverse=True)
            assert best_share(instance, gbps, rings) == by_class[0]
            assert worst_share(instance, gbps, rings) <= by_class[-1]


def test_instances_use_them_by_name_and_place() -> None:
    plain = contended_instance(Random(0))
    assert set(used(plain)) == {DUTY.name}
    jobs = list(plain.jobs)
    jobs[1] = jobs[1].model_copy(update={"network_sensitivity": 0.0})
    instance = plain.model_copy(update={"jobs": tuple(jobs)})
    assert used(instance)[NETWORK_PRESSURES.name] == "jobs[1].network_sensitivity"


def test_paces_carry_them() -> None:
    instance = drawn(0)
    for job, own in zip(instance.jobs, paces(instance), strict=True):
        for pace in own.values():
            assert (pace.pressure, pace.sensitivity) == (pressure_of(job), sensitivity_of(job))
    assert {*PRESSURES, *SENSITIVITIES} >= {job.network_pressure or 0 for job in instance.jobs}
