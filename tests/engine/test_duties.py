"""The engine by duty against the verifier, and this against the slot-by-slot reading."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from contended import contended_instance
from hypothesis import given, settings
from hypothesis import strategies as st
from random_instances import instances, random_workers

from rarmodel.engine import NEVER, OVERFULL, STUCK, Engine, placements_of
from rarmodel.engine.arrays import BY_LOAD, BY_RING, arrays_of
from rarmodel.model.sharing_rule import DUTY
from rarmodel.schema import Instance
from rarmodel.verifier import Run, simulate


def check(instance: Instance, random: Random, latest: int) -> None:
    """Engine, verifier and slot-by-slot reading agree to the last bit."""
    contention = instance.contention.model_copy(update={"model": DUTY.name})
    instance = instance.model_copy(update={"contention": contention})
    workers = random_workers(random, instance)
    starts = [random.randrange(latest) for _ in instance.jobs]
    runs = [Run(*run) for run in zip(instance.jobs, starts, workers, strict=True)]
    result, plain = (simulate(instance, runs, slot_by_slot=naive) for naive in (False, True))
    assert result.completion == plain.completion
    assert result.periods == plain.periods
    evaluation = Engine(instance).evaluate(np.array(starts), placements_of(workers))
    if evaluation.makespan != OVERFULL:
        ends = [NEVER if end is None else end for end in result.completion]
        assert evaluation.completion.tolist() == ends
        assert evaluation.makespan == (STUCK if NEVER in ends else max(ends))


@settings(max_examples=100, deadline=None)
@given(instances(jobs=8), st.randoms(use_true_random=False), st.sampled_from([3, 12]))
def test_engine_equals_verifier_and_slot_by_slot(
    instance: Instance, random: Random, latest: int
) -> None:
    check(instance, random, latest)


@pytest.mark.slow
@settings(max_examples=3_000, deadline=None)
@given(instances(jobs=8), st.randoms(use_true_random=False), st.sampled_from([3, 12, 60]))
def test_engine_equals_verifier_and_slot_by_slot_often(
    instance: Instance, random: Random, latest: int
) -> None:
    check(instance, random, latest)


@settings(max_examples=100, deadline=None)
@given(instances(), st.randoms(use_true_random=False))
def test_one_job_more_never_makes_another_complete_earlier(
    instance: Instance, random: Random
) -> None:
    contention = instance.contention.model_copy(update={"model": DUTY.name})
    instance = instance.model_copy(update={"contention": contention})
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
