"""Bounds come from one registry; those of users join, and none is silently believed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from documents import instance_data, job_data

from rarmodel import audit, describe, load_instance, registry, solve
from rarmodel.bounds import Bound, all_bounds, best_bound, bounds, objective_bounds, slow_bounds
from rarmodel.errors import UsageError, VerificationError
from rarmodel.files import parse_instance
from rarmodel.model.features import RELEASES
from rarmodel.model.objectives import MAKESPAN, objective

PHILLY = load_instance("philly-2869ce")
LAB = load_instance("two-servers")  # Its optimum is 12 slots.
FLOW = LAB.model_copy(update={"objective": "total-flow"})
FIRST = ["longest job", "area", "wide jobs", "long jobs", "shared links", "wide gaps"]
SLOW = ["server configurations", "cutting stock", "configurations"]


def mine(value: object, **fields: Any) -> Bound:
    return Bound("mine", "for a test", lambda *_: value, **fields)  # type: ignore[arg-type]


def test_built_in_bounds_keep_their_order_and_cost() -> None:
    known = bounds()
    assert [bound.name for bound in known[:9]] == [*FIRST, *SLOW]
    assert [bound.name for bound in known if bound.cost == "seconds"] == SLOW[1:]
    assert [bound.name for bound in slow_bounds(PHILLY, MAKESPAN)] == SLOW
    assert slow_bounds(PHILLY, objective("total-flow")) == []
    assert len({bound.rank for bound in known}) == len(known)


def test_every_bound_has_words_and_proves_in_one_of_two_ways() -> None:
    for bound in bounds():
        assert bound.description
        assert (bound.prove is None) != (bound.tighten is None)


def test_a_bound_of_a_user_counts_for_a_while_and_leaves_no_trace() -> None:
    before = all_bounds(LAB)
    with registry.added("bounds", [mine(12)]):
        assert all_bounds(LAB) == (*before, (12, "mine"))
        assert describe(LAB).bounds[-1].name == "mine"
        # Of equal bounds the built-in one is named.
        assert best_bound(LAB).name == before[1].name == "area"
    assert all_bounds(LAB) == before == describe(LAB).bounds


def test_a_greater_bound_of_a_user_is_that_of_the_result() -> None:
    result = solve(PHILLY, bounds=[mine(186)], iterations=1, threads=1)
    assert (result.lower_bound, result.bound_name) == (186, "mine")
    plain = solve(PHILLY, iterations=1, threads=1)
    assert (plain.lower_bound, plain.bound_name) == (184, "area")


def test_a_bound_on_another_objective_is_that_of_the_goal() -> None:
    known = max(bound.value for bound in objective_bounds(FLOW, objective("total-flow")))
    only = mine(known + 1, objectives=frozenset({"total-flow"}))
    result = solve(FLOW, method="fifo-backfill", bounds=[only])
    assert result.objective[0].bound == known + 1
    assert solve(LAB, method="fifo-backfill", bounds=[only]).lower_bound == 12


def test_a_bound_that_does_not_handle_a_feature_does_not_hold() -> None:
    late = parse_instance(instance_data(job_data("a", release=3)))
    with registry.added("bounds", [mine(4)]):
        assert "mine" not in {bound.name for bound in all_bounds(late)}
    with registry.added("bounds", [mine(4, handles=frozenset({RELEASES.name}))]):
        assert "mine" in {bound.name for bound in all_bounds(late)}


def test_a_fraction_of_a_slot_counts_as_a_whole_one() -> None:
    with registry.added("bounds", [mine(Fraction(23, 2))]):
        assert all_bounds(LAB)[-1].slots == 12


@pytest.mark.parametrize(
    ("instance", "options", "words"),
    [
        (LAB, {"method": "fifo-backfill"}, "makespan is at least 13, and .* has 12"),
        (LAB, {"iterations": 1}, "makespan is at least 13, and .* has 12"),
        (LAB, {"formulation": "time-indexed"}, "makespan is at least 13, and .* has 12"),
        (FLOW, {"method": "fifo-backfill"}, "total-flow is at least 1000, and .* has"),
        (FLOW, {"formulation": "time-indexed", "time_limit": 20}, "total-flow is at least 1000"),
    ],
)
def test_a_bound_above_a_verified_value_is_refused(
    instance: Any, options: dict[str, Any], words: str
) -> None:
    first = instance.objectives[0]
    false = mine(13 if first == "makespan" else 1000, objectives=frozenset({first}))
    with pytest.raises(VerificationError, match=f"^bound 'mine' is false: it says that {words}"):
        solve(instance, bounds=[false], **options)


def test_the_audit_refuses_it_too() -> None:
    with (
        registry.added("bounds", [mine(13)]),
        pytest.raises(VerificationError, match=r"^bound 'mine' is false"),
    ):
        audit(LAB, time_limit=5)


def test_a_slow_bound_of_a_user_is_asked_by_search_and_refused_if_it_is_false() -> None:
    asked: list[tuple[object, ...]] = []

    def slow(instance: object, aim: object, *known: object) -> int:
        asked.append((instance, aim, *known[:2]))
        return 185

    bound = Bound("slow", tighten=slow, objectives=frozenset({"makespan"}))
    result = solve(PHILLY, bounds=[bound], iterations=5, threads=1)
    assert (result.lower_bound, result.bound_name) == (185, "slow")
    assert len(asked) == 1
    assert asked[0][:3] == (PHILLY, MAKESPAN, 184)
    false = Bound("slow", tighten=lambda *_: 10_000, objectives=frozenset({"makespan"}))
    with pytest.raises(VerificationError, match=r"^bound 'slow' is false"):
        solve(PHILLY.model_copy(), bounds=[false], iterations=5, threads=1)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3.5, "bound 'mine' returned 3.5; a whole number, a fraction or None is expected"),
        (True, "bound 'mine' returned True; a whole"),
        ("9", "bound 'mine' returned '9'; a whole"),
    ],
)
def test_what_is_no_exact_number_is_refused(value: object, message: str) -> None:
    with registry.added("bounds", [mine(value)]), pytest.raises(UsageError, match=message):
        best_bound(LAB)


def test_an_exception_is_one_line_that_names_the_bound() -> None:
    broken = Bound("broken", prove=lambda *_: 1 // 0)
    with (
        registry.added("bounds", [broken]),
        pytest.raises(
            UsageError,
            match=r"^bound 'broken' failed at \S*test_registered_bounds\.py:\d+: ZeroDivision",
        ),
    ):
        best_bound(LAB)
