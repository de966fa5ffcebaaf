"""Campaigns of simulations: their grid, rows, bounds, skipped cells and report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from by_hand import worked
from campaign_files import rows, write_campaign

import rarmodel
from rarmodel.campaigns import (
    campaign_report,
    plan_campaigns,
    run_campaigns,
    simulations_report,
    standing,
)
from rarmodel.campaigns.task import Task
from rarmodel.errors import InputError
from rarmodel.files import read_schedule, to_json
from rarmodel.schema import Instance

TEXT = """\
name: arriving
instances: [arriving.json]
policies:
  - fifo
  - {policy: srtf, placements: [consolidate, first-fit], round_slots: [2, 3]}
  - optimus
methods: [fifo-backfill]
objectives: [total-flow, [makespan, total-flow]]
"""

pytestmark = pytest.mark.usefixtures("runs_here")


@pytest.fixture
def arriving(folder: Path) -> Instance:
    """A long job, and then short ones, on two servers of two GPUs."""
    jobs = [{"slots": 9, "gpus": 4}, *({"slots": 2, "gpus": 1, "release": k} for k in (1, 2, 4))]
    instance = worked(jobs, servers=(2, 2), restore=1.0)
    (folder / "arriving.json").write_text(to_json(instance), "utf-8")
    return instance


def problems(folder: Path, text: str) -> list[str]:
    with pytest.raises(InputError) as error:
        plan_campaigns([write_campaign(folder, text)])
    return [line.partition("campaign.yaml: ")[2] for line in error.value.lines()]


@pytest.mark.usefixtures("arriving")
def test_policies_placements_and_rounds_are_part_of_the_grid(folder: Path) -> None:
    runs = plan_campaigns([write_campaign(folder, TEXT)]).runs
    told = [
        (run.task.policy, run.task.options["placement"], run.task.options.get("round_slots"))
        for run in runs
        if run.task.policy and run.task.options["objective"] == "total-flow"
    ]
    assert told == [
        ("fifo", "consolidate", None),
        *(("srtf", placement, n) for placement in ("consolidate", "first-fit") for n in (2, 3)),
        ("optimus", "consolidate", None),
    ]
    assert len({run.task.run for run in runs}) == len(runs) == 14


def test_rows_are_those_of_simulate_and_of_solve(folder: Path, arriving: Instance) -> None:
    found = run_campaigns(write_campaign(folder, TEXT), folder / "out", workers=2)
    # `optimus` wants lists of ring sizes, and method `fifo-backfill` jobs that are not interrupted.
    assert (found.planned, found.done, found.skipped, found.failed) == (14, 10, 4, 0)
    table = rows(folder / "out")
    for row in table:
        if row["state"] == "skipped":
            assert row["policy"] == "optimus" or row["method"] == "fifo-backfill"
            assert "list" in row["stopped"] or "preemption" in row["stopped"]
            continue
        one = rarmodel.simulate(
            arriving,
            row["policy"],
            placement=row["option_placement"],
            round_slots=row["option_round_slots"],
            objective=row["objective"].split(","),
        )
        summary = one.summary()
        for name in ("makespan", "mean_flow", "median_flow", "p95_flow", "p99_flow"):
            assert row[name] == summary[name]
        for name in ("mean_queueing", "utilisation", "preemptions", "finish_time_fairness"):
            assert row[name] == summary[name]
        for name, bound in summary["bounds"].items():
            assert row[f"bounds_{name}"] == bound
            assert row[f"ratios_{name}"] == summary["ratios"][name]
        assert row["late_jobs"] is None  # There are no due slots.
        first = row["objective"].partition(",")[0]
        assert row["objective_value"] == one.proven[first].value
        assert row["objective_bound"] == summary["bounds"][first] <= row["objective_value"]
        assert (row["status"] == "optimal") == (row["gap"] == 0)
        assert row["verified"]
        schedule = read_schedule(folder / "out" / "schedules" / f"{row['run']}.json")
        assert rarmodel.verify(arriving, schedule).completion == one.report.completion  # type: ignore[union-attr]
    assert standing(folder / "out").open == 0
    compared = simulations_report(folder / "out")
    for heading in ("arriving: total-flow", "arriving: makespan,total-flow"):
        assert f"<summary>{heading}</summary>" in compared
    assert "srtf placement=first-fit, round_slots=3" in compared
    page = campaign_report(folder / "out")
    assert "srtf option" not in page
    assert "srtf placement=first-fit, round_slots=3" in page


def test_simulation_without_an_end_is_a_row_without_figures(folder: Path) -> None:
    instance = worked([{"slots": 3, "gpus": 4}, {"slots": 1}], servers=(2, 2))
    (folder / "wide.json").write_text(to_json(instance), "utf-8")
    (folder / "stubborn.py").write_text(
        "from rarmodel.online import Placement\n"
        "def place(asked, site):\n"
        "    return {0: asked.size} if site.idle[0] >= asked.size else None\n"
        "ONE = Placement('one', place)\n"
    )
    text = "name: n\ninstances: [wide.json]\npolicies: [fifo-backfill]\n"
    found = run_campaigns(
        write_campaign(folder, text + 'placements: ["stubborn:ONE"]\n'), folder / "out"
    )
    assert (found.done, found.open) == (1, 0)
    (row,) = rows(folder / "out")
    assert (row["status"], row["makespan"], row["mean_flow"]) == ("unknown", None, None)
    assert row["reasons"].splitlines() == [
        "nothing more happens; not complete: job 'a'",
        "job 'a' waits for 4 GPUs, which are idle: placement 'one' gives it no place",
    ]
    assert standing(folder / "out").lost == 0


@pytest.mark.usefixtures("arriving")
def test_unknown_names_are_told_with_their_lines(folder: Path) -> None:
    text = "name: n\ninstances: [arriving.json]\n"
    text += "policies: [fifi, {policy: fifo, placements: [x]}]\n"
    first, second = problems(folder, text)
    assert first.startswith("line 3, policies[0]: no policy 'fifi'; choose one of ")
    assert second.startswith("line 3, policies[1]: no placement 'x'; choose one of ")
    (nothing,) = problems(folder, "name: n\ninstances: [arriving.json]\n")
    assert nothing == "line 1: no methods, formulations or policies; name some"


def test_runs_of_before_keep_their_names() -> None:
    task = Task("i", "fifo", None, None, {}, {"threads": 1}, None, 0)
    assert "policy" not in json.loads(task.to_json())
    assert json.loads(Task("i", None, None, None, {}, {}, None, 0, policy="p").to_json())["policy"]
