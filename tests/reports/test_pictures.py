"""Pictures: formats, the same bytes each time, names as they are, and invalid schedules."""

from __future__ import annotations

import struct
import sys
from xml.etree import ElementTree as ET

import pytest
from documents import assignment_data, instance_of, job_data, schedule_of
from shown import ENTITY, TEX, of_many_jobs, with_markup

import rarmodel
from rarmodel.errors import UsageError
from rarmodel.reports import draw_all, picture
from rarmodel.reports.pictures import PARTS

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
        ({"form": "pdf"}, "no form 'pdf' of pictures; there are png, svg, html"),
        ({"parts": ["pie"]}, f"no part 'pie' of pictures; there are {', '.join(PARTS)}"),
        ({"parts": []}, "at least one schedule, and one part"),
        ({"form": "html", "parts": ["gantt"]}, "parts go with png and svg"),
    ],
)
def test_unknown_forms_and_parts_are_errors(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        rarmodel.plot(instance_of(), schedule_of(), **options)  # type: ignore[arg-type]


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"need matplotlib.*pip install 'rarmodel\[plot\]'"):
        rarmodel.plot(instance_of(), schedule_of())
