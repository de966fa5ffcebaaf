"""Pictures of calibrations."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from measurements import RATES, contention, measured, nccl_output

import rarmodel
from rarmodel.calibration import Calibration, kind_of, picture
from rarmodel.errors import UsageError

PLACEMENTS = [(2, 1, 1), (2, 2, 1), (4, 2, 2), (8, 4, 4), (8, 2, 6), (8, 8, 8)]
SVG = "{http://www.w3.org/2000/svg}"


def found(job: str = "job", times: int = 1) -> Calibration:
    rows = measured(contention(0.8, 0.3, 5.0), PLACEMENTS * times, job=job)
    return rarmodel.calibrate(rows, rates=RATES)


def markers(svg: bytes) -> int:
    """Points that were drawn."""
    root = ET.fromstring(svg)  # noqa: S314 - our own
    uses = root.iter(f"{SVG}use")
    return sum("clip-path" in "".join(use.keys()) or use.get("y") is not None for use in uses)


@pytest.mark.parametrize(
    ("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_picture_is_of_its_kind_and_the_same_each_time(kind: str, start: bytes) -> None:
    pytest.importorskip("matplotlib")
    content = picture(found(), kind)
    assert content.startswith(start)
    assert picture(found(), kind) == content


def test_every_row_has_a_point_in_both_panels() -> None:
    pytest.importorskip("matplotlib")
    few, many = (markers(picture(found(times=times), "svg")) for times in (5, 10))
    assert many - few == 2 * 5 * len(PLACEMENTS)


def test_axes_have_plain_numbers() -> None:
    pytest.importorskip("matplotlib")
    wide = [*PLACEMENTS, (16, 16, 40)]
    for placements in (PLACEMENTS[:2], wide):
        rows = measured(contention(0.8, 0.3, 5.0), placements)
        one = rarmodel.calibrate(rows, rates=RATES)
        root = ET.fromstring(picture(one, "svg"))  # noqa: S314 - our own
        texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
        assert len(texts) > 12
        assert [text for text in texts if "$" in text or "math" in text] == []


@pytest.mark.parametrize("job", ["$x_1$ & <b>", "任务", "_hidden", "a\\b"])
def test_any_name_of_a_job_can_be_drawn(job: str) -> None:
    pytest.importorskip("matplotlib")
    rows = [
        *measured(contention(0.8, 0.3, 5.0), PLACEMENTS, job=job),
        *measured(contention(0.8, 0.3, 5.0), PLACEMENTS, job="other"),
    ]
    ET.fromstring(picture(rarmodel.calibrate(rows, rates=RATES), "svg"))  # noqa: S314 - our own


def test_all_reduces_have_panels_of_their_own(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "run.txt"
    path.write_text(nccl_output(servers=2), encoding="utf-8")
    rates = {"intra_server_gbps": 100.0}
    rows = measured(contention(0.8, 0.3, 5.0), PLACEMENTS)
    both = rarmodel.calibrate(rows, nccl_tests=[path], rates=rates)
    heights = [
        float(ET.fromstring(picture(one, "svg")).get("height", "")[:-2])  # noqa: S314 - our own
        for one in (found(), both)
    ]
    assert heights[1] == 2 * heights[0]


@pytest.mark.parametrize("path", ["a.gif", "a", "svg"])
def test_other_ends_of_names_are_refused(path: str) -> None:
    with pytest.raises(UsageError) as caught:
        kind_of(path)
    assert str(caught.value) == f"{path}: a picture's name ends in one of .png, .svg, .pdf"


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UsageError) as caught:
        picture(found(), "svg")
    assert str(caught.value) == 'pictures need Matplotlib: pip install "rarmodel[plot]"'
