"""Campaigns that name objectives: their runs, rows, skipped cells, and ledgers of old."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from campaign_files import lasting, recorded, rows, write_campaign

from rarmodel.campaigns import campaign_report, plan_campaigns, run_campaigns, standing
from rarmodel.campaigns.ledger import VERSION
from rarmodel.errors import InputError
from rarmodel.files import read_instance

TEXT = """\
name: aims
instances: [one.json]
methods: [first-fit, fifo-backfill]
options: {threads: 1}
"""


@pytest.fixture
def wide(folder: Path) -> Path:
    """The instance `one` with a release, due slots and weights."""
    path = folder / "one.json"
    data = json.loads(path.read_text())
    first, second = data["jobs"]
    first |= {"due": 0, "weight": 3}
    second |= {"release": 4, "due": 1000}
    path.write_text(json.dumps(data))
    return path


def problems(folder: Path, text: str) -> list[str]:
    with pytest.raises(InputError) as error:
        plan_campaigns([write_campaign(folder, text)])
    return [line.partition("campaign.yaml: ")[2] for line in error.value.lines()]


def test_objectives_are_part_of_the_grid(folder: Path) -> None:
    text = TEXT + "objectives: [makespan, total-flow, [late-jobs, cost]]\nseeds: [1, 2]\n"
    runs = plan_campaigns([write_campaign(folder, text)]).runs
    told = [(run.task.options["objective"], run.task.method, run.task.seed) for run in runs]
    assert told == [
        (objective, method, seed)
        for objective in ("makespan", "total-flow", ["late-jobs", "cost"])
        for method in ("first-fit", "fifo-backfill")
        for seed in (1, 2)
    ]
    assert len({run.task.run for run in runs}) == 12
    assert len({run.task.instance for run in runs}) == 1


def test_one_objective_may_be_a_list_too(folder: Path) -> None:
    text = TEXT + "objective: [late-jobs, cost]\n"
    runs = plan_campaigns([write_campaign(folder, text)]).runs
    assert [run.task.options["objective"] for run in runs] == [["late-jobs", "cost"]] * 2


def test_runs_without_an_objective_keep_their_names(folder: Path) -> None:
    """Or every ledger of old would start anew."""
    (first, _) = plan_campaigns([write_campaign(folder, TEXT)]).runs
    assert json.loads(first.task.to_json()).keys() == {
        *("instance", "method", "formulation", "solver", "parameters", "options", "data", "seed"),
        *("solver_version", "rarmodel"),
    }
    assert dict(first.task.options) == {"threads": 1}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            "objectives: [makespan, [cost, costs, cost]]",
            [
                "line 5, objectives[1][1]: no objective 'costs'; choose one of",
                "line 5, objectives[1][2]: 'cost' is in the list already",
            ],
        ),
        (
            "objective: cost\nobjectives: [cost]",
            ["line 5, objective: 'objectives' is given too; keep one"],
        ),
        (
            "objectives: [cost, makespan, cost]",
            ["line 5, objectives[2]: 'cost' is in the list already"],
        ),
        ("objectives: []", ["line 5, objectives: an empty list; at least one entry is expected"]),
        ("objectives: cost", ["line 5, objectives: 'cost'; a list is expected"]),
        ("objective: 3", ["line 5, objective: 3; a text is expected"]),
    ],
)
def test_objectives_that_cannot_be_are_named(folder: Path, lines: str, expected: list[str]) -> None:
    found = problems(folder, f"{TEXT}{lines}\n")
    assert len(found) == len(expected)
    assert [line.startswith(start) for line, start in zip(found, expected, strict=True)] == [
        True for _ in expected
    ], found


def test_patience_is_for_methods_that_count_iterations(folder: Path) -> None:
    text = "name: p\ninstances: [one.json]\nmethods: [search]\noptions: {patience: [3, 5]}\n"
    runs = plan_campaigns([write_campaign(folder, text)]).runs
    assert [run.task.options["patience"] for run in runs] == [3, 5]
    (line,) = problems(folder, text.replace("search", "first-fit"))
    assert line == (
        "line 3, methods[0]: method 'first-fit' does not count iterations; "
        "give them to a method that does"
    )
    (line,) = problems(folder, text.replace("methods: [search]", "formulations: [time-indexed]"))
    assert line.endswith("formulation 'time-indexed' does not count iterations")


def test_a_list_of_one_leaves_ties_out(folder: Path) -> None:
    text = TEXT.replace("options:", "objectives: [makespan, [makespan]]\noptions:")
    runs = plan_campaigns([write_campaign(folder, text)]).runs
    assert [run.task.options["objective"] for run in runs] == [
        *["makespan"] * 2,
        *[["makespan"]] * 2,
    ]
    assert run_campaigns(write_campaign(folder, text), folder / "out").done == 4
    assert [row["option_objective"] for row in rows(folder / "out")] == [
        *["makespan"] * 2,
        *["makespan,"] * 2,
    ]
    assert [row["objective"] for row in rows(folder / "out")] == ["makespan"] * 4


@pytest.mark.usefixtures("wide")
def test_rows_have_the_objective_asked_for(folder: Path) -> None:
    text = TEXT.replace("[first-fit, fifo-backfill]", "[{method: search, options: {patience: 20}}]")
    path = write_campaign(folder, text + "objectives: [total-flow, [late-jobs, makespan]]\n")
    assert run_campaigns(path, folder / "out").done == 2
    flow, late = rows(folder / "out")
    instance = read_instance(folder / "one.json")
    weights = [job.weight for job in instance.jobs]
    assert flow["objective"] == flow["option_objective"] == "total-flow"
    assert flow["objective_value"] == flow["objective_bound"]
    assert flow["gap"] == 0
    first, second = flow["max_flow"], 2 * flow["mean_flow"] - flow["max_flow"]
    assert flow["objective_value"] in {
        weights[0] * first + weights[1] * second,
        weights[0] * second + weights[1] * first,
    }
    assert second <= flow["p95_flow"] <= first
    assert flow["objective_value_late-jobs"] is None
    assert late["objective"] == late["option_objective"] == "late-jobs,makespan"
    assert (late["objective_value"], late["late_jobs"]) == (3, 1)  # by weight, and in number
    assert late["objective_value_late-jobs"] == late["objective_bound_late-jobs"] == 3
    assert late["objective_value_makespan"] == late["makespan"]


def test_flow_times_are_unknown_where_nothing_is_released_or_due(folder: Path) -> None:
    run_campaigns(write_campaign(folder, TEXT), folder / "out")
    for row in rows(folder / "out"):
        assert row["makespan"]
        assert [row[name] for name in ("mean_flow", "p95_flow", "max_flow", "late_jobs")] == [
            *(None, None, None, None)
        ]


@pytest.mark.usefixtures("wide")
def test_what_does_not_fit_is_skipped_with_the_reason(folder: Path) -> None:
    path = write_campaign(folder, TEXT + "objectives: [makespan, cost]\n")
    found = run_campaigns(path, folder / "out")
    assert (found.planned, found.done, found.failed, found.open) == (4, 2, 0, 0)
    assert found.skipped == 2
    assert standing(folder / "out").skipped == 2
    table = {(row["method"], row["objective"]): row for row in rows(folder / "out")}
    reasons = {
        "makespan": "releases (jobs[1].release)",
        "cost": "objectives other than the makespan (objective) and releases (jobs[1].release)",
    }
    for objective, what in reasons.items():
        row = table["first-fit", objective]
        assert (row["state"], row["status"], row["failure"]) == ("skipped", "skipped", None)
        assert row["stopped"] == f"first-fit does not handle {what}"
        assert row["makespan"] is row["process_seconds"] is None
        assert table["fifo-backfill", objective]["state"] == "done"


@pytest.mark.usefixtures("wide")
def test_a_campaign_goes_on_with_more_objectives(folder: Path) -> None:
    path = write_campaign(folder, TEXT + "objectives: [makespan]\n")
    assert run_campaigns(path, folder / "out").planned == 2
    before = recorded(folder / "out")
    path = write_campaign(folder, TEXT + "objectives: [makespan, cost]\n")
    assert run_campaigns(path, folder / "out").planned == 4
    after = recorded(folder / "out")
    assert before.items() <= after.items()
    assert run_campaigns(path, folder / "out", retry_failed=True).skipped == 2
    assert recorded(folder / "out") == after
    run_campaigns(path, folder / "again")
    assert lasting(folder / "again") == lasting(folder / "out")


OLD_RESULT = {
    "instance": "one",
    "method": "first-fit",
    "status": "feasible",
    "makespan": 12,
    "mean_completion": 6.0,
    "lower_bound": 10,
    "bound_name": "area",
    "gap": 0.1666,
    "seconds": 0.1,
    "stopped": "finished",
    "objective": None,
    "restricted": False,
    "verified": True,
}


def test_a_ledger_of_old_is_read(folder: Path) -> None:
    """As the first version wrote it, without objectives and flow times."""
    path = write_campaign(folder, TEXT)
    (first, second) = plan_campaigns([path]).runs
    out = folder / "out"
    (out / "schedules").mkdir(parents=True)
    connection = sqlite3.connect(out / "ledger.sqlite")
    with connection:
        connection.executescript(
            "CREATE TABLE tasks (run TEXT PRIMARY KEY, task TEXT NOT NULL);"
            "CREATE TABLE plan (position INTEGER PRIMARY KEY, run TEXT, campaign TEXT,"
            " limits TEXT, instance_name TEXT, source TEXT, source_parameters TEXT);"
            "CREATE TABLE outcomes (run TEXT PRIMARY KEY, failed INTEGER, outcome TEXT,"
            " recorded TEXT DEFAULT CURRENT_TIMESTAMP);"
            f"PRAGMA user_version = {VERSION};"
        )
        outcomes: list[dict[str, object]] = [
            {"result": OLD_RESULT, "host": "h"},
            {"failure": "died", "error": "gone", "host": "h"},
        ]
        for position, (run, outcome) in enumerate(zip((first, second), outcomes, strict=True)):
            name = run.task.run
            connection.execute("INSERT INTO tasks VALUES (?, ?)", (name, run.task.to_json()))
            plan = (position, name, "aims", "{}", "one", "file one.json", "{}")
            connection.execute("INSERT INTO plan VALUES (?, ?, ?, ?, ?, ?, ?)", plan)
            connection.execute(
                "INSERT INTO outcomes (run, failed, outcome) VALUES (?, ?, ?)",
                (name, "failure" in outcome, json.dumps(outcome)),
            )
    connection.close()
    (out / "schedules" / f"{first.task.run}.json").write_text("{}")
    found = standing(out)
    assert (found.planned, found.done, found.failed, found.skipped) == (2, 1, 1, 0)
    assert "first-fit" in campaign_report(out)
    assert run_campaigns(path, out).done == 1
    done, failed = rows(out)
    assert (done["state"], done["makespan"], done["gap"]) == ("done", 12, 0.1666)
    assert done["objective"] is done["objective_value"] is done["mean_flow"] is None
    assert (failed["state"], failed["error"]) == ("failed", "gone")
