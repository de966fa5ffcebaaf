"""Frames of charts in a real headless Chromium: equal, linked, and labelled, whatever the fonts."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from browser import FRAME, Opened, opened
from documents import assignment_data, instance_of, job_data, schedule_of
from shown import of_many_jobs

import rarmodel
from rarmodel.duration import duration

pytest.importorskip("bokeh")

FIRST = ("schedule-0-gantt", "schedule-0-contention")
SECOND = ("schedule-1-gantt", "schedule-1-contention")
OVERVIEW = ("overview-utilisation", "overview-completion")
STYLES = {
    "as they are": "",
    "wide": "html { font-size: 30px } * { letter-spacing: 0.7em !important }",
    "narrow": "html { font-size: 9px } * { letter-spacing: -0.2em !important }",
    "large": "* { font: 28px monospace !important }",
}
RANGES = """name => {
  const { x_range: x, y_range: y } = rarmodelFrames.frames.get(name).figure;
  return [x.start, x.end, y.start, y.end];
}"""
# Labels of rows: texts, and where they and their rows are.
LABELS = """name => [...document.querySelectorAll(`[data-frame="${name}"] .name`)].map((one) => {
  const box = one.getBoundingClientRect();
  return [one.textContent, box.top, box.bottom, one.scrollWidth > one.clientWidth];
})"""
# Names in bars: texts, and whether their box holds them.
IN_BARS = """name => [...document.querySelectorAll(`[data-frame="${name}"] .job`)]
  .map((one) => [one.textContent, one.scrollWidth <= one.clientWidth])"""
TICKS = """([name, kind]) => [...document.querySelectorAll(`[data-frame="${name}"] .${kind} .tick`)]
  .map((one) => [one.textContent, parseFloat(one.style.left) / 100])"""


@pytest.fixture
def show(tmp_path: Path, launch: Callable[..., Any]) -> Any:
    """Write a report to a file with more styles, and open it."""

    def opener(
        instance: Any,
        *schedules: Any,
        style: str = "",
        environment: dict[str, str] | None = None,
        **options: Any,
    ) -> Any:
        path = tmp_path / "report.html"
        page = rarmodel.report(instance, schedules)
        path.write_text(page.replace("</head>", f"<style>{style}</style></head>"), encoding="utf-8")
        return opened(path, launch(**(environment or {})), **options)

    return opener


def with_odd_names() -> tuple[rarmodel.Instance, rarmodel.Schedule]:
    """Servers with names short and long; a schedule that uses a link."""
    names = ("a", "a server in rack 1234", "b" * 99)
    instance = instance_of(job_data("a", gpus=3), job_data("b"), servers=[2] * 3)
    servers = [
        server.model_copy(update={"name": name})
        for server, name in zip(instance.cluster.servers, names, strict=True)
    ]
    cluster = instance.cluster.model_copy(update={"servers": tuple(servers)})
    schedule = schedule_of(
        assignment_data("a", 0, a=[0, 1], **{names[1]: [0]}),
        assignment_data("b", 0, **{names[2]: [0]}),
    )
    return instance.model_copy(update={"cluster": cluster}), schedule


def assert_equal_frames(page: Opened, names: tuple[str, ...]) -> None:
    """Every frame begins and ends below the others, and is where its labels think it is."""
    frames = [page.page.evaluate(FRAME, name) for name in names]
    for frame in frames:
        assert frame["x"] == pytest.approx(frames[0]["x"], abs=0.5)
        assert frame["width"] == pytest.approx(frames[0]["width"], abs=0.5)
    for name, frame in zip(names, frames, strict=True):
        area = page.page.evaluate(
            """name => {
              const box = rarmodelFrames.frames.get(name).front.getBoundingClientRect();
              return [box.x, box.width, box.y + scrollY, box.height];
            }""",
            name,
        )
        assert area == pytest.approx([frame[key] for key in ("x", "width", "y", "height")], abs=1)
    assert page.complaints == []


@pytest.mark.parametrize("style", STYLES.values(), ids=list(STYLES))
def test_frames_are_equal_whatever_the_names_and_the_fonts(show: Any, style: str) -> None:
    instance, schedule = with_odd_names()
    with show(instance, schedule, schedule, style=style) as page:
        assert_equal_frames(page, (*FIRST, *SECOND, *OVERVIEW))


def test_frames_are_equal_where_there_are_few_fonts(show: Any, tmp_path: Path) -> None:
    fonts = Path(pytest.importorskip("matplotlib").get_data_path()) / "fonts" / "ttf"
    settings = tmp_path / "fonts.conf"
    settings.write_text(
        '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">'
        f"<fontconfig><dir>{fonts}</dir><cachedir>{tmp_path}/cache</cachedir></fontconfig>"
    )
    instance, schedule = with_odd_names()
    environment = {"FONTCONFIG_FILE": str(settings)}
    with show(instance, schedule, environment=environment) as page:
        assert_equal_frames(page, (*FIRST, *OVERVIEW))


def test_frames_are_equal_after_the_window_has_changed(show: Any) -> None:
    instance, schedule = with_odd_names()
    with show(instance, schedule) as page:
        page.page.set_viewport_size({"width": 700, "height": 900})
        page.page.wait_for_timeout(500)
        assert_equal_frames(page, (*FIRST, *OVERVIEW))


@pytest.mark.parametrize("style", STYLES.values(), ids=list(STYLES))
def test_every_server_has_a_label_alone_or_in_a_range(show: Any, style: str) -> None:
    instance = rarmodel.load_instance("paper-160")
    schedule = rarmodel.solve(instance, method="first-fit").schedule
    with show(instance, schedule, schedule, style=style) as page:
        found = page.page.evaluate(LABELS, "schedule-0-gantt")
        assert named(label for label, *_ in found) == list(range(20))
        for (_, _, bottom, _), (_, top, _, _) in pairwise(found):
            assert top >= bottom - 1.5
        page.page.locator("#tall").check()
        page.page.wait_for_timeout(500)
        more = page.page.evaluate(LABELS, "schedule-0-gantt")
        assert named(label for label, *_ in more) == list(range(20))
        assert len(more) > len(found)


def named(labels: Any) -> list[int]:
    """Numbers of the servers that labels name: `s3`, `s04–s07`."""
    found: list[int] = []
    for label in labels:
        ends = [int(number) for number in re.findall(r"s(\d+)", label)]
        found += range(ends[0], ends[-1] + 1)
    return found


def test_a_thousand_servers_are_named_in_ranges_and_one_by_one_on_zooming(show: Any) -> None:
    with show(*of_many_jobs(6000, 1000)) as page:
        found = [label for label, *_ in page.page.evaluate(LABELS, "schedule-0-gantt")]
        assert named(found) == list(range(1000))
        assert found[:2] == ["s0–s24", "s25–s49"]
        page.zoom("schedule-0-gantt", (0.1, 0.3), (0.5, 0.4))
        page.zoom("schedule-0-gantt", (0.1, 0.0), (0.5, 0.2))
        zoomed = [label for label, *_ in page.page.evaluate(LABELS, "schedule-0-gantt")]
        assert zoomed == [f"s{n}" for n in range(named(zoomed)[0], named(zoomed)[-1] + 1)]
        assert 299 <= named(zoomed)[0] <= 301
        assert 15 <= len(zoomed) <= 25
        assert page.complaints == []


def pair() -> tuple[Any, ...]:
    """An instance, and two schedules of different lengths."""
    instance = rarmodel.load_instance("two-servers")
    searched = rarmodel.solve(instance, method="search", second_aim=False).schedule
    return instance, searched, rarmodel.solve(instance, method="sjf-bco").schedule


def test_two_schedules_stand_above_each_other_on_one_axis_of_time(show: Any) -> None:
    with show(*pair()) as page:
        above, below = (page.page.evaluate(FRAME, name) for name in (FIRST[0], SECOND[0]))
        assert above["y"] + above["height"] < below["y"]
        assert above["height"] == below["height"]
        # One axis: the clock above both, slots below both, at the same places.
        visible = page.page.locator(".stack").first.locator(".clock:visible, .ticks:visible")
        assert [one.get_attribute("class") for one in visible.all()] == ["clock", "ticks"]
        page.zoom(SECOND[0], (0.25, 0.0), (0.75, 0.5))
        ranges = [page.page.evaluate(RANGES, name) for name in (FIRST[0], SECOND[0])]
        assert ranges[0] == ranges[1]
        start, end, bottom, top = ranges[0]
        assert (start, end) == pytest.approx((20.4 / 4, 20.4 * 3 / 4), abs=0.1)
        assert (bottom, top) == pytest.approx((2, 0), abs=0.1)
        for name in (FIRST[1], SECOND[1], *OVERVIEW):
            assert page.page.evaluate(RANGES, name)[:2] == [start, end]
        page.page.locator("#whole").click()
        for name in (*FIRST, *SECOND, *OVERVIEW):
            assert page.page.evaluate(RANGES, name)[:2] == pytest.approx([0, 20.4])
        assert page.complaints == []


def test_schedule_that_comes_into_view_has_the_window_of_the_others(show: Any) -> None:
    instance, first, second = pair()
    with show(instance, first, second, second) as page:
        page.zoom(FIRST[0], (0.25, 0.0), (0.75, 0.5))
        page.page.locator('[name="below"][value="2"]').check()
        page.page.wait_for_selector("html[data-pair='0 2']")
        shown = [page.page.evaluate(RANGES, name) for name in (FIRST[0], "schedule-2-gantt")]
        assert shown[0] == shown[1]
        assert shown[0][0] > 5


def test_axis_of_a_schedule_that_goes_on_for_ever_is_its_own(show: Any) -> None:
    far = schedule_of(assignment_data("a", 10**6, s0=[0, 1]), assignment_data("b", 0, s1=[0]))
    with show(instance_of(), schedule_of(), far) as page:
        page.page.locator("#closer").click()
        assert page.page.evaluate(RANGES, FIRST[0])[:2] == pytest.approx([0.51, 1.53])
        assert page.page.evaluate(RANGES, SECOND[0])[1] > 700_000
        assert page.page.evaluate(TICKS, [SECOND[0], "ticks"])[-1][0] != ""
        both = page.page.locator('.one.alone[data-group="schedule-1"]')
        assert both.locator(".clock").is_visible()
        assert both.locator(".ticks").is_visible()


def test_page_has_one_toolbar(show: Any) -> None:
    with show(*pair()) as page:
        assert page.page.locator('[role="toolbar"]').count() == 1
        of_charts = """[...Bokeh.index].map((view) => view.model)
          .filter((model) => model.toolbar_location != null).length"""
        assert page.page.evaluate(of_charts) == 0
        page.page.locator("text=move").click()
        area = page.page.evaluate(FRAME, FIRST[0])
        page.zoom(FIRST[0], (0.25, 0.0), (0.5, 0.5))
        page.page.locator("#closer").click()
        start, end, *_ = page.page.evaluate(RANGES, SECOND[0])
        assert end - start == pytest.approx(10.2)
        page.zoom(FIRST[0], (0.75, 0.1), (0.5, 0.1))  # To the left by a quarter.
        moved = page.page.evaluate(RANGES, SECOND[0])[0] - start
        assert moved == pytest.approx(10.2 / 4, abs=10.2 / area["width"] * 3)
        assert page.complaints == []


def test_wheel_scrolls_the_page_and_zooms_with_ctrl(show: Any) -> None:
    with show(*pair()) as page:
        page.hover(FIRST[0], 0.5, 0.5)
        before = page.page.evaluate("scrollY")
        page.page.mouse.wheel(0, 50)
        page.page.wait_for_timeout(300)
        assert page.page.evaluate("scrollY") == before + 50
        assert page.page.evaluate(RANGES, FIRST[0])[:2] == pytest.approx([0, 20.4])
        page.hover(FIRST[0], 0.5, 0.5)
        page.page.keyboard.down("Control")
        page.page.mouse.wheel(0, -200)
        page.page.wait_for_timeout(300)
        page.page.keyboard.up("Control")
        start, end, *rows = page.page.evaluate(RANGES, SECOND[0])
        assert 0 < start < end < 20.4
        assert rows == [4, 0]


def test_pointing_at_a_job_marks_it_in_both_schedules_and_tells_the_time(show: Any) -> None:
    marked = """() => Bokeh.documents.map((one) => one.get_model_by_name("marked")?.data.left ?? [])
      .filter((left) => left.length > 0).map((left) => [...left])"""
    with show(*pair()) as page:
        page.hover(FIRST[0], 0.2, 0.9)  # j3, on one GPU: from slot 0 in both.
        assert page.page.evaluate(marked) == [[0], [0]]
        page.hover(FIRST[0], 0.2, 0.2)  # j0, on two servers: at 0, and at 12.
        assert page.page.evaluate(marked) == [[0, 0], [12, 12]]
        page.hover(FIRST[0], 0.9, 0.2)
        assert page.page.evaluate(marked) == []
        said = page.page.locator(".cursor:visible").evaluate_all(
            "(all) => all.map((one) => one.dataset.text).filter((text) => text !== '')"
        )
        assert said == ["slot 18 · 18 s"]
        assert page.page.locator(".cursor:visible").count() == 6


def test_names_stand_in_bars_that_have_room_for_them(show: Any) -> None:
    jobs = [
        job_data("short", gpus=1, iterations=100),
        job_data("a name with more letters than fit", gpus=1, iterations=20),
        job_data("tiny", gpus=1, iterations=2),
    ]
    instance = instance_of(*jobs, servers=(2,), horizon=40)
    schedule = schedule_of(
        *(
            assignment_data(job["name"], k, s0=[k // 10])
            for k, job in zip((0, 10, 15), jobs, strict=True)
        )
    )
    style = ".job { font-size: 12px }"
    with show(instance, schedule, style=style) as page:
        assert page.page.evaluate(IN_BARS, FIRST[0]) == [
            ["short", True],
            ["a name with more letters than fit", False],
            ["tiny", True],
        ]
    for style, names in (("html { font-size: 60px }", []), ("html { font-size: 6px }", 3)):
        with show(instance, schedule, style=style) as page:
            found = page.page.evaluate(IN_BARS, FIRST[0])
            assert found == names or len(found) == names


@pytest.mark.parametrize("seconds", [0.25, 1.0, 60.0, 3600.0])
def test_axes_tell_slots_and_time_at_the_same_places(show: Any, seconds: float) -> None:
    instance, *schedules = pair()
    time = instance.time.model_copy(update={"slot_seconds": seconds})
    slow = instance.model_copy(update={"time": time})
    with show(slow, *schedules) as page:
        _, end, *_ = page.page.evaluate(RANGES, FIRST[0])
        slots = page.page.evaluate(TICKS, [FIRST[0], "ticks"])
        clock = page.page.evaluate(TICKS, [FIRST[0], "clock"])
        for text, at in slots:
            assert float(text) == pytest.approx(at * end, abs=0.01)
        for text, at in clock:
            assert text == duration(round(at * end * seconds, 2))
        assert len(slots) > 5
        assert len(clock) > 5


def test_lengths_of_time_are_written_as_the_command_line_writes_them(show: Any) -> None:
    lengths = [
        0,
        0.25,
        1,
        9.99,
        10,
        59.6,
        60,
        61,
        3599.6,
        3600,
        3661,
        86399,
        86400,
        90000,
        1e6,
        -75,
    ]
    with show(*pair()[:2]) as page:
        found = page.page.evaluate("all => all.map(rarmodelPage.duration)", lengths)
        assert found == [duration(length) for length in lengths]


def test_dark_pages_are_dark_and_paper_is_not(show: Any) -> None:
    colours = """() => {
      const { backgroundColor, color } = getComputedStyle(document.body);
      const { figure } = rarmodelFrames.frames.get("overview-utilisation");
      return [backgroundColor, color, figure.renderers[0].glyph.line_color.value];
    }"""
    with show(*pair(), color_scheme="dark") as page:
        dark = ["rgb(18, 22, 27)", "rgb(231, 234, 237)", "#5b9fe3"]
        assert page.page.evaluate(colours) == dark
        page.page.emulate_media(media="print")
        assert page.page.evaluate(colours)[:2] == ["rgb(255, 255, 255)", "rgb(22, 32, 43)"]
        assert page.page.locator('[role="toolbar"]').is_hidden()
        page.page.emulate_media(media="screen", color_scheme="light")
        page.page.wait_for_timeout(200)
        light = ["rgb(252, 251, 248)", "rgb(22, 32, 43)", "#2f6fb5"]
        assert page.page.evaluate(colours) == light
        assert page.complaints == []


def test_printers_get_charts_and_labels_of_one_size(show: Any) -> None:
    with show(*pair()) as page:
        before = page.page.evaluate(FRAME, FIRST[0])["width"]
        page.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.page.set_viewport_size({"width": 900, "height": 900})
        page.page.wait_for_timeout(300)
        areas = page.page.locator(".area:visible").evaluate_all(
            "(all) => all.map((one) => one.offsetWidth)"
        )
        assert set(areas) == {round(before) + 2}  # With its border.
        page.page.evaluate("dispatchEvent(new Event('afterprint'))")
        page.page.wait_for_timeout(300)
        assert page.page.evaluate(FRAME, FIRST[0])["width"] < 900
