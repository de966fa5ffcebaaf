"""Pictures: formats, the same bytes each time, names as they are, and invalid schedules."""

from __future__ import annotations

import re
import struct
import sys
from xml.etree import ElementTree as ET

import pytest
from documents import assignment_data, instance_of, job_data, schedule_of
from shown import ENTITY, TEX, of_many_jobs, with_markup

import rarmodel
from rarmodel.errors import UsageError
from rarmodel.reports import draw_all, picture
from rarmodel.reports.pictures import PARTS, nice_seconds

pytest.importorskip("matplotlib")

SVG = "{http://www.w3.org/2000/svg}"


def svg_of(content: bytes) -> tuple[str, ET.Element]:
    root = ET.fromstring(content)  # noqa: S314 - our own
    assert root.tag == f"{SVG}svg"
    return " ".join(t for e in root.iter(f"{SVG}text") for t in e.itertext()), root


def test_svg_names_jobs_servers_and_the_makespan() -> None:
    text, _ = svg_of(rarmodel.plot(instance_of(), schedule_of(), form="svg"))
    assert "by hand: 2 slots" in text
    for name in ("a", "b", "s0", "s1", "rings on each link", "GPUs held", "Time (slots)", "2 s"):
        assert name in text


def test_picture_leads_with_the_finding_and_names_the_bound() -> None:
    text, root = svg_of(rarmodel.plot(instance_of(), schedule_of(), form="svg"))
    heights = {"".join(e.itertext()): float(e.get("y") or 0) for e in root.iter(f"{SVG}text")}
    assert heights["by hand is optimal."] < heights["by hand: 2 slots, 2 s"]
    assert "No schedule is shorter (bound: longest job)." in text
    assert "lower bound, 2 slots (longest job)" in text
    assert "example: 2 jobs, 4 GPUs" in text
    without, _ = svg_of(picture(draw_all(instance_of(), [schedule_of()]), form="svg"))
    assert "bound" not in without


def test_schedules_stand_above_each_other_part_by_part_in_equal_frames() -> None:
    instance = rarmodel.load_instance("two-servers")
    results = [rarmodel.solve(instance, method=method) for method in ("sjf-bco", "search")]
    schedules = [result.schedule for result in results if result.schedule is not None]
    text, root = svg_of(rarmodel.plot(instance, schedules, form="svg"))
    order = ["sjf-bco: 20", "search: 12", "sjf-bco: rings", "search: rings", "sjf-bco: GPUs held"]
    assert [text.index(part) for part in order] == sorted(text.index(part) for part in order)
    frames = frames_of(root)
    assert len(frames) == 6
    assert len({(left, width) for left, width, _ in frames}) == 1
    heights = [height for *_, height in frames]
    assert heights[0::2] == pytest.approx(heights[1::2])


def frames_of(root: ET.Element) -> list[tuple[float, float, float]]:
    """Left, width and height of the background of each panel; the clock's has no height."""
    found = []
    for group in root.iter(f"{SVG}g"):
        if (group.get("id") or "").startswith("axes_"):
            path = next(group.iter(f"{SVG}path")).get("d") or ""
            numbers = [float(part) for part in path.split() if part not in "MLz"]
            across, down = numbers[::2], numbers[1::2]
            found.append((min(across), max(across) - min(across), max(down) - min(down)))
    return [frame for frame in found if frame[2] > 0]


def test_every_server_has_a_label_alone_or_in_a_range() -> None:
    text, _ = svg_of(rarmodel.plot(*of_many_jobs(8000, 1000), form="svg", parts=["gantt"]))
    ranges = [(int(a), int(b)) for a, b in re.findall(r"s(\d+)–s(\d+)", text)]
    assert [server for a, b in ranges for server in range(a, b + 1)] == list(range(1000))
    assert 20 <= len(ranges) <= 50


