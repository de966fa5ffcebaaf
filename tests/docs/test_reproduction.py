"""The numbers of docs/notes/reproduction.md are those of the commands and programs beside them.

Each value of the cheap policies in Figure 4 is computed again, and `search` for the seeds with the
least and the most. The slow test repeats the whole page.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
from importlib import resources
from pathlib import Path
from unittest import mock

import pytest
import yaml

import rarmodel
from rarmodel.campaigns import run_campaigns
from rarmodel.cli import main

TEXT = (Path(__file__).parents[2] / "docs" / "notes" / "reproduction.md").read_text(
    encoding="utf-8"
)
PROVEN = ("search", "lower bound")
"""Rows that take a search."""

Key = tuple[str, str, str]
"""Title of a table, setting and method."""


def rows_in(text: str) -> dict[Key, list[str]]:
    """The cells of the rows in tables of figures: ours from the third on."""
    found: dict[Key, list[str]] = {}
    title = ""
    for line in text.splitlines():
        if line.startswith("figure-"):
            title = line
        cells = re.split(r"\s{2,}", line.strip())
        setting = cells.pop(0) if " = " in cells[0] else ""
        if title and len(cells) == 8 and cells[0] != "setting":
            found[title, setting, cells[0]] = cells[1:]
        elif not line.strip().startswith(("figure", "setting", "─", "```")) and line.strip():
            title = ""
    return found


SHOWN = rows_in(TEXT)


pytestmark = pytest.mark.usefixtures("runs_here")


def printed(line: str) -> str:
    """What a command prints."""
    output = io.StringIO()
    with (
        mock.patch.object(sys, "argv", shlex.split(line)),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(io.StringIO()),
        pytest.raises(SystemExit) as end,
    ):
        main()
    assert end.value.code == 0, line
    return output.getvalue()


def test_rows_of_the_page_are_read() -> None:
    assert len(SHOWN) == 60
    assert SHOWN["figure-5: makespan, in slots", "κ = 10", "sjf-bco"][:2] == ["700", "491 ± 78"]


def test_values_of_the_policies_are_those_of_the_campaign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    bundled = resources.files("rarmodel.campaigns") / "figures" / "figure-4.yaml"
    campaign = yaml.safe_load(bundled.read_text("utf-8"))
    campaign["methods"] = [one for one in campaign["methods"] if isinstance(one, str)]
    (tmp_path / "policies.yaml").write_text(yaml.safe_dump(campaign), encoding="utf-8")
    standing = run_campaigns("policies.yaml", "runs", workers=1)
    assert standing.done == standing.planned == 100
    shown = {
        key: row
        for key, row in SHOWN.items()
        if key[0].startswith("figure-4") and key[2] not in PROVEN
    }
    assert len(shown) == 10
    assert rows_in(printed("rarmodel campaign figures runs")).items() >= shown.items()


@pytest.mark.parametrize(
    ("measure", "seed", "column"),
    [("makespan", 7, 2), ("mean completion", 13, 2), ("mean completion", 17, 3)],
)
def test_least_and_most_of_search_are_those_of_their_seeds(
    measure: str, seed: int, column: int
) -> None:
    instance = rarmodel.generate("paper", seed=seed)
    result = rarmodel.solve(instance, iterations=40, threads=1, seed=seed)
    assert result.report is not None
    found = {"makespan": result.makespan, "mean completion": result.report.mean_completion}
    shown = SHOWN[f"figure-4: {measure}, in slots", "", "search"][column]
    assert f"{found[measure]:.0f}" == shown


@pytest.mark.slow
def test_commands_and_programs_print_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"(?:`([\w.-]+)`:\n\n)?```(\w+)\n(.*?)```", TEXT, flags=re.DOTALL)
    tables, output, compared = "", "", 0
    for name, kind, source in blocks:
        if name:
            Path(name).write_text(source, encoding="utf-8")
        elif kind == "sh":
            for line in source.splitlines():
                tables += printed(line)
        elif kind == "py":
            with contextlib.redirect_stdout(io.StringIO()) as stream:
                exec(compile(source, "reproduction.md", "exec"), {})  # noqa: S102 - our page
            output = stream.getvalue()
        elif source.startswith("figure-") and rows_in(source):
            assert rows_in(source).items() <= rows_in(tables).items()
            compared += 1
        else:
            assert [line.strip() for line in output.splitlines()] == [
                line.strip() for line in source.splitlines()
            ]
            compared += 1
    assert compared == 9
