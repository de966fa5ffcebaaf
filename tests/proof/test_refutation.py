"""Proofs: no target is refuted that a schedule meets, and what is found is optimal."""

from __future__ import annotations

from math import inf
from random import Random
from typing import Any

import pytest
from depth import first
from enumeration import optimal_makespan
from random_instances import tiny_instance

from rarmodel.bounds import CHECKED_PROOF, LowerBound, best_bound
from rarmodel.bounds.configurations import Configurations, Cut
from rarmodel.engine import Engine
from rarmodel.errors import VerificationError
from rarmodel.limits import Limits
from rarmodel.proof import Outcome, Refutation
from rarmodel.proof.depth_first import DepthFirst
from rarmodel.proof.refutation import Classes
from rarmodel.proof.timetable import Timetables
from rarmodel.proof.verdict import NOT_KNOWN, Verdict
from rarmodel.schema import Instance
from rarmodel.search import Session
from rarmodel.search.proving import prove


def tiny(seed: int) -> Instance:
    """Up to four jobs on up to three servers, often with links that matter."""
    random = Random(seed)
    return tiny_instance(random, least_jobs=2, least_servers=2)


def blind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the bound refute nothing, so that the engines have all to do."""
    real = Configurations.cut

    def cut(*question: Any, **kinds: Any) -> Cut | None:
        found = real(*question, **kinds)
        return None if found is None or found.refutes else found

    monkeypatch.setattr(Configurations, "cut", cut)


def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the first question be about one job."""
    monkeypatch.setattr("rarmodel.proof.refutation.FEWEST_JOBS", 1)


def check(seed: int, refutation: Refutation | None = None) -> None:
    instance = tiny(seed)
    optimum = optimal_makespan(instance)
    if optimum is None:
        return
    refutation = Refutation(instance, threads=2)
    assert refutation.decide(optimum, inf) is Outcome.FOUND, seed
    assert refutation.plan is not None
    assert Engine(instance).evaluate(*refutation.plan).makespan == optimum
    if optimum > 1:
        assert refutation.decide(optimum - 1, inf) is Outcome.REFUTED, seed
        assert refutation.confirm(inf, 1)


@pytest.mark.parametrize("seed", range(8))
def test_decides_as_enumeration_does(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    few(monkeypatch)
    check(seed)


@pytest.mark.parametrize("seed", first(1, range(8, 11)))
def test_constraint_programming_decides_alone(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    blind(monkeypatch)
    monkeypatch.setattr("rarmodel.proof.refutation._choosers", lambda *_: [])
    monkeypatch.setattr(DepthFirst, "search", lambda *_: NOT_KNOWN)
    instance = tiny(seed)
    optimum = optimal_makespan(instance)
    assert optimum is not None
    refutation = Refutation(instance, threads=1)
    assert refutation.decide(optimum, inf) is Outcome.FOUND
    if optimum > 1:
        assert refutation.decide(optimum - 1, inf) is Outcome.REFUTED


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_decides_as_enumeration_does_hundreds_of_times(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    few(monkeypatch)
    for seed in range(100 + 20 * block, 120 + 20 * block):
        check(seed)
    blind(monkeypatch)  # Then constraint programming confirms each leaf.
    for seed in range(100 + 20 * block, 120 + 20 * block):
        check(seed)


def test_branches_where_the_depth_first_search_takes_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instance = tiny(11)  # Two of its three jobs have two classes each.
    optimum = optimal_makespan(instance)
    assert optimum is not None
    asked: list[Classes] = []
    made, search = DepthFirst.__init__, DepthFirst.search

    def noted(self: Any, *question: Any) -> None:
        made(self, *question)
        asked.append(question[3])

    def impatient(self: Any, *limits: Any) -> Verdict:
        if all(len(classes) == 1 for classes in asked[-1]):
            return search(self, *limits)
        return NOT_KNOWN

    blind(monkeypatch)
    monkeypatch.setattr(DepthFirst, "__init__", noted)
    monkeypatch.setattr(DepthFirst, "search", impatient)
    refutation = Refutation(instance, threads=1)
    assert refutation.decide(optimum - 1, inf) is Outcome.REFUTED
    # The root, a node for each class of one job, and for each of those two of the other.
    assert sorted(sum(map(len, node)) for node in asked) == [3, 3, 3, 3, 4, 4, 5]
    assert len(set(asked)) == 7
    assert refutation.decide(optimum, inf) is Outcome.FOUND


def test_engines_that_disagree_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = tiny(11)
    optimum = optimal_makespan(instance)
    assert optimum is not None
    blind(monkeypatch)
    with monkeypatch.context() as wrong:
        wrong.setattr(DepthFirst, "search", lambda *_: Verdict(impossible=True))
        refutation = Refutation(instance, threads=1)
        assert refutation.decide(optimum, inf) is Outcome.REFUTED
    with pytest.raises(VerificationError, match=f"disagree about schedules of {optimum} slots"):
        refutation.confirm(inf, 1)


def test_without_an_answer_a_refutation_is_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = tiny(11)
    optimum = optimal_makespan(instance)
    assert optimum is not None
    blind(monkeypatch)
    refutation = Refutation(instance, threads=1)
    assert refutation.decide(optimum - 1, inf) is Outcome.REFUTED
    monkeypatch.setattr(Timetables, "ask", lambda *_: NOT_KNOWN)
    assert not refutation.confirm(inf, 1)


def test_nothing_is_known_without_time() -> None:
    refutation = Refutation(tiny(1), threads=1)
    assert refutation.decide(1000, -inf) is Outcome.OPEN


def test_a_session_is_proven_slot_by_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = tiny(11)
    optimum = optimal_makespan(instance)
    session = Session(instance)
    session.take(session.schedule("before"))
    session.bound = LowerBound(1, "a job")
    monkeypatch.setattr("rarmodel.search.proving.MOST_GAP", 1.0)
    seen: list[tuple[Any, Any]] = []
    session._limits = limits = Limits(threads=1, progress=lambda *known: seen.append(known))
    assert prove(session, limits, inf) == "the makespan meets the lower bound"
    assert session.makespan == session.bound.slots == optimum
    assert session.bound.name == CHECKED_PROOF
    assert len(seen) >= 2
    assert best_bound(instance).slots <= optimum
