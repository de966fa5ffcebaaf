"""Tables are written as their name says, or refused in a sentence."""

from __future__ import annotations

import csv
import io
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from campaign_files import write_campaign, write_instance

import rarmodel
from rarmodel import campaigns
from rarmodel.errors import UsageError
from rarmodel.latex import escaped, latex_table
from rarmodel.table_files import TABLES, check_table, table_bytes

if TYPE_CHECKING:
    from invocation import Invoke

ROWS: list[dict[str, Any]] = [
    {"name": 'a, "b"', "slots": 3, "gap": 0.5, "proven": True, "objective": ["makespan", "cost"]},
    {"name": "50 % & x_1\n", "slots": None, "gap": None, "proven": False, "more": "Zürich"},
]


def test_csv_has_every_value_and_nothing_where_there_is_none() -> None:
    read = list(csv.DictReader(io.StringIO(table_bytes(ROWS, ".csv").decode())))
    assert read == [
        {
            "name": 'a, "b"',
            "slots": "3",
            "gap": "0.5",
            "proven": "true",
            "objective": '["makespan", "cost"]',
            "more": "",
        },
        {
            "name": "50 % & x_1\n",
            "slots": "",
            "gap": "",
            "proven": "false",
            "objective": "",
            "more": "Zürich",
        },
    ]


def test_parquet_keeps_the_types() -> None:
    read = pq.read_table(io.BytesIO(table_bytes(ROWS[:1], ".parquet"))).to_pylist()
    assert read == ROWS[:1]


def test_latex_escapes_what_latex_would_read() -> None:
    text = table_bytes(ROWS, ".tex").decode()
    assert text.startswith("\\begin{tabular}{lrrlll}  % \\usepackage{booktabs}\n\\toprule\n")
    assert text.endswith("\\bottomrule\n\\end{tabular}\n")
    assert r"50 \% \& x\_1" in text
    assert "NaN" not in text
    assert "None" not in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a_b & 5 % of $3 #1 {x}", r"a\_b \& 5 \% of \$3 \#1 \{x\}"),
        ("\\input{a}~^", r"\textbackslash{}input\{a\}\textasciitilde{}\textasciicircum{}"),
        (
            'a < b > c | "d"',
            r"a \textless{} b \textgreater{} c \textbar{} \textquotedbl{}d\textquotedbl{}",
        ),
        ("two\nlines\tand\x00more", "two lines and more"),
        ("Zürich – κ", "Zürich – κ"),
    ],
)
def test_latex_shows_text_as_it_is(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_latex_has_numbers_on_the_right_and_groups_apart() -> None:
    rows = [
        {"instance": "a", "value": "1,200", "gap": "12.5%"},
        {"instance": "a", "value": "-3", "gap": "-"},
        {"instance": "b", "value": "0.5"},
    ]
    lines = latex_table(["instance", "value", "gap"], rows, "instance").splitlines()
    assert lines[0].startswith(r"\begin{tabular}{lrr}")
    assert lines[2:-2] == [
        r"instance & value & gap \\",
        r"\midrule",
        r"a & 1,200 & 12.5\% \\",
        r"a & $-$3 & -- \\",
        r"\midrule",
        r"b & 0.5 & -- \\",
    ]


def test_excel_is_written_where_pandas_can() -> None:
    if find_spec("openpyxl") is None and find_spec("xlsxwriter") is None:
        with pytest.raises(UsageError, match="need openpyxl, which is not installed"):
            table_bytes(ROWS, ".xlsx")
    else:
        read = pd.read_excel(io.BytesIO(table_bytes(ROWS, ".xlsx")))
        assert list(read["name"]) == [row["name"] for row in ROWS]


@pytest.mark.parametrize("name", ["table", "table.txt", "table.json", "csv", "a.csv/table", "-"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(UsageError) as refused:
        check_table(name)
    assert str(refused.value) == (
        f"{name}: the name of a table ends in .csv, .parquet, .tex or .xlsx"
    )
    assert check_table("A.CSV") == ".csv"
    assert [check_table(f"x{ending}") for ending in TABLES] == list(TABLES)


@pytest.mark.usefixtures("runs_here")
def test_a_campaign_is_exported_as_the_name_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invoke: Invoke
) -> None:
    monkeypatch.chdir(tmp_path)
    write_instance(tmp_path)
    write_campaign(tmp_path, "name: one\ninstances: [one.json]\nmethods: [first-fit, random]\n")
    campaigns.run_campaigns("campaign.yaml", "out", workers=1)
    assert campaigns.export("out", "table.csv") == 2
    with Path("table.csv").open(newline="", encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    rows = pq.read_table("out/table.parquet").to_pylist()
    assert [row["method"] for row in read] == ["first-fit", "random"]
    assert [row["makespan"] for row in read] == [str(row["makespan"]) for row in rows]
    assert [*read[0]] == [*rows[0]]
    assert campaigns.export("out", "table.tex") == 2
    assert "first-fit" in Path("table.tex").read_text("utf-8")
    outcome = invoke("campaign", "export", "out", "--output", "table.txt")
    assert outcome.code == 2
    assert outcome.err == ("table.txt: the name of a table ends in .csv, .parquet, .tex or .xlsx\n")
    assert not Path("table.txt").exists()


def test_compare_writes_its_rows_as_csv(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    asked = ("compare", "two-servers", "--method", "first-fit", "--method", "random")
    outcome = invoke(*asked, "--csv", path)
    assert outcome.code == 0
    assert "first-fit" in outcome.out
    with path.open(newline="", encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    rows = invoke(*asked, "--json").json()
    compared = rarmodel.compare("two-servers", methods=["first-fit", "random"])
    assert [*read[0]] == [*compared.to_frame().columns]
    assert [row["makespan"] for row in read] == [str(row["makespan"]) for row in rows]
    printed = invoke(*asked, "--csv", "-")
    assert [row["method"] for row in csv.DictReader(io.StringIO(printed.out))] == [
        *("first-fit", "random")
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--csv", "rows.parquet"], "rows.parquet: the name of a table ends in .csv"),
        (["--csv", "-", "--json"], "--csv - and --json both write to stdout; choose one"),
        (["--csv", "nowhere/rows.csv"], "nowhere/rows.csv: cannot be written"),
    ],
)
def test_compare_refuses_before_any_work(
    options: list[str], said: str, invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = invoke("compare", "two-servers", "--method", "first-fit", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(said)
