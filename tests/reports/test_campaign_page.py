"""The page of a campaign's table: numbers by method, unknown cells, and names as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browser import chromium, opened
from elements import Elements
from shown import MARKUP, TEX

from rarmodel.errors import UsageError
from rarmodel.reports import campaign_page

pd = pytest.importorskip("pandas")
pytest.importorskip("bokeh")


def table_of(*rows: dict[str, Any]) -> Any:
    return pd.DataFrame(list(rows))


def run(instance: str, method: str | None, makespan: int | None, **cells: Any) -> dict[str, Any]:
    return {
        "instance": instance,
        "instance_hash": f"hash of {instance}",
        "method": method,
        "status": "unknown" if makespan is None else "feasible",
        "makespan": makespan,
        "lower_bound": 80,
        "seed": 0,
        "seconds": 2.0,
        "error": None,
        **cells,
    }


EXAMPLE = (
    run("one", "good", 100, lower_bound=90),
    run("one", "bad", 200),
    run("two", "good", 80),
    run("two", "bad", 120, seconds=4.0),
    run("two", None, None, formulation="time-indexed", solver="highs", error="ran out of memory"),
)


def test_methods_are_compared_instance_by_instance() -> None:
    text = Elements(campaign_page(table_of(*EXAMPLE))).text
    assert "5 runs of 3 methods on 2 instances." in text
    # Ratios 1 and 1; gaps 10 % and 0: the greatest bound of an instance is every method's.
    good = "good 2 2 0 2 1.000 (1.000 to 1.000) 5.0% (2.5% to 7.5%) 2.00 (2.00 to 2.00)"
    bad = "bad 2 2 0 0 1.750 (1.625 to 1.875) 44.2% (38.8% to 49.6%) 3.00 (2.50 to 3.50)"
    assert good in text
    assert bad in text
    assert "time-indexed (highs) 1 0 1 0 – – 2.00 (2.00 to 2.00)" in text
    assert "one 100.0 200.0 –" in text
    assert "two time-indexed (highs) 0 ran out of memory" in text


def test_families_have_tables_of_their_own() -> None:
    rows = [{**row, "family": family} for row in EXAMPLE for family in ("paper", "small")]
    text = Elements(campaign_page(table_of(*rows))).text
    assert "By family" in text
    assert "paper method runs" in text
    assert "small method runs" in text


def test_parameters_tell_runs_of_one_method_apart() -> None:
    rows = [run("one", "sjf-bco", 10 + k, parameters=f"kappa={k}") for k in (1, 2)]
    text = Elements(campaign_page(table_of(*rows))).text
    assert "sjf-bco kappa=1 1" in text
    assert "sjf-bco kappa=2 1" in text


def test_gap_of_the_table_counts_where_there_are_no_bounds() -> None:
    rows = [run("one", "good", 100, lower_bound=None, gap=0.25)]
    assert "25.0% (25.0% to 25.0%)" in Elements(campaign_page(table_of(*rows))).text


def test_table_of_the_needed_columns_alone_is_enough() -> None:
    page = campaign_page(table_of({"instance": "one", "makespan": 3, "status": "feasible"}))
    assert "unknown 1 1 0 1 1.000 (1.000 to 1.000) – –" in Elements(page).text


def test_table_without_any_schedule_is_shown() -> None:
    rows = [run("one", "good", None, error="killed", seconds=None, lower_bound=None)]
    assert "one good 0 killed" in Elements(campaign_page(table_of(*rows))).text


def test_same_table_gives_the_same_bytes_and_is_not_changed() -> None:
    table = table_of(*EXAMPLE)
    before = table.copy()
    assert campaign_page(table) == campaign_page(table)
    pd.testing.assert_frame_equal(table, before)


def test_names_that_look_like_markup_are_text() -> None:
    rows = [run(MARKUP, name, 10, error=MARKUP) for name in (MARKUP, TEX)]
    page = campaign_page(table_of(*rows))
    assert MARKUP not in page
    assert f"{MARKUP} {MARKUP} 0 {MARKUP}" in Elements(page).text


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (table_of({"instance": "x"}), "no column 'makespan', 'status'"),
        (table_of(*EXAMPLE).head(0), "no runs"),
    ],
)
def test_unusable_tables_are_errors(table: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        campaign_page(table)


@pytest.mark.skipif(chromium() is None, reason="no Chromium")
def test_page_renders_and_points_tell_of_their_run(tmp_path: Path) -> None:
    pytest.importorskip("playwright")
    executable = chromium()
    assert executable is not None
    path = tmp_path / "campaign.html"
    rows = [*EXAMPLE, run(MARKUP, TEX, 300, seed=7, lower_bound=270)]
    path.write_text(campaign_page(table_of(*rows)), encoding="utf-8")
    with opened(path, executable) as page:
        # Gaps go from 0 to 55 % with 4 % of room on both sides; TEX's 10 % stand in the last row.
        tip = page.hover("overview-gap", (10 + 2.2) / 59.4, 3.5 / 4)
        assert MARKUP in tip
        assert "seed7" in tip
        assert page.complaints == []
        assert page.requests == []
