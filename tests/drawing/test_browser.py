"""Pages in a real headless Chromium: they render, react, complain not and ask for nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from browser import Opened, opened
from documents import assignment_data, instance_data, instance_of, job_data, schedule_of
from shown import MARKUP, TEX, of_many_jobs, with_markup

import rarmodel
from rarmodel.duration import duration
from rarmodel.files import parse_instance

pytest.importorskip("altair")

FIRST, SECOND, LINES = "charts/gantt0", "charts/gantt1", "charts/lines"
# Colours of single pixels of a chart, by parts of its frame; the frame comes first.
PIXELS = """([frame, places]) => {
  const canvas = document.querySelector("#charts canvas");
  const box = canvas.getBoundingClientRect();
  const ratio = canvas.width / box.width;
  return places.map(([x, y]) => [...canvas.getContext("2d").getImageData(
    Math.round((frame.x - box.x + x * frame.width) * ratio),
    Math.round((frame.y - scrollY - box.y + y * frame.height) * ratio), 1, 1).data]);
}"""


@pytest.fixture(scope="module")
def show(tmp_path_factory: pytest.TempPathFactory, launch: Callable[..., Any]) -> Any:
    """Write a report to a file, and open it."""

    def opener(instance: Any, *schedules: Any, **options: Any) -> Any:
        path = tmp_path_factory.mktemp("page") / "report.html"
        path.write_text(rarmodel.report(instance, schedules), encoding="utf-8")
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
        tip = page.hover(FIRST, 0.2, 0.1)
        assert "j0" in tip
        assert "3 GPUs on 2 servers" in tip
        assert "s0, GPUs 0 to 1" in tip
        assert "0 to 8 (8; alone at least 8)" in tip
        assert "0 s to 8 s (8 s)" in tip
        assert "at most 1 ring on a link it uses" in tip
        assert "j1" in page.hover(FIRST, 0.5, 0.2)
        tip = page.hover("charts/links0", 0.2, 0.75)
        assert "s1" in tip
        assert "0 to 8" in tip
        texts = page.texts("charts")
        for text in ("first-fit: 20 slots, 20 s", "GPUs held", "makespan", "1 GPU", "s0", "j3"):
            assert text in texts
        frames = [page.frame(name) for name in (FIRST, SECOND, LINES, "charts/links1")]
        for frame in frames:  # Frames stand exactly below each other.
            assert (frame["x"], frame["width"]) == (frames[0]["x"], frames[0]["width"])
        assert_quiet(page)


def test_pixels_of_bars_are_coloured_and_idle_gpus_are_not(show: Any) -> None:
    with show(*solved("two-servers", "first-fit")) as page:
        assert_quiet(page)  # Reading pixels makes Chromium complain of the test.
        # j0 over both servers, j1 within one, and GPU 1 of s1, idle beside j0.
        places = [[0.1, 0.1], [0.45, 0.1], [0.1, 0.9]]
        found = page.page.evaluate(PIXELS, [page.frame(FIRST), places])
        j0, j1, idle = (tuple(colour[:3]) for colour in found)
        assert j0 == (0x41, 0x4C, 0x9E)
        assert j1 == (0x53, 0xAC, 0xC2)
        assert idle == (0xFF, 0xFF, 0xFF)


def test_schedules_in_view_are_chosen(show: Any) -> None:
    with show(*solved("two-servers", "list-scheduling", "first-fit", "sjf-bco")) as page:
        # The best above the worst.
        assert titles(page) == ["first-fit", "list-scheduling"]
        page.page.locator("#charts-choices select").nth(1).select_option(label="sjf-bco")
        page.page.wait_for_timeout(300)
        assert titles(page) == ["first-fit", "sjf-bco"]
        assert "j3" in page.hover(SECOND, 0.1, 0.1)
        assert_quiet(page)


def titles(page: Opened) -> list[str]:
    """The schedules in view, from above."""
    found = [re.match(r"([\w-]+): \d+ slots", text) for text in page.texts("charts")]
    return [match[1] for match in found if match]


def test_job_is_found_by_name(show: Any) -> None:
    with show(*solved("two-servers", "first-fit")) as page:
        field = page.page.locator("#charts-choices input[type=search]")
        for name, said in (
            ("j3", "j3; 1 GPU on 1 server; 12 to 20 (8; alone at least 8); uses no link"),
            ("nobody", "There is no job nobody here."),
        ):
            field.fill(name)
            page.page.wait_for_timeout(500)
            assert said in page.texts("charts")
        assert_quiet(page)


def test_names_that_look_like_markup_or_formulas_are_shown_as_they_are(show: Any) -> None:
    instance, schedule = with_markup()
    with show(instance, schedule, schedule) as page:
        assert MARKUP in page.hover(FIRST, 0.2, 0.2)
        assert TEX in page.hover(FIRST, 0.1, 0.9)
        assert TEX in page.hover("charts/links0", 0.1, 0.9)
        assert page.page.title() == f"{MARKUP}: schedules compared"
        assert_quiet(page)


def test_ten_thousand_jobs_are_aggregated_and_come_into_view_on_zooming(show: Any) -> None:
    with show(*of_many_jobs(10_000, 200)) as page:
        tip = page.hover(FIRST, 0.51, 0.31)
        assert "server" in tip
        assert "GPUs held" in tip
        assert "ring" not in tip
        for _ in range(12):  # Until the window has a few servers.
            page.zoom(FIRST, 0.5, 0.5, -900)
            first, last = sorted(page.domain(FIRST, "gpus", "top"))
            if last - first < 8:
                break
        tip = page.hover(FIRST, 0.5, 0.52)
        assert "2 GPUs on" in tip
        assert "GPUs held" not in tip
        texts = page.texts("charts")
        servers = [text for text in texts[: texts.index("Jobs of")] if re.match(r"s\d", text)]
        assert servers
        assert all("–" not in text for text in servers)
        assert_quiet(page)


def test_page_fits_a_narrow_window(show: Any) -> None:
    with show(*solved("two-servers", "first-fit"), width=480) as page:
        assert page.page.evaluate("document.documentElement.scrollWidth") <= 480
        assert page.frame(FIRST)["width"] < 480
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
        tip = page.hover(FIRST, 0.6, 0.2)
        assert "released at 1, waited 2; due at 4, 3 late" in tip
        assert "runs at slot 0 already" in page.hover(FIRST, 0.3, 0.2)
        assert MARKUP in page.hover(FIRST, 0.5, 0.9)  # As text.
        texts = page.texts("charts")
        for legend in ("release", "due slot", "past the due slot", "GPUs reserved"):
            assert legend in texts
        assert page.page.locator("#flow canvas").is_visible()
        assert_quiet(page)


def pair() -> tuple[Any, ...]:
    """An instance, and two schedules of 20 slots."""
    return solved("two-servers", "first-fit", "sjf-bco")


def test_charts_over_time_are_moved_and_zoomed_together(show: Any) -> None:
    with show(*pair()) as page:
        page.hover(FIRST, 0.5, 0.5)
        before = page.page.evaluate("scrollY")
        page.page.mouse.wheel(0, 50)  # Without Ctrl the wheel scrolls the page.
        page.page.wait_for_timeout(300)
        assert page.page.evaluate("scrollY") == before + 50
        assert page.domain(FIRST) is None
        page.zoom(SECOND, 0.5, 0.5)
        low, high = page.domain(FIRST)
        assert 0 < low < high < 20.4
        for axis in scales(page):
            assert axis == pytest.approx([low, high])
        page.page.locator('[data-zoom="0.5"]').click()
        page.page.wait_for_timeout(300)
        assert page.domain(FIRST)[1] - page.domain(FIRST)[0] == pytest.approx((high - low) / 2)
        page.page.locator('[data-zoom="all"]').click()
        page.page.wait_for_timeout(300)
        for axis in scales(page):
            assert axis == pytest.approx([0, 20.4])
        assert_quiet(page)


def scales(page: Opened) -> list[Any]:
    """The domains of the axes of time of all charts."""
    found = page.page.evaluate(
        """() => {
          const view = rarmodelViews.charts;
          const names = view.getState({ signals: () => false, data: () => false });
          return [0, 1, 2, 3, 4, 5].map((i) => {
            try { return view.scale(`concat_${i}_x`).domain(); } catch (error) { return null; }
          }).filter((one) => one !== null);
        }"""
    )
    assert len(found) == 6
    return list(found)


def test_axis_of_a_schedule_that_goes_on_for_ever_is_its_own(show: Any) -> None:
    far = schedule_of(assignment_data("a", 10**6, s0=[0, 1]), assignment_data("b", 0, s1=[0]))
    with show(instance_of(), schedule_of(), far) as page:
        page.zoom(FIRST, 0.5, 0.5)
        assert page.domain(FIRST)[1] < 3
        assert page.domain(SECOND, "slots_below") is None
        assert "1,000,000" in " ".join(page.texts("charts"))
        assert "on a time axis of its own" in page.page.locator("main").inner_text()
        assert_quiet(page)


def test_pointing_at_a_job_marks_it_in_both_schedules(show: Any) -> None:
    with show(*pair()) as page:
        page.hover(FIRST, 0.5, 0.1)  # j1: above from slot 8, below from slot 0.
        places = [[0.42, 0.05], [0.05, 0.95]]
        name = page.page.evaluate("rarmodelViews.charts.signal('pointed').job")
        frames = [page.frame(one) for one in (FIRST, SECOND)]
        marked = [page.page.evaluate(PIXELS, [frame, places]) for frame in frames]
        page.hover(LINES, 0.5, 0.02)
        plain = [page.page.evaluate(PIXELS, [frame, places]) for frame in frames]
        assert name == ["j1"]
        assert all(one != other for one, other in zip(marked, plain, strict=True))


@pytest.mark.parametrize("seconds", [0.25, 3600.0])
def test_axes_tell_slots_and_time_at_the_same_places(show: Any, seconds: float) -> None:
    instance, *schedules = pair()
    time = instance.time.model_copy(update={"slot_seconds": seconds})
    with show(instance.model_copy(update={"time": time}), *schedules) as page:
        texts = page.texts("charts")
        ticks = [match for text in texts if (match := re.fullmatch(r"(\d+) (\d.*)", text))]
        assert len({tick[1] for tick in ticks if "GPU" not in tick[0]}) > 5
        for slot, time_then in (tick.groups() for tick in ticks if "GPU" not in tick[0]):
            assert time_then == duration(int(slot) * seconds)
        assert f"slots of {duration(seconds)}, and time" in texts


def test_dark_pages_are_dark_and_paper_is_not(show: Any) -> None:
    colours = """() => {
      const { backgroundColor, color } = getComputedStyle(document.body);
      return [backgroundColor, color, rarmodelViews.charts.background()];
    }"""
    with show(*pair(), color_scheme="dark") as page:
        dark = ["rgb(18, 22, 27)", "rgb(231, 234, 237)", "#191f26"]
        assert page.page.evaluate(colours) == dark
        page.page.emulate_media(media="print")
        page.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.page.evaluate(colours) == ["rgb(255, 255, 255)", "rgb(22, 32, 43)", "#ffffff"]
        assert page.page.locator('[role="toolbar"]').is_hidden()
        page.page.evaluate("dispatchEvent(new Event('afterprint'))")
        page.page.emulate_media(media="screen", color_scheme="light")
        page.page.wait_for_timeout(200)
        light = ["rgb(252, 251, 248)", "rgb(22, 32, 43)", "#ffffff"]
        assert page.page.evaluate(colours) == light
        assert_quiet(page)


def test_charts_are_as_wide_as_the_window_after_it_has_changed(show: Any) -> None:
    with show(*solved("two-servers", "first-fit")) as page:
        before = page.frame(FIRST)["width"]
        page.page.set_viewport_size({"width": 700, "height": 900})
        page.page.wait_for_timeout(1500)
        assert page.frame(FIRST)["width"] < before - 300
        assert_quiet(page)
