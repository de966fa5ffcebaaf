"""The depth-first search for sums: it finds what enumeration finds, and refutes all below."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from depth import examples
from enumeration import optimal_value
from hypothesis import given
from hypothesis import strategies as st
from random_instances import tiny_instance

import rarmodel
from rarmodel.bounds import PROOF, least_values
from rarmodel.engine import Engine
from rarmodel.model import horizon_of
from rarmodel.model.objectives import Value, objectives_of
from rarmodel.proof import Plan
from rarmodel.proof.sum_search import SumSearch, sum_search
from rarmodel.proof.verdict import NOT_KNOWN
from rarmodel.schema import Instance

SUMS = ("total-flow", "total-completion", "total-tardiness", "late-jobs")


def tiny(random: Random) -> Instance:
    """Up to four jobs with releases, weights and due slots, some of them alike."""
    instance = tiny_instance(random)
    latest, most = random.choice([0, 3, 8]), random.choice([1, 1, 4])
    jobs = []
    for job in instance.jobs:
        release = random.randint(-1, latest)
        due = random.choice([None, release + random.randint(0, 10)])
        given = {"release": release, "weight": random.randint(1, most), "due": due}
        jobs.append(job.model_copy(update=given))
        if len(jobs) > 1 and random.random() < 0.3:
            own: dict[str, Any] = random.choice([{}, {"release": release}, {"due": due}])
            jobs[-1] = random.choice(jobs[:-1]).model_copy(update={"name": job.name, **own})
    time = instance.time.model_copy(
        update={"horizon": random.choice([None, random.randint(8, 30)])}
    )
    asked = {"jobs": tuple(jobs), "time": time, "objective": random.choice(SUMS)}
    return instance.model_copy(update=asked)


def value_of(instance: Instance, plan: Plan) -> Value:
    """What a plan is worth; other tests compare the engine with the verifier, slot by slot."""
    releases = [job.release for job in instance.jobs]
    assert all(start >= max(0, at) for start, at in zip(plan.starts, releases, strict=True))
    makespan, ends = Engine(instance).evaluate(*plan)
    assert 0 <= makespan <= horizon_of(instance)
    return objectives_of(instance)[0].value(instance, ends.tolist())


def found(search: SumSearch, instance: Instance, most: int) -> Value | None:
    """The least value that a search finds, from a limit downwards."""
    best = None
    while True:
        verdict = search.search(most, 10**9, lambda: False)
        if verdict.plan is None:
            assert verdict.impossible
            return best
        best = value_of(instance, verdict.plan)
        assert best <= most
        most = int(best) - 1


def check(seed: int) -> None:
    random = Random(seed)
    instance = tiny(random)
    with pytest.MonkeyPatch.context() as patch:
        # It takes time to get much memory. A full table forgets states.
        patch.setattr("rarmodel.proof.sum_search.MEMORY", random.choice([10_000, 500_000]))
        patch.setattr("rarmodel.proof.sum_search.STEP", 5)
        patch.setattr("rarmodel.proof.ring_worths.PARTS", random.choice([(), (1,), (1, 2, 3)]))
        search = sum_search(instance)
        if search is None:
            assert objectives_of(instance)[0].terms(instance) == (None,) * len(instance.jobs)
            return
        best = found(search, instance, 10**9)
        if best is None:
            assert optimal_value(instance) is None
            return
        assert search.least <= best
        assert optimal_value(instance, best) == best
        for most in (best - 1, best):
            again = sum_search(instance)
            assert again is not None
            assert again.search(int(most), 10**9, lambda: False).impossible == (most < best)


@examples(15)
@given(st.integers(0, 10**9))
def test_it_finds_and_refutes_as_enumeration_does(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(40))
def test_it_finds_and_refutes_as_enumeration_does_thousands_of_times(block: int) -> None:
    for seed in range(100 * block, 100 * block + 100):
        check(seed)


def arriving(objective: str) -> Instance:
    """Seven jobs with arrivals, and a sum that no quick bound reaches."""
    instance = rarmodel.generate("stars", jobs=7, servers=3, seed=3)
    jobs = tuple(
        job.model_copy(update={"release": j, "due": j + 8}) for j, job in enumerate(instance.jobs)
    )
    return instance.model_copy(update={"jobs": jobs, "objective": objective})


@pytest.mark.parametrize("objective", ["total-flow", "total-tardiness"])
def test_search_and_exact_solves_say_what_proved_a_sum(objective: str) -> None:
    instance = arriving(objective)
    limits: dict[str, Any] = {"time_limit": 5.0, "objective": [objective]}
    results = [
        rarmodel.solve(instance, method="search", **limits),
        rarmodel.solve(instance, formulation="time-indexed", **limits),
    ]
    for result in results:
        (goal,) = result.objective
        assert result.status == "optimal"
        assert goal.value is not None
        assert goal.bound == goal.value > least_values(instance)[0]
        assert result.schedule is not None
        assert result.schedule.bound is not None
        assert result.schedule.bound.aim is not None
        assert result.schedule.bound.aim.name == PROOF
    assert results[0].objective == results[1].objective


@pytest.mark.parametrize(
    "given",
    [
        {"objective": "makespan"},
        {"objective": "max-flow"},
        {"objective": "cost"},
        {"objective": ("total-flow", "makespan")},
    ],
)
def test_other_objectives_are_none_of_its(given: dict[str, object]) -> None:
    assert sum_search(arriving("total-flow").model_copy(update=given)) is None


def test_a_deadline_is_none_of_its() -> None:
    instance = arriving("total-flow")
    jobs = (instance.jobs[0].model_copy(update={"deadline": 900}), *instance.jobs[1:])
    assert sum_search(instance.model_copy(update={"jobs": jobs})) is None


def test_it_stops_and_continues() -> None:
    instance = arriving("total-flow")
    whole, parts = sum_search(instance), sum_search(instance)
    assert whole is not None
    assert parts is not None
    best = found(whole, instance, 10**9)
    assert best is not None
    assert parts.search(int(best) - 1, 10**9, lambda: True) == NOT_KNOWN
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rarmodel.proof.sum_search.STEP", 50)
        while not (verdict := parts.search(int(best) - 1, 1, lambda: False)).impossible:
            assert verdict.plan is None
