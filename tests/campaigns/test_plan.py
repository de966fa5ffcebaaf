"""What a campaign's runs are, and what names them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from campaign_files import write_campaign

import rarmodel
from rarmodel.campaigns import plan_campaigns
from rarmodel.campaigns.task import Task, canonical_instance, digest
from rarmodel.errors import InputError
from rarmodel.files import parse_instance

TASK = Task(
    instance="0" * 64,
    method="sjf-bco",
    formulation=None,
    solver=None,
    parameters={"kappa": 4, "servers_factor": 1.5},
    options={"threads": 1},
    data=None,
    seed=7,
    rarmodel="0.1.0",
)


def test_the_name_of_a_run_is_stable() -> None:
    # A change of this value means that every ledger in use starts anew.
    assert TASK.run == "d635fb5b7ec36333d8b8"
    assert replace(TASK, parameters={"servers_factor": 1.5, "kappa": 4}).run == TASK.run


@pytest.mark.parametrize(
    "change",
    [
        {"instance": "1" + "0" * 63},
        {"method": "first-fit"},
        {"method": None, "formulation": "time-indexed", "solver": "highs"},
        {"parameters": {}},
        {"options": {"threads": 2}},
        {"data": {}},
        {"seed": 8},
        {"solver_version": "1"},
        {"start": {}},
        {"rarmodel": "0.2.0"},
    ],
)
def test_all_that_a_run_is_changes_its_name(change: dict[str, object]) -> None:
    assert replace(TASK, **change).run != TASK.run  # type: ignore[arg-type]


def test_an_instance_in_yaml_is_the_same_as_in_json(folder: Path) -> None:
    same = json.loads((folder / "one.json").read_text())
    (folder / "one.yaml").write_text(yaml.safe_dump(same))
    text = "name: both\ninstances: [one.json, one.yaml]\nmethods: [sjf-bco]\n"
    plan = plan_campaigns([write_campaign(folder, text)])
    assert len(plan.instances) == 1


def test_an_instance_has_one_hash_however_it_is_written() -> None:
    instance = rarmodel.load_instance("two-servers")
    text = canonical_instance(instance)
    shuffled = dict(reversed(json.loads(rarmodel.to_json(instance)).items()))
    assert canonical_instance(parse_instance(shuffled)) == text
    other = instance.model_copy(update={"name": "other"})
    assert digest(canonical_instance(other)) != digest(text)


def test_runs_are_the_product_in_the_order_of_the_file(folder: Path) -> None:
    path = write_campaign(
        folder,
        """\
name: product
instances:
  - one.json
  - generate: small
    vary: {jobs: [3, 4]}
methods:
  - first-fit
  - method: sjf-bco
    vary: {kappa: [1, 2]}
formulations:
  - {formulation: busy-time, solvers: [highs], options: {time_limit: [5, 10], threads: 2}}
options: {gap: 0.1}
seeds: [1, 2]
""",
    )
    runs = plan_campaigns([path]).runs
    assert len(runs) == 3 * (1 + 2 + 2) * 2
    assert [run.instance_name for run in runs[::10]] == ["one", "small-3-seed-1", "small-4-seed-1"]
    told = [
        (run.task.method or run.task.formulation, dict(run.task.parameters), run.task.seed)
        for run in runs[:6]
    ]
    assert told == [
        ("first-fit", {}, 1),
        ("first-fit", {}, 2),
        ("sjf-bco", {"kappa": 1}, 1),
        ("sjf-bco", {"kappa": 1}, 2),
        ("sjf-bco", {"kappa": 2}, 1),
        ("sjf-bco", {"kappa": 2}, 2),
    ]
    assert runs[0].task.options == {"threads": 1, "gap": 0.1}
    assert runs[6].task.options == {"threads": 2, "gap": 0.1, "time_limit": 5}
    assert runs[8].task.options == {"threads": 2, "gap": 0.1, "time_limit": 10}
    assert runs[6].task.solver_version
    assert len({run.task.run for run in runs}) == len(runs)


def test_families_are_drawn_with_the_seed_of_the_run(folder: Path) -> None:
    path = write_campaign(
        folder,
        """\
name: seeds
instances:
  - generate: small
  - {generate: small, parameters: {seed: 5}}
methods: [random]
seeds: [1, 2]
""",
    )
    plan = plan_campaigns([path])
    drawn = [(run.instance_name, run.task.seed) for run in plan.runs]
    fixed = "small-6-seed-5"
    assert drawn == [("small-6-seed-1", 1), ("small-6-seed-2", 2), (fixed, 1), (fixed, 2)]
    for run in plan.runs:
        assert digest(plan.instances[run.task.instance]) == run.task.instance
        assert parse_instance(plan.instances[run.task.instance]).name == run.instance_name


def test_a_dot_in_a_parameter_leads_into_an_object(folder: Path) -> None:
    (folder / "trace.csv").write_text("timestamp,duration,num_gpus\n2017-10-09 07:01:55,600,1\n")
    text = """\
name: dots
instances:
  - import: trace.csv
    parameters: {servers: 2, gpus_per_server: 4, contention: {alpha: 0.5, concurrency: 0.5}}
    vary: {contention.alpha: [0.1, 0.2]}
