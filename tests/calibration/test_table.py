"""Tables of measurements: every problem at once, a line each, with line and column."""

from __future__ import annotations

from pathlib import Path

import pytest
from documents import label
from measurements import refused

from rarmodel.calibration import Measurement, made_measurements, read_measurements
from rarmodel.errors import InputError

HEADER = (
    "job,gpus,servers,concurrent_jobs,gradient_mb,compute_ms,iterations,iteration_ms,completion_s"
)
GOOD = "vgg16,4,2,3,552.5,100,,250.5,"


def table(*rows: str, header: str = HEADER) -> str:
    return "\n".join([header, *rows]) + "\n"


def test_rows_become_measurements_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(table(GOOD, "", "b,8,2,1,1e2,,1000,,3600.0"), encoding="utf-8")
    found = read_measurements(str(path))
    assert found.lines == (2, 4)
    first, second = found.rows
    assert first == Measurement(
        job="vgg16",
        gpus=4,
        servers=2,
        concurrent_jobs=3,
        gradient_mb=552.5,
        compute_ms=100,
        iteration_ms=250.5,
    )
    assert (first.quantity, first.measured) == ("iteration_ms", 250.5)
    assert (second.quantity, second.measured, second.iterations) == ("completion_s", 3600.0, 1000)
    assert (second.compute_ms, second.gradient_mb) == (None, 100.0)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_any_common_delimiter_will_do(tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(table(GOOD).replace(",", delimiter), encoding="utf-8")
    assert len(read_measurements(str(path)).rows) == 1


def test_columns_without_a_meaning_are_named(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    header = "gpus,servers,concurrent_jobs,gradient_mb,relative_time,date,who"
    path.write_text(table("2,2,2,40,1.9,monday,me", header=header), encoding="utf-8")
    assert read_measurements(str(path)).ignored == ("date", "who")


@pytest.mark.parametrize("empty", ["", "n/a", "-", "null"])
def test_what_stands_for_no_value_is_none(tmp_path: Path, empty: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(table(f"{empty},4,2,3,552.5,{empty},{empty},250.5,{empty}"), encoding="utf-8")
    (row,) = read_measurements(str(path)).rows
    assert (row.job, row.compute_ms, row.iterations, row.completion_s) == (None,) * 4


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", ["empty; a table with a row for each measurement is expected"]),
        (
            b",,\n,\n",
            ["nothing but delimiters; a table with a row for each measurement is expected"],
        ),
        (
            table().encode(),
            ["no rows below the names of columns; measurements are expected"],
        ),
        (
            b"gpus,gpus\n1,2\n",
            [
                "line 1: column 'gpus' is there 2 times; once is expected",
                (
                    "line 1: column 'servers' is missing; a table has gpus, servers, "
                    "concurrent_jobs, gradient_mb"
                ),
                (
                    "line 1: column 'concurrent_jobs' is missing; a table has gpus, servers, "
                    "concurrent_jobs, gradient_mb"
                ),
                (
                    "line 1: column 'gradient_mb' is missing; a table has gpus, servers, "
                    "concurrent_jobs, gradient_mb"
                ),
                (
                    "line 1: no column of 'iteration_ms', 'completion_s', 'relative_time'; "
                    "one is expected"
                ),
            ],
        ),
        (
            b"gpus,servers,concurrent_job,gradient_mb,iteration_ms,compute_s\n1,1,1,1,1,1\n",
            [
                (
                    "line 1: column 'concurrent_job' has no meaning; 'concurrent_jobs' is not "
                    "there, was it meant?"
                ),
                (
                    "line 1: column 'compute_s' has no meaning; 'compute_ms' is not there, "
                    "was it meant?"
                ),
            ],
        ),
        (
            table("a,4,2,3,1,1,,1", GOOD).encode(),
            ["line 2: 8 cells; 9 are expected, as in the first line"],
        ),
        (
            table(f"a,4,2,3,1,1,,{'1' * 130_000}x,").encode(),  # took many minutes
            [
                f"line 2, column 'iteration_ms': '{'1' * 37}…'; a number is expected",
            ],
        ),
        (
            table("a,four,2,0,-1,nan,,1e31,", GOOD, ",4.5,2,1,inf,,,,1").encode(),
            [
                "line 2, column 'gpus': 'four'; a whole number is expected",
                "line 2, column 'concurrent_jobs': 0; it must be at least 1",
                "line 2, column 'gradient_mb': -1; it must be at least 0",
                "line 2, column 'compute_ms': NaN; a finite number is expected",
                "line 2, column 'iteration_ms': 1e+31; it must be at most 1e+30",
                "line 4, column 'gpus': 4.5; a whole number is expected",
                "line 4, column 'gradient_mb': Infinity; a finite number is expected",
                (
                    "line 4, column 'completion_s': a time of completion without iterations; "
                    "their number is expected"
                ),
            ],
        ),
        (
            table("a,2,3,1,1,1,,1,").encode(),
            ["line 2, column 'servers': 3 servers; 2 GPUs are on 2 at most"],
        ),
        (
            table("a,2,2,1,1,1,10,1,5", "a,2,2,1,1,1,10,,", "a,,2,1,1,1,,0,").encode(),
            [
                (
                    "line 2, column 'relative_time': 2 of iteration_ms, completion_s and "
                    "relative_time; exactly one is expected"
                ),
                (
                    "line 3, column 'relative_time': none of iteration_ms, completion_s and "
                    "relative_time; exactly one is expected"
                ),
                "line 4, column 'gpus': missing; this field is required",
                "line 4, column 'iteration_ms': 0; it must be above 0",
            ],
        ),
        (
            table("a,1_0,1,1,1,1,,1,").encode(),
            [
                "line 2, column 'gpus': '1_0'; a whole number is expected",
            ],
        ),
        (
            table("a,2,1,1,\xfc,1,,1,").encode("latin-1"),
            [
                "line 2: byte 0xfc is not UTF-8; the whole file in UTF-8 is expected",
            ],
        ),
    ],
    ids=label,
)
def test_bad_table_is_refused_line_by_line(
    tmp_path: Path, content: bytes, lines: list[str]
) -> None:
    assert refused(read_measurements, tmp_path / "bad.csv", content) == lines


def test_rows_made_in_python_are_told_by_their_place() -> None:
    with pytest.raises(InputError) as caught:
        made_measurements([{"gpus": 2, "servers": 2, "wrong": 1}])
    assert caught.value.lines() == [
        "measurements: [0].concurrent_jobs: missing; this field is required",
        "measurements: [0].gradient_mb: missing; this field is required",
        (
            "measurements: [0].relative_time: none of iteration_ms, completion_s and "
            "relative_time; exactly one is expected"
        ),
        "measurements: [0].wrong: unknown field; remove it or correct its name",
    ]


def test_no_rows_made_in_python_are_none() -> None:
    with pytest.raises(InputError, match="measurements: none; at least one is expected"):
        made_measurements([])
