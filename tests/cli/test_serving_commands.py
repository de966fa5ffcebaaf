"""The commands `frontier` and `import-requests`."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from serving_instances import batch, demand, service, variant, with_services

from rarmodel.files import parse_instance, read_instance, to_json

if TYPE_CHECKING:
    from invocation import Invoke


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an instance of one service, and a log of requests."""
    monkeypatch.chdir(tmp_path)
    kinds = [variant("a", batch(1, 20.0), accuracy=0.5), variant("b", gpus=2, accuracy=0.9)]
    data = with_services(service("chat", demand(0, 4, 60.0), variants=kinds))
    Path("i.json").write_text(to_json(parse_instance(data)), encoding="utf-8")
    log = "minute,requests\n2026-01-01 10:00,600\n"
    Path("log.csv").write_text(log, encoding="utf-8")
    return tmp_path


def test_frontier_has_the_same_points_as_table_csv_and_json(invoke: Invoke, folder: Path) -> None:
    asked = ["frontier", "i.json", "--latencies", "40,100", "--accuracies", "0.5,0.9"]
    shown = invoke(*asked, "--csv", "rows.csv")
    assert shown.code == 0
    assert "GPU-hours" in shown.out
    rows = list(csv.DictReader(Path("rows.csv").read_text(encoding="utf-8").splitlines()))
    points = json.loads(invoke(*asked, "--json").out)["points"]
    assert [float(row["cost"]) for row in rows] == [one["cost"] for one in points]
    assert [one["efficient"] for one in points] == [True, True, False, False]
    table = [line.split() for line in shown.out.splitlines() if line.strip().startswith("chat")]
    assert [row[1:3] for row in table] == [["40", "0.5"], ["40", "0.9"]]


def test_frontier_draws_a_chart(invoke: Invoke, folder: Path) -> None:
    pytest.importorskip("altair")
    assert invoke("frontier", "i.json", "--latencies", "40", "--plot", "f.svg").code == 0
    assert "least cost, GPU-hours" in Path("f.svg").read_text(encoding="utf-8")


def test_frontier_without_a_point_says_why(invoke: Invoke, folder: Path) -> None:
    outcome = invoke("frontier", "i.json", "--latencies", "39")
    assert outcome.code == 1
    assert "no variant answers within 39 ms" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["frontier", "i.json", "--latencies", "fast"], "numbers separated by commas"),
        (["frontier", "i.json", "--service", "mail"], "no service 'mail'"),
        (["frontier", "two-servers"], "has no services"),
        (["import-requests", "log.csv", "i.json", "--service", "mail"], "no service 'mail'"),
        (["import-requests", "i.json", "i.json", "--service", "chat"], "no column"),
    ],
)
def test_wrong_questions_exit_with_2(
    arguments: list[str], line: str, invoke: Invoke, folder: Path
) -> None:
    outcome = invoke(*arguments)
    assert outcome.code == 2
    assert line in outcome.err


def test_requests_become_the_demand_of_a_service(invoke: Invoke, folder: Path) -> None:
    asked = ["import-requests", "log.csv", "i.json", "--service", "chat", "--scale", "2"]
    outcome = invoke(*asked, "--output", "o.json")
    assert outcome.code == 0
    assert "demand in 1 step up to slot 60, 20 to 20 requests a second" in outcome.err
    (chat,) = read_instance("o.json").services
    assert [(one.start, one.end) for one in chat.demand] == [(0, 60)]
