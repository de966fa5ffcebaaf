"""`rarmodel what-if`."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from by_hand import worked

from rarmodel.files import to_json

if TYPE_CHECKING:
    from invocation import Invoke

JOBS = [{"slots": 4, "gpus": 3}, {"slots": 2, "gpus": 4, "release": 1}, {"slots": 3, "gpus": 1}]


@pytest.fixture
def instance(tmp_path: Path) -> Path:
    path = tmp_path / "instance.json"
    path.write_text(to_json(worked(JOBS)), encoding="utf-8")
    return path


def test_table_has_a_row_for_each_alternative(invoke: Invoke, instance: Path) -> None:
    found = invoke("what-if", instance, "--change", "servers=+1", "--change", "policy=fifo")
    assert found.code == 0
    assert "policy fifo-backfill, placement consolidate" in found.out
    rows = [line.split()[0] for line in found.out.splitlines() if line.startswith(" ")]
    assert [row for row in rows if row.isascii()] == [
        *("alternative", "unchanged", "servers=+1", "policy=fifo")
    ]


def test_json_agrees_with_simulate(invoke: Invoke, instance: Path) -> None:
    found = invoke("what-if", instance, "--change", "policy=fifo", "--json").json()
    apart = invoke("simulate", instance, "--policy", "fifo-backfill,fifo", "--json").json()
    for alternative, one in zip(found["alternatives"], apart, strict=True):
        (trial,) = alternative["trials"]
        assert {**trial, "seconds": 0} == {
            "instance": "example",
            "seed": 0,
            **one,
            "seconds": 0,
        } | {"instance": trial["instance"]}


def test_files_are_written(invoke: Invoke, instance: Path, tmp_path: Path) -> None:
    rows, table = tmp_path / "rows.csv", tmp_path / "table.tex"
    for ending in ("svg", "png", "pdf", "html"):
        output = tmp_path / f"chart.{ending}"
        options = ("--output", output, "--csv", rows, "--table", table, "--seeds", 2)
        assert invoke("what-if", instance, "--change", "network=x2", *options).code == 0
        assert output.stat().st_size > 1000
    with rows.open(encoding="utf-8") as file:
        written = list(csv.DictReader(file))
    assert [(row["alternative"], row["seed"]) for row in written] == [
        *(("unchanged", "0"), ("network=x2", "0"), ("unchanged", "1"), ("network=x2", "1"))
    ]
    assert "network=x2" in table.read_text(encoding="utf-8")


def test_a_folder_is_read_and_never_overwritten(
    invoke: Invoke, instance: Path, tmp_path: Path
) -> None:
    assert invoke("what-if", tmp_path, "--change", "network=x2").code == 0
    found = invoke("what-if", instance, "--change", "network=x2", "--csv", instance)
    assert found.code == 2


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--change", "foo=1"], "change 'foo=1': no change foo; choose from servers, down"),
        (["--change", "down=x"], "change 'down=x': no server 'x'; there are 's0'"),
        (["--change", "servers=+1", "--output", "x.doc"], "x.doc: a picture's name ends in one of"),
        (["--change", "servers=+1", "--time-limit", "3"], "time limit: for solves, and"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    invoke: Invoke, instance: Path, arguments: list[str], line: str
) -> None:
    found = invoke("what-if", instance, *arguments)
    assert found.code == 2
    assert line in found.lines[-1]


def test_an_alternative_without_a_schedule_exits_with_1(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "late.json"
    jobs = [{"slots": 3}, {"slots": 3, "deadline": 5}]
    path.write_text(to_json(worked(jobs, servers=[1, 1])), encoding="utf-8")
    found = invoke("what-if", path, "--change", "down=s1", "--policy", "fifo")
    assert found.code == 1
    assert "down=s1: job 'b' completes at slot 6, past its deadline 5" in found.lines
