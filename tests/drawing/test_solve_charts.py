"""Performance profiles and gaps over time: their numbers, what counts, and as pictures."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from charts import specification_of, table_with, tables_with, text_of
from hypothesis import given
from hypothesis import strategies as st

import rarmodel
from rarmodel.drawing import LogEntry, Trial, charts_of_solves, image_of, solves_chart
from rarmodel.drawing.gap_over_time import gap_curve, mean_curve
from rarmodel.drawing.parts import SOLVE_PARTS
from rarmodel.drawing.performance_profiles import profile_of, ratios_to_best
from rarmodel.drawing.trials import by_method
from rarmodel.errors import UsageError

pytest.importorskip("altair")


def trial(
    problem: str, method: str, value: float | None, *log: tuple[float, float | None, float | None]
) -> Trial:
    return Trial(
        problem=problem,
        method=method,
        value=value,
        seconds=log[-1][0] if log else 1.0,
        proven=bool(log) and log[-1][1] == log[-1][2] is not None,
        bound=80,
        log=[LogEntry(*entry) for entry in log],
    )


TRIALS = (
    trial("p", "quick", 100, (0.1, 160, None), (0.5, 100, 50), (1.0, 100, 80)),
    trial("p", "exact", 80, (1.0, 160, 60), (4.0, 80, 80)),
    trial("q", "quick", 90, (0.1, 90, None), (1.0, 90, 80)),
    trial("q", "exact", None),
)


def test_profile_counts_the_problems_within_each_factor_of_the_best() -> None:
    ratios = ratios_to_best({"a": [1, 2, 4, None], "b": [2, 2, 1, None]})
    assert ratios["a"].tolist() == [1, 1, 4, math.inf]
    assert ratios["b"].tolist() == [2, 1, 1, math.inf]
    at, shares = profile_of(ratios["a"], 5.0)
    assert list(zip(at.tolist(), shares.tolist(), strict=True)) == [(1, 0.5), (4, 0.75), (5, 0.75)]


def test_at_a_least_cost_of_0_only_0_is_best() -> None:
    ratios = ratios_to_best({"a": [0, 0], "b": [0, 3]})
    assert ratios["a"].tolist() == [1, 1]
    assert ratios["b"].tolist() == [1, math.inf]


@given(
    st.lists(
        st.lists(st.none() | st.integers(0, 50), min_size=3, max_size=3), min_size=1, max_size=8
    )
)
def test_profile_at_a_factor_is_the_share_by_its_definition(table: list[list[int | None]]) -> None:
    costs = {str(i): [row[i] for row in table] for i in range(3)}
    ratios = ratios_to_best(costs)
    for name, own in costs.items():
        at, shares = profile_of(ratios[name], 60.0)
        for factor in (1, 1.5, 2, 10, 60):
            within = 0
            for cost, row in zip(own, table, strict=True):
                known = [other for other in row if other is not None]
                within += cost is not None and (
                    cost == min(known) or 0 < cost <= factor * min(known)
                )
            place = np.searchsorted(at, factor, side="right") - 1
            assert shares[place] == within / len(table)


def test_only_problems_that_every_method_has_tried_count() -> None:
    found = by_method([*TRIALS, trial("r", "quick", 70)])
    assert {name: [one.problem for one in own] for name, own in found.items()} == {
        "quick": ["p", "q"],
        "exact": ["p", "q"],
    }


def test_gap_is_whole_until_there_is_a_schedule_and_a_bound() -> None:
    quick, exact = TRIALS[:2]
    at, gaps = gap_curve(quick, own=False)
    assert at.tolist() == [0, 0.1, 0.5, 1]
    assert gaps.tolist() == pytest.approx([1, 0.5, 0.2, 0.2])
    at, gaps = gap_curve(quick, own=True)
    assert at.tolist() == [0, 0.5, 1]
    assert gaps.tolist() == pytest.approx([1, 0.5, 0.2])
    at, gaps = gap_curve(exact, own=True)
    assert gaps.tolist() == pytest.approx([1, 0.625, 0])


def test_mean_of_curves_holds_each_until_its_next_step() -> None:
    one = np.array([0.0, 2.0]), np.array([1.0, 0.5])
    other = np.array([0.0, 1.0, 3.0]), np.array([1.0, 0.2, 0.0])
    at, means = mean_curve([one, other])
    assert at.tolist() == [0, 1, 2, 3]
    assert means.tolist() == pytest.approx([1, 0.6, 0.35, 0.25])


def test_charts_have_a_line_for_each_method() -> None:
    charts = charts_of_solves(TRIALS)
    assert list(charts) == list(SOLVE_PARTS)
    whole = specification_of(solves_chart({"": TRIALS}))
    assert len(whole["vconcat"]) == 4
    for table in tables_with(whole, "line", "slot", "value"):
        assert table["names"] == ["quick", "exact"]
    profile = table_with(specification_of(solves_chart({"": TRIALS}, ["profile"])), "line")
    shares = dict(
        zip(zip(profile["line"], profile["slot"], strict=True), profile["value"], strict=True)
    )
    assert shares[0, 1] == 0.5  # quick has the least value of q,
    assert shares[0, 1.25] == 1  # and a quarter more than the least of p;
    assert shares[1, 1] == 0.5  # exact has the least of p and nothing of q.
    text = text_of(solves_chart({"": TRIALS}))
    assert "Values: performance profile over 2 problems" in text
    assert "Gap over time to the greatest bound of all, mean over 2 problems" in text


@pytest.mark.parametrize("form", ["svg", "png", "pdf"])
def test_charts_are_written_in_every_form(form: str) -> None:
    begins = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF-"}
    assert image_of(solves_chart({"": TRIALS}), form).startswith(begins[form])


@pytest.mark.parametrize(
    ("trials", "parts", "said"),
    [
        (TRIALS, ["pie"], "no part 'pie' of these plots; choose from profile, time-profile, gap,"),
        (TRIALS[3:], ["profile"], "part 'profile' has nothing to show: no method has a schedule"),
        (TRIALS[2:3], ["time-profile"], "nothing to show: no method proves an optimum"),
        (TRIALS[3:], ["gap"], "part 'gap' has nothing to show: no solve has both a log and"),
        (TRIALS[3:], ["own-gap"], "part 'own-gap' has nothing to show"),
        (TRIALS[3:], None, "nothing to show: no solve has a schedule and a proven bound"),
    ],
)
def test_nothing_to_show_is_an_error(
    trials: tuple[Trial, ...], parts: list[str] | None, said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        solves_chart({"": trials}, parts)
    assert said in str(refused.value)


def test_comparisons_are_drawn(tmp_path: Path) -> None:
    comparisons = rarmodel.compare(
        ["two-servers", "lemma-3-fails"], methods=["first-fit", "sjf-bco", "search"], time_limit=2
    )
    trials = comparisons[0].trials()
    assert [one.method for one in trials] == ["first-fit", "sjf-bco", "search"]
    assert {one.bound for one in trials} == {comparisons[0].best_bound}
    text = text_of(comparisons.plot(["profile", "gap"]))
    assert "performance profile over 2 problems" in text
    comparisons[0].plot().save(tmp_path / "gap.pdf")
    assert (tmp_path / "gap.pdf").read_bytes().startswith(b"%PDF-")
    with pytest.raises(UsageError, match="parts 'gap': a list is expected"):
        comparisons.plot("gap")
    assert (
        rarmodel.compare("two-servers", methods=["first-fit", "first-fit"])[0].trials()[1].method
        == "first-fit 2"
    )
