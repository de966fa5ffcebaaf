"""Pages as text: what they say, that they need nothing else, and that names stay names."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from html import escape
from typing import Any

import pytest
from charts import charts_of, table_with, tables_with
from documents import assignment_data, instance_of, job_data, schedule_of
from elements import Elements
from shown import ENTITY, MARKUP, TEX, of_many_jobs, with_markup

import rarmodel
from rarmodel.bounds import LowerBound, with_bound
from rarmodel.drawing import draw_all, image_of, report_page
from rarmodel.drawing.objective_values import aims_of
from rarmodel.drawing.page import chosen
from rarmodel.drawing.side_by_side import distinct, ends_of
from rarmodel.errors import UsageError
from rarmodel.schema.base import MAX_INTEGER

pytest.importorskip("altair")


@pytest.fixture(scope="module")
def compared() -> tuple[rarmodel.Instance, list[rarmodel.Schedule], Elements]:
    instance = rarmodel.load_instance("two-servers")
    results = [rarmodel.solve(instance, method=m) for m in ("first-fit", "sjf-bco")]
    schedules = [result.schedule for result in results if result.schedule is not None]
    return instance, schedules, Elements(report_page(instance, schedules))


def test_page_has_verdicts_numbers_and_bounds(compared: Any) -> None:
    _, _, page = compared
    assert "4 jobs on 4 GPUs of 2 servers" in page.text
    assert "first-fit 20 20 s 40.0% 1.000 13.0 13 s 60.0% 1 1" in page.text
    assert "sjf-bco 20 20 s 40.0% 1.000" in page.text
    assert "longest job 8 8 s 60.0%" in page.text
    assert "area (greatest) 12 12 s 40.0%" in page.text
    assert "the best valid schedule here, 20 slots" in page.text


def test_page_leads_with_the_finding(compared: Any) -> None:
    instance, schedules, page = compared
    assert page.text.index("first-fit and sjf-bco are equally short, and at most 40%") < (
        page.text.index("The schedules")
    )
    assert [tag for tag, _ in page.tags].count("h1") == 1
    alone = Elements(report_page(instance, schedules[:1]))
    assert "first-fit is at most 40% from optimal. It takes 20 slots (20 s)." in alone.text


def test_bound_that_a_schedule_carries_is_the_one_that_gaps_are_to(compared: Any) -> None:
    instance, schedules, _ = compared
    proven = with_bound(schedules[0], instance, LowerBound(19, "a day of thought"))
    text = Elements(report_page(instance, [schedules[1], proven])).text
    assert "at most 5% from optimal" in text
    assert "(bound: a day of thought)" in text
    assert "sjf-bco 20 20 s 5.0%" in text
    assert "area 12 12 s 40.0% wide jobs" in text
    assert "a day of thought (greatest) 19 19 s 5.0%" in text


def test_best_and_worst_of_several_schedules_are_shown_first() -> None:
    instance = instance_of(job_data("a"), job_data("b"), servers=(2,))
    late = [
        schedule_of(assignment_data("a", 0, s0=[0]), assignment_data("b", k, s0=[1]))
        for k in (3, 0, 9, 5)
    ]
    wrong = schedule_of(assignment_data("a", 0, s0=[0]))

    def shown(*schedules: rarmodel.Schedule) -> tuple[int, ...]:
        drawings = draw_all(instance, schedules)
        return chosen(aims_of(drawings))

    assert shown(*late) == (1, 2)
    assert shown(late[0]) == (0,)
    assert shown(wrong, late[0], wrong) == (1, 0)
    assert shown(wrong, wrong, wrong) == (0, 1)
    params = charts_of(report_page(instance, late))["charts"]["params"]
    choices = {one["name"]: one for one in params if "options" in one.get("bind", {})}
    assert {name: one["value"] for name, one in choices.items()} == {"above": 1, "below": 2}
    for one in choices.values():
        assert one["bind"]["options"] == [0, 1, 2, 3]
        assert one["bind"]["labels"] == distinct(["by hand"] * 4)


def test_page_asks_for_nothing_outside_itself(compared: Any) -> None:
    _, _, page = compared
    for tag, attributes in page.tags:
        for name in ("src", "href", "action", "data"):
            target = attributes.get(name) or "#"
            assert target.startswith(("#", "data:")), (tag, name, target)
    policy = next(a["content"] for t, a in page.tags if a.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval';")


def test_every_id_is_unique_and_every_reference_leads_to_one(compared: Any) -> None:
    _, _, page = compared
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for name in ("aria-labelledby", "aria-controls"):
        named = {attributes[name] for _, attributes in page.tags if name in attributes}
        assert named
        assert named <= set(ids)
    charts = {name.removeprefix("data-") for name in page.data if name.startswith("data-")}
    assert charts == {"charts"}
    assert charts <= set(ids)


def test_names_that_look_like_markup_are_text() -> None:
    page = report_page(*two(with_markup()))
    elements = Elements(page)
    assert MARKUP not in page
    assert page.count("<script") == len([tag for tag, _ in elements.tags if tag == "script"])
    assert all(name in elements.text for name in (MARKUP, TEX, ENTITY))
    for name in (MARKUP, ENTITY):
        assert escape(name).replace("&#x27;", "&#39;").replace("&quot;", "&#34;") in page
    assert MARKUP in table_with(charts_of(page)["charts"], "job")["job"]


def two(problem: tuple[rarmodel.Instance, rarmodel.Schedule]) -> tuple[Any, list[Any]]:
    """An instance, and its schedule twice."""
    return problem[0], [problem[1]] * 2


def test_invalid_schedules_are_shown_as_such() -> None:
    elements = Elements(report_page(*two(with_markup())))
    assert "The verifier refuses this schedule: 1 violation." in elements.text
    assert "No schedule here is valid." in elements.text
    assert f"This schedule was made for the instance {MARKUP}2." in elements.text
    assert f"{TEX} invalid: 1 violation" in elements.text
    assert f"{TEX} (2) invalid: 1 violation" in elements.text


def test_schedule_of_nothing_that_exists_is_shown() -> None:
    schedule = schedule_of(assignment_data("nobody", -5, nowhere=[-1]))
    empty = schedule.model_copy(update={"assignments": ()})
    text = Elements(report_page(instance_of(), [schedule, empty])).text
    assert "job 'nobody' is scheduled; the instance has no such job" in text
    assert text.count("The verifier refuses this schedule") == 2


def test_same_input_gives_the_same_bytes(compared: Any) -> None:
    instance, schedules, _ = compared
    here = [report_page(instance, schedules) for _ in range(2)]
    assert here[0] == here[1]
    # Another process, whose hashes of texts differ, and which has drawn nothing before.
    code = (
        "import rarmodel, sys, hashlib; i = rarmodel.load_instance('two-servers');"
        "s = [rarmodel.solve(i, method=m).schedule for m in ('first-fit', 'sjf-bco')];"
        "print(hashlib.sha256(rarmodel.report(i, s).encode()).hexdigest())"
    )
    there = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, encoding="utf-8"
    )
    assert there.stdout.strip() == hashlib.sha256(here[0].encode()).hexdigest()


def test_page_of_many_jobs_is_small_and_shows_those_that_contention_costs_most() -> None:
    instance, schedule = of_many_jobs(10_000, 200)
    page = report_page(instance, [schedule])
    assert len(page.encode()) < 10_000_000
    text = Elements(page).text
    assert "single jobs come into view" in text
    assert "turns: jobs as a table, the 300 that take longest" in text


def test_page_with_too_many_bars_leaves_single_jobs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rarmodel.drawing.gantt.MAX_BARS", 1000)
    instance, schedule = of_many_jobs(2000, 200)
    page = report_page(instance, [schedule])
    assert "There are too many jobs to draw each." in Elements(page).text
    chart = charts_of(page)["charts"]
    assert "find" not in {one["name"] for one in chart["params"]}
    assert tables_with(chart, "job") == []


def test_overfull_servers_of_an_invalid_schedule_are_not_taken_for_idle() -> None:
    instance, schedule = of_many_jobs(2000, 200)
    gpus = {"s0": (0, 1)}
    everyone = [a.model_copy(update={"start": 0, "gpus": gpus}) for a in schedule.assignments]
    crowded = schedule.model_copy(update={"assignments": tuple(everyone)})
    (drawing,) = draw_all(instance, [crowded])
    chart = charts_of(report_page(instance, [crowded]))["charts"]
    (held,) = [one for one in tables_with(chart, "value", "line") if max(one["value"]) > 100]
    assert held["value"] == [2000 * 2 * 100 // 16]  # Two servers in a row.
    assert (held["line"], held["slot"], held["until"]) == ([0], [0], [drawing.end])


def test_schedule_that_goes_on_for_ever_does_not_squeeze_the_others() -> None:
    far = schedule_of(assignment_data("a", 10**9, s0=[0, 1]), assignment_data("b", 0, s1=[0]))
    short = schedule_of(assignment_data("a", 0, s0=[0, 1]))
    drawings = draw_all(instance_of(), [far, schedule_of(), short])
    assert [drawing.report.feasible for drawing in drawings] == [False, True, False]
    assert ends_of(drawings) == [10**9 + 2, 2, 2]
    assert axes(report_page(instance_of(), [far, schedule_of()])) == {10**9 + 2, 2}
    assert axes(report_page(instance_of(), [far, short])) == {10**9 + 2, 2}


def axes(page: str) -> set[int]:
    """Where the axes of time of the charts of a page end."""
    found = set()
    for chart in charts_of(page)["charts"]["vconcat"]:
        for layer in chart["layer"]:
            if layer["encoding"]["x"].get("field") == "slot":
                found.add(round(layer["encoding"]["x"]["scale"]["domain"][1] / 1.02))
    return found


@pytest.mark.parametrize("start", [MAX_INTEGER, -MAX_INTEGER])
def test_farthest_starts_that_a_file_can_hold_are_drawn(start: int) -> None:
    schedule = schedule_of(assignment_data("a", start, s0=[0, 1]), assignment_data("b", 0, s1=[0]))
    assert f"{start:,}" in report_page(instance_of(), [schedule])
    assert image_of(rarmodel.plot(instance_of(), schedule), "png").startswith(b"\x89PNG")


def test_one_of_a_kind_is_no_plural() -> None:
    instance = instance_of(job_data("a"), servers=(1,))
    text = Elements(report_page(instance, [schedule_of(assignment_data("a", 0, s0=[0]))])).text
    assert "1 job on 1 GPU of 1 server; horizon" in text


def test_report_without_schedules_is_an_error() -> None:
    with pytest.raises(UsageError, match="at least one schedule"):
        report_page(instance_of(), [])


def test_charts_of_ones_own_stand_at_the_end_of_the_page(compared: Any) -> None:
    alt = pytest.importorskip("altair")
    instance, schedules, _ = compared
    own = alt.Chart(alt.InlineData(values=[{"x": 1}])).mark_bar().encode(x="x:Q")
    page = rarmodel.report(instance, schedules, charts={MARKUP: own})
    assert Elements(page).text.rstrip().index(MARKUP) > Elements(page).text.index("Jobs first-fit")
    assert charts_of(page)["own-0"]["mark"] == {"type": "bar"}


def test_job_table_says_which_gpus_of_which_servers(compared: Any) -> None:
    _, _, page = compared
    assert "j0 3 s0: 0–1; s1: 0 0 0 s 8 8 s" in page.text


def test_labels_are_distinct() -> None:
    assert distinct(["a", "b", "a", "a (2)", "a"]) == ["a", "b", "a (2)", "a (2) (2)", "a (3)"]
