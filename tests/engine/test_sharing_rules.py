"""The engine by each sharing rule against the verifier, and this against the slot-by-slot one."""

from __future__ import annotations

from collections.abc import MutableMapping
from random import Random
from typing import cast
from unittest.mock import patch

import numpy as np
import pytest
from contended import contended_instance
from depth import examples
from engine_beside_verifier import check
from hypothesis import given, settings
from hypothesis import strategies as st
from pressed import pressed
from random_instances import instances, random_workers

from rarmodel.engine.arrays import BY_CLASS, BY_LOAD, BY_RING, arrays_of
from rarmodel.model import bandwidths, best_share, topology, worst_share
from rarmodel.model.sharing_rule import DUTY, RULES, RingOnLinks, SharingRule, duty_units
from rarmodel.schema import Instance
from rarmodel.verifier import Run, simulate

ANY_RULE = st.sampled_from([*RULES])

AT_MOST_TWO = SharingRule(
    name="at-most-two",
    text="a ring meets one other at most",
    weight=lambda _exchange, _rest, _compute, _overlap: 1,
    level=lambda concurrency, others: concurrency * min(others + 1, 2),
    equal_weights=True,
)
"""A count that stops at two, made of the record alone."""
HALF_DUTY = SharingRule(
    name="half-duty",
    text="a ring counts half of the time in which it exchanges",
    weight=lambda *seconds: duty_units(*seconds) // 2,
    level=DUTY.level,
    equal_weights=False,
)
"""Weights of another kind, which the engine has not compiled."""
WITH_TOYS = patch.dict(
    cast("MutableMapping[str, SharingRule]", RULES),
    {rule.name: rule for rule in (AT_MOST_TWO, HALF_DUTY)},
)


def by_rule(instance: Instance, name: str) -> Instance:
    contention = instance.contention.model_copy(update={"model": name})
    return instance.model_copy(update={"contention": contention})


@examples(40)
@given(instances(jobs=8), st.randoms(use_true_random=False), ANY_RULE, st.sampled_from([3, 12]))
def test_engine_equals_verifier_and_slot_by_slot(
    instance: Instance, random: Random, rule: str, latest: int
) -> None:
    check(by_rule(instance, rule), random, latest)


@pytest.mark.slow
@settings(max_examples=3_000, deadline=None)
@given(instances(jobs=8), st.randoms(use_true_random=False), ANY_RULE, st.sampled_from([3, 12, 60]))
def test_engine_equals_verifier_and_slot_by_slot_often(
    instance: Instance, random: Random, rule: str, latest: int
) -> None:
    check(by_rule(instance, rule), random, latest)


@examples(40)
@given(instances(), st.randoms(use_true_random=False), ANY_RULE)
def test_one_job_more_never_makes_another_complete_earlier(
    instance: Instance, random: Random, rule: str
) -> None:
    instance = by_rule(instance, rule)
    workers = random_workers(random, instance)
    runs = [
        Run(job, random.randrange(6), ring)
        for job, ring in zip(instance.jobs, workers, strict=True)
    ]
    fewer, all_of_them = simulate(instance, runs[1:]), simulate(instance, runs)
    for before, after in zip(fewer.completion, all_of_them.completion[1:], strict=True):
        assert after is None or (before is not None and before <= after)


def test_links_of_one_rate_are_compared_by_their_loads() -> None:
    star = contended_instance(Random(0))
    assert arrays_of(star).sharing == BY_LOAD
    tree = contended_instance(Random(1), tree=True)
    assert len({link.gbps for link in tree.cluster.network.links}) == 2  # type: ignore[union-attr]
    assert arrays_of(tree).sharing == BY_RING


@examples(40)
@given(instances(jobs=8), st.randoms(use_true_random=False), st.sampled_from([3, 12]))
def test_engine_equals_verifier_with_pressures_and_sensitivities(
    instance: Instance, random: Random, latest: int
) -> None:
    check(pressed(random, instance), random, latest)


@pytest.mark.slow
@settings(max_examples=3_000, deadline=None)
@given(instances(jobs=8), st.randoms(use_true_random=False), st.sampled_from([3, 12, 60]))
def test_engine_equals_verifier_with_pressures_and_sensitivities_often(
    instance: Instance, random: Random, latest: int
) -> None:
    check(pressed(random, instance), random, latest)


