"""YAML wherever a file of JSON is taken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from documents import instance_data, schedule_data

if TYPE_CHECKING:
    from invocation import Invoke


@pytest.fixture
def instance_yaml(tmp_path: Path) -> Path:
    path = tmp_path / "instance.yaml"
    path.write_text(yaml.safe_dump(instance_data(), sort_keys=False))
    return path


@pytest.fixture
def schedule_yaml(tmp_path: Path) -> Path:
    path = tmp_path / "schedule.yml"
    path.write_text(yaml.safe_dump(schedule_data(), sort_keys=False))
    return path


def test_every_command_that_reads_an_instance_takes_it(
    invoke: Invoke, instance_yaml: Path, schedule_yaml: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    for arguments in (
        ("solve", instance_yaml, "--method", "first-fit"),
        ("verify", instance_yaml, schedule_yaml),
        ("compare", instance_yaml, "--method", "first-fit"),
        ("audit", instance_yaml, "--schedule", schedule_yaml),
        ("describe", instance_yaml),
        ("formulate", instance_yaml, "--formulation", "time-indexed", "--output", f"{out}.lp"),
    ):
        outcome = invoke(*arguments)
        assert (outcome.code, outcome.err) == (0, ""), arguments


def test_reports_take_it_too(
    invoke: Invoke, instance_yaml: Path, schedule_yaml: Path, tmp_path: Path
) -> None:
    pytest.importorskip("altair")
    out = tmp_path / "out.html"
    outcome = invoke("report", instance_yaml, schedule_yaml, "--output", out)
    assert (outcome.code, outcome.err) == (0, "")


def test_a_cluster_and_data_may_be_yaml(
    invoke: Invoke, instance_yaml: Path, tmp_path: Path
) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("timestamp,duration,num_gpus\n2017-10-09 07:01:55,600,1\n")
    outcome = invoke("import", trace, "--cluster", instance_yaml, "--output", "-")
    assert outcome.code == 0
    assert outcome.json()["cluster"] == instance_data()["cluster"]
    data = tmp_path / "data.yaml"
    data.write_text("pool: all\n")
    asked = ("--formulation", "schedule-selection", "--data", data)
    assert invoke("solve", instance_yaml, *asked).code == 0


def test_standard_input_may_be_yaml(invoke: Invoke, instance_yaml: Path) -> None:
    text = "\n# An instance.\n\n" + instance_yaml.read_text()
    for begin in ("", "---\n", "%YAML 1.2\n---\n"):
        outcome = invoke("describe", "-", "--json", stdin=begin + text if begin else text)
        assert outcome.code == 0
        assert outcome.json()["jobs"] == 2
    refused = invoke("describe", "-", stdin=text.replace("horizon: 20", "horizon: 0"))
    assert refused.lines == ["standard input: line 8, time.horizon: 0; it must be at least 1"]


def test_standard_input_that_is_neither_is_refused_as_json(invoke: Invoke) -> None:
    for text in ("slot_seconds = 1", "[]x", '{"a": ', "\n" * 10_000, " # \n" * 10_000):
        outcome = invoke("describe", "-", stdin=text)
        assert outcome.code == 2
        (line,) = outcome.lines
        assert "JSON" in line


def test_errors_have_lines(invoke: Invoke, instance_yaml: Path) -> None:
    instance_yaml.write_text(instance_yaml.read_text().replace("gpus: 2", "gpus: two", 1))
    outcome = invoke("solve", instance_yaml)
    assert outcome.code == 2
    (line,) = outcome.lines
    assert line.startswith(f"{instance_yaml}: line ")
    assert line.endswith("cluster.servers[0].gpus: 'two'; a whole number is expected")


def test_a_file_that_is_not_there_is_no_bundled_instance(invoke: Invoke) -> None:
    for name in ("nowhere.yaml", "nowhere.yml"):
        outcome = invoke("solve", name)
        assert outcome.lines == [f"{name}: cannot be read: no such file or directory"]


def test_what_is_written_as_yaml_is_read_again(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"  # It holds JSON, which is YAML.
    assert invoke("generate", "small", "--output", path).code == 0
    assert json.loads(path.read_text())
    assert invoke("describe", path).code == 0
