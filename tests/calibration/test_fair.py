"""Fair shares by hand, and beside general solvers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from depth import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from rarmodel.calibration.fair import max_min, proportional

LINKS = 4
SETS = st.lists(st.sets(st.integers(0, LINKS - 1), min_size=1), min_size=1, max_size=5)
WEIGHTS = st.lists(st.floats(0.1, 1.0), min_size=5, max_size=5)


def problem(rings: Sequence[Any], weights: Sequence[float] = ()) -> tuple[Any, Any]:
    """One problem; rings are the links that they use."""
    uses = np.array([[[float(link in map(int, ring)) for link in range(8)] for ring in rings]])
    return uses, np.array([list(weights) or [1.0] * len(rings)])


def slowdowns(rates: Any) -> list[float]:
    return [round(float(1 / rate), 2) for rate in rates[0]]


@pytest.mark.parametrize(
    ("rings", "equal", "fair"),
    [
        (["01"], [1], [1]),
        (["01", "01", "01"], [3, 3, 3], [3, 3, 3]),
        (["01", "12", "23"], [2, 2, 2], [1.5, 3, 1.5]),
        (["01", "12", "23", "24", "25"], [1.33, 4, 4, 4, 4], [1.25, 5, 3.75, 3.75, 3.75]),
    ],
)
def test_slowdowns_of_rings_on_a_star(
    rings: list[str], equal: list[float], fair: list[float]
) -> None:
    assert slowdowns(max_min(*problem(rings))) == equal
    assert slowdowns(proportional(*problem(rings))) == fair


def test_rings_on_one_link_share_it_by_weight() -> None:
    for share in (max_min, proportional):
        assert share(*problem(["0", "0", "0"], [1.0, 0.5, 0.25]))[0] == pytest.approx(
            [4 / 7, 2 / 7, 1 / 7]
        )


def test_absent_rings_get_nothing_and_problems_do_not_mix() -> None:
    uses, weights = problem(["01", "12", "23"])
    fewer = uses.copy()
    fewer[0, 2] = 0.0
    both = np.concatenate([uses, fewer]), np.concatenate([weights, [[1.0, 1.0, 0.0]]])
    for share in (max_min, proportional):
        first, second = share(*both)
        assert first == pytest.approx(share(uses, weights)[0])
        assert second == pytest.approx([0.5, 0.5, 0.0])


@given(SETS, WEIGHTS)
def test_max_min_rates_are_those_of_linear_programs(
    rings: list[set[int]], all_: list[float]
) -> None:
    uses, weights = problem(rings, all_[: len(rings)])
    found = max_min(uses, weights)[0] / weights[0]
    # The least rate per weight is as great as it can be; those at it stay, and so on.
    fixed = np.full(len(rings), np.nan)
    for _ in rings:
        free = np.isnan(fixed)
        if not free.any():
            break
        load = uses[0].T * weights[0]
        matrix = np.hstack([load[:, free], np.zeros((8, 1))])
        room = 1.0 - load[:, ~free] @ fixed[~free]
        above = np.hstack([-np.eye(free.sum()), np.ones((free.sum(), 1))])
        answer = linprog(
            [*([0.0] * int(free.sum())), -1.0],
            A_ub=np.vstack([matrix, above]),
            b_ub=[*np.maximum(room, 0.0), *([0.0] * int(free.sum()))],
        )
        least = answer.x[-1]
        used = load[:, free].sum(axis=1) * least
        tight = (used > 0) & (used >= room - 1e-7)
        fixed[free & (uses[0][:, tight].any(axis=1))] = least
    assert found == pytest.approx(fixed, rel=1e-6)


@examples(20)
@given(SETS, WEIGHTS)
def test_proportional_rates_have_the_greatest_weighted_logarithm(
    rings: list[set[int]], all_: list[float]
) -> None:
    uses, weights = problem(rings, all_[: len(rings)])
    rates = proportional(uses, weights)[0]
    assert (uses[0].T @ rates <= 1 + 5e-3).all()
    best = minimize(
        lambda x: -weights[0] @ np.log(x),
        np.full(len(rings), 0.5 / len(rings)),
        jac=lambda x: -weights[0] / x,
        bounds=[(1e-6, 1.0)] * len(rings),
        constraints={"type": "ineq", "fun": lambda x: 1.0 - uses[0].T @ x},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    value = float(weights[0] @ np.log(rates))
    assert value >= -best.fun - 1e-6
    assert value <= -best.fun + 2e-2


def test_fair_shares_are_not_monotone() -> None:
    # A ring that joins ring 12 on link 2 leaves ring 01 more of link 1.
    for share in (max_min, proportional):
        before = share(*problem(["01", "12", "23", "24"]))[0][0]
        after = share(*problem(["01", "12", "23", "24", "25"]))[0][0]
        assert after > before
