"""`rarmodel describe`: an instance in lines and tables, or as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from documents import instance_data, job_data

import rarmodel

if TYPE_CHECKING:
    from invocation import Invoke


def test_lines_tables_and_bounds_are_printed(invoke: Invoke) -> None:
    outcome = invoke("describe", "rack-tree")
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert "load              8.8 slots (8.75 s; 8.8% of the horizon) of all GPUs" in lines
    assert "lower bound       10 slots (10 s; long jobs)" in lines
    heads = "GPUs jobs iterations slots alone wall-clock servers worst alone with contention load"
    at = [" ".join(line.split()) for line in lines].index(heads)
    assert lines[at + 2].split() == ["1", "2", "50", "5", "5", "s", "1", "5", "5", "14.3%"]
    assert lines[at + 3].split() == ["4", "3", "50", "5", "5", "s", "2", "10", "17", "85.7%"]
    assert lines[-1].split() == ["shared", "links", "7", "7", "s"]


def test_each_job_is_listed_if_asked_for(invoke: Invoke) -> None:
    jobs = {job.name for job in rarmodel.load_instance("rack-tree").jobs}
    without = {line.split()[0] for line in invoke("describe", "rack-tree").out.splitlines() if line}
    rows = [line.split() for line in invoke("describe", "rack-tree", "--jobs").out.splitlines()]
    assert not without & jobs
    assert {row[0] for row in rows if row} >= jobs


def test_json_is_the_description_as_plain_data(invoke: Invoke) -> None:
    found = rarmodel.describe("rack-tree")
    assert invoke("describe", "rack-tree", "--json").json() == json.loads(
        json.dumps(found.summary())
    )
    answer = invoke("describe", "rack-tree", "--json", "--jobs").json()
    assert [job["name"] for job in answer["each_job"]] == [job.name for job in found.jobs]


def test_infeasible_at_sight_is_a_line_and_no_failure(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "late.json"
    path.write_text(json.dumps(instance_data(job_data("slow", iterations=500))))
    outcome = invoke("describe", path)
    assert outcome.code == 0
    why = "longer than the horizon of 20 slots even alone: job 'slow'"
    assert f"infeasible        {why}" in outcome.out.splitlines()


def test_a_broken_instance_is_refused_as_everywhere(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text("{}")
    outcome = invoke("describe", path)
    assert outcome.code == 2
    assert len(outcome.lines) == 6


def test_names_do_not_reach_the_terminal_raw(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "hostile.json"
    data = instance_data(job_data("a\x1b[31m"))
    data["name"] = data["description"] = "x\x1b]0;owned\x07\n"
    path.write_text(json.dumps(data))
    shown = invoke("describe", path, "--jobs").out
    assert "\x1b" not in shown
    assert "\x07" not in shown