def test_names_stand_in_bars_that_have_room_for_them() -> None:
    jobs = [job_data(name, iterations=n) for name, n in (("wide", 200), ("x" * 400, 200), ("t", 1))]
    instance = instance_of(*jobs, servers=(3,), horizon=40)
    gpus = [assignment_data(job["name"], 0, s0=[i]) for i, job in enumerate(jobs)]
    text, _ = svg_of(rarmodel.plot(instance, schedule_of(*gpus), form="svg", parts=["gantt"]))
    assert " wide " in text
    assert "x" * 400 not in text


@pytest.mark.parametrize(
    ("seconds", "step"),
    [(0.3, 0.5), (1, 1), (7, 10), (61, 120), (1800, 1800), (4000, 7200), (50_000, 86_400)],
)
def test_clock_goes_in_steps_that_people_count_in(seconds: float, step: float) -> None:
    assert nice_seconds(seconds) == step
    assert nice_seconds(86_400 * 3) == 86_400 * 5
    assert nice_seconds(86_400 * 30) == 86_400 * 50


def test_png_is_wide_and_as_high_as_its_parts() -> None:
    sizes = []
    for parts in (["utilisation"], None):
        content = rarmodel.plot(instance_of(), schedule_of(), parts=parts)
        assert content.startswith(b"\x89PNG\r\n\x1a\n")
        sizes.append(struct.unpack(">II", content[16:24]))
    assert sizes[0][0] == sizes[1][0] == 1300
    assert sizes[0][1] < sizes[1][1]


@pytest.mark.parametrize("form", ["png", "svg"])
def test_same_input_gives_the_same_bytes(form: str) -> None:
    problem = with_markup()
    assert rarmodel.plot(*problem, form=form) == rarmodel.plot(*problem, form=form)


def test_names_are_no_markup_and_no_formulas_and_invalid_schedules_say_so() -> None:
    text, _ = svg_of(rarmodel.plot(*with_markup(), form="svg"))
    assert f"{TEX}: invalid, violations: 1" in text
    assert ENTITY in text


def test_names_that_no_font_has_are_drawn_without_a_complaint(
    recwarn: pytest.WarningsRecorder,
) -> None:
    instance = instance_of(job_data("训练 🚀", gpus=2))
    schedule = schedule_of(assignment_data("训练 🚀", 0, s0=[0, 1]))
    for form in ("png", "svg"):
        rarmodel.plot(instance, schedule, form=form)
    assert [str(one.message) for one in recwarn] == []


def test_verdict_stands_behind_a_long_name_too() -> None:
    schedule = schedule_of().model_copy(update={"method": "long " * 100})
    text, _ = svg_of(rarmodel.plot(instance_of(), schedule, form="svg"))
    assert f"{'long ' * 13}long…: 2 slots" in text


def test_each_schedule_has_its_parts() -> None:
    text, _ = svg_of(rarmodel.plot(instance_of(), [schedule_of(), schedule_of()], form="svg"))
    assert text.count("GPUs held") == 2
    assert "by hand (2): 2 slots" in text


def test_many_jobs_are_drawn_by_server() -> None:
    instance, schedule = of_many_jobs(6000, 200)
    drawings = draw_all(instance, [schedule])
    _, root = svg_of(picture(drawings, form="svg", parts=["gantt"]))
    assert len(list(root.iter(f"{SVG}image"))) >= 1
    assert len(list(root.iter(f"{SVG}path"))) < 500


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"form": "pdf"}, "no form 'pdf' of plots; choose one of png, svg, html"),
        ({"parts": ["pie"]}, f"no part 'pie' of plots; choose from {', '.join(PARTS)}"),
        ({"parts": []}, "at least one schedule, and one part"),
        ({"form": "html", "parts": ["gantt"]}, "parts are for png and svg"),
    ],
)
def test_unknown_forms_and_parts_are_errors(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        rarmodel.plot(instance_of(), schedule_of(), **options)  # type: ignore[arg-type]


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"need matplotlib.*pip install 'rarmodel\[plot\]'"):
        rarmodel.plot(instance_of(), schedule_of())
