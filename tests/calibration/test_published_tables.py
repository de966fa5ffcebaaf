"""Tables in the published layouts: what is read, and each fault in a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from rarmodel.calibration import is_published, read_measurements, read_published
from rarmodel.errors import InputError

STEPS = "cluster,model,gpus_by_server,batch_per_gpu,step_seconds"
REDUCES = "cluster,gpus,gpus_by_server,bytes,median_ms"
PAIRS = '"job (model,gpus,servers)",beside,throughput_ratio'


def problems(at: Path, *lines: str) -> list[str]:
    path = at / "table.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_published(str(path))
    return [line.removeprefix(f"{path}: ") for line in str(caught.value).splitlines()]


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        (STEPS, "a,m,1 2,4,nan", "column 'step_seconds': NaN; a finite number is expected"),
        (STEPS, "a,m,1 2,4,-1", "column 'step_seconds': -1; it must be above 0"),
        (STEPS, "a,m,1 2,0,1", "column 'batch_per_gpu': 0; it must be at least 1"),
        (STEPS, "a,m,1 2,4.5,1", "column 'batch_per_gpu': 4.5; a whole number is expected"),
        (
            STEPS,
            "a,m,1;2,4,1",
            "column 'gpus_by_server': '1;2'; GPUs on each server are expected, such as 4 4",
        ),
        (
            STEPS,
            "a,m,0 2,4,1",
            "column 'gpus_by_server': '0 2'; GPUs on each server are expected, such as 4 4",
        ),
        (STEPS, ",m,1,4,1", "column 'cluster': missing"),
        (STEPS, "a,m,1,4", "4 cells; 5 are expected, as in the first line"),
        (REDUCES, "a,4,1 1,8,1", "column 'gpus_by_server': 1 1 are 2 GPUs; 4 are expected"),
        (REDUCES, "a,1,1,8,1", "column 'gpus_by_server': one GPU; a ring has two or more"),
        (REDUCES, "a,2,2,x,1", "column 'bytes': 'x'; a whole number is expected"),
        (REDUCES, "a,2,2,8,inf", "column 'median_ms': Infinity; a finite number is expected"),
        (PAIRS, '"m,2,2",,0.5', "column 'beside': missing"),
        (PAIRS, '"m,2,2",b,0', "column 'throughput_ratio': 0; it must be above 0"),
        (PAIRS, ",b,0.5", "column 'job (model,gpus,servers)': missing"),
    ],
)
def test_each_fault_is_a_line(tmp_path: Path, header: str, row: str, expected: str) -> None:
    (found,) = problems(tmp_path, header, row)
    assert found.startswith("line 2")
    assert expected in found


def test_all_faults_at_once(tmp_path: Path) -> None:
    found = problems(tmp_path, STEPS, "a,m,1,4,1", "a,m,1,x,1", "a,m,q,4,-1")
    assert [line.partition(":")[0] for line in found] == [
        "line 3, column 'batch_per_gpu'",
        "line 4, column 'gpus_by_server'",
        "line 4, column 'step_seconds'",
    ]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([STEPS], "no rows below the names of columns; measurements are expected"),
        (
            [STEPS.replace("model", "job"), "a,m,1,1,1"],
            "line 1: no 'model'; step times by placement have these columns",
        ),
        (
            [STEPS + ",model", "a,m,1,1,1,m"],
            "line 1: column 'model' is there 2 times; once is expected",
        ),
    ],
)
def test_faults_of_the_whole_table(tmp_path: Path, lines: list[str], expected: str) -> None:
    assert problems(tmp_path, *lines) == [expected]


def test_too_few_rows_to_leave_any_out(tmp_path: Path) -> None:
    from rarmodel import compare_terms

    path = tmp_path / "table.csv"
    path.write_text(f"{STEPS}\na,m,1,4,1\na,m,2,4,1\n", encoding="utf-8")
    with pytest.raises(InputError, match="at least two are expected"):
        compare_terms(path)


def test_a_published_layout_is_told_by_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(f"{STEPS},own\na,m,1 3,4,1,7\n", encoding="utf-8")
    assert is_published(str(path))
    table = read_published(str(path))
    assert table.ignored == ("own",)
    assert table.rows[0].group == "a m"
    with pytest.raises(InputError, match="calibrate reads these from a file"):
        read_measurements(str(path))
    path.write_text("gpus,servers\n1,1\n", encoding="utf-8")
    assert not is_published(str(path))
    assert not is_published("-")
