"""Claims as inequalities between numbers, of which some are known as ranges only."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarmodel.auditor import Claim, Quantities, Range, claims_on
from rarmodel.auditor.claims import at_most, exactly

NUMBERS = Quantities(
    makespan=30,
    limit=20,
    returned=True,
    estimated_load=10,
    real_load=15,
    largest_job=2,
    upper=1,
    lower=Fraction(2, 3),
    spread=Fraction(3, 2),
    attained_spread=Range(Fraction(4, 3), Fraction(3, 2)),
    least_limit=Range(8, 9),
    optimum=Range(9, 12),
)


def claims(**changes: object) -> dict[str, Claim]:
    return {c.claim: c for c in claims_on(replace(NUMBERS, **changes))}  # type: ignore[arg-type]


def test_every_claim_has_its_numbers() -> None:
    assert {name: (c.left, c.right) for name, c in claims().items()} == {
        "lemma-2": (10, Range(20, 20)),
        "lemma-2-equality": (10, Range(20, 20)),
        "lemma-3": (30, Range(20, 20)),
        "lemma-3-real": (30, Range(30, 30)),
        "lemma-4": (20, Range(18, Fraction(81, 4))),
        "lemma-4-load": (10, Range(18, Fraction(81, 4))),
        "lemma-4-attained": (20, Range(Fraction(128, 9), Fraction(81, 4))),
        "theorem-5": (30, Range(Fraction(81, 2), 54)),
        "theorem-5-attained": (30, Range(32, 54)),
    }


def test_every_claim_has_its_verdict() -> None:
    assert {name: c.holds for name, c in claims().items()} == {
        "lemma-2": True,
        "lemma-2-equality": False,
        "lemma-3": False,
        "lemma-3-real": True,
        "lemma-4": None,
        "lemma-4-load": True,
        "lemma-4-attained": None,
        "theorem-5": True,
        "theorem-5-attained": True,
    }


@pytest.mark.parametrize(
    ("limit", "holds"), [(18, True), (19, None), (20, None), (21, False)], ids=str
)
def test_range_decides_only_what_all_of_it_decides(limit: int, holds: bool | None) -> None:
    assert claims(limit=limit)["lemma-4"].holds is holds


def test_fractions_are_compared_exactly() -> None:
    third = Fraction(1, 3)
    assert at_most(1, exactly(3 * third)) is True
    assert at_most(10**17 + 1, exactly(Fraction(10**17))) is False  # Floats see no difference.


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
def test_verdict_never_contradicts_a_number_within_the_range(
    left: int, low: int, more: int, part: int
) -> None:
    right = Range(low, low + more)
    true = left <= low + min(part, more)
    assert at_most(left, right) in {true, None}


def test_speed_that_can_fall_to_zero_makes_claims_hold_and_say_nothing() -> None:
    endless = {
        "lower": Fraction(0),
        "spread": None,
        "attained_spread": Range(Fraction(2), None),
    }
    found = claims(limit=10**9, makespan=10**9, **endless)
    for name in ("lemma-4", "lemma-4-load", "theorem-5"):
        assert found[name].right == Range(None, None)
        assert found[name].holds is True
        assert "says nothing" in found[name].meaning
        assert found[name].summary()["right"] is None
    for name in ("lemma-4-attained", "theorem-5-attained"):
        assert found[name].holds is None
    assert found["lemma-4-attained"].summary()["right_low"] == 32
    assert found["lemma-4-attained"].summary()["right_high"] is None


def test_limit_that_no_algorithm_returned_is_said_to_be_none() -> None:
    assert "Algorithm 1 returned" in claims()["lemma-2"].meaning
    assert "no algorithm returned one" in claims(returned=False)["lemma-2"].meaning


def test_summary_is_plain_data() -> None:
    found = claims()
    assert found["theorem-5"].summary() == {
        "claim": "theorem-5",
        "statement": "makespan ≤ n_g·φ·(u/l)·T*",
        "left": 30,
        "right": None,
        "right_low": 40.5,
        "right_high": 54,
        "holds": True,
        "meaning": "makespan; the largest job's GPUs, n_g = 2, times φ·(u/l) = 2.25 times the "
        "optimum, T* = 9 to 12",
    }
    assert found["lemma-3"].summary()["right"] == 20
    json.dumps([claim.summary() for claim in found.values()], allow_nan=False)
