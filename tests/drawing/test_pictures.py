"""Charts as pictures: formats, the same bytes each time, names as they are, invalid schedules."""

from __future__ import annotations

import re
import struct
import sys
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from charts import SVG, drawn, placed, specification_of, table_with, tables_with, text_of, texts
from documents import assignment_data, instance_of, job_data, schedule_of
from pictures import same_each_time
from shown import ENTITY, TEX, of_many_jobs, with_markup

import rarmodel
from rarmodel.drawing import Shown, draw_all, finished, image_of, rows, schedules_chart
from rarmodel.drawing.parts import PARTS
from rarmodel.drawing.style import duration_expression
from rarmodel.duration import duration
from rarmodel.errors import UsageError

pytest.importorskip("altair")


def test_svg_names_jobs_servers_and_the_makespan() -> None:
    text = text_of(rarmodel.plot(instance_of(), schedule_of()))
    assert "by hand: 2 slots" in text
    for name in ("a", "b", "s0", "s1", "GPUs held", "slots of 1 s, and time", "2 s"):
        assert name in text


def test_picture_leads_with_the_finding_and_names_the_bound() -> None:
    root = drawn(rarmodel.plot(instance_of(), schedule_of()))
    heights = {"".join(one.itertext()): y for one, _, y in placed(root) if one.tag == f"{SVG}text"}
    assert heights["by hand is optimal."] < heights["by hand: 2 slots, 2 s"]
    text = " ".join(texts(root))
    assert "No schedule is shorter (bound: longest job)." in text
    assert "lower bound, 2 slots (longest job)" in text
    assert "example: 2 jobs, 4 GPUs" in text
    without = text_of(rarmodel.plot(instance_of(), schedule_of(), bound=False))
    assert "bound" not in without


def test_schedules_stand_above_each_other_part_by_part_in_equal_frames() -> None:
    instance = rarmodel.load_instance("two-servers")
    results = [rarmodel.solve(instance, method=method) for method in ("sjf-bco", "search")]
    schedules = [result.schedule for result in results if result.schedule is not None]
    root = drawn(rarmodel.plot(instance, schedules))
    heights = {"".join(one.itertext()): y for one, _, y in placed(root) if one.tag == f"{SVG}text"}
    order = ["sjf-bco: 20", "search: 12", "sjf-bco: rings", "search: rings", "sjf-bco: GPUs held"]
    at = [next(y for text, y in heights.items() if text.startswith(part)) for part in order]
    assert at == sorted(at)
    frames = frames_of(root)
    assert len(frames) == 6
    assert len({(left, width) for left, width, _ in frames}) == 1, frames
    high = [height for *_, height in frames]
    assert high[0::2] == high[1::2]


def frames_of(root: ET.Element) -> list[tuple[float, float, float]]:
    """Left, width and height of the frame of each chart, from the top."""
    found = set()
    for element, x, y in placed(root):
        size = re.match(r"M[\d.]+,[\d.]+h([\d.]+)v([\d.]+)h", element.get("d") or "")
        # Legends have a background, too, but no line around it.
        framed = element.get("class") == "background" and element.get("stroke")
        if framed and size and float(size[2]) > 0:
            found.add((y, x, float(size[1]), float(size[2])))
    return [frame for _, *frame in sorted(found)]  # type: ignore[misc]


def test_every_server_has_a_label_alone_or_in_a_range() -> None:
    text = text_of(rarmodel.plot(*of_many_jobs(8000, 1000), parts=["gantt"]))
    ranges = [(int(a), int(b)) for a, b in re.findall(r"s(\d+)–s(\d+)", text)]
    assert [server for a, b in ranges for server in range(a, b + 1)] == list(range(1000))
    assert 20 <= len(ranges) <= 50


def test_names_stand_in_bars_that_have_room_for_them() -> None:
    jobs = [job_data(name, iterations=n) for name, n in (("wide", 200), ("x" * 400, 200), ("t", 1))]
    instance = instance_of(*jobs, servers=(3,), horizon=40)
    gpus = [assignment_data(job["name"], 0, s0=[i]) for i, job in enumerate(jobs)]
    found = texts(drawn(rarmodel.plot(instance, schedule_of(*gpus), parts=["gantt"])))
    assert "wide" in found
    assert "x" * 400 not in found
    assert any(text.startswith("xxx") and text.endswith("…") for text in found)


def test_png_is_wide_and_as_high_as_its_parts() -> None:
    sizes = []
    for parts in (["utilisation"], None):
        content = image_of(rarmodel.plot(instance_of(), schedule_of(), parts=parts), "png")
        assert content.startswith(b"\x89PNG\r\n\x1a\n")
        sizes.append(struct.unpack(">II", content[16:24]))
    assert all(1440 <= width <= 1700 for width, _ in sizes)
    assert sizes[0][1] < sizes[1][1]


@pytest.mark.parametrize(
    ("form", "start"), [("png", b"\x89PNG"), ("svg", b"<svg"), ("pdf", b"%PDF")]
)
def test_same_input_gives_the_same_bytes(form: str, start: bytes) -> None:
    problem = with_markup()
    pictures = [image_of(rarmodel.plot(*problem), form) for _ in range(2)]
    assert all(picture.startswith(start) for picture in pictures)
    assert same_each_time(pictures[0], form) == same_each_time(pictures[1], form)


