"""Pages in a real headless Chromium: they render, react, complain not and ask for nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from browser import Opened, opened
from documents import assignment_data, instance_data, instance_of, job_data, schedule_of
from shown import MARKUP, TEX, of_many_jobs, with_markup

import rarmodel
from rarmodel.files import parse_instance

pytest.importorskip("bokeh")

# Colours of single pixels of a chart, by parts of its frame.
PIXELS = """([element, places]) => {
  const view = [...Bokeh.index].find((one) => document.getElementById(element).contains(one.el));
  const layers = view.canvas_view.primary;
  const box = view.frame.bbox;
  const ratio = layers.pixel_ratio;
  return places.map(([x, y]) => [...layers.ctx.getImageData(
    Math.round((box.left + x * box.width) * ratio),
    Math.round((box.top + y * box.height) * ratio), 1, 1).data]);
}"""


@pytest.fixture(scope="module")
def show(tmp_path_factory: pytest.TempPathFactory, launch: Callable[..., Any]) -> Any:
    """Write a report to a file, and open it."""

    def opener(instance: Any, *schedules: Any, style: str = "", **options: Any) -> Any:
        path = tmp_path_factory.mktemp("page") / "report.html"
        page = rarmodel.report(instance, schedules)
        path.write_text(page.replace("</head>", f"<style>{style}</style></head>"), encoding="utf-8")
        return opened(path, launch(), **options)

    return opener


def assert_quiet(page: Opened) -> None:
    assert page.complaints == []
    assert page.requests == []


def solved(name: str, *methods: str) -> tuple[Any, ...]:
    instance = rarmodel.load_instance(name)
    return instance, *(rarmodel.solve(instance, method=method).schedule for method in methods)


def test_small_instance_renders_reacts_and_is_quiet(show: Any) -> None:
    with show(*solved("two-servers", "first-fit", "sjf-bco")) as page:
        tip = page.hover("schedule-0-gantt", 0.2, 0.2)
        assert "j0" in tip
        assert "3 GPUs on 2 servers" in tip
        assert "0 to 8 (8; alone at least 8)" in tip
        assert "0 s to 8 s (8 s)" in tip
        assert "at most 1 ring on a link it uses" in tip
        assert "j1" in page.hover("schedule-0-gantt", 0.5, 0.2)
        assert "s1" in page.hover("schedule-0-contention", 0.2, 0.75)
        assert_quiet(page)


def test_pixels_of_bars_are_coloured_and_idle_gpus_are_not(show: Any) -> None:
    with show(*solved("two-servers", "first-fit")) as page:
        # j0 over both servers, j1 within one, and GPU 1 of s1, idle beside j0.
        assert_quiet(page)
        places = [[0.1, 0.1], [0.45, 0.1], [0.1, 0.9]]
        j0, j1, idle = page.page.evaluate(PIXELS, ["schedule-0-gantt", places])
        assert j0 == [0x41, 0x4C, 0x9E, 255]
        assert j1 == [0x53, 0xAC, 0xC2, 255]
        assert idle == [0, 0, 0, 0]  # The paper is seen through the chart.


def test_rows_of_the_heat_map_are_the_links_in_order(show: Any) -> None:
    jobs = [job_data(name, gpus=2, iterations=50) for name in "abc"]
    instance = instance_of(*jobs, servers=(1, 3, 2), horizon=100)
    schedule = schedule_of(
        {"job": "a", "start": 0, "gpus": {"s0": [0], "s1": [0]}},
        {"job": "b", "start": 0, "gpus": {"s1": [1], "s2": [0]}},
        {"job": "c", "start": 50, "gpus": {"s1": [0, 1]}},
    )
    with show(instance, schedule) as page:
        for row, (name, rings) in enumerate((("s0", 1), ("s1", 2), ("s2", 1))):
            tip = page.hover("schedule-0-contention", 0.04, (row + 0.5) / 3)
            assert f"link{name}" in tip
            assert f"rings{rings}" in tip
            assert "slots2time2 s to 3 s" in tip
        assert_quiet(page)


def test_schedules_that_are_compared_are_chosen_with_the_keyboard(show: Any) -> None:
    with show(*solved("two-servers", "list-scheduling", "first-fit", "sjf-bco", "search")) as page:
        # The best above the worst.
        assert in_view(page) == ["search", "list-scheduling"]
        page.page.locator('[name="below"][value="0"]').focus()
        page.page.keyboard.press("ArrowDown")
        page.page.wait_for_selector("html[data-pair='3 1']")
        assert in_view(page) == ["search", "first-fit"]
        assert "j0" in page.hover("schedule-1-gantt", 0.1, 0.2)
        # Who asks for the same one above and below gets both the other way round.
        page.page.locator('[name="above"][value="1"]').check()
        page.page.wait_for_selector("html[data-pair='1 3']")
        assert in_view(page) == ["first-fit", "search"]
        assert_quiet(page)


def in_view(page: Opened) -> list[str]:
    """Schedules whose Gantt charts are in view, from above."""
    found = page.page.evaluate(
        """[...document.querySelectorAll(".one[data-group]:not([hidden])")]
          .map((one) => [one.getBoundingClientRect().top, one.dataset.label])
          .sort(([a], [b]) => a - b).map(([, label]) => label)"""
    )
    return [str(label) for label in found]


def test_job_is_found_by_name(show: Any) -> None:
    with show(*solved("two-servers", "first-fit")) as page:
        field = page.page.locator("form.find input")
        said = page.page.locator("#found")
        field.fill("j3")
        field.press("Enter")
        assert said.text_content() == (
            "j3; 1 GPU on 1 server; 12 to 20 (8; alone at least 8); uses no link"
        )
        field.fill("nobody")
        field.press("Enter")
        assert said.text_content() == "There is no job nobody here."
        assert_quiet(page)


def test_name_that_ends_with_a_space_is_found(show: Any) -> None:
    instance = instance_of(job_data("a"), job_data("a ", gpus=2))
    schedule = schedule_of(assignment_data("a", 0, s0=[0]), assignment_data("a ", 0, s1=[0, 1]))
    with show(instance, schedule) as page:
        field = page.page.locator("form.find input")
        for typed, ring in (("a ", "2 GPUs"), ("a", "1 GPU"), (" a", "1 GPU")):
            field.fill(typed)
            field.press("Enter")
            said = str(page.page.locator("#found").text_content())
            assert said.startswith(f"{typed.lstrip()}; {ring} on 1 server")
        assert_quiet(page)


def test_names_that_look_like_markup_or_formulas_are_shown_as_they_are(show: Any) -> None:
    instance, schedule = with_markup()
    with show(instance, schedule, schedule) as page:
        assert MARKUP in page.hover("schedule-0-gantt", 0.2, 0.2)
        assert TEX in page.hover("schedule-0-gantt", 0.1, 0.9)
        assert TEX in page.hover("schedule-0-contention", 0.1, 0.9)
        assert page.page.title() == f"{MARKUP}: schedules compared"
        assert_quiet(page)


def test_ten_thousand_jobs_are_aggregated_and_come_into_view_on_zooming(show: Any) -> None:
    with show(*of_many_jobs(10_000, 200)) as page:
        tip = page.hover("schedule-0-gantt", 0.51, 0.31)
        assert "server" in tip
        assert "GPUs held" in tip
        assert "job" not in tip
        page.zoom("schedule-0-gantt", (0.3, 0.3), (0.4, 0.34))
        tip = page.hover("schedule-0-gantt", 0.12, 0.52)
        assert "job" in tip
        assert "GPUs held" not in tip
        page.page.locator("form.find input").fill("j9999")
        page.page.locator("form.find input").press("Enter")
        assert "2 GPUs on" in str(page.page.locator("#found").text_content())
        assert_quiet(page)


def test_paper_instance_is_drawn_job_by_job(show: Any) -> None:
    with show(*solved("paper-160", "list-scheduling")) as page:
        assert "job" in page.hover("schedule-0-gantt", 0.05, 0.7)
        assert_quiet(page)


def test_page_fits_a_narrow_window(show: Any) -> None:
    with show(*solved("two-servers", "first-fit"), width=480) as page:
        width = page.page.evaluate("document.documentElement.scrollWidth")
        assert width <= 480
        assert_quiet(page)


def test_wider_instance_shows_what_jobs_ask_for(show: Any) -> None:
    data = instance_data(
        job_data("first", 2, 40, running={"gpus": {"s0": [0, 1]}, "iterations_done": 10}),
        job_data("next", 2, 40, release=1, due=4),
        servers=(2, 2),
    )
    data["cluster"]["reservations"] = [
        {"server": "s1", "gpus": 1, "from": 0, "to": 9, "reason": MARKUP}
    ]
    data["objective"] = "total-tardiness"
    schedule = schedule_of(
        assignment_data("first", 0, s0=[0, 1]), assignment_data("next", 3, s0=[0, 1])
    )
    with show(parse_instance(data), schedule) as page:
        tip = page.hover("schedule-0-gantt", 0.7, 0.2)
        assert "released at 1, waited 2; due at 4, 3 late" in tip
        assert "runs at slot 0 already" in page.hover("schedule-0-gantt", 0.2, 0.2)
        assert MARKUP in page.hover("schedule-0-gantt", 0.5, 0.9)  # As text.
        drawn = page.page.evaluate(
            """() => {
              const { figure, element } = rarmodelFrames.frames.get("overview-flow");
              const { slot, part } = figure.renderers[0].data_source.data;
              const ticks = [...element.querySelectorAll(".ticks .tick")];
              return [[...slot], [...part], ticks.map((tick) => tick.textContent)];
            }"""
        )
        assert drawn[:2] == [[0, 3, 6], [0, 0.5, 1]]
        assert "6" in drawn[2]
        assert_quiet(page)


def test_marks_of_many_jobs_are_on_the_edges(show: Any) -> None:
    jobs = [job_data(f"j{i}", release=i, due=i + 2) for i in range(30)]
    schedule = schedule_of(*(assignment_data(f"j{i}", i, s0=[i]) for i in range(30)))
    with show(instance_of(*jobs, servers=(30,), horizon=40), schedule) as page:
        marks = page.page.evaluate(
            """() => ["release", "due"].map((kind) =>
              document.querySelectorAll(`[data-frame="schedule-0-gantt"] .mark.${kind}`).length)"""
        )
        assert marks == [29, 29]
        assert_quiet(page)
