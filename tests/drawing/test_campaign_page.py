"""The page of a campaign's table: numbers by method, settings, unknown cells, names as they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browser import opened
from charts import charts_of, table_with
from elements import Elements
from shown import MARKUP, TEX

from rarmodel.drawing import campaign_page, setting_table, summary_table
from rarmodel.drawing.runs import lines_over, runs_of
from rarmodel.drawing.spreads import varied_settings
from rarmodel.drawing.summaries import method_rows
from rarmodel.errors import InputError, UsageError

pytest.importorskip("altair")

Row = dict[str, Any]


def run(instance: str, method: str | None, makespan: int | None, **cells: Any) -> Row:
    return {
        "campaign": "camp",
        "run": f"{instance}, {method}, {makespan}, {cells}",
        "instance": instance,
        "instance_hash": f"hash of {instance}",
        "source": "generate paper",
        "method": method,
        "formulation": None,
        "solver": None,
        "seed": 0,
        "failure": None,
        "error": None,
        "status": "unknown" if makespan is None else "feasible",
        "makespan": makespan,
        "mean_completion": None if makespan is None else makespan / 2,
        "lower_bound": 80,
        "gap": None,
        "objective": "makespan",
        "restricted": False,
        "seconds": 2.0,
        **cells,
    }


def failed(instance: str, error: str, **cells: Any) -> Row:
    unknown = dict.fromkeys(("status", "lower_bound", "objective", "restricted", "seconds"))
    return {**run(instance, None, None), **unknown, "failure": "memory", "error": error, **cells}


EXAMPLE = (
    run("one", "good", 100, lower_bound=90),
    run("one", "bad", 200),
    run("two", "good", 80),
    run("two", "bad", 121, seconds=4.0),
    failed("two", "ran out of memory", formulation="time-indexed", solver="highs"),
)


def text_of(*rows: Row, still_open: int | None = None) -> str:
    return Elements(campaign_page(rows, still_open)).text


def test_methods_are_compared_instance_by_instance() -> None:
    text = text_of(*EXAMPLE)
    assert "5 runs of 3 methods on 2 instances." in text
    # Ratios 1 and 1; gaps 10 % and 0: the greatest bound of an instance is every method's.
    assert "good 2 0 2 1 2 90.0 45.0 1.000 1.000 to 1.000 5.0% 2.5% to 7.5% 2.0 2.0 to 2.0" in text
    # Ratios 2 and 1.5125; gaps 55 % and 33.9 %.
    assert (
        "bad 2 0 2 0 0 160.5 80.2 1.756 1.634 to 1.878 44.4% 39.2% to 49.7% 3.0 2.5 to 3.5" in text
    )
    assert "time-indexed (highs) 1 1 0 0 0 – – – – –" in text
    assert "one 90 100 200 –" in text
    assert "two 80 80 121 –" in text
    assert "Runs that failed" in text
    assert "two time-indexed (highs) 0 memory ran out of memory" in text


def test_page_says_what_is_still_to_be_done() -> None:
    assert "5 runs, of which 1 failed; 3 are still to be done" in text_of(*EXAMPLE, still_open=3)
    assert "still to be done" not in text_of(*EXAMPLE, still_open=0)


def test_bound_of_a_restricted_formulation_counts_for_itself_only() -> None:
    rows = [
        run("one", "free", 100, lower_bound=50),
        run("one", None, 120, formulation="own", solver="s", lower_bound=114, restricted=True),
    ]
    free, restricted = runs_of(rows)["camp"]
    assert (free.gap, restricted.gap) == (0.5, 0.05)
    assert free.bound == restricted.bound == 50


def test_gap_of_a_formulations_own_objective_is_the_runs_own() -> None:
    own: dict[str, Any] = {"solver": "s", "objective": "total delay", "restricted": True}
    rows = [
        run("one", "makespan", 100, lower_bound=100),
        run("one", None, 120, formulation="own", gap=0.25, **own),
        run("one", None, 120, formulation="best", status="optimal", **own),
    ]
    found = runs_of(rows)["camp"]
    assert [(one.gap, one.optimal) for one in found] == [(0, True), (0.25, False), (None, True)]


def flow(method: str, value: float | None, makespan: int | None = 100, **cells: Any) -> Row:
    aim = {"objective": "total-flow", "objective_value": value, "objective_bound": 400.0}
    return run("one", method, makespan, **{**aim, **cells})


def test_page_is_about_the_objective_asked_for() -> None:
    rows = [
        flow("quick", 500.0, 200, mean_flow=10.0, p95_flow=20.5, late_jobs=1),
        flow("slow", 800.0, 100, objective_bound=480.0, mean_flow=16.0, p95_flow=30.0, late_jobs=4),
    ]
    quick, slow = runs_of(rows)["camp"]
    assert (quick.value, quick.best, quick.ratio, quick.bound) == (500, True, 1, 480)
    assert (slow.value, slow.best, slow.ratio) == (800, False, 1.6)
    assert quick.gap == pytest.approx(0.04)
    assert slow.gap == pytest.approx(0.4)
    text = text_of(*rows)
    assert "quick has the least total-flow in its only run." in text
    assert "In the median, slow is 60% above the least." in text
    assert "total-flow: mean in weighted slots." in text
    assert "quick 1 0 1 0 1 500.00 200.0 100.0 10.0 20.5 1.00 1.000" in text
    assert "Total-flow beside the least" in text
    assert "one 480 500 800" in text


def test_runs_that_failed_or_have_their_own_objective_are_with_the_others() -> None:
    rows = [
        flow("rule", 500.0, option_objective="total-flow"),
        failed("one", "gone", method="rule", option_objective="total-flow", seed=1),
        run(
            *("one", None, 90),
            formulation="own",
            solver="s",
            objective="total delay",
            gap=0.5,
            restricted=True,
            option_objective="total-flow",
        ),
    ]
    rule, gone, own = runs_of(rows)["camp"]
    assert {one.objective for one in (rule, gone, own)} == {"total-flow"}
    assert rule.best
    assert (own.value, own.ratio, own.gap, own.makespan) == (None, None, 0.5, 90)
    failures = [failed("one", "gone", method="rule", option_objective="cost")]
    assert [one.objective for one in runs_of(failures)["camp"]] == ["cost"]


def test_each_objective_of_a_campaign_has_a_part() -> None:
    rows = [
        run("one", "m", 100, option_objective="makespan"),
        flow("m", 500.0, option_objective="total-flow"),
    ]
    assert list(runs_of(rows)) == ["camp: makespan", "camp: total-flow"]
    page = Elements(campaign_page(rows))
    assert parts_of(page) == ["panel-0", "panel-1"]
    assert "camp: methods compared" in page.text


def test_an_objective_that_can_be_zero_has_a_best_method_too() -> None:
    late: Row = {"objective": "late-jobs", "objective_bound": 0.0}
    rows = [flow("a", 0.0, **late), flow("b", 2.0, **late)]
    best, other = runs_of(rows)["camp"]
    assert (best.best, best.ratio, best.gap, best.optimal) == (True, None, 0, True)
    assert (other.best, other.ratio, other.gap) == (False, None, 1)
    assert "a has the least late-jobs in its only run." in text_of(*rows)


def test_of_equal_values_the_next_objective_decides() -> None:
    both: Row = {"objective": "late-jobs,cost", "objective_bound": 0.0, "gap": 0.25}
    rows = [flow("a", 0.0, objective_value_cost=5, **both)]
    rows.append(flow("b", 0.0, objective_value_cost=4, **both))
    rows.append(flow("c", 1.0, objective_value_cost=1, **both))
    found = runs_of(rows)["camp"]
    assert [one.best for one in found] == [False, True, False]
    assert [one.gap for one in found] == [0.25, 0.25, 1]
    assert not any(one.optimal for one in found)
    assert "b has the least late-jobs, then cost in its only run." in text_of(*rows)


def test_skipped_runs_are_counted_apart() -> None:
    why = "first-fit does not handle releases (jobs[1].release)"
    unfit = {"status": "skipped", "stopped": why, "lower_bound": None}
    rows = [*(run("one", "first-fit", None, seed=k, **unfit) for k in (1, 2)), flow("m", 5.0)]
    rows = [{**row, "objective": "total-flow"} for row in rows]
    text = text_of(*rows)
    assert "1 run of 1 method on 1 instance." in text
    assert f"2 runs skipped: {why}." in text
    only = text_of(*rows[:2])
    assert "No run has a schedule." in only
    assert f"2 runs skipped: {why}." in only


def test_bounds_are_shared_by_campaigns_and_least_makespans_are_not() -> None:
    rows = [run("one", "good", 100, lower_bound=90), run("one", "bad", 180, campaign="other")]
    (good,), (bad,) = runs_of(rows).values()
    assert (good.ratio, bad.ratio) == (1, 1)
    assert (good.gap, bad.gap) == (0.1, 0.5)


def test_methods_are_told_apart_by_what_varies_among_their_runs() -> None:
    rows = [
        *(run("one", "sjf-bco", 10 + k, parameter_kappa=k, option_threads=1) for k in (1, 2)),
        run("one", "sjf-bco", 10, parameter_kappa=None, option_threads=1),
        run("one", "search", 10, option_threads=1, option_iterations=40),
        *(run("one", None, 9, formulation="f", solver="s", data=d) for d in ('{"a":1}', None)),
    ]
    names = [row.method for row in method_rows(runs_of(rows)["camp"])]
    of_methods = ["sjf-bco kappa=1", "sjf-bco kappa=2", "sjf-bco", "search"]
    assert names == [*of_methods, 'f (s) data={"a":1}', "f (s)"]


def test_whole_numbers_that_pandas_made_fractions_are_whole_again() -> None:
    nan = float("nan")
    rows = [run("one", "m", 10, parameter_kappa=1.0), run("one", "m", 10, parameter_kappa=nan)]
    assert [one.method for one in runs_of(rows)["camp"]] == ["m kappa=1", "m"]
    unknown = dict.fromkeys(("makespan", "lower_bound", "seconds", "error", "failure"), nan)
    (one,) = runs_of([{**run("one", "m", None), **unknown}])["camp"]
    assert (one.makespan, one.gap, one.seconds, one.failure) == (None, None, None, "")


def test_instances_of_one_name_are_told_apart_by_their_settings() -> None:
    rows = [
        run("drawn", "m", 10 * n, instance_hash=f"{n}" * 20, source_servers=n) for n in (1, 2, 3)
    ]
    found = runs_of(rows)["camp"]
    assert [one.instance for one in found] == [f"drawn, servers={n}" for n in (1, 2, 3)]
    assert [one.family for one in found] == [f"servers={n}" for n in (1, 2, 3)]
    assert "By source of the instances servers=1 As above" in text_of(*rows)
    same = runs_of([{**row, "source_servers": 5} for row in rows])["camp"]
    assert [one.instance for one in same] == [f"drawn ({n * 8})" for n in ("1", "2", "3")]


def test_files_are_one_family() -> None:
    rows = [run(name, "m", 10, source=f"file {name}.json") for name in "abc"]
    assert {one.family for one in runs_of(rows)["camp"]} == {""}
    drawn = run("d", "m", 10)
    families = [one.family for one in runs_of([*rows, drawn])["camp"]]
    assert families == ["files", "files", "files", "generate paper"]


def test_makespan_is_drawn_over_what_varies_with_methods_without_it_level() -> None:
    rows = [
        run("one", "m", m + seed, seed=seed, parameter_kappa=k, lower_bound=80)
        for k, m in ((16, 100), (2, 120))
        for seed in (0, 2)
    ]
    page = campaign_page([*rows, run("one", "search", 90)])
    assert "Makespan over kappa" in Elements(page).text
    points = table_with(charts_of(page)["campaign-0-setting-0"], "mean")
    assert points["name"] == ["m"] * 2 + ["search"] * 2 + ["lower bound"] * 2
    assert points["at"] == ["2", "16"] * 3
    assert points["mean"] == [121, 101, 90, 90, 80, 80]
    assert points["deviation"][:2] == pytest.approx([2**0.5] * 2, rel=1e-5)


def test_lines_over_a_setting_are_of_its_instances_and_over_a_parameter_of_all() -> None:
    rows = [
        *(
            run(f"drawn {n}", "m", 10 * n + k, source_servers=n, parameter_k=k)
            for n in (1, 2)
            for k in (1, 2)
        ),
        *(run("file", "m", 99, source="file x.json", parameter_k=k) for k in (1, 2)),
    ]
    runs = runs_of(rows)["camp"]
    assert varied_settings(runs) == ["source_servers", "parameter_k"]
    servers = lines_over(runs, "source_servers")
    assert [(name, one.makespan) for name, one in servers] == [
        *(("m k=1", 11), ("m k=2", 12), ("m k=1", 21), ("m k=2", 22)),
    ]
    assert [name for name, _ in lines_over(runs, "parameter_k")] == ["m"] * 6


def test_settings_that_tell_methods_apart_only_have_no_chart() -> None:
    rows = [run("one", "m", 10, parameter_a=1), run("one", "n", 10, parameter_a=2)]
    assert "Makespan over" not in text_of(*rows)
    for values in (("x", "y"), (True, False), ([1, 2], [3])):
        rows = [run("one", "m", 10, parameter_a=value) for value in values]
        assert "Makespan over" not in text_of(*rows)


def test_several_campaigns_have_a_part_each() -> None:
    page = Elements(campaign_page([run("one", "m", 10, campaign=name) for name in ("a", "b")]))
    assert parts_of(page) == ["panel-0", "panel-1"]
    assert page.data.keys() >= {"data-campaign-0-ratio", "data-campaign-1-ratio"}


def parts_of(page: Elements) -> list[str | None]:
    """The parts of a page of which the reader opens one at a time."""
    return [one["id"] for tag, one in page.tags if tag == "details" and one.get("name")]


def test_gap_of_the_table_counts_where_there_are_no_bounds() -> None:
    (one,) = runs_of([run("one", "good", 100, lower_bound=None, gap=0.25)])["camp"]
    assert (one.gap, one.bound) == (0.25, None)


def test_table_without_any_schedule_is_shown() -> None:
    assert "one good 0 died killed" in text_of(
        failed("one", "killed", method="good", failure="died")
    )


def test_same_table_gives_the_same_bytes() -> None:
    assert campaign_page(EXAMPLE) == campaign_page(EXAMPLE)


def test_names_that_look_like_markup_are_text() -> None:
    rows = [
        failed(MARKUP, MARKUP, campaign=MARKUP, method=MARKUP, failure="died"),
        *(run(TEX, MARKUP, 10, campaign=MARKUP, parameter_x=value) for value in (1, 2)),
    ]
    page = campaign_page(rows)
    assert MARKUP not in page
    assert f"{MARKUP} {MARKUP} 0 died {MARKUP}" in Elements(page).text


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"instance": "x"}], "not the table of a campaign: no column 'campaign', 'run'"),
        ([], "no run has finished or failed yet"),
        ([run("x", "m", 3, lower_bound="many")], "column 'lower_bound': 'many'; numbers are exp"),
        ([run("x", "m", 0)], "column 'makespan': '0'; numbers above 0 are expected"),
        ([run("x", "m", 3, seconds=float("inf"))], "column 'seconds': 'inf'; numbers are expected"),
    ],
)
def test_unusable_tables_are_errors(rows: list[Row], message: str) -> None:
    with pytest.raises(InputError, match=message):
        campaign_page(rows)


@pytest.fixture
def show(tmp_path: Path, launch: Callable[..., Any]) -> Any:
    def opener(*rows: Row, width: int = 1280) -> Any:
        path = tmp_path / "campaign.html"
        path.write_text(campaign_page(rows), encoding="utf-8")
        return opened(path, launch(), width)

    return opener


def test_page_renders_and_points_tell_of_their_run(show: Any) -> None:
    with show(*EXAMPLE, run(MARKUP, TEX, 300, seed=7, lower_bound=270)) as page:
        # Gaps go from 0 to 55 % with 4 % of room on both sides; TEX's 10 % stand in the last row.
        tip = page.hover("campaign-0-gap/spread", (10 + 2.2) / 59.4, 3.5 / 4)
        assert MARKUP in tip
        assert TEX in tip
        assert "seed7" in tip
        assert page.complaints == []
        assert page.requests == []


def test_page_fits_a_narrow_window(show: Any) -> None:
    rows = [
        run("one", "sjf-bco-occupied-first", 10 * k, parameter_servers_factor=k, parameter_kappa=k)
        for k in (1, 2, 4)
    ]
    with show(*EXAMPLE, *rows, width=480) as page:
        assert page.page.evaluate("document.documentElement.scrollWidth") <= 480
        assert page.complaints == []


def test_parts_draw_their_campaign_and_lines_tell_of_their_method(show: Any) -> None:
    least = {"campaign": "b", "lower_bound": 100}
    rows = [run("three", TEX, 100 * k, parameter_k=k, **least) for k in (1, 2, 3)]
    with show(*EXAMPLE, *rows) as page:
        page.page.locator("#panel-1 > summary").click()
        page.page.wait_for_selector("#campaign-1-setting-0 canvas")
        page.page.wait_for_timeout(300)
        # The middle one of three values, of the first of two lines; 10 % of room at both ends.
        tip = page.hover("campaign-1-setting-0/setting", 0.5 - 0.015 / 3, 0.5)
        assert page.complaints == []
        assert page.requests == []
        assert TEX in tip
        assert "mean200.0" in tip


def over_jobs() -> list[Row]:
    """Two methods, one with a parameter, on instances of 5 and 10 jobs."""
    cells = [
        (jobs, method, kappa, value)
        for jobs, values in ((10, (80, 60, 50)), (5, (40, 30, 20)))
        for method, kappa, value in zip(
            ("plain", "tuned", "tuned"), (None, 1, 2), values, strict=True
        )
    ]
    return [
        run(
            *(f"{jobs} jobs", method, value),
            source_jobs=jobs,
            parameter_kappa=kappa,
            lower_bound=value / 2 if method == "plain" else 10,
        )
        for jobs, method, kappa, value in cells
    ]


def test_table_over_a_setting_has_a_column_for_each_value() -> None:
    runs = runs_of(over_jobs())
    table = setting_table(runs, "jobs")
    assert table.rows == [
        {"method": "plain", "5": 40, "10": 80},
        {"method": "tuned kappa=1", "5": 30, "10": 60},
        {"method": "tuned kappa=2", "5": 20, "10": 50},
        {"method": "lower bound", "5": 20, "10": 40},
    ]
    assert table.table()[0] == {"method": "plain", "5": "40.0", "10": "80.0"}
    # Over a parameter, a method without it is the same everywhere.
    assert setting_table(runs, "kappa").rows == [
        {"method": "plain", "1": 60, "2": 60},
        {"method": "tuned", "1": 45, "2": 35},
        {"method": "lower bound", "1": 30, "2": 30},
    ]
    assert setting_table(runs, "kappa", "ratio").table() == [
        {"method": "plain", "1": "1.800", "2": "1.800"},
        {"method": "tuned", "1": "1.350", "2": "1.000"},
    ]
    assert r"plain & 40.0 & 80.0 \\" in table.to_latex()
    text = text_of(*over_jobs())
    assert "Mean makespan in slots by jobs." in text
    methods = ["plain", "tuned kappa=1", "tuned kappa=2", "lower bound"]
    assert " ".join(["jobs", *methods, "5 40.0 30.0 20.0 20.0"]) in text


def test_table_of_methods_has_all_that_is_measured() -> None:
    rows = summary_table(runs_of(EXAMPLE)).table()
    assert rows[0] == {
        "method": "good",
        "runs": "2",
        "failed": "0",
        "with a schedule": "2",
        "proven optimal": "1",
        "least": "2",
        "mean value": "90.0",
        "ratio to least": "1.000",
        "gap": "5.0%",
        "seconds": "2.00",
    }
    assert rows[2]["mean value"] == "-"


@pytest.mark.parametrize(
    ("over", "measure", "said"),
    [
        ("jobz", "value", "no setting 'jobz' varies; choose from jobs, kappa"),
        ("jobs", "values", "no measure 'values'; choose from value, ratio, gap, seconds, optimal"),
    ],
)
def test_table_of_nothing_is_refused(over: str, measure: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        setting_table(runs_of(over_jobs()), over, measure)
    assert str(refused.value).startswith(said)
