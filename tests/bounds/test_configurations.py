"""The configuration bound: its two sides against trying everything, and that it is never false."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest
from depth import examples
from documents import instance_data, job_data
from enumeration import count_vectors, optimal_makespan
from hypothesis import given
from hypothesis import strategies as st
from random_instances import instances, random_workers, tiny_instance

from rarmodel.bounds import best_bound
from rarmodel.bounds.column_program import ColumnProgram, Solution
from rarmodel.bounds.configurations import Configurations, configuration_bound
from rarmodel.bounds.patterns import cheapest_pattern
from rarmodel.bounds.pricing_problem import Pricing, server_states
from rarmodel.bounds.ring_states import RingState, ring_states
from rarmodel.engine import Engine, placements_of
from rarmodel.files import parse_instance
from rarmodel.schema import Instance

Choice = tuple[int, int, int, int, int]


def dearest_of_all(capacities: list[int], choices: list[list[Choice]]) -> int:
    """The dearest configuration by trying every choice and placement of every job."""
    best = 0

    def decide(job: int, free: list[int], limits: list[list[int]], price: int) -> None:
        nonlocal best
        if any(len(rings) > min(rings) for rings in limits if rings):
            return
        best = max(best, price)
        if job == len(choices):
            return
        decide(job + 1, free, limits, price)
        for size, servers, rings, worth, _ in choices[job]:
            for workers in count_vectors(free, size):
                if len(workers) == servers:
                    left = [gpus - workers.get(s, 0) for s, gpus in enumerate(free)]
                    spread = servers > 1
                    more = [
                        [*known, rings] if spread and s in workers else known
                        for s, known in enumerate(limits)
                    ]
                    decide(job + 1, left, more, price + worth)

    decide(0, capacities, [[] for _ in capacities], 0)
    return best


def choices_of(random: Random, capacities: list[int], most_rings: int) -> list[list[Choice]]:
    """What some jobs can take, at random prices that need make no sense."""
    jobs: list[list[Choice]] = []
    label = 0
    for _ in range(random.randint(1, 5)):
        row = []
        for _ in range(random.randint(1, 4)):
            size = random.randint(1, min(5, sum(capacities)))
            servers = random.randint(1, min(size, len(capacities)))
            rings = 1 if servers == 1 else random.randint(1, most_rings)
            row.append((size, servers, rings, random.randint(0, 9), label))
            label += 1
        jobs.append(row)
    return jobs


def check_dearest(seed: int) -> None:
    random = Random(seed)
    capacities = [random.randint(1, 4) for _ in range(random.randint(1, 4))]
    choices = choices_of(random, capacities, max(capacities))
    pricing = Pricing(capacities, len(choices))
    dearest = dearest_of_all(capacities, choices)
    exact, found, configurations = pricing.above(0, choices)
    assert exact
    assert found == dearest
    price = {label: price for row in choices for *_, price, label in row}
    if dearest:
        assert sum(price[label] for label in configurations[-1]) == dearest
        assert pricing.above(dearest - 1, choices)[1] == dearest
    assert pricing.above(dearest, choices) == (True, dearest, [])


@examples(40)
@given(st.integers(0, 10**9))
def test_dearest_configuration_is_that_of_trying_everything(seed: int) -> None:
    check_dearest(seed)


@pytest.mark.slow
def test_dearest_configuration_is_that_of_trying_everything_thousands_of_times() -> None:
    for seed in range(10_000):
        check_dearest(seed)


@pytest.mark.parametrize(("largest", "rings"), [(1, 1), (4, 2), (4, 4), (8, 8)])
def test_no_two_states_of_a_server_have_one_number(largest: int, rings: int) -> None:
    states = server_states(largest, rings)
    rows = set(zip(states.free, states.rings, states.more, strict=True))
    assert len(rows) == len(states.free) <= 2**states.bits
    for i, row in enumerate(zip(states.free, states.rings, states.more, strict=True)):
        assert states.number[row] == i


@examples(40)
@given(
    st.lists(st.tuples(st.integers(1, 12), st.integers(0, 20)), min_size=1, max_size=3),
    st.integers(1, 25),
    st.integers(1, 10),
)
def test_cheapest_pattern_is_that_of_trying_everything(
    states: list[tuple[int, int]], iterations: int, length: int
) -> None:
    states = sorted(dict(states).items(), reverse=True)
    spreading = tuple(RingState(2, 2, p, speed) for p, (speed, _) in enumerate(states, 1))
    prices = np.array([price for _, price in states], np.int64)
    all_slots = product(range(length + 1), repeat=len(states))
    able = [
        sum(slots * price for slots, (_, price) in zip(way, states, strict=True))
        for way in all_slots
        if sum(way) <= length
        and sum(slots * speed for slots, (speed, _) in zip(way, states, strict=True)) >= iterations
    ]
    found = cheapest_pattern(spreading, prices, iterations, length)
    assert (None if found is None else found.price) == min(able, default=None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rarmodel.bounds.patterns.MOST_PATTERNS", 0)
        parts = cheapest_pattern(spreading, prices, iterations, length)
    assert (parts is None) == (found is None)
    if parts is not None and found is not None:
        assert parts.price <= found.price
        done = sum(s.speed * slots for s, slots in zip(spreading, parts.slots, strict=True))
        assert done >= iterations * (1 - 1e-9)
        assert sum(parts.slots) <= length * (1 + 1e-9)


@examples(40)
@given(instances(jobs=5), st.integers(0, 10**9))
def test_every_ring_of_a_slot_is_in_a_state_no_slower_than_it_is(
    instance: Instance, seed: int
) -> None:
    # Jobs of one slot that all start at once, whatever GPUs they share: the speeds are the slot's.
    workers = random_workers(Random(seed), instance)
    states = list(ring_states(instance))
    engine = Engine(instance)
    jobs = len(instance.jobs)
    rings = [
        sum(len(other) > 1 and s in other for other in workers)
        for s in range(len(instance.cluster.servers))
    ]
    placements = placements_of(workers)
    course = engine.evaluate(np.zeros(jobs, np.int64), placements)
    for j, mine in enumerate(workers):
        beside = max(rings[s] for s in mine) if len(mine) > 1 else 1
        fitting = [
            state.speed
            for spreading in states[j]
            for state in spreading
            if (state.size, state.servers) == (instance.jobs[j].size, len(mine))
            and state.rings >= beside
        ]
        done = course.completion[j]
        if done == 1:  # One slot was enough, so the speed of the slot was that of the job.
            assert fitting
            assert max(fitting) >= instance.jobs[j].iterations


def check_against_enumeration(seed: int) -> None:
    random = Random(seed)
    instance = tiny_instance(random)
    optimum = optimal_makespan(instance)
    if optimum is None:
        return
    configurations = Configurations(instance)
    assert not configurations.refuted(optimum), seed
    assert not configurations.refuted(optimum + 1), seed
    found = configuration_bound(instance, 0)
    assert found is not None
    assert found <= optimum, seed
    assert configurations.refuted(found - 1)


@examples(25)
@given(st.integers(0, 10**9))
def test_no_optimum_is_refuted(seed: int) -> None:
    check_against_enumeration(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(40))
def test_none_of_thousands_of_optima_is_refuted(block: int) -> None:
    for seed in range(100 * block, 100 * block + 100):
        check_against_enumeration(2 * 10**9 + seed)


def rings_that_must_share(jobs: int) -> Instance:
    """Rings of three on servers of two GPUs: two run at once, and share links."""
    rings = [job_data(f"j{i}", 3, 10_000, gradient_mb=20.0) for i in range(jobs)]
    data = instance_data(*rings, servers=[2, 2, 2], horizon=100_000)
    data["cluster"]["network"]["gbps"] = 5.0
    data["contention"]["degradation"]["alpha"] = 1.0
    data["time"]["slot_seconds"] = 100.0
    return parse_instance(data)


def test_it_sees_that_rings_beside_each_other_share_links() -> None:
    instance = rings_that_must_share(3)
    found = configuration_bound(instance, 0)
    assert found is not None
    assert found > best_bound(instance).slots


def test_it_proves_nothing_beyond_what_is_possible_or_asked() -> None:
    instance = rings_that_must_share(2)
    found = configuration_bound(instance, 0)
    assert found is not None
    assert configuration_bound(instance, found) is None
    assert configuration_bound(instance, 0, upper=found - 1) == found - 1
    assert configuration_bound(instance, 0, stop=lambda: True) is None


def test_it_trusts_no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    # Whatever prices the solver says, no optimum is refuted; and without any, nothing is.
    instance = rings_that_must_share(3)
    found = configuration_bound(instance, 0)
    assert found is not None
    random = np.random.default_rng(1)

    def nonsense(program: ColumnProgram) -> Solution:
        jobs = len(instance.jobs)
        prices = random.uniform(0, 3, program._rows - jobs), random.uniform(0, 1e6, jobs)
        return Solution(1e9, np.concatenate(prices), np.ones(1), np.zeros(0))

    monkeypatch.setattr("rarmodel.bounds.configurations.MOST_ROUNDS", 50)
    monkeypatch.setattr(ColumnProgram, "solve", nonsense)
    assert not any(Configurations(instance).refuted(found + more) for more in range(5))
    monkeypatch.setattr(ColumnProgram, "solve", lambda _: None)
    assert not Configurations(instance).refuted(found - 1)


def test_it_gives_up_where_a_search_does(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = rings_that_must_share(3)
    above = Pricing.above
    monkeypatch.setattr(Pricing, "above", lambda *a: (False, *above(*a)[1:]))
    # Only what needs no configurations is left: that the jobs fit the length at all.
    found = configuration_bound(instance, 0)
    assert found is not None
    assert found <= best_bound(instance).slots
