"""Equation (8) with the terms of section 20: latency, overlap, network cards."""

from __future__ import annotations

import math
from math import inf, nextafter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarmodel.engine import formulas
from rarmodel.model import topology
from rarmodel.model.contention import cards_gbps
from rarmodel.model.sharing_rule import UNITS, duty_units
from rarmodel.model.timing import (
    MAX_OVERLAP,
    exchange_bits,
    iteration_seconds,
    latency_seconds,
    overlapped_seconds,
    speed,
)
from rarmodel.schema import Cluster

SECONDS = st.just(0.0) | st.floats(1e-9, 1e6) | st.floats(1e-60, 1e40)
OVERLAPS = st.floats(1.0, MAX_OVERLAP) | st.sampled_from([1.0, 1.5, 2.0, 3.0, 10.0, MAX_OVERLAP])
NEAR = [1, 2, 2**10, 2**22, 2**23, 2**24]
"""Steps between neighbours among floats."""


def a_little_more(number: float, steps: int) -> float:
    """A greater number, so many floats away."""
    return number + steps * math.ulp(number)


def test_each_step_of_an_exchange_takes_the_latency() -> None:
    assert latency_seconds(2.0, 1) == 0.0
    assert latency_seconds(2.0, 4) == pytest.approx(6 * 2e-3, rel=1e-15)
    # Six steps of 2 ms beside 1.5 Gbit at 1.5 Gbit/s.
    bits = exchange_bits(125.0, 4)
    seconds = iteration_seconds(bits, 1.5, latency_seconds(2.0, 4), 0.1, 0.2, 0.3, 1.0)
    assert seconds == pytest.approx(1.0 + 0.012 + 0.1 + 0.2 + 0.3, rel=1e-15)


def test_exchange_and_compute_overlap_reduction_and_overhead_do_not() -> None:
    seconds = iteration_seconds(4e9, 1.0, 0.0, 0.5, 0.25, 3.0, 2.0)
    assert seconds == pytest.approx(5.0 + 0.5 + 0.25, rel=1e-15)
    assert iteration_seconds(4e9, 1.0, 0.0, 0.0, 0.0, 3.0, MAX_OVERLAP) == pytest.approx(4.0)


@pytest.mark.parametrize(("compute", "exchange", "both"), [(30, 40, 50), (5, 12, 13), (8, 15, 17)])
@pytest.mark.parametrize("unit", [1e-4, 1e-3, 1.0])
def test_iterations_that_divide_a_slot_are_all_counted(
    compute: int, exchange: int, both: int, unit: float
) -> None:
    seconds = iteration_seconds(
        exchange * unit * 1e9, 1.0, 0.0, 0.0, 0.0, compute * unit, overlap=2.0
    )
    for many in (1, 7, 20, 3_600, 100_000):
        assert speed(many * both * unit, seconds) == many


@given(*(st.floats(0, 1e12) for _ in range(4)), st.floats(1e-3, 1e6))
def test_without_terms_it_is_the_sum_of_the_paper_to_the_last_bit(
    bits: float, reduction: float, overhead: float, compute: float, gbps: float
) -> None:
    found = iteration_seconds(bits, gbps, 0.0, reduction, overhead, compute, 1.0)
    assert found == bits / (gbps * 1e9) + reduction + overhead + compute


@given(SECONDS, SECONDS, OVERLAPS)
def test_overlap_is_the_norm_of_compute_and_exchange(
    compute: float, exchange: float, overlap: float
) -> None:
    found = overlapped_seconds(compute, exchange, overlap)
    more = max(compute, exchange)
    ratio = min(compute, exchange) / more if more else 0.0
    assert found == pytest.approx(more * (1.0 + ratio**overlap) ** (1.0 / overlap), rel=1e-14)
    assert more <= found <= compute + exchange
    assert found == overlapped_seconds(exchange, compute, overlap)


@given(SECONDS, SECONDS, SECONDS, OVERLAPS)
def test_more_compute_or_exchange_never_takes_less(
    x: float, y: float, z: float, overlap: float
) -> None:
    less, more = sorted((x, y))
    assert overlapped_seconds(z, less, overlap) <= overlapped_seconds(z, more, overlap)
    assert overlapped_seconds(less, z, overlap) <= overlapped_seconds(more, z, overlap)


