"""Tables larger than memory: refused past their limit, and read row by row below it."""

from __future__ import annotations

import gzip
import io
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from traces import imported, rows

import rarmodel
from rarmodel.calibration import read_measurements
from rarmodel.errors import InputError, UsageError
from rarmodel.workloads import settings
from rarmodel.workloads import trace_table as tables
from rarmodel.workloads.trace_table import open_table

MB = 10**6
LINES = (b"a,1,0,600,,vgg16,16,\n", b" \n", b"1,2\r", b",,,\n")


def most_mb(action: Callable[[], object]) -> float:
    """Most memory in MB that Python held at once while something was done."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1] / MB
    finally:
        tracemalloc.stop()


def zipped(content: bytes, times: int) -> bytes:
    """A gzip file of the same content so many times: a file can have several parts."""
    return gzip.compress(content, mtime=0) * times


@pytest.mark.parametrize(
    ("command", "line"),
    [
        *(("import", line) for line in LINES[:2]),
        ("calibrate", LINES[0]),
        *(pytest.param("import", line, marks=pytest.mark.slow) for line in LINES[2:]),
        *(pytest.param("calibrate", line, marks=pytest.mark.slow) for line in LINES[1:]),
    ],
)
def test_small_file_of_gigabytes_is_refused_without_taking_them(
    tmp_path: Path, command: str, line: bytes
) -> None:
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(zipped(line * (MB // len(line)), 520))
    assert path.stat().st_size < 4 * MB

    def refuse() -> None:
        with pytest.raises(InputError) as refused:
            imported(path) if command == "import" else read_measurements(str(path))
        assert refused.value.lines() == [
            f"{path}: more than 512 MB; --max-size lets rarmodel read more"
        ]

    assert most_mb(refuse) < 20


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\0" * MB, "line 1: a byte 0: no text, or text in UTF-16"),
        (b"1," * (MB // 2), "line 1: more than 16,777,216 bytes; lines of cells are expected"),
    ],
)
def test_small_file_of_what_is_no_table_is_refused_without_reading_on(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(zipped(content, 520))

    def refuse() -> None:
        with pytest.raises(InputError) as refused:
            imported(path)
        (line,) = refused.value.lines()
        assert line.startswith(f"{path}: {message}")

    assert most_mb(refuse) < 20


@pytest.mark.parametrize("change", [lambda raw: raw, gzip.compress])
def test_table_is_read_row_by_row(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(change(b"one,two\n" + b"1,2\n\n" * 100_000))

    def read() -> None:
        with open_table(str(path)) as table:
            assert (table.line, table.first) == (1, ["one", "two"])
            assert sum(line for line, _ in table.rows) == 100_001 * 100_000

    assert most_mb(read) < 10


def test_line_of_a_fault_counts_from_the_start_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    good = b"a,1,0,600,,vgg16,16,,\n" * 100_000  # more than is read at once
    for bad in (b"\xe9", b"\0", "é".encode()[:1]):
        path.write_bytes(good + bad)
        with pytest.raises(InputError, match=r"rows.csv: line 100001: (a )?byte 0"):
            imported(path)
    for parts in (3, 7):
        path.write_bytes(zipped(good, parts)[:-9])
        with pytest.raises(InputError, match="cut short after line"):
            imported(path)


def test_character_between_two_chunks_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    expected = imported(path, rows("é任😀,0,2,0,600,,vgg16,16,g"))
    for size in (1, 2, 3, 5, 7):
        monkeypatch.setattr(tables, "CHUNK", size)
        assert imported(path) == expected


def test_file_that_changes_meanwhile_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    monkeypatch.setattr(tables, "_check", lambda *_: None)
    for content in (b"job_id\n\xff", gzip.compress(b"job_id\n1\n", mtime=0)[:-12]):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"t.csv: it changed while rarmodel read it; run"):
            imported(path)


def test_stream_that_is_read_once_gives_what_a_file_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = gzip.compress(rows("a,0,2,0,600,,vgg16,16,g").encode())
    expected = imported(tmp_path / "t.csv", content)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    found = rarmodel.import_trace("-", servers=4, gpus_per_server=8, name="t")
    assert found.instance.jobs == expected.instance.jobs


@pytest.mark.parametrize("size", [0, -1.0, float("nan")])
def test_size_that_is_none_is_refused(tmp_path: Path, size: float) -> None:
    path = tmp_path / "t.csv"
    with pytest.raises(UsageError, match=r"max size .* MB: it must be above 0"):
        imported(path, rows("a,0,2,0,600,,vgg16,16,g"), max_size_mb=size)
    with pytest.raises(UsageError, match=r"max size MB .*: it must be above 0"):
        rarmodel.calibrate(path, max_size_mb=size)


def test_more_jobs_than_any_workload_has_are_refused_unless_the_first_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rarmodel.workloads.importer.MAX_JOBS", 2)
    assert settings.MAX_JOBS == 1_000_000
    text = rows(*(f"{name},0,2,0,600,,vgg16,16,g" for name in "abc"))
    with pytest.raises(InputError, match=r"t.csv: 3 jobs; at most 2 are supported; --window"):
        imported(tmp_path / "t.csv", text)
    assert len(imported(tmp_path / "t.csv", text, max_jobs=3).instance.jobs) == 3