methods: [first-fit]
"""
    plan = plan_campaigns([write_campaign(folder, text)])
    drawn = [json.loads(plan.instances[run.task.instance]) for run in plan.runs]
    assert [one["contention"]["degradation"]["alpha"] for one in drawn] == [0.1, 0.2]
    assert [one["contention"]["concurrency"] for one in drawn] == [0.5, 0.5]
    told = [run.source_parameters["contention.alpha"] for run in plan.runs]
    assert told == [0.1, 0.2]
    with pytest.raises(InputError, match="contention is 3; an object is expected"):
        plan_campaigns(
            [write_campaign(folder, text.replace("{alpha: 0.5, concurrency: 0.5}", "3"))]
        )


def test_files_are_found_beside_the_campaign(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "trace.csv").write_text("timestamp,duration,num_gpus\n2017-10-09 07:01:55,600,1\n")
    (folder / "weights.json").write_text('{"deadlines": {}}')
    write_campaign(
        folder,
        """\
name: beside
instances:
  - one.json
  - two-servers
  - stars-6x3-0
  - {import: trace.csv, parameters: {servers: 2, gpus_per_server: 4}}
formulations:
  - {formulation: time-indexed, solvers: [highs], data: weights.json}
""",
    )
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    runs = plan_campaigns(["../campaign.yaml"]).runs
    assert [run.instance_name for run in runs] == ["one", "two-servers", "stars-6x3-0", "trace"]
    assert runs[0].task.data == {"deadlines": {}}
    assert runs[3].source == "import trace.csv"


def test_loading_what_a_process_needs_is_light() -> None:
    script = (
        "import sys, rarmodel.campaigns.run_process;"
        "heavy = {'numba', 'pyomo', 'pyarrow', 'distributed', 'yaml'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True
    ).stdout
    assert shown.strip() == "[]"


def start_of_one(folder: Path) -> dict[str, object]:
    """A schedule of the instance `one`, in a file beside it: job after job on a GPU."""
    result = rarmodel.solve(folder / "one.json", method="first-fit")
    assert result.schedule is not None
    text = rarmodel.to_json(result.schedule)
    (folder / "start.json").write_text(text)
    return json.loads(text)  # type: ignore[no-any-return]


STARTED = """\
name: started
instances:
  - {instance: one.json, start: start.json}
  - one.json
methods: [random]
policies: [fifo-backfill]
formulations:
  - {formulation: busy-time, solvers: [highs], options: {solver_options: [{presolve: "off"}, {}]}}
"""


def test_solves_of_an_instance_have_its_start(folder: Path) -> None:
    start = start_of_one(folder)
    runs = plan_campaigns([write_campaign(folder, STARTED)]).runs
    assert [run.task.start for run in runs] == [start, start, start, None] + [None] * 4
    assert [run.source_parameters for run in runs[:4]] == [{"start": "start.json"}] * 3 + [{}]
    assert len({run.task.run for run in runs}) == 7  # The policy starts from nothing.


def test_a_formulation_has_options_of_its_solver(folder: Path) -> None:
    start_of_one(folder)
    runs = plan_campaigns([write_campaign(folder, STARTED)]).runs
    given = [run.task.options.get("solver_options") for run in runs[:4]]
    assert given == [None, {"presolve": "off"}, {}, None]


@pytest.mark.parametrize(
    ("line", "place", "message"),
    [
        (
            "instances: [{instance: one.json, start: none.json}]\nmethods: [random]",
            "instances[0].start",
            "no such file",
        ),
        (
            "instances: [{instance: two-servers, start: start.json}]\nmethods: [random]",
            "instances[0].start",
            "the schedule is not feasible",
        ),
        (
            "instances: [{generate: small, start: start.json}]\nmethods: [random]",
            "instances[0].start",
            "a schedule is of one instance",
        ),
        (
            (
                "instances: [one.json]\n"
                "methods: [{method: random, options: {solver_options: {presolve: x}}}]"
            ),
            "methods[0]",
            "solver_options is for formulations",
        ),
        (
            (
                "instances: [one.json]\nformulations: [busy-time]\n"
                "options: {solver_options: {presolve: x}}"
            ),
            "formulations[0]",
            "solver_options need the solver whose words they are",
        ),
        (
            (
                "instances: [one.json]\nformulations: [{formulation: busy-time, solvers: [highs], "
                "options: {solver_options: {presolv: x}}}]"
            ),
            "formulations[0]",
            "has no option 'presolv'",
        ),
        (
            (
                "instances: [one.json]\nformulations: [{formulation: busy-time, solvers: [highs], "
                "options: {solver_options: {presolve: [x]}}}]"
            ),
            "solver_options",
            "",
        ),
    ],
)
def test_wrong_starts_and_options_of_solvers_are_told(
    folder: Path, line: str, place: str, message: str
) -> None:
    start_of_one(folder)
    path = write_campaign(folder, f"name: wrong\n{line}\n")
    with pytest.raises(InputError) as error:
        plan_campaigns([path])
    assert place in str(error.value)
    assert message in str(error.value)