@examples(40)
@given(instances(), st.randoms(use_true_random=False))
def test_with_pressures_one_job_more_never_makes_another_complete_earlier(
    instance: Instance, random: Random
) -> None:
    instance = pressed(random, instance)
    workers = random_workers(random, instance)
    runs = [
        Run(job, random.randrange(6), ring)
        for job, ring in zip(instance.jobs, workers, strict=True)
    ]
    fewer, all_of_them = simulate(instance, runs[1:]), simulate(instance, runs)
    for before, after in zip(fewer.completion, all_of_them.completion[1:], strict=True):
        assert after is None or (before is not None and before <= after)


def with_factors(instance: Instance, **factors: float) -> Instance:
    jobs = tuple(job.model_copy(update=factors) for job in instance.jobs)
    return instance.model_copy(update={"jobs": jobs})


@pytest.mark.parametrize("tree", [False, True])
def test_a_sensitivity_of_one_is_none(*, tree: bool) -> None:
    plain = contended_instance(Random(3), jobs=6, tree=tree)
    one = arrays_of(with_factors(plain, network_sensitivity=1.0))
    for name, value in arrays_of(plain)._asdict().items():
        assert np.array_equal(getattr(one, name), value), name


def test_loads_have_a_column_for_each_sensitivity_of_a_ring() -> None:
    plain = contended_instance(Random(0), jobs=6)
    rings = [j for j, job in enumerate(plain.jobs) if job.size > 1]
    jobs = list(plain.jobs)
    for j, sensitivity in zip(range(len(jobs)), (3.0, 0.5, 3.0, 0.0, 0.5, 7.0), strict=True):
        jobs[j] = jobs[j].model_copy(update={"network_sensitivity": sensitivity})
    arrays = arrays_of(plain.model_copy(update={"jobs": tuple(jobs)}))
    few = sorted({jobs[j].network_sensitivity or 0.0 for j in rings})
    assert arrays.classes == len(few)
    assert all(few[arrays.modes["column"][j]] == jobs[j].network_sensitivity for j in rings)
    felt = arrays.felt.reshape(len(jobs), -1)
    assert ((-1 - felt) / 1e9).tolist() == [few] * len(jobs)
    assert arrays.sharing == BY_CLASS


@examples(25)
@given(instances(jobs=8), st.randoms(use_true_random=False), st.sampled_from([3, 12]))
def test_a_rule_of_equal_weights_needs_no_more_than_its_record(
    instance: Instance, random: Random, latest: int
) -> None:
    with WITH_TOYS:
        check(by_rule(instance, AT_MOST_TWO.name), random, latest)


def test_the_toy_count_stops_at_two() -> None:
    with WITH_TOYS:
        found = by_rule(contended_instance(Random(1)), AT_MOST_TWO.name)
        constants = found.contention.model_copy(
            update={
                "concurrency": 1.0,
                "degradation": found.contention.degradation.model_copy(update={"alpha": 0.0}),
            }
        )
        found = found.model_copy(update={"contention": constants})
        ring = RingOnLinks((0,), 1e9, 1.0)
        for rings, share in ((1, 8.0), (2, 4.0), (3, 4.0)):
            assert bandwidths(constants, [8.0], [ring] * rings) == [share] * rings
            assert best_share(found, 8.0, rings) == worst_share(found, 8.0, rings) == share
        (row, *_) = np.split(arrays_of(found).share, arrays_of(found).row_at[1:-1])
        assert row.tolist() == [10.0, 10.0] + [5.0] * (len(row) - 2)


@examples(25)
@given(instances(jobs=8), st.randoms(use_true_random=False))
def test_a_rule_of_other_weights_runs_through_model_and_verifier(
    instance: Instance, random: Random
) -> None:
    with WITH_TOYS:
        instance = by_rule(instance, HALF_DUTY.name)
        workers = random_workers(random, instance)
        runs = [
            Run(job, random.randrange(6), ring)
            for job, ring in zip(instance.jobs, workers, strict=True)
        ]
        by_events, plain = (simulate(instance, runs, slot_by_slot=naive) for naive in (False, True))
        assert by_events.completion == plain.completion
        assert by_events.periods == plain.periods
        rates = [link.gbps for link in topology(instance.cluster).links]
        assert all(
            worst_share(instance, rate, rings) <= best_share(instance, rate, rings)
            for rate in rates
            for rings in range(5)
        )