def test_names_are_no_markup_and_no_formulas_and_invalid_schedules_say_so() -> None:
    text = text_of(rarmodel.plot(*with_markup()))
    assert f"{TEX}: invalid, 1 violation" in text
    assert ENTITY in text


def test_names_that_no_font_has_are_drawn_without_a_complaint(
    recwarn: pytest.WarningsRecorder,
) -> None:
    instance = instance_of(job_data("训练 🚀", gpus=2))
    schedule = schedule_of(assignment_data("训练 🚀", 0, s0=[0, 1]))
    for form in ("png", "svg"):
        image_of(rarmodel.plot(instance, schedule), form)
    assert [str(one.message) for one in recwarn] == []


def test_verdict_stands_behind_a_long_name_too() -> None:
    schedule = schedule_of().model_copy(update={"method": "long " * 100})
    text = text_of(rarmodel.plot(instance_of(), schedule))
    assert f"{'long ' * 13}long…: 2 slots" in text


def test_each_schedule_has_its_parts() -> None:
    text = text_of(rarmodel.plot(instance_of(), [schedule_of(), schedule_of()]))
    assert text.count("GPUs held") == 2
    assert "by hand (2): 2 slots" in text


def test_contention_is_left_out_where_no_ring_crosses_a_link_and_nobody_asks() -> None:
    assert "rings on each link" not in text_of(rarmodel.plot(instance_of(), schedule_of()))
    asked = text_of(rarmodel.plot(instance_of(), schedule_of(), parts=["contention"]))
    assert "by hand: rings on each link: no ring on any link" in asked


def test_many_jobs_are_drawn_by_server() -> None:
    instance, schedule = of_many_jobs(6000, 200)
    chart = schedules_chart(Shown.of(draw_all(instance, [schedule])), ["gantt"])
    assert tables_with(specification_of(chart), "job") == []
    held = table_with(specification_of(chart), "value", "line")
    assert set(held["line"]) == set(range(100))  # Two servers each.
    assert set(held["value"]) <= set(range(1, 101))


def test_data_stand_once_in_a_chart_however_many_show_them() -> None:
    instance = rarmodel.load_instance("two-servers")
    schedules = [rarmodel.solve(instance, method=m).schedule for m in ("sjf-bco", "first-fit")]
    chart = specification_of(rarmodel.plot(instance, [one for one in schedules if one]))
    bars = table_with(chart, "job")
    assert bars["schedule"] == [0] * 5 + [1] * 5
    assert "values" not in str(chart["vconcat"][0]["layer"])


def test_title_size_colours_and_font_are_changed_in_altairs_words() -> None:
    alt = pytest.importorskip("altair")
    chart = rarmodel.plot(instance_of(), schedule_of())
    changed = (
        chart.properties(title=alt.Title("A plan", subtitle="for Monday"))
        .configure_view(continuousWidth=300)
        .configure_range(ordinal=["#123456", "#654321"])
    )
    changed["config"]["font"] = "Georgia"
    content = image_of(changed, "svg").decode()
    assert "A plan" in content
    assert "for Monday" in content
    assert "#123456" in content
    assert "Georgia" in content
    assert "h300v" in content
    assert "h960v" not in content


def test_chart_is_dark_where_the_reader_says_so() -> None:
    light = image_of(rarmodel.plot(instance_of(), schedule_of()), "svg").decode()
    chart = rarmodel.plot(instance_of(), schedule_of())
    (dark,) = [param for param in chart.params if param.name == "dark"]
    dark.value = True
    assert "#ffffff" in light
    assert "#191f26" in image_of(chart, "svg").decode()


def test_notebook_shows_the_chart() -> None:
    shown: Any = rarmodel.plot(instance_of(), schedule_of())._repr_mimebundle_()
    bundle = shown[0] if isinstance(shown, tuple) else shown
    assert any("vega" in kind or kind == "text/html" for kind in bundle)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parts": ["pie"]}, f"no part 'pie' of plots; choose from {', '.join(PARTS)}"),
        ({"parts": []}, "at least one part"),
    ],
)
def test_unknown_parts_are_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        rarmodel.plot(instance_of(), schedule_of(), **options)


def test_plot_of_no_schedule_is_one_line() -> None:
    with pytest.raises(UsageError, match=r"^a plot needs at least one schedule$"):
        rarmodel.plot(instance_of(), [])


def test_unknown_forms_are_errors() -> None:
    with pytest.raises(UsageError, match="no form 'gif' of pictures; choose one of png, svg, pdf"):
        image_of(rarmodel.plot(instance_of(), schedule_of()), "gif")


@pytest.mark.parametrize("module", ["altair", "vl_convert"])
def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UsageError, match=rf"need {module}.*pip install 'rarmodel\[plot\]'"):
        rarmodel.plot(instance_of(), schedule_of())
    with pytest.raises(UsageError, match=rf"need {module}.*pip install 'rarmodel\[plot\]'"):
        rarmodel.report(instance_of(), schedule_of())


def test_lengths_of_time_are_written_as_the_command_line_writes_them() -> None:
    alt = pytest.importorskip("altair")
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
    chart = (
        rows({"x": lengths})
        .transform_calculate(told=duration_expression("datum.x"))
        .mark_text()
        .encode(y=alt.Y("x:Q", axis=None), text="told:N")
    )
    assert texts(drawn(finished(chart))) == [duration(length) for length in lengths]
