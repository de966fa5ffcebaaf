"""What services cost at least: beside all mixes of tiny instances, and beside schedules."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
from depth import first
from documents import instance_data
from serving_instances import (
    batch,
    cheapest_with_startup,
    cheapest_without_startup,
    demand,
    random_serving,
    service,
    variant,
    with_services,
)

from rarmodel.bounds import cheapest_replicas, objective_bound, value_bounds
from rarmodel.bounds.cheapest_replicas import Column, least_cost_of_services, least_price
from rarmodel.files import parse_instance
from rarmodel.limits import Limits
from rarmodel.model.objectives import COST, MAKESPAN
from rarmodel.model.services import why_unanswerable
from rarmodel.serving.mix import least_price as least_price_by_solver


@pytest.mark.parametrize("seed", first(25, range(200)))
def test_least_cost_is_that_of_the_cheapest_of_all_mixes(seed: int) -> None:
    instance = random_serving(Random(seed), services=2)
    if why_unanswerable(instance):
        pytest.skip("a service can never answer")
    found = least_cost_of_services(instance, COST)
    assert found == sum(cheapest_without_startup(instance, one) for one in instance.services)


@pytest.mark.parametrize("seed", first(10, range(100)))
def test_with_startups_the_program_proves_the_cheapest_of_all_courses(seed: int) -> None:
    instance = random_serving(Random(seed), startups=True)
    if why_unanswerable(instance):
        pytest.skip("a service can never answer")
    least = cheapest_with_startup(instance, instance.services[0])
    assert least_cost_of_services(instance, COST) <= least
    proven = least_price_by_solver(instance, Limits(20.0))
    assert (proven[0] if proven else 0) == least


def test_a_cheaper_mix_of_two_variants_is_found_by_hand() -> None:
    """For 70 requests: 50 + 25 at 2 + 1.5 is cheaper than two of 50, and than three of 25."""
    columns = (
        Column(Fraction(2), Fraction(50), Fraction(0)),
        Column(Fraction(3, 2), Fraction(25), Fraction(0)),
    )
    assert least_price(columns, Fraction(70), None) == Fraction(7, 2)


def test_accuracy_asks_for_the_better_variant() -> None:
    """Half of 100 requests by each give 0.7; for 0.8 three quarters must be of the better one."""
    columns = (
        Column(Fraction(4), Fraction(25), Fraction(9, 10)),
        Column(Fraction(1), Fraction(25), Fraction(1, 2)),
    )
    assert least_price(columns, Fraction(100), Fraction(7, 10)) == 10
    assert least_price(columns, Fraction(100), Fraction(8, 10)) == 13
    assert least_price(columns, Fraction(100), Fraction(9, 10)) == 16


def test_where_mixes_are_too_many_the_relaxation_bounds_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    columns = (
        Column(Fraction(2), Fraction(50), Fraction(0)),
        Column(Fraction(3, 2), Fraction(25), Fraction(0)),
    )
    monkeypatch.setattr(cheapest_replicas, "MOST_NODES", 0)
    least_price.cache_clear()
    relaxed = least_price(columns, Fraction(70), None)
    least_price.cache_clear()
    assert relaxed == Fraction(70) * Fraction(2, 50)


def test_bounds_of_the_jobs_hold_beside_services_and_cost_counts_both() -> None:
    plain = parse_instance({**instance_data(), "objective": "cost"})
    served = parse_instance(with_services(service("chat", demand(0, 10, 60.0)), objective="cost"))
    of_services = least_cost_of_services(served, COST)
    assert of_services == Fraction(20, 3600)
    assert value_bounds(served)[0].value == value_bounds(plain)[0].value + of_services
    for one in (MAKESPAN, COST):
        alone, beside = objective_bound(plain, one), objective_bound(served, one)
        assert alone is not None
        assert beside is not None
        extra = of_services if one is COST else 0
        assert beside == (alone.value + extra, alone.name)


def test_a_variant_that_is_too_slow_does_not_count() -> None:
    slow = variant("slow", batch(100, 60.0))
    fast = variant("fast", batch(1, 20.0), gpus=2)
    instance = parse_instance(
        with_services(service("chat", demand(0, 1, 10.0), variants=[slow, fast]))
    )
    assert least_cost_of_services(instance, COST) == Fraction(2, 3600)
