"""The depth-first search: with prices and without, it finds or refutes as enumeration does."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
from depth import examples
from enumeration import optimal_makespan
from hypothesis import given
from hypothesis import strategies as st
from random_instances import random_instance, tiny_instance

from rarmodel.bounds.configurations import Configurations
from rarmodel.engine import Engine
from rarmodel.proof.depth_first import DepthFirst
from rarmodel.proof.verdict import NOT_KNOWN
from rarmodel.schema import Instance


def tiny(random: Random) -> Instance:
    """Up to four jobs on up to three servers, some of them alike."""
    instance = tiny_instance(random)
    jobs = list(instance.jobs)
    for i in range(1, len(jobs)):
        if random.random() < 0.3:
            jobs[i] = jobs[random.randrange(i)].model_copy(update={"name": jobs[i].name})
    return instance.model_copy(update={"jobs": tuple(jobs)})


def check(seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        # It takes time to get much memory. A full table forgets states.
        memory = Random(seed).choice([10_000, 500_000])
        patch.setattr("rarmodel.proof.depth_first.MEMORY", memory)
        # The bound is asked about many states, so that there are many cuts.
        patch.setattr("rarmodel.proof.depth_first.STEP", 5)
        patch.setattr("rarmodel.proof.depth_first.PATIENCE", 20)
        compare(tiny(Random(seed)))


def impossible(search: DepthFirst) -> bool:
    return search.search(10**9, lambda: False).impossible


def compare(instance: Instance) -> None:
    optimum = optimal_makespan(instance)
    if optimum is None:
        return
    bound = Configurations(instance)
    everything = [range(len(row)) for row in bound.spreadings]
    for target in (optimum - 1, optimum, optimum + 1):
        for cuts in (0, 1, 3):
            search = DepthFirst(instance, bound, target, everything, cuts=cuts)
            verdict = search.search(10**9, lambda: False)
            assert verdict.impossible == (target < optimum)
            if target >= optimum:
                assert verdict.plan is not None
                assert optimum <= Engine(instance).evaluate(*verdict.plan).makespan <= target
    # Each job in one class: some choice of classes has the optimum, and none has less.
    found = []
    for classes in product(*everything):
        within = [{k} for k in classes]
        answers = {
            impossible(DepthFirst(instance, bound, optimum, within, cuts=cuts)) for cuts in (0, 3)
        }
        assert len(answers) == 1, classes
        found.append(not answers.pop())
    assert any(found)
    compare_without_a_job(instance, bound)


def compare_without_a_job(instance: Instance, bound: Configurations) -> None:
    some = instance.jobs[1:]
    optimum = optimal_makespan(instance.model_copy(update={"jobs": some})) if some else None
    if optimum is None:
        return
    everything = [range(len(row)) for row in bound.spreadings]
    jobs = range(1, len(instance.jobs))
    for target in (optimum - 1, optimum):
        for cuts in (0, 3):
            search = DepthFirst(instance, bound, target, everything, jobs, cuts)
            assert impossible(search) == (target < optimum)


@examples(15)
@given(st.integers(0, 10**9))
def test_it_finds_or_refutes_as_enumeration_does(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(40))
def test_it_finds_or_refutes_as_enumeration_does_thousands_of_times(block: int) -> None:
    for seed in range(100 * block, 100 * block + 100):
        check(seed)


def test_it_stops_and_continues() -> None:
    instance = random_instance(Random(5), jobs=3, servers=2, tree=False, most_gpus=2)
    bound = Configurations(instance)
    optimum = optimal_makespan(instance)
    assert optimum is not None
    everything = [range(len(row)) for row in bound.spreadings]
    search = DepthFirst(instance, bound, optimum - 1, everything, cuts=0)
    assert search.search(10**9, lambda: True) == (False, None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rarmodel.proof.depth_first.STEP", 1)
        while not (verdict := search.search(1, lambda: False)).impossible:
            assert verdict.plan is None


def test_an_instance_with_too_many_placements_gets_no_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rarmodel.proof.depth_first.MOST_OPTIONS", 0)
    instance = tiny(Random(0))
    bound = Configurations(instance)
    search = DepthFirst(instance, bound, 1, [range(len(row)) for row in bound.spreadings])
    assert search.search(1, lambda: False) is NOT_KNOWN
