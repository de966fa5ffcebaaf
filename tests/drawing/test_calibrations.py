"""Charts of calibrations."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from charts import drawn, specification_of, table_with, texts
from measurements import RATES, contention, measured, nccl_output
from pictures import same_each_time

import rarmodel
from rarmodel.calibration import Calibration
from rarmodel.drawing import calibration_chart, form_of, image_of
from rarmodel.errors import UsageError

PLACEMENTS = [(2, 1, 1), (2, 2, 1), (4, 2, 2), (8, 4, 4), (8, 2, 6), (8, 8, 8)]
pytest.importorskip("altair")


def found(job: str = "job", times: int = 1) -> Calibration:
    rows = measured(contention(0.8, 0.3, 5.0), PLACEMENTS * times, job=job)
    return rarmodel.calibrate(rows, rates=RATES)


@pytest.mark.parametrize(
    ("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<svg"), ("pdf", b"%PDF")]
)
def test_picture_is_of_its_kind_and_the_same_each_time(kind: str, start: bytes) -> None:
    content = image_of(calibration_chart(found()), kind)
    assert content.startswith(start)
    again = image_of(calibration_chart(found()), kind)
    assert same_each_time(again, kind) == same_each_time(content, kind)


def test_every_row_has_a_point_in_both_charts() -> None:
    for times in (5, 10):
        one = found(times=times)
        chart = specification_of(calibration_chart(one))
        against, errors = table_with(chart, "predicted", "label"), table_with(chart, "error")
        assert against["predicted"] == pytest.approx([row.predicted for row in one.residuals], 1e-5)
        assert errors["error"] == pytest.approx([100 * row.error for row in one.residuals], 1e-4)
        assert len(one.residuals) == times * len(PLACEMENTS)


def test_axes_have_plain_numbers() -> None:
    wide = [*PLACEMENTS, (16, 16, 40)]
    for placements in (PLACEMENTS[:2], wide):
        rows = measured(contention(0.8, 0.3, 5.0), placements)
        one = rarmodel.calibrate(rows, rates=RATES)
        told = texts(drawn(calibration_chart(one)))
        assert len(told) > 12
        assert [text for text in told if re.search(r"\de[+−-]?\d|×", text)] == []


@pytest.mark.parametrize("job", ["$x_1$ & <b>", "任务", "_hidden", "a\\b"])
def test_any_name_of_a_job_can_be_drawn(job: str) -> None:
    rows = [
        *measured(contention(0.8, 0.3, 5.0), PLACEMENTS, job=job),
        *measured(contention(0.8, 0.3, 5.0), PLACEMENTS, job="other"),
    ]
    told = texts(drawn(calibration_chart(rarmodel.calibrate(rows, rates=RATES))))
    assert job in told


def test_all_reduces_have_charts_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text(nccl_output(servers=2), encoding="utf-8")
    rates = {"intra_server_gbps": 100.0}
    rows = measured(contention(0.8, 0.3, 5.0), PLACEMENTS)
    both = rarmodel.calibrate(rows, nccl_tests=[path], rates=rates)
    parts = [len(specification_of(calibration_chart(one))["vconcat"]) for one in (found(), both)]
    assert parts == [1, 2]


@pytest.mark.parametrize("path", ["a.gif", "a", "svg"])
def test_other_ends_of_names_are_refused(path: str) -> None:
    with pytest.raises(UsageError) as caught:
        form_of(path)
    assert str(caught.value) == f"{path}: a picture's name ends in one of .png, .svg, .pdf"


def test_without_the_libraries_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(UsageError) as caught:
        form_of("picture.svg")
    assert str(caught.value) == (
        "charts need altair, which is not installed; install it with: pip install 'rarmodel[plot]'"
    )
