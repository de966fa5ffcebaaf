"""Plain functions of services: rates, start-ups, and how good a mix answers."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import pytest
from depth import first
from serving_instances import batch, demand, random_serving, serves, service, variant, with_services

from rarmodel.files import parse_instance
from rarmodel.model import horizon_of
from rarmodel.model.services import (
    accuracy_of,
    capacity_of,
    enough,
    ready_at,
    replica_rate,
    share_of_gpu,
    startup_slots,
    usable,
    why_unanswerable,
)
from rarmodel.schema import Service, Variant


def made(*batches: tuple[int, float], **fields: object) -> Variant:
    return Variant.model_validate(variant("v", *(batch(*one) for one in batches), **fields))


def test_the_best_batch_that_is_twice_within_the_latency_counts() -> None:
    one = made((1, 20.0), (4, 50.0), (8, 60.0))
    assert replica_rate(one, 120.0) == Fraction(8000, 60)
    assert replica_rate(one, 100.0) == 80
    assert replica_rate(one, 99.9) == 50
    assert replica_rate(one, 39.9) is None


def test_rates_are_those_of_the_decimals_that_are_written() -> None:
    assert replica_rate(made((1, 0.3)), 0.6) == Fraction(10000, 3)


@pytest.mark.parametrize(
    ("seconds", "slot", "slots"), [(0, 1.0, 0), (1, 1.0, 1), (1.5, 1.0, 2), (0.3, 0.1, 3)]
)
def test_a_startup_takes_whole_slots(seconds: float, slot: float, slots: int) -> None:
    assert startup_slots(made((1, 1.0), startup_seconds=seconds), slot) == slots
    assert ready_at(5, slots) == 5 + slots
    assert ready_at(0, slots) == 0


@pytest.mark.parametrize("seed", first(20, range(200)))
def test_enough_is_what_brute_force_says(seed: int) -> None:
    (asked,) = random_serving(Random(seed)).services
    names = [one.name for one in asked.variants]
    for counts in product(range(3), repeat=len(names)):
        ready = dict(zip(names, counts, strict=True))
        for requests in (Fraction(0), Fraction(40), Fraction(201, 2)):
            assert enough(asked, ready, requests) == serves(asked, counts, requests)


def test_rates_filled_from_the_most_accurate_on_give_the_greatest_mean() -> None:
    """By hand: of 120 requests 50, 50 and 20, the last by the poorest."""
    kinds = [variant(name, accuracy=a) for name, a in (("a", 0.2), ("b", 0.9), ("c", 0.5))]
    asked = Service.model_validate(service("chat", demand(0, 1, 1.0), variants=kinds))
    ready = {"a": 1, "b": 1, "c": 1}
    assert capacity_of(asked, ready) == 150
    assert accuracy_of(asked, ready, Fraction(120)) == (45 + 25 + 4) / Fraction(120)
    assert accuracy_of(asked, ready, Fraction(151)) is None


def test_a_slice_is_a_part_of_a_gpu() -> None:
    kinds = [variant("part", slices=3), variant("pair", gpus=2)]
    data = with_services(service("chat", demand(0, 1, 1.0), variants=kinds))
    data["cluster"]["gpu_slices"] = 7
    instance = parse_instance(data)
    part, pair = instance.services[0].variants
    assert share_of_gpu(instance, part, 0) == Fraction(3, 7)
    assert share_of_gpu(instance, pair, 0) == 2


def test_without_demand_nothing_has_to_be_answered() -> None:
    slow = variant("slow", batch(1, 1000.0))
    quiet = service("chat", demand(0, 4, 0), variants=[slow])
    loud = service("loud", demand(0, 4, 0.1), variants=[slow])
    instance = parse_instance(with_services(quiet, loud))
    assert usable(instance.services[0]) == {}
    (line,) = why_unanswerable(instance)
    assert line.startswith("service 'loud': no variant answers within 100 ms")


def test_the_last_demand_counts_where_there_is_no_horizon() -> None:
    data = with_services(service("chat", demand(50, 90, 1.0)))
    plain = {**data, "services": [], "time": {"slot_seconds": 1.0}}
    with_demand = {**data, "time": {"slot_seconds": 1.0}}
    assert horizon_of(parse_instance(with_demand)) == 90 + horizon_of(parse_instance(plain))
