"""Stopping criteria: what they are told, when they are asked, and what comes of their answers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from documents import instance_data, job_data

from rarmodel import generate, load_instance, solve
from rarmodel.bounds import LowerBound
from rarmodel.errors import PartError, UsageError
from rarmodel.files import parse_instance
from rarmodel.limits import Limits
from rarmodel.methods import stopping
from rarmodel.methods.stopping import (
    Criteria,
    Criterion,
    Gap,
    Iterations,
    Patience,
    Progress,
    TimeLimit,
    first_reason,
    short_forms,
)
from rarmodel.packing.packer import NUMBERS
from rarmodel.schema import Instance
from rarmodel.search import Session

PLAIN = load_instance("philly-2869ce")  # No bound that is proven soon is met.
WIDE = parse_instance(
    instance_data(
        *(job_data(f"j{i}", gpus=1 + i % 3, iterations=10 + 7 * i % 40) for i in range(14)),
        horizon=500,
    )
    | {"objective": "total-flow"}
)
BOTH = pytest.mark.parametrize("instance", [PLAIN, WIDE], ids=["plain", "wide"])
BEGUN = Progress(seconds=0.0, iterations=0, since_gain=0)


@pytest.mark.parametrize(
    ("criterion", "before", "after", "reason"),
    [
        (TimeLimit(2), {"seconds": 1.9}, {"seconds": 2.0}, "time limit"),
        (Iterations(3), {"iterations": 2}, {"iterations": 3}, "iteration limit"),
        (Patience(3), {"since_gain": 2}, {"since_gain": 3}, "no improvement in 3 iterations"),
        (
            Gap(0.1),
            {"values": (10.0, 1.0), "bound": 8.9},
            {"values": (10.0, 1.0), "bound": 9},
            "the value is within the gap of the lower bound",
        ),
    ],
)
def test_built_in_criteria(
    criterion: Any, before: dict[str, Any], after: dict[str, Any], reason: str
) -> None:
    assert criterion(BEGUN) == criterion(BEGUN._replace(**before)) == ""
    assert criterion(BEGUN._replace(**after)) == reason
    assert first_reason([lambda _: False, criterion], BEGUN._replace(**after)) == reason


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: TimeLimit(-1), "time limit -1: it must be at least 0 seconds"),
        (lambda: Gap(1), "gap 1: it must be at least 0 and below 1"),
        (lambda: Iterations(0), "iterations 0: it must be a whole number of at least 1"),
        (lambda: Patience(True), "patience True: it must be a whole number of at least 1"),
        (lambda: Iterations(None), "iterations None: a number is expected"),  # type: ignore[arg-type]
    ],
)
def test_their_numbers_are_those_of_the_keywords(made: Callable[[], object], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        made()
    assert str(refused.value) == said


def test_of_keywords_and_criteria_the_strictest_counts() -> None:
    def own(_: Progress) -> None:
        return None

    some: list[Criterion] = [TimeLimit(5), own, Gap(0.2), Iterations(9), TimeLimit(7), Patience(4)]
    assert short_forms(6, 0.1, 3, None, some) == (5, 0.2, 3, 4, (own,))
    assert short_forms(None, 0.0, None, None, own) == (None, 0.0, None, None, (own,))
    assert Limits(stop=[own]).stop == Limits(stop=own).stop == (own,)  # type: ignore[arg-type]


@BOTH
def test_a_criterion_is_the_same_as_its_keyword(instance: Instance) -> None:
    one = solve(instance, iterations=4, threads=2, seed=3)
    other = solve(instance, stop=Iterations(4), threads=2, seed=3)
    assert one.schedule is not None
    assert (one.schedule, one.stopped) == (other.schedule, other.stopped)


@BOTH
def test_a_criterion_of_a_user_stops_search_with_its_reason(instance: Instance) -> None:
    told: list[Progress] = []

    def enough(progress: Progress) -> str:
        told.append(progress)
        return "that is enough" if progress.iterations == 4 else ""

    without_ties = instance.objectives
    found = solve(instance, threads=1, objective=without_ties, stop=[Patience(100), enough])
    assert found.stopped == "that is enough"
    assert [one.iterations for one in told] == [0, 1, 2, 3, 4]
    assert found.objective[0].value is not None
    assert told[-1].values == (float(found.objective[0].value),)
    assert told[-1].value == told[-1].values[0]
    assert told[-1].bound is not None
    assert 0 < told[-1].bound <= told[-1].values[0]
    assert told[-1].gap == pytest.approx(1 - told[-1].bound / told[-1].values[0])
    assert all(0 <= one.since_gain <= one.iterations for one in told)
    assert [one.seconds for one in told] == sorted(one.seconds for one in told)
    again = solve(instance, threads=1, objective=without_ties, iterations=4)
    assert found.schedule == again.schedule


@BOTH
def test_since_gain_counts_from_the_last_gain(instance: Instance) -> None:
    told: list[Progress] = []
    solve(instance, threads=1, iterations=12, stop=told.append)
    counts = 0
    for before, after in pairwise(told):
        worth = [(one.values, one.bound) for one in (before, after)]
        gained = before.values != after.values if instance is WIDE else worth[0] != worth[1]
        counts = 0 if gained else counts + 1
        assert after.since_gain == counts
    assert len(told) == 13


@pytest.mark.parametrize(("answer", "stops"), [(True, True), (np.True_, True), (False, False)])
def test_true_is_a_reason_by_name(answer: object, stops: bool) -> None:
    def mine(_: Progress) -> object:
        return answer

    found = solve(PLAIN, threads=1, iterations=2, stop=mine)  # type: ignore[arg-type]
    assert found.stopped == ("stopping criterion 'mine'" if stops else "iteration limit")


@BOTH
def test_an_exception_is_one_line_that_names_the_criterion(instance: Instance) -> None:
    def broken(_: Progress) -> str:
        raise ZeroDivisionError("by nothing")

    with pytest.raises(
        PartError,
        match=r"^stopping criterion 'broken' failed at \S*test_stopping\.py:\d+: "
        r"ZeroDivisionError: by nothing$",
    ):
        solve(instance, threads=1, stop=broken)


@pytest.mark.parametrize("returned", [3, 0.0, ["why"]])
def test_an_answer_that_is_none_is_refused(returned: object) -> None:
    words = r"; a reason in words, True or False is expected$"
    with pytest.raises(PartError, match=r"^stopping criterion 'mine' returned .*" + words):
        first_reason([SimpleCriterion(returned)], BEGUN)


class SimpleCriterion:
    """A criterion that is an object with a name."""

    name = "mine"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __call__(self, _: Progress) -> Any:
        return self.answer


def test_a_reason_stays_one_line_and_stays() -> None:
    criterion = SimpleCriterion("two\nlines")
    criteria = Criteria([criterion])
    assert criteria.ask(BEGUN) == "two\\nlines"
    criterion.answer = ""
    assert criteria.ask(BEGUN) == criteria.poll(lambda: BEGUN) == criteria.reason == "two\\nlines"
    assert Criteria().ask(BEGUN) == Criteria().poll(lambda: BEGUN) == ""


def test_polls_are_not_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(stopping, "perf_counter", lambda: clock.now)
    told: list[Progress] = []
    criteria = Criteria([told.append])
    for _ in range(30):
        criteria.poll(lambda: BEGUN)
        clock.now += stopping.SECONDS_BETWEEN / 4
    assert len(told) in {8, 9, 10}


def test_packing_anew_ends_when_a_criterion_says_so() -> None:
    """A bound that nothing reaches, and a deadline that never comes."""
    instance = generate("paper", seed=3)
    packing: list[Progress] = []

    def third(progress: Progress) -> bool:
        if session.bound.name == "too low":
            packing.append(progress)
        return len(packing) == 3

    session = Session(instance, Limits(threads=2, stop=(third,)))
    while session.makespan > (1 + NUMBERS.most_gap) * (session.bound.slots - 2):
        session.run(iterations=1)
    session.bound = LowerBound(session.bound.slots - 2, "too low")
    assert session.close_gap(float("inf")) == "stopping criterion 'third'"
    assert len(packing) == 3
    assert len({one.iterations for one in packing}) == 1


def test_they_hold_for_the_search_around_a_formulation() -> None:
    asked: list[Progress] = []

    def at_once(progress: Progress) -> str:
        asked.append(progress)
        return "at once"

    found = solve("two-servers", formulation="time-indexed", stop=at_once, time_limit=30)
    assert found.status == "optimal"
    assert found.makespan == 12


def test_who_has_no_search_refuses_them() -> None:
    with pytest.raises(UsageError, match=r"^method 'first-fit' does not count iterations; leave"):
        solve("two-servers", method="first-fit", stop=lambda _: "")
    with pytest.raises(UsageError, match="model_only leaves the search out"):
        solve("two-servers", formulation="time-indexed", model_only=True, stop=lambda _: "")
    with pytest.raises(UsageError, match=r"^iterations and patience need a method that counts"):
        solve("two-servers", formulation="time-indexed", stop=Iterations(3))
    with pytest.raises(UsageError, match=r"^stop a type: a function of the progress is expected"):
        solve("two-servers", stop=TimeLimit)  # type: ignore[arg-type]


def test_a_file_may_be_the_reason(tmp_path: Path) -> None:
    flag = tmp_path / "stop"

    def asked_for(progress: Progress) -> str:
        if progress.iterations == 2:
            flag.touch()
        return f"{flag.name} is there" if flag.exists() else ""

    assert solve(PLAIN, threads=1, stop=asked_for).stopped == "stop is there"
