"""Latency, overlap and network cards: engine, verifier, proofs and exact models agree."""

from __future__ import annotations

from collections.abc import Collection
from random import Random

import pytest
from depth import examples, first
from engine_beside_verifier import check
from enumeration import optimal_makespan, optimal_value
from hypothesis import given, settings
from hypothesis import strategies as st
from random_instances import instances, random_workers, tiny_instance
from wide_instances import with_terms

from rarmodel import solve
from rarmodel.bounds import best_bound
from rarmodel.errors import InputError
from rarmodel.files import parse_instance
from rarmodel.model import check_instance, instance_digest
from rarmodel.model.features import CARDS, LATENCY, OVERLAP
from rarmodel.model.sharing_rule import RULES
from rarmodel.schema import Instance
from rarmodel.verifier import Run, simulate

TERMS = (LATENCY.name, OVERLAP.name, CARDS.name)
SOME_TERMS = st.sets(st.sampled_from(TERMS), min_size=1)
ANY_RULE = st.sampled_from([*RULES])


def with_some(instance: Instance, random: Random, terms: Collection[str], rule: str) -> Instance:
    data = instance.model_dump(mode="json", exclude_unset=True)
    data["contention"]["model"] = rule
    with_terms(random, data, terms)
    return Instance.model_validate(data)


@examples(50)
@given(
    instances(jobs=8),
    st.randoms(use_true_random=False),
    SOME_TERMS,
    ANY_RULE,
    st.sampled_from([3, 12]),
)
def test_engine_equals_verifier_and_slot_by_slot(
    instance: Instance, random: Random, terms: set[str], rule: str, latest: int
) -> None:
    check(with_some(instance, random, terms, rule), random, latest)


@pytest.mark.slow
@settings(max_examples=5_000, deadline=None)
@given(
    instances(jobs=8),
    st.randoms(use_true_random=False),
    SOME_TERMS,
    ANY_RULE,
    st.sampled_from([3, 12, 60]),
)
def test_engine_equals_verifier_and_slot_by_slot_often(
    instance: Instance, random: Random, terms: set[str], rule: str, latest: int
) -> None:
    check(with_some(instance, random, terms, rule), random, latest)


@examples(40)
@given(instances(), st.randoms(use_true_random=False), SOME_TERMS, ANY_RULE)
def test_one_job_more_never_makes_another_complete_earlier(
    instance: Instance, random: Random, terms: set[str], rule: str
) -> None:
    instance = with_some(instance, random, terms, rule)
    workers = random_workers(random, instance)
    runs = [
        Run(job, random.randrange(6), ring)
        for job, ring in zip(instance.jobs, workers, strict=True)
    ]
    fewer, all_of_them = simulate(instance, runs[1:]), simulate(instance, runs)
    for before, after in zip(fewer.completion, all_of_them.completion[1:], strict=True):
        assert after is None or (before is not None and before <= after)


def tiny(seed: int, terms: Collection[str], rule: str) -> Instance:
    random = Random(seed)
    while True:
        found = with_some(tiny_instance(random, least_servers=2), random, terms, rule)
        try:
            check_instance(found)
        except InputError:
            continue  # A job makes no progress.
        return found


CASES = [
    (seed, terms, rule)
    for seed in range(6)
    for terms in ((LATENCY.name,), (OVERLAP.name,), (CARDS.name,), TERMS)
    for rule in RULES
]


@pytest.mark.parametrize("case", first(8, CASES))
def test_exact_is_enumeration_and_bounds_are_true(case: tuple[int, tuple[str, ...], str]) -> None:
    instance = tiny(*case)
    optimum = optimal_makespan(instance)
    assert optimum is not None
    assert best_bound(instance).slots <= optimum
    found = solve(instance, formulation="time-indexed")
    assert (found.makespan, found.status) == (optimum, "optimal")
    searched = solve(instance, method="search", iterations=50).makespan
    assert searched is not None
    assert searched >= optimum


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("objective", ["total-flow", "total-completion"])
def test_sums_are_proven_with_terms(seed: int, objective: str) -> None:
    instance = tiny(seed, TERMS if seed % 2 else (LATENCY.name, OVERLAP.name), "count")
    instance = instance.model_copy(update={"objective": objective})
    found = solve(instance, formulation="time-indexed")
    assert found.status == "optimal"
    assert [goal.value for goal in found.objective] == [optimal_value(instance)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rule", RULES)
def test_search_proves_the_makespan_with_cards(seed: int, rule: str) -> None:
    instance = tiny(seed, (CARDS.name,), rule)
    found = solve(instance, method="search", time_limit=10.0)
    assert (found.makespan, found.status) == (optimal_makespan(instance), "optimal")


def test_terms_at_their_defaults_change_no_digest() -> None:
    random = Random(0)
    plain = tiny_instance(random)
    data = plain.model_dump(mode="json", exclude_unset=True)
    data["contention"] |= {"latency_ms": 0.0, "overlap": 1.0}
    for server in data["cluster"]["servers"]:
        server["network_cards"] = 1
    assert instance_digest(parse_instance(data)) == instance_digest(plain)
    data["contention"]["overlap"] = 1.5
    assert instance_digest(parse_instance(data)) != instance_digest(plain)