@given(st.floats(1e-9, 1e6), st.floats(-9, 9), OVERLAPS, st.sampled_from(NEAR))
def test_nor_does_the_next_float(compute: float, power: float, overlap: float, steps: int) -> None:
    exchange = compute * 10.0**power
    found = overlapped_seconds(compute, exchange, overlap)
    assert found <= overlapped_seconds(compute, a_little_more(exchange, steps), overlap)
    assert found <= overlapped_seconds(a_little_more(compute, steps), exchange, overlap)


def test_nor_do_neighbours_thousands_of_times() -> None:
    random = Random(0)
    for _ in range(20_000):
        compute, overlap = random.uniform(0.1, 10.0), random.uniform(1.0, MAX_OVERLAP)
        exchange = compute * random.uniform(0.5, 2.0)
        found = overlapped_seconds(compute, exchange, overlap)
        assert found <= overlapped_seconds(compute, nextafter(exchange, inf), overlap)


@given(SECONDS, SECONDS, SECONDS, OVERLAPS)
def test_duty_is_the_part_of_the_overlapped_iteration(
    exchange: float, rest: float, compute: float, overlap: float
) -> None:
    duty = duty_units(exchange, rest, compute, overlap)
    whole = overlapped_seconds(compute, exchange, overlap) + rest
    assert duty == pytest.approx(UNITS * exchange / whole if exchange else 0.0, rel=1e-8, abs=1.0)
    if overlap == 1.0:
        assert duty == (math.ceil(UNITS / (1.0 + (rest + compute) / exchange)) if exchange else 0)


@given(SECONDS, SECONDS, SECONDS, SECONDS, OVERLAPS)
def test_duty_never_falls_with_the_exchange_nor_rises_with_all_else(
    x: float, y: float, z: float, u: float, overlap: float
) -> None:
    less, more = sorted((x, y))
    assert 0 <= duty_units(less, z, u, overlap) <= duty_units(more, z, u, overlap) <= UNITS
    assert duty_units(z, less, u, overlap) >= duty_units(z, more, u, overlap)
    assert duty_units(z, u, less, overlap) >= duty_units(z, u, more, overlap)


@given(st.lists(st.tuples(SECONDS, SECONDS, SECONDS, OVERLAPS), min_size=20, max_size=20))
def test_compiled_code_gives_the_same_numbers(
    some: list[tuple[float, float, float, float]],
) -> None:
    for exchange, rest, compute, overlap in some:
        terms = 1e9 * exchange, 2.0, 0.1 * rest, rest, 0.3 * rest, compute, overlap
        assert formulas.iteration_seconds(*terms) == iteration_seconds(*terms)
        mine = duty_units(exchange, rest, compute, overlap)
        assert formulas.weight(exchange, rest, compute, overlap) == mine


def test_a_ring_with_fewer_workers_than_cards_leaves_some_idle() -> None:
    assert [cards_gbps(100.0, y, 4) for y in (1, 2, 3, 4, 8)] == [25.0, 50.0, 75.0, 100.0, 100.0]
    assert cards_gbps(0.1, 7, 7) == 0.1


def test_the_least_over_its_servers_is_what_a_ring_reaches() -> None:
    cluster = Cluster.model_validate(
        {
            "servers": [
                {"name": "a", "gpus": 8, "network_cards": 8},
                {"name": "b", "gpus": 8, "network_cards": 2},
                {"name": "c", "gpus": 8},
            ],
            "network": {
                "kind": "tree",
                "links": [
                    {"node": "a", "parent": "rack", "gbps": 400.0},
                    {"node": "b", "parent": "rack", "gbps": 100.0},
                    {"node": "c", "parent": "core", "gbps": 80.0},
                    {"node": "rack", "parent": "core", "gbps": 90.0},
                ],
            },
            "intra_server_gbps": 1000.0,
            "reduction_gbps": 1000.0,
        }
    )
    tree = topology(cluster)
    assert tree.has_cards
    assert tree.cards_gbps({0: 1, 1: 2}) == 50.0
    assert tree.cards_gbps({0: 4, 1: 1}) == 50.0
    assert tree.lone_gbps({0: 8, 1: 2}) == 100.0
    assert tree.lone_gbps({0: 8, 2: 1}) == 80.0
    assert tree.cards_gbps({0: 1}) == tree.lone_gbps({0: 1}) == inf
    assert tree.least_gbps == 50.0
    assert tree.part_rates == (50.0, 100.0, 150.0, 200.0, 250.0, 300.0, 350.0)
