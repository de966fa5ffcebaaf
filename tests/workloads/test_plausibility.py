"""Numbers that a trace's units can hardly mean are told, and others are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from traces import FIXTURES, imported, rows

import rarmodel
from rarmodel.errors import InputError
from rarmodel.workloads import Account

MAPPED = {"gpus": "g", "duration": "d", "submit": "s"}


def told(tmp_path: Path, lines: str, columns: dict[str, str] | None = None) -> tuple[str, ...]:
    columns = MAPPED if columns is None else columns
    return imported(tmp_path / "t.csv", f"g,d,s\n{lines}", columns=columns).account.findings


@pytest.mark.parametrize(
    ("lines", "finding"),
    [
        (
            "8,3600000,0\n4,1200000,9\n",
            (
                "half of 2 jobs took 27 d 19 h and 4666.7 GPU hours or more, 9333.3 in all; is the "
                "unit of the durations right? --column duration=d:ms reads milliseconds"
            ),
        ),
        (
            "2,90000000,0\n2,1,9\n",
            (
                "half of 2 jobs took 520 d 20 h and 25000.0 GPU hours or more, 50000.0 in all; "
                "is the unit of the durations right? --column duration=d:ms reads milliseconds"
            ),
        ),
        (
            "8,12,0\n4,2.5,9\n",
            (
                "none of 2 jobs ran longer than 12 s; is the unit of the durations right? "
                "--column duration=d:h reads hours"
            ),
        ),
        (
            "25,600,0\n25,600,8\n1,600,9\n",
            "2 of 3 jobs have a multiple of 25 GPUs; are these GPUs, or percent of one?",
        ),
        (
            "1,600,1507532563000\n1,600,1507532683000\n",
            (
                "submissions up to 1.507532683e+12 s, 1 d 9 h from the first submission to the "
                "last; is the unit of their times right? --column submit=s:ms reads milliseconds"
            ),
        ),
        (
            "1,600,0\n1,600,604800000\n",
            (
                "submissions up to 604800000 s, 7,000 d from the first submission to the last; "
                "is the unit of their times right? --column submit=s:ms reads milliseconds"
            ),
        ),
    ],
)
def test_numbers_that_cannot_be_right_are_told(tmp_path: Path, lines: str, finding: str) -> None:
    assert told(tmp_path, lines) == (finding,)


@pytest.mark.parametrize(
    "lines",
    [
        "8,3600,0\n4,1200,9\n",
        "8,3600000,0\n",  # One job may be long.
        "8,3600000,0\n4,1200,9\n1,600,9\n",
        "1,12,0\n1,61,9\n",
        "25,600,0\n1,600,8\n2,600,9\n",
        "1,600,1507532563\n1,600,1537532563\n",
    ],
)
def test_numbers_that_may_be_right_are_not(tmp_path: Path, lines: str) -> None:
    assert told(tmp_path, lines) == ()


@pytest.mark.parametrize(
    ("column", "field", "words"),
    [
        ("ran_ms", "duration", "name says milliseconds; --column duration=ran_ms:ms reads"),
        ("Duration (min)", "duration", "name says minutes; --column duration=Duration (min):min"),
        ("hours", "duration", "name says hours; --column duration=hours:h reads hours"),
        ("submit.millis", "submit", "name says milliseconds; --column submit=submit.millis:ms"),
        ("gpu_percent", "gpus", "as a number of GPUs, and its name says a part of them"),
        ("gpu_milli", "gpus", "as a number of GPUs, and its name says a part of them"),
    ],
)
def test_name_of_a_column_that_says_another_unit_is_told(
    tmp_path: Path, column: str, field: str, words: str
) -> None:
    columns = {"gpus": "g", "duration": "d", field: column}
    header = ",".join(columns.values())
    text = f"{header}\n" + ",".join(["16"] * len(columns)) + "\n"
    (finding,) = imported(tmp_path / "t.csv", text, columns=columns).account.findings
    assert words in finding
    if field != "gpus":
        columns[field] += ":s"
        (finding,) = imported(tmp_path / "t.csv", text, columns=columns).account.findings
        columns[field] = columns[field][:-2] + ":h"
        assert imported(tmp_path / "t.csv", text, columns=columns).account.findings == ()


def test_findings_are_lines_of_the_account_and_of_the_error(tmp_path: Path) -> None:
    text = rows("a,0,8,0,7200000,,,,", "b,0,8,5,7200000,,,,")
    account: Account = imported(tmp_path / "t.csv", text).account
    line = account.lines()[1]
    assert line.startswith("check: half of 2 jobs took 83 d 8 h and 16000.0 GPU hours or more")
    assert line.endswith("With --column for each field, duration=COLUMN:ms reads milliseconds")
    assert account.summary()["findings"] == account.findings
    with pytest.raises(InputError, match=r"(?s)no job is left.*2 of 2 jobs have a multiple of 25"):
        imported(tmp_path / "t.csv", rows("a,0,50,0,60,,,,", "b,0,100,5,600,,,,"))


def test_published_layouts_have_none() -> None:
    for path in sorted(FIXTURES.iterdir()):
        if path.name not in {"README.md", "zones-mixed.csv", "node_info_df.csv"}:
            account = rarmodel.import_trace(path, servers=8, gpus_per_server=8).account
            assert account.findings == (), path.name
