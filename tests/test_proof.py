"""The proof method: no target is refuted that a schedule meets, and what is found is optimal."""

from __future__ import annotations

from math import inf
from random import Random
from typing import Any

import pytest
from enumeration import optimal_makespan
from random_instances import random_instance

from rarmodel.api import load_instance, solve
from rarmodel.errors import UsageError
from rarmodel.proof import PROOF
from rarmodel.proof.refutation import Node, Outcome, Refutation
from rarmodel.proof.timetable import Verdict
from rarmodel.schema import Instance
from rarmodel.verifier import verify


def tiny(seed: int) -> Instance:
    """Up to four jobs on up to three servers, often with links that matter."""
    random = Random(seed)
    return random_instance(
        random,
        jobs=random.randint(2, 4),
        servers=random.randint(2, 3),
        tree=random.random() < 0.5,
        most_gpus=random.randint(1, 3),
        most_slots=random.choice([3, 5]),
        stall=random.random() < 0.1,
    )


def check(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = tiny(seed)
    optimum = optimal_makespan(instance)
    if optimum is None:
        return
    refutation = Refutation(instance, threads=1)
    assert refutation.decide(optimum, inf) is Outcome.FOUND, seed
    found = refutation.solution
    assert found is not None
    schedule = found.schedule(instance, "proof")
    assert verify(instance, schedule).makespan == found.makespan == optimum
    if optimum > 1:
        assert refutation.decide(optimum - 1, inf) is Outcome.REFUTED, seed
    # And where constraint programming has to do all of it.
    monkeypatch.setattr(refutation._bound, "refuted", lambda *_: False)
    assert refutation.decide(optimum, inf) is Outcome.FOUND, seed
    if optimum > 1:
        assert refutation.decide(optimum - 1, inf) is Outcome.REFUTED, seed


@pytest.mark.parametrize("seed", range(6))
def test_decides_as_enumeration_does(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    check(seed, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_decides_as_enumeration_does_hundreds_of_times(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(100 + 20 * block, 120 + 20 * block):
        check(seed, monkeypatch)


def test_branches_where_constraint_programming_takes_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instance = tiny(11)  # Two of its three jobs have two classes each.
    optimum = optimal_makespan(instance)
    assert optimum is not None
    refutation = Refutation(instance, threads=1)
    asked = []
    ask = refutation._timetables.ask

    def impatient(target: int, within: Node, *others: Any) -> Verdict:
        asked.append(within)
        if all(len(classes) == 1 for classes in within):
            return ask(target, within, *others)
        return Verdict(impossible=False)

    monkeypatch.setattr(refutation._bound, "refuted", lambda *_: False)
    monkeypatch.setattr(refutation._timetables, "ask", impatient)
    assert refutation.decide(optimum - 1, inf) is Outcome.REFUTED
    # The root, a node for each class of one job, and for each of those two of the other.
    assert sorted(sum(map(len, node)) for node in asked) == [3, 3, 3, 3, 4, 4, 5]
    assert len(set(asked)) == 7
    assert refutation.decide(optimum, inf) is Outcome.FOUND


def test_nothing_is_known_without_time() -> None:
    refutation = Refutation(tiny(1), threads=1)
    assert refutation.decide(1000, -inf) is Outcome.OPEN


def test_result_says_what_proved_it() -> None:
    result = solve("two-servers", method=PROOF, time_limit=30)
    assert (result.status, result.makespan, result.lower_bound) == ("optimal", 12, 12)


def test_wide_instances_are_refused_in_a_line() -> None:
    instance = load_instance("two-servers")
    jobs = (instance.jobs[0].model_copy(update={"release": 3}), *instance.jobs[1:])
    with pytest.raises(UsageError, match="method 'proof' does not handle releases"):
        solve(instance.model_copy(update={"jobs": jobs}), method=PROOF)
